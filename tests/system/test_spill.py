# SPDX-License-Identifier: Apache-2.0
"""--hybrid-mem=spill: the main job."""

import json
from pathlib import Path

import pytest
import slurm

WEIGHTS = Path("/sys/kernel/mm/mempolicy/weighted_interleave")
OTHERS = ("file_bytes", "shmem_bytes", "kernel_bytes")  # than what the job has written
SEPARATE = 'channels "{fast}+{slow}" {{ kind = separate }}\n'


def tiers():
    return json.loads(slurm.run("hybridmem tiers --json").stdout)["tiers"]


def weights():
    return {path.name: path.read_text().strip() for path in WEIGHTS.glob("node*")}


@pytest.mark.main
def test_twice_the_fast_tier_fills_it_evenly_and_goes_on_in_the_slow_tier():
    fast, slow = tiers()
    want = 2 * sum(slurm.node_bytes(node, "MemTotal") for node in fast["nodes"])
    slurm.drop_caches()  # what is even can only be what the job may take
    free = slurm.settled_free(fast["nodes"])
    with slurm.Occupied("alice", want // slurm.MIB, "--hybrid-mem=spill") as held:
        bytes_on = {node: count * slurm.PAGE for node, count in held.pages.items()}
        left, files = ({n: slurm.node_bytes(n, key) for n in fast["nodes"]} for key in ("MemFree", "FilePages"))
        slurm.wait_sampled(held.job_id)
    on_fast = sum(bytes_on[node] for node in fast["nodes"])
    on_slow = sum(bytes_on[node] for node in slow["nodes"])
    assert on_fast + on_slow >= want * 0.999
    # Filled first: of what was free, nearly all is the job's, on each socket's node alike, but for files of programs
    # that run meanwhile, as the caches were dropped. It may be more: what others have in the page cache makes room.
    for node in fast["nodes"]:
        assert bytes_on[node] + files[node] >= 0.88 * free[node], (node, bytes_on, files, free)
        assert bytes_on[node] >= 0.75 * free[node], (node, bytes_on, free)
        assert left[node] <= 0.12 * free[node], (node, left, free)
    record = slurm.record(held.job_id)
    assert record["exit_code"] == 0
    assert record["plan"]["mode"] == "spill" and record["plan"]["policy"] == "interleave"
    # The record has the moment when the job had most: earlier than when it held all, where it had more files then.
    cached = sum(sum(slurm.tier_bytes(record, part)) for part in OTHERS)
    for held_bytes, anon_bytes in zip((on_fast, on_slow), slurm.tier_bytes(record), strict=True):
        assert -0.02 * held_bytes - cached <= anon_bytes - held_bytes <= 0.02 * held_bytes, (record["memory"], bytes_on)
    assert sum(slurm.tier_bytes(record)) + cached >= 0.99 * (on_fast + on_slow), record["memory"]
    assert record["memory"]["peak_bytes"] >= want


@pytest.mark.main
def test_what_fits_in_the_fast_tier_is_on_its_nodes_alike():
    fast, _ = tiers()
    slurm.drop_caches()
    mib = min(slurm.settled_free(fast["nodes"]).values()) // slurm.MIB
    with slurm.Occupied("alice", mib, "--hybrid-mem=spill") as held:
        there = [held.pages.get(node, 0) for node in fast["nodes"]]
        assert sum(there) == sum(held.pages.values()), held.pages
        assert max(there) - min(there) <= 0.02 * sum(there), held.pages


def test_one_socket_binds_to_its_own_nodes():
    with slurm.Occupied("alice", 64, "--hybrid-mem=spill,socket=local", launch="srun -n1 occupy") as held:
        assert set(held.pages) in ({0}, {1})


def separate_config():
    fast, slow = tiers()
    return slurm.CONFIG.read_text() + SEPARATE.format(fast=fast["name"], slow=slow["name"])


def test_separate_channels_share_by_bandwidth_and_give_the_weights_back():
    fast, slow = tiers()
    share = fast["read_bandwidth_mbs"] / (fast["read_bandwidth_mbs"] + slow["read_bandwidth_mbs"])
    before = weights()
    slurm.drop_caches()
    options = ("--hybrid-mem=spill", "--partition=whole", "--exclusive")
    with slurm.configured(separate_config()), slurm.Occupied("alice", 512, *options) as held:
        on_fast = sum(held.pages[node] for node in fast["nodes"])
        assert abs(on_fast / sum(held.pages.values()) - share) <= 0.02, (held.pages, share)
        assert weights() != before
    record = slurm.record(held.job_id)
    assert record["plan"]["policy"] == "weighted-interleave"
    slurm.wait_idle()
    assert weights() == before


def test_separate_channels_on_a_shared_node_leave_the_weights_alone():
    before = weights()
    with slurm.configured(separate_config()), slurm.Occupied("alice", 64, "--hybrid-mem=spill", "-n1") as held:
        assert weights() == before
    plan = slurm.record(held.job_id)["plan"]
    assert plan["policy"] in ("interleave", "bind", "preferred-many")
    assert "alone" in plan["reason"] or "shared" in plan["reason"], plan["reason"]
