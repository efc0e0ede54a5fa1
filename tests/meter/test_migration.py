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


def grown(name, kinds):
    """{node: [count of each kind]} between the two marks, over all CPUs."""
    totals = {}
    for edge, sign in (("start", -1), ("end", 1)):
        for cpu in MARKS[f"{name}.{edge}"]["cpus"]:
            for node in cpu["nodes"]:
                old = totals.get(node["node"], [0] * len(kinds))
                totals[node["node"]] = [count + sign * node[kind] for count, kind in zip(old, kinds, strict=True)]
    return totals


def fast_share(name, *kinds):
    counts = {node: sum(of_kinds) for node, of_kinds in grown(name, kinds).items()}
    return sum(counts.get(node, 0) for node in FAST_NODES) / sum(counts.values())


@pytest.mark.parametrize("name", CLAIMS)
def test_share_of_the_fast_tier(name):
    claim = CLAIMS[name]
    # Lines behind the meter's model of a cache: what a cache serves, no tier does, and a daemon that wakes up for a
    # moment makes millions of such accesses.
    both, writes = fast_share(name, "line_reads", "line_writes"), fast_share(name, "line_writes")
    print(f"{name}: {both:.3f} of what reached the memory, {writes:.3f} of the writes;", end=" ")
    print(f"{fast_share(name, 'reads', 'writes'):.3f} of all accesses of all processes")
    assert sum(map(sum, grown(name, ("line_reads", "line_writes")).values())) >= LEAST_ACCESSES
    assert claim.get("least", 0) <= both <= claim.get("most", 1)
    assert writes >= claim.get("least_writes", 0)
