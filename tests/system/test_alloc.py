# SPDX-License-Identifier: Apache-2.0
"""Tests libhybridmem on a node with two tiers: each block is where its policy says, by hm_where and by numa_maps."""

import contextlib
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import slurm
from placing import FAST, INTERLEAVE, MIB, PROGRAM, READ, SLOW, SPILL, SPLIT, WRITE, by_block, check, mappings, placed

pytestmark = pytest.mark.usefixtures("placed_program")
# The guest (tests/testbed) has these NUMA nodes, in the order of the sockets: DRAM 0 and 1, slow 2 and 3.

# Added to hybridmem.conf
CONFIG_SEPARATE = 'channels "{fast}+{slow}" {{ kind = separate }}\n'


def shares(held):
    total = sum(wanted for wanted, _ in held["nodes"].values())
    return {int(node): wanted / total for node, (wanted, _) in held["nodes"].items()}


@pytest.mark.parametrize(
    ("policy", "use", "block", "nodes"),
    [
        (SPILL, READ, 0, [0, 1]),
        (FAST, READ, 64 << 10, [0, 1]),
        (SLOW, READ, 3 * MIB, [2, 3]),
        (INTERLEAVE, READ, 64 << 10, [0, 1, 2, 3]),
        (SPLIT, READ, 0, [2, 3]),
        (SPLIT, WRITE, 3 * MIB, [0, 1]),
    ],
)
def test_blocks_alternate_as_the_policy_says(policy, use, block, nodes):
    with placed(policy, 48, use, block) as held:
        check(held, 48)
        assert held["reason"] == ""
        assert held["block"] == {0: 2 * MIB, 64 << 10: 64 << 10, 3 * MIB: 4 * MIB}[block]
        blocks = by_block(held)
        start = nodes.index(blocks[0])
        assert blocks == [nodes[(start + i) % len(nodes)] for i in range(len(blocks))]


def test_the_cpu_that_touches_does_not_matter():
    for cpu in ("0", "1"):
        with placed(SPILL, 32, prefix=("taskset", "-c", cpu)) as held:
            check(held, 32)
            assert by_block(held) == [0, 1] * 8


def test_spill_goes_on_in_the_slow_node_of_each_socket():
    slurm.drop_caches()
    free = slurm.settled_free((0, 1))
    mib = sum(free.values()) // MIB + 256
    filled = {}
    with placed(SPILL, mib, block=4 * MIB) as held:
        assert held["reason"] == ""
        for socket in (0, 1):
            blocks = [node for i, node in enumerate(by_block(held)) if i % 2 == socket]
            fast = blocks.count(socket)
            assert blocks == [socket] * fast + [socket + 2] * (len(blocks) - fast)
            filled[socket] = fast * 4 * MIB
            # The node is filled except the reserve (2 % of the node) and what others have taken since.
            assert 0.8 * free[socket] <= filled[socket]
        # Where the kernel's own needs were in the way, the pages are on the slow node of the same socket.
        for socket in (0, 1):
            resident = {int(node): there for node, (_, there) in held["nodes"].items()}
            wanted = {int(node): planned for node, (planned, _) in held["nodes"].items()}
            both = resident[socket] + resident[socket + 2]
            assert both >= 0.98 * (wanted[socket] + wanted[socket + 2]), (wanted, resident)
    # Others may have given memory back meanwhile: it is free now.
    after = slurm.settled_free((0, 1))
    assert all(filled[socket] <= max(free[socket], after[socket]) for socket in (0, 1)), (filled, free, after)


def test_a_share_of_its_own_needs_no_weights():
    weights = {path: path.read_text() for path in Path("/sys/kernel/mm/mempolicy/weighted_interleave").glob("node*")}
    with placed(SPILL, 128, block=256 << 10, share=0.75) as held, placed(SPILL, 64, block=256 << 10, share=0.25) as two:
        for one, mib, share in ((held, 128, 0.75), (two, 64, 0.25)):
            check(one, mib)
            found = shares(one)
            assert abs(found[0] + found[1] - share) <= 0.01 and abs(found[0] - found[1]) <= 0.01
    assert {path: path.read_text() for path in weights} == weights


def test_separate_channels_share_by_bandwidth():
    fast, slow = json.loads(slurm.run("hybridmem tiers --json").stdout)["tiers"]
    share = fast["read_bandwidth_mbs"] / (fast["read_bandwidth_mbs"] + slow["read_bandwidth_mbs"])
    text = slurm.CONFIG.read_text() + CONFIG_SEPARATE.format(fast=fast["name"], slow=slow["name"])
    with slurm.configured(text), placed(SPILL, 128, block=256 << 10) as held:
        check(held, 128)
        found = shares(held)
        assert abs(found[0] + found[1] - share) <= 0.01, (found, share)


