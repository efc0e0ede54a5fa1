# SPDX-License-Identifier: Apache-2.0
"""Checks the migrator's effect by the accesses that the meter counted by node, from outside of the guest."""

import json
import os
from itertools import pairwise
from pathlib import Path
from statistics import median

import marks
import pytest

# A claim that names pages or a copy is of a test of placement: test_truth.py checks it. All others are checked here.
ALL_CLAIMS = json.loads(Path(os.environ["EXPECTED"]).read_text())
CLAIMS = {name: claim for name, claim in ALL_CLAIMS.items() if not {"pages", "copy"} & claim.keys()}
MARKS = marks.read(Path(os.environ["METER"]))
ESTIMATE_ERROR = 0.05  # an estimate that may be further off is null, which the migrator's figures write as -1
REACH_MEMORY = 0.8  # at least this share of the ranks' accesses reaches memory, as they are to random cache lines


def fast_share(name, *kinds):
    """The share of the whole stretch, or the middle one of its parts' shares."""
    edges = CLAIMS[name].get("edges", ("start", "end"))
    return median(marks.fast_share(MARKS, name, *kinds, edges=part) for part in pairwise(edges))


@pytest.mark.parametrize("name", CLAIMS)
def test_share_of_the_fast_tier(name):
    claim = CLAIMS[name]
    # Count lines that the meter's model of a cache fetched or wrote back: accesses that a cache serves reach no tier,
    # and a daemon that wakes up for a moment makes millions of them.
    both, writes = fast_share(name, "line_reads", "line_writes"), fast_share(name, "line_writes")
    print(f"{name}: {both:.3f} of what reached the memory, {writes:.3f} of the writes;", end=" ")
    print(f"{fast_share(name, 'reads', 'writes'):.3f} of all accesses of all processes")
    assert sum(marks.grown(MARKS, name, "line_reads", "line_writes").values()) >= REACH_MEMORY * claim["accesses"]
    assert claim.get("least", 0) <= both <= claim.get("most", 1)
    assert writes >= claim.get("least_writes", 0)
    estimate = claim.get("estimate", -1)
    print(f"estimate: {estimate}")
    assert estimate < 0 or abs(estimate - both) <= ESTIMATE_ERROR
