# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem bench on a node with two tiers: its arrays are where it says."""

import contextlib
import json
from pathlib import Path

import pytest
import slurm
from placing import MIB


@pytest.mark.parametrize(
    ("policy", "read", "written"),
    [("split", "slow", "fast"), ("fast,slow", "fast", "slow")],
)
def test_bench_has_its_arrays_where_it_says(policy, read, written):
    slurm.drop_caches()
    words = f"--kernels copy --sizes 64M --repetitions 1 --policy {policy} --json"
    (row,) = json.loads(slurm.run(f"hybridmem bench {words}").stdout)["results"]
    for role, tier in (("read", read), ("written", written)):
        assert row[role][f"{tier}_bytes"] == 32 * MIB and row[role]["reason"] == ""


@contextlib.contextmanager
def half_of_the_slow_tier():
    """Leave half of the slow tier: the other half is reserved for huge pages, which nobody uses, so that a sweep over
    all memory takes less time."""
    counts = [Path(f"/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages") for node in (2, 3)]
    try:
        for count in counts:
            count.write_text("256")  # pages of 2 MiB: 512 MiB of each node
        yield
    finally:
        for count in counts:
            count.write_text("0")


def test_bench_sweeps_past_the_fast_tier():
    """The sizes go beyond the fast tier's end: the share in the fast tier falls, and so does the bandwidth that
    Eq. 1 (helpers/core/plan/model.h) predicts."""
    tiers = json.loads(slurm.run("hybridmem tiers --json").stdout)["tiers"]
    speeds = [tier["read_bandwidth_mbs"] for tier in tiers]
    slurm.drop_caches()
    with half_of_the_slow_tier():
        done = slurm.run("hybridmem bench --kernels accumulate --repetitions 1 --json")
    rows = json.loads(done.stdout)["results"]
    shares = [row["read"]["fast_bytes"] / row["bytes"] for row in rows]
    assert len(rows) >= 5 and rows[-1]["bytes"] > json.loads(done.stdout)["fast_bytes"]
    assert shares[0] == 1 and shares[-1] < 0.9 and shares == sorted(shares, reverse=True)
    for row, share in zip(rows, shares):
        assert row["read"]["other_bytes"] == 0
        expected = 1 / (share / speeds[0] + (1 - share) / speeds[1])
        assert row["predicted_mbs"] == pytest.approx(expected, rel=1e-3)
