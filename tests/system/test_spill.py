# SPDX-License-Identifier: Apache-2.0
"""Tests --hybrid-mem=spill, the mode for jobs that are larger than the fast tier."""

import json
from pathlib import Path

import pytest
import readings
import slurm

WEIGHTS = Path("/sys/kernel/mm/mempolicy/weighted_interleave")
OTHERS = ("file_bytes", "shmem_bytes", "kernel_bytes")  # memory of a job besides its anonymous pages
# Later kernels set the weights by the firmware's figures, and spill leaves weights alone that are near enough to those
# that it wants. With these bandwidths it wants weights that are far from the kernel's.
SEPARATE = """
tier "near" { nodes = "0-1" read_bandwidth = 60000 }
tier "far" { nodes = "2-3" read_bandwidth = 20000 }
channels "near+far" { kind = separate }
"""
SHARE = 60000 / (60000 + 20000)  # of the pages, in the near tier
# Prints the policy of the first mapping after exec. The kernel's name for weighted interleave has two words.
POLICY = "/usr/bin/awk 'NR == 1 { print $2, (/weighted/ ? $3 : none) }' /proc/self/numa_maps"


def tiers():
    return json.loads(slurm.run("hybridmem tiers --json").stdout)["tiers"]


def weights():
    """What the files of the kernel's folder say: the interleaving weight of each node and, in later kernels (`auto`),
    whether the kernel sets the weights itself."""
    return {path.name: path.read_text().strip() for path in WEIGHTS.iterdir()}


def check_what_fits(pages, nodes):
    """All of the memory is in the fast tier, in equal parts on its nodes."""
    there = [pages.get(str(node), 0) for node in nodes]
    assert sum(there) == sum(pages.values()), pages
    assert max(there) - min(there) <= 0.02 * sum(there), pages


def test_more_than_the_fast_tier_fills_it_evenly_and_goes_on_in_the_slow_tier():
    """A program with half as much memory again as the fast tier follows a program whose memory fits."""
    fast, slow = tiers()
    want = 3 * sum(slurm.node_bytes(node, "MemTotal") for node in fast["nodes"]) // 2
    folder = slurm.folder_of("alice")
    (folder / "go").touch()
    slurm.drop_caches()  # the tier can only be filled evenly as far as it is free
    free = slurm.settled_free(fast["nodes"])
    fitting = f"occupy {min(free.values()) // slurm.MIB // 2} {folder}/fitting {folder}/go"
    with slurm.Occupied("alice", want // slurm.MIB, "--hybrid-mem=spill", launch=f"{fitting} && occupy") as held:
        bytes_on = {node: count * slurm.PAGE for node, count in held.pages.items()}
        left, files = ({n: slurm.node_bytes(n, key) for n in fast["nodes"]} for key in ("MemFree", "FilePages"))
        readings.wait_sampled(held.job_id)
    check_what_fits(json.loads((folder / "fitting").read_text())["pages"], fast["nodes"])
    on_fast = sum(bytes_on[node] for node in fast["nodes"])
    on_slow = sum(bytes_on[node] for node in slow["nodes"])
    assert on_fast + on_slow >= want * 0.999
    # The fast tier is filled first: the job has nearly all memory that was free on each node, except files of programs
    # that run meanwhile. It may have more than was free, as the page cache of others makes room.
    for node in fast["nodes"]:
        assert bytes_on[node] + files[node] >= 0.88 * free[node], (node, bytes_on, files, free)
        assert bytes_on[node] >= 0.75 * free[node], (node, bytes_on, free)
        assert left[node] <= 0.12 * free[node], (node, left, free)
    record = slurm.record(held.job_id)
    assert record["exit_code"] == 0
    assert record["plan"]["mode"] == "spill" and record["plan"]["policy"] == "interleave"
    # The record shows the moment of the job's largest use, which may come before it held all memory, as it had more
    # files then.
    cached = sum(sum(slurm.tier_bytes(record, part)) for part in OTHERS)
    for held_bytes, anon_bytes in zip((on_fast, on_slow), slurm.tier_bytes(record), strict=True):
        assert -0.02 * held_bytes - cached <= anon_bytes - held_bytes <= 0.02 * held_bytes, (record["memory"], bytes_on)
    assert sum(slurm.tier_bytes(record)) + cached >= 0.99 * (on_fast + on_slow), record["memory"]
    assert record["memory"]["peak_bytes"] >= want


@pytest.mark.slurm26
def test_separate_channels_share_by_bandwidth_and_give_the_weights_back():
    """A job that is alone on the node sets the weights. A job that has only some cores leaves them alone."""
    before = weights()
    steps = f"{POLICY}; srun -n1 {POLICY}; srun -n1 --hybrid-mem=fast {POLICY}; cat {WEIGHTS}/node[0-3]"
    options = ("--hybrid-mem=spill", "--partition=whole", "--exclusive")
    with slurm.configured(slurm.CONFIG.read_text() + SEPARATE):
        with slurm.Occupied("bob", 8, "--hybrid-mem=spill", "-n1") as shared:
            assert weights() == before
        slurm.drop_caches()
        with slurm.Occupied("alice", 128, *options, launch=f"{slurm.OVERLAP}{steps}; occupy") as held:
            near = sum(held.pages[node] for node in (0, 1))
            assert abs(near / sum(held.pages.values()) - SHARE) <= 0.02, held.pages
            assert weights() != before
    weighted = "weighted interleave=static:0-3"
    assert slurm.output(held.job_id).split() == f"{weighted} {weighted} bind=static:0-1 3 3 1 1".split()
    record = slurm.record(held.job_id)
    assert record["plan"]["policy"] == "weighted-interleave" and record["warnings"] == []
    assert record["plan"]["weights"] == {"0": 3, "1": 3, "2": 1, "3": 1}
    plan = slurm.record(shared.job_id)["plan"]
    assert plan["policy"] in ("interleave", "bind", "preferred-many")
    assert "alone" in plan["reason"] or "shared" in plan["reason"], plan["reason"]
    slurm.wait_idle()
    assert weights() == before