def test_in_a_job_it_obeys_the_cpuset_and_not_the_jobs_policy():
    """The job's own policy is slow, but the program asks libhybridmem for fast, and gets it. (The job's cpuset hides no
    node; test_hidden_nodes_are_left_out has cpusets that do.)"""
    folder = slurm.folder_of("alice")
    script = f"{PROGRAM} {FAST} 0 32 0 0 32 < /dev/null > {folder}/said"
    job_id = slurm.sbatch("alice", script, "--hybrid-mem=slow")
    assert slurm.wait_job(job_id) == "COMPLETED"
    held = json.loads((folder / "said").read_text())
    assert set(by_block(held)) == {0, 1}
    assert {node: there for node, (_, there) in held["nodes"].items()} == {"0": 16 * MIB, "1": 16 * MIB}


@contextlib.contextmanager
def cpuset(mems):
    """Make a cgroup with these nodes, beside Slurm's cgroups. Gives the path of its cgroup.procs."""
    root = Path("/sys/fs/cgroup")
    folder = root / "alloc-test"
    (root / "cgroup.subtree_control").write_text("+cpuset")
    folder.mkdir()
    try:
        (folder / "cpuset.mems").write_text(mems)
        yield folder / "cgroup.procs"
    finally:
        folder.rmdir()


@pytest.mark.parametrize(
    ("mems", "policy", "nodes", "reason"),
    [
        ("2-3", FAST, {2, 3}, "no node of the fast tier can be used here"),
        ("0-1", SLOW, {0, 1}, "no node of the slow tier can be used here"),
        ("0,2", SPILL, {0}, ""),
    ],
)
def test_hidden_nodes_are_left_out(mems, policy, nodes, reason):
    with cpuset(mems) as procs:
        enter = ("sh", "-c", f'echo $$ > {procs}; exec "$@"', "-")
        with placed(policy, 16, prefix=enter) as held:
            check(held, 16)
            assert set(by_block(held)) == nodes
            assert held["reason"] == reason


def test_more_than_all_nodes_have_free_is_given_as_malloc_gives_it():
    """Linux lets a process allocate as much as the machine's whole memory, but no more, and gives pages only when they
    are touched."""
    total = int(re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())[1]) >> 10
    with placed(SPILL, total - 16, touched=8) as held:
        assert "the kernel will look for some" in held["reason"]
        assert sum(there for _, there in held["nodes"].values()) == 8 * MIB
        assert held["absent"] == (total - 24) * MIB


def test_a_filter_on_system_calls_costs_the_placement_only():
    """Container runtimes may refuse mbind. Here a seccomp filter refuses it."""
    with placed(
        SPILL, 16, prefix=("python3", Path(__file__).parent / "programs" / "alloc" / "without-mbind.py")
    ) as held:
        assert "the kernel does not bind memory" in held["reason"]
        assert held["block"] == 0 and held["runs"] == []
        assert sum(there for _, there in held["nodes"].values()) == 16 * MIB


def test_the_preload_library_sends_large_allocations_to_the_slow_tier():
    """The program is Debian's Python, which does not know hybridmem: its one large object is on the slow nodes,
    everything else on the fast nodes."""
    (library,) = Path("/usr/lib").glob("*/hybridmem/libhybridmem-preload.so")
    script = "import sys; a = bytearray(64 << 20); a[::4096] = b'x' * 16384; print(flush=True); sys.stdin.read()"
    env = {"LD_PRELOAD": str(library), "HYBRIDMEM_ISOLATE_NODES": "fast=0@0,1@1 slow=2@0,3@1"}
    words = ["python3", "-c", script]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **env}) as process:
        process.stdout.readline()
        rows = mappings(process.pid).values()
        process.stdin.close()
    assert process.returncode == 0
    placed_bytes, others = {}, {}
    for policy, nodes in rows:
        into = placed_bytes if policy.startswith("prefer=static:") else others
        for node, count in nodes.items():
            into[node] = into.get(node, 0) + count
    assert set(placed_bytes) == {2, 3} and min(placed_bytes.values()) >= 31 * MIB
    assert not set(others) & {2, 3} and sum(others.values()) < 64 * MIB
