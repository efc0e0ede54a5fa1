# SPDX-License-Identifier: Apache-2.0
"""Runs the live migrator by hand, without Slurm: what it moves, and what it leaves alone."""

import re
import subprocess
from pathlib import Path

import pytest
import slurm
from byhand import HOT, HOT_FIRST, MIB, PAGES, SIZE, Migrator, Program, by_samples, cgroup, hot_is_fast
from migration import FAST, reclaimers, scarce_fast, usable_bytes

pytestmark = pytest.mark.usefixtures("faults_for_users")


def test_the_hot_range_is_promoted():
    with cgroup("hm-hot") as folder:
        program = Program(folder)
        assert program.on_fast() == 0
        migrator = Migrator("--cgroup", folder, *by_samples())
        hot_is_fast(program)
        cold = program.on_fast(0, HOT_FIRST - 4)
        migrator.wait_phases(2)
        peak = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{migrator.process.pid}/status").read_text())[1]
        figures = migrator.stop()
        program.end()
    assert figures["source"] == "faults"
    assert figures["phases"] >= 3 and figures["samples"] >= 60000
    assert 0.95 * HOT * MIB <= figures["promoted_bytes"] <= 1.2 * HOT * MIB
    assert cold * slurm.PAGE < 0.05 * SIZE * MIB
    assert figures["most_ranks"] == 1 and figures["warnings"] == []
    assert figures["last_fast_share"] > 0.9
    assert 0 < figures["fast_share"] <= figures["best_share"] <= 1
    assert int(peak) * 1024 < 16 * MIB


def test_the_cap_holds():
    cap = 20 * MIB
    with cgroup("hm-cap") as folder:
        program = Program(folder, nodes="0,1")
        assert program.on_fast() == SIZE * PAGES
        migrator = Migrator("--cgroup", folder, "--cap", cap, *by_samples())
        slurm.wait_for(lambda: program.on_fast() * slurm.PAGE <= cap, "the cap to hold")
        hot = program.hot_on_fast()
        migrator.wait_phases(2)
        held_later = program.on_fast() * slurm.PAGE
        figures = migrator.stop()
        program.end()
    assert held_later <= cap
    assert hot > 0.95  # only cold pages were demoted
    assert figures["capacity_bytes"] == cap
    assert figures["first_above_cap_bytes"] >= SIZE * MIB - cap
    assert figures["demoted_bytes"] >= SIZE * MIB - cap


@pytest.mark.parametrize(("begun", "samples"), [("3", 80000), ("0,1", 20000)])
def test_between_three_tiers_each_page_goes_where_it_belongs(begun, samples):
    """The fast tier may have half of the hot memory. The other half is on node 2, the tier in the middle, whether all
    of it began in the slowest tier, node 3, or in the fast one."""
    cap, hot = MIB // 2, 1
    tiers = ["--middle-tier", "2:2:2", "--slow-nodes", "3", "--lat-read", 40, "--lat-write", 40, "--cap", cap]
    with cgroup("hm-tiers") as folder:
        program = Program(folder, nodes=begun, hot=hot)
        migrator = Migrator("--cgroup", folder, "--algorithm", "regions", *tiers, *by_samples(samples))

        def hot_pages():
            nodes = program.nodes(HOT_FIRST, hot)
            return nodes.count(0) + nodes.count(1), nodes.count(2)

        # Cold pages that stay in the fast tier have up to half of the cap: to exchange them for what is in the middle
        # tier gains too little, where the step from there is 1 of 39.
        slurm.wait_for(lambda: min(hot_pages()) > 0.2 * hot * PAGES, "hot memory in the two faster tiers")
        slurm.wait_for(lambda: program.on_fast() * slurm.PAGE <= cap, "the cap to hold")
        figures = migrator.stop()
        program.end()
    assert figures["warnings"] == []
    assert (figures["promoted_bytes"] if begun == "3" else figures["demoted_bytes"]) > 0.8 * hot * MIB


