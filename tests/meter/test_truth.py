# SPDX-License-Identifier: Apache-2.0
"""What the node claimed of its pages, against the accesses that the meter counted by node from outside the guest."""

import json
import os
from pathlib import Path

import pytest

CLAIMS = json.loads(Path(os.environ["EXPECTED"]).read_text())
MARKS = {mark["name"]: mark for mark in json.loads(Path(os.environ["METER"]).read_text())["marks"]}


def accesses(mark):
    """Loads and stores by node, over all CPUs."""
    totals = {}
    for cpu in mark["cpus"]:
        for node in cpu["nodes"]:
            reads, writes = totals.get(node["node"], (0, 0))
            totals[node["node"]] = (reads + node["reads"], writes + node["writes"])
    return totals


@pytest.mark.parametrize("job", CLAIMS)
def test_accesses_are_where_the_pages_are(job):
    before, after = (accesses(MARKS[f"{job}.{edge}"]) for edge in ("start", "end"))
    claim = CLAIMS[job]
    pages = {int(node): count for node, count in claim["pages"].items()}
    for kind in (0, 1):  # loads, stores
        for node, count in pages.items():
            expected = claim["accesses"] * count / sum(pages.values())
            seen = after[node][kind] - before[node][kind]
            assert abs(seen - expected) <= 0.05 * claim["accesses"], (job, node, kind, seen, expected)
