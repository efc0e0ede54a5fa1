# SPDX-License-Identifier: Apache-2.0
"""Mode x socket: every anonymous page of a task, and of its children after exec, is where the design says."""

import re
from pathlib import Path

import pytest
import slurm

MIB = 96
# The guest's nodes by tier and socket (tests/testbed): DRAM 0 and 1, slow 2 and 3.
NODES = {"fast": [0, 1], "slow": [2, 3]}


def expected_nodes(mode, socket, cpu):
    sockets = {"local": [cpu], "remote": [1 - cpu], "all": [0, 1]}[socket]
    tiers = ["fast", "slow"] if mode == "interleave" else [mode]
    return {NODES[tier][s] for tier in tiers for s in sockets}


def only_cpu(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    cpus = re.search(r"Cpus_allowed_list:\s*(\S+)", status).group(1)
    assert cpus in ("0", "1"), f"one CPU for one task, not {cpus}"
    return int(cpus)


@pytest.mark.parametrize("socket", ["local", "remote", "all"])
@pytest.mark.parametrize("mode", ["fast", "slow", "interleave"])
def test_pages_are_where_the_mode_says(mode, socket):
    if mode == "interleave":
        slurm.drop_caches()  # a node that is full of them leaves its share to the next one
    with slurm.Occupied("alice", MIB, f"--hybrid-mem={mode},socket={socket}", launch="srun -n1 occupy") as held:
        nodes = expected_nodes(mode, socket, only_cpu(held.pid))
        pages = held.pages
        assert sum(pages.values()) >= MIB * slurm.MIB // slurm.PAGE
        if mode == "interleave":
            assert set(pages) == nodes
            even = sum(pages.values()) / len(nodes)
            assert all(abs(count - even) <= 0.02 * even for count in pages.values()), pages
        else:  # bind takes the nearest of its nodes first
            assert set(pages) <= nodes, (pages, nodes)
        slurm.wait_sampled(held.job_id)
    record = slurm.record(held.job_id)
    assert record["plan"]["mode"] == mode
    assert record["plan"]["policy"] == ("interleave" if mode == "interleave" else "bind")
    check_record(record, pages)


def check_record(record, pages):
    """The record's anonymous bytes by tier agree with numa_maps, beside the batch script's own few."""
    for tier in record["memory"]["tiers"]:
        counted = sum(pages.get(node, 0) for node in tier["nodes"]) * slurm.PAGE
        assert abs(tier["anon_bytes"] - counted) <= 0.02 * counted + 12 * slurm.MIB, (tier["name"], counted)


def test_children_after_exec_keep_the_policy():
    # bash forks, setsid forks and execs, env execs: three programs between the task and the one that is looked at.
    with slurm.Occupied("alice", 64, "--hybrid-mem=slow", launch="bash -c 'setsid -w env occupy \"$@\"' -") as held:
        assert set(held.pages) <= {2, 3}


def test_off_touches_nothing():
    with slurm.Occupied("alice", 64, "--hybrid-mem=off") as held:
        policies = {line.split()[1] for line in Path(f"/proc/{held.pid}/numa_maps").read_text().splitlines()}
        assert policies == {"default"}
    assert slurm.records(held.job_id) == []


def test_a_tier_can_be_named_by_its_kind():
    with slurm.Occupied("alice", 64, "--hybrid-mem=dram") as held:
        assert set(held.pages) <= {0, 1}
    assert slurm.record(held.job_id)["plan"]["mode"] == "dram"