def test_nothing_to_move_needs_no_source():
    with cgroup("hm-rest") as folder:
        content = Program(folder, nodes="0,1")
        migrator = Migrator("--cgroup", folder, "--interval", "200ms")
        migrator.wait_phases(4)
        assert migrator.view()[1] == 0
        program = Program(folder, user="bob", mib=8, first=0, hot=1)  # of another user, but in the migrator's cgroup
        slurm.wait_for(lambda: migrator.view()[1] > 0, "samples")
        program.end()
        slurm.wait_for(lambda: not samples_come(migrator), "the end of sampling")
        figures = migrator.stop()
        content.end()
    assert figures["source"] == "faults" and figures["promoted_bytes"] == figures["demoted_bytes"] == 0
    with cgroup("hm-rest-only") as folder:
        content = Program(folder, nodes="0,1")
        migrator = Migrator("--cgroup", folder, "--interval", "200ms")
        migrator.wait_phases(4)
        figures = migrator.stop()
        content.end()
    assert figures["source"] == "none yet" and "slow tier" in figures["source_why"]
    assert figures["samples"] == 0 and figures["kernel_cpu_s"] == 0 and figures["fast_share"] is None
    assert figures["warnings"] == []


def samples_come(migrator):
    before = migrator.view()[1]
    migrator.wait_phases(3)
    return migrator.view()[1] != before


BURSTS = """
import mmap, time
while True:
    with mmap.mmap(-1, 16 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        for at in range(0, len(memory), mmap.PAGESIZE):
            memory[at] = 1
        time.sleep(1)
    time.sleep(1)
"""


def usable():
    return sum(usable_bytes(node) for node in FAST)


def test_the_room_that_is_kept_follows_what_is_allocated():
    """A step that allocates nothing has the fast tier down to the kernel's watermarks. When a process begins to
    allocate and free memory in turn, room for that is made again, and nobody has to wait for it."""
    with cgroup("hm-room") as folder, scarce_fast(24 * MIB, min_free_kib=8192), reclaimers() as seen:
        program = Program(folder, first=0, hot=40)
        before = usable()
        migrator = Migrator("--cgroup", folder, *by_samples())
        slurm.wait_for(lambda: usable() < 0.05 * before, "the fast tier full of hot pages")
        words = f'echo $$ > {folder}/cgroup.procs && exec setpriv --reuid alice --regid alice --clear-groups "$@"'
        bursts = subprocess.Popen(["bash", "-c", words, "bash", "numactl", "--interleave=0,1", "python3", "-c", BURSTS])
        slurm.wait_for(lambda: usable() > 8 * MIB, "room for what is allocated")
        assert bursts.poll() is None
        bursts.kill()
        bursts.wait()
        reclaiming, n_killed = seen()
        figures = migrator.stop()
        program.end()
    assert figures["demoted_bytes"] > 8 * MIB
    assert not reclaiming & {"rewrite", "python3"} and n_killed == 0, reclaiming


def test_a_cap_in_percent_of_the_tier():
    with cgroup("hm-percent") as folder:
        program = Program(folder)
        migrator = Migrator("--cgroup", folder, "--cap", "10%", *by_samples())
        migrator.wait_phases(1)
        figures = migrator.stop()
        program.end()
    total = sum(
        int(re.search(r"MemTotal:\s+(\d+)", Path(f"/sys/devices/system/node/node{node}/meminfo").read_text())[1]) * 1024
        for node in FAST
    )
    assert abs(figures["capacity_bytes"] - total / 10) <= slurm.PAGE


def test_processes_of_others_are_left_alone():
    with cgroup("hm-inside") as inside, cgroup("hm-outside") as outside:
        mine, others = Program(inside), Program(inside, user="bob")
        beside = Program(outside)
        migrator = Migrator("--cgroup", inside, *by_samples())
        hot_is_fast(mine)
        migrator.wait_phases(1)
        assert others.on_fast() == 0 and beside.on_fast() == 0
        figures = migrator.stop()
        for program in (mine, others, beside):
            program.end()
    assert figures["most_ranks"] == 1


def test_the_rate_is_kept():
    with cgroup("hm-rate") as folder:
        program = Program(folder)
        migrator = Migrator("--cgroup", folder, "--rate", "1M", *by_samples(5000))
        migrator.wait_phases(4)
        figures = migrator.stop()
        program.end()
    assert 0 < figures["promoted_bytes"] + figures["demoted_bytes"] <= figures["phases"] * MIB
