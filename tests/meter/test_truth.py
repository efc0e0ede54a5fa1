# SPDX-License-Identifier: Apache-2.0
"""Checks what the guest says of where its pages are: the tier meter (tests/testbed/tiermeter) has counted the accesses
to each NUMA node, from outside of the guest."""

import json
import os
from pathlib import Path

import marks
import pytest

CLAIMS = json.loads(Path(os.environ["EXPECTED"]).read_text())
MARKS = marks.read(Path(os.environ["METER"]))
LOADS, STORES = "reads", "writes"
SWEEPS = [name for name, claim in CLAIMS.items() if "pages" in claim]
COPIES = [name for name, claim in CLAIMS.items() if "copy" in claim]
SLOW_NODES = (2, 3)
REGION_NODES = (4, 5)  # persistent memory, with the files of fsdax jobs


def seen(job, kind, node):
    return marks.grown(MARKS, job, kind)[node]


def check(job, kind, amounts):
    """Check that accesses of one kind are spread over the nodes like the amounts."""
    total = CLAIMS[job]["accesses"]
    for node, amount in amounts.items():
        expected = total * amount / sum(amounts.values())
        counted = seen(job, kind, int(node))
        assert abs(counted - expected) <= 0.05 * total, (job, node, kind, counted, expected)


@pytest.mark.parametrize("job", SWEEPS)
def test_accesses_are_where_the_pages_are(job):
    for kind in (LOADS, STORES):
        check(job, kind, CLAIMS[job]["pages"])


@pytest.mark.parametrize("job", COPIES)
def test_a_copy_loads_from_one_array_and_stores_to_the_other(job):
    check(job, LOADS, CLAIMS[job]["copy"]["read"])
    check(job, STORES, CLAIMS[job]["copy"]["written"])


@pytest.mark.parametrize("name", ["split", "fsdax"])
def test_write_isolation_keeps_stores_from_the_slow_tier(name):
    """Compared with a copy without write isolation, at most 1 % of the slow tier's stores remain. That also
    holds where the data that is read is in files on persistent memory."""
    slow = [*SLOW_NODES, *(REGION_NODES if name == "fsdax" else ())]
    without, isolated = (sum(seen(f"copy-{of}", STORES, node) for node in slow) for of in ("slow", name))
    assert without >= 0.95 * CLAIMS["copy-slow"]["accesses"]
    assert isolated <= 0.01 * without, (isolated, without)
