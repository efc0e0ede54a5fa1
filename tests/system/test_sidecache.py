# SPDX-License-Identifier: Apache-2.0
"""Tests the mode memory on a node whose firmware reports memory-side caches (HMAT). It runs in the guest that is reset,
after its reset: that guest has caches of 64 MiB in front of its nodes 2 and 3 (tests/lib/stages.sh)."""

import pytest
import slurm

CACHE = 64 * slurm.MIB


@pytest.mark.reset
def test_a_job_behind_a_cache_is_told_of_it_and_left_alone():
    assert "Node 2 is behind a memory-side cache of 64.0 MiB" in slurm.run("hybridmem tiers").stdout
    job_id = slurm.sbatch("alice", slurm.POLICY, "--hybrid-mem=memory", "-n1")
    assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
    assert slurm.output(job_id) == "default\n"
    plan = slurm.record(job_id)["plan"]
    assert (plan["mode"], plan["policy"], plan["nodes"]) == ("memory", "default", [])
    assert plan["side_cache_bytes"] == 2 * CACHE and "a cache, 128.0 MiB in front of" in plan["reason"]
    assert "  cache        128.0 MiB of fast memory" in slurm.run(f"hybridmem show {job_id}", user="alice").stdout
    # Nothing of hybridmem's is in the way of what binds to the own socket or to another.
    for binding, policy in (("map_mem:2", "bind:2"), ("map_mem:3", "bind:3"), ("local", "bind:[01]")):
        words = f"srun -n1 --hybrid-mem=memory --mem-bind={binding} grep -c {policy} /proc/self/numa_maps"
        bound = slurm.run(words, user="alice")
        assert int(bound.stdout) > 0 and "--mem-bind is set" not in bound.stderr
