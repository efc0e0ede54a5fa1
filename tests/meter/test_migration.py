# SPDX-License-Identifier: Apache-2.0
"""What the migrator has to reach, against the accesses that the meter counted by node from outside the guest."""

import json
import os
from pathlib import Path

import pytest

CLAIMS = json.loads(Path(os.environ["EXPECTED"]).read_text())
MARKS = {mark["name"]: mark for mark in json.loads(Path(os.environ["METER"]).read_text())["marks"]}
FAST_NODES = (0, 1)
LEAST_ACCESSES = 10_000_000  # of the ranks in a stretch


def grown(name):
    """{node: (loads, stores)} between the two marks, over all CPUs."""
    totals = {}
    for edge, sign in (("start", -1), ("end", 1)):
        for cpu in MARKS[f"{name}.{edge}"]["cpus"]:
            for node in cpu["nodes"]:
                loads, stores = totals.get(node["node"], (0, 0))
                totals[node["node"]] = (loads + sign * node["reads"], stores + sign * node["writes"])
    return totals


def fast_share(name, count):
    counts = {node: count(*both) for node, both in grown(name).items()}
    return sum(counts.get(node, 0) for node in FAST_NODES) / sum(counts.values())


@pytest.mark.parametrize("name", CLAIMS)
def test_share_of_the_fast_tier(name):
    claim = CLAIMS[name]
    both, writes = fast_share(name, lambda loads, stores: loads + stores), fast_share(name, lambda _, stores: stores)
    print(f"{name}: {both:.3f} of all accesses, {writes:.3f} of the writes")
    assert sum(map(sum, grown(name).values())) >= LEAST_ACCESSES
    assert claim.get("least", 0) <= both <= claim.get("most", 1)
    assert writes >= claim.get("least_writes", 0)
