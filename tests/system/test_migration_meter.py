# SPDX-License-Identifier: Apache-2.0
"""Runs the migrator on ranks whose hot data is known, and writes down which share of their accesses the fast tier
should serve. tests/meter/test_migration.py compares these claims with what the tier meter counted from outside of the
guest.

The meter notes its counts at marks. A stretch between two marks begins after a number of phases (without a migrator: at
once) and ends after a number of accesses, never after a time. The guest's clock counts
instructions (tests/testbed/README.md), so a phase has the same number of them on any machine.
"""

import json
import os
import re
import time
from pathlib import Path

import migration
import pytest
import ranks
import slurm
from claims import claim

pytestmark = pytest.mark.meter

MIB = 64  # of each rank
# Rounds of arithmetic between two accesses: a hot page is touched some 100 times a second then, a cold one about once
# in two seconds.
WORK = 20
FOOTPRINT = migration.RANKS * MIB * slurm.MIB
SPARE = 6 * slurm.MIB  # for what the kernel and other programs take meanwhile, whatever the job's size
REQUEST = "migrate"  # all defaults: phases of 10 s, 1 % of the job's CPU time
# Divides the memory and the speed of the jobs of some tests. The migrator may use 1 % of the job's CPU time, and with
# that an emulated CPU moves only one MiB in a phase of 10 s.
SMALLER = 4
# More CPU time and shorter phases, for tests of what the migrator does in a phase: on an emulated CPU, observing and
# moving take fifty times as long.
SOON = "migrate,overhead=10%,interval=5s"
# What the migrator and the kernel for it access is counted, too: with WORK, and so much CPU time, it was up to a tenth
# of what the ranks access, and most of it is in the slow tier. It is less beside ranks that access more.
WORK_SOON = WORK // 4
OTHERS = 0.05
STRETCH = 3_000_000  # accesses of all ranks together
PARTS = 3  # of a stretch
SETTLE = 15  # the most whole phases until a steady state
SETTLE_FASTER = 5
SETTLE_FULL = 8  # where the fast tier is full of files: each phase takes half of the page cache that is left
READ, WRITTEN = 3, 7  # the hot tenths of --split, as in hotset.c
CAP = "16M"  # less than the ranks together can have of the fast tier at the start
# Samples of equal heat differ by chance. In about every fourth run an extent of 2 MiB seems hotter than another, and
# the two are exchanged. If all differences were believed, each phase would exchange CAP.
NOISE = 8 * slurm.MIB
RECOVERED = 0.85  # the least share of the fast tier in a steady state, and two phases after a jump
CPU_LIMIT = 0.01  # of the job's CPU time
LIMIT_S = 1200  # of that time: both CPUs for ten minutes


def room_for(footprint):
    """Bytes that are left in the fast tier: for the hot tenth and a little more."""
    return footprint // 10 + SPARE


ROOM = room_for(FOOTPRINT)


@pytest.fixture
def make(request):
    """Gives a function that starts ranks. The ranks and the scarcity of memory end with the test, also if it fails."""
    made = []

    def start(mode, *options, full_of_files=False, smaller=1, work=WORK):
        made.append(ranks.Hotset(MIB // smaller, mode, "--work", str(work * smaller), *options))
        made[-1].allocate(room_for(FOOTPRINT // smaller), full_of_files)
        migration.mark(f"{request.node.name}.start")
        made[-1].start()
        return made[-1]

    yield start
    for hotset in made:
        hotset.close()


def stretch(hotset, name, **shares):
    """Claims these shares of a stretch. It has parts, as all processes of the guest are counted: what others do for a
    moment is in one part."""
    edges = ["start", *range(1, PARTS), "end"]
    claim(name, {"accesses": STRETCH, "edges": edges, **shares})
    migration.mark(f"{name}.start")
    for edge in edges[1:]:
        hotset.wait_accesses(STRETCH // PARTS)
        migration.mark(f"{name}.{edge}")


@pytest.fixture
def end(request):
    """Gives a function that ends the ranks and returns their reports. It claims what their migrator estimates of the
    fast tier's share since they began, up to the end of a phase: tests/meter compares that with what was counted. What
    the migrator does not know it must say: no estimate is claimed then."""

    def whole(hotset):
        hotset.wait_phases(0)
        figures = migration.progress(hotset.job_id)
        migration.mark(f"{request.node.name}.end")
        print(json.dumps(figures))
        claim(request.node.name, {"accesses": 0, "estimate": figures["fast_share"]})
        return hotset.end()

    return whole


def cost_of_migration():
    """CPU seconds of the migrator, of DAMON's threads and of the broker: {process: seconds}."""
    ticks = os.sysconf("SC_CLK_TCK")
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, fields = re.match(r"\d+ \((.*)\) (.*)", path.read_text()).groups()
        except OSError:  # it ended
            continue
        if name.startswith(("hybridmem-migra", "hybridmem-damon", "kdamond")):
            found[f"{name} {path.parent.name}"] = sum(map(int, fields.split()[11:13])) / ticks
    return found


def test_without_a_migrator_the_hot_tenth_stays_on_the_slow_nodes(make):
    hotset = make("off")
    stretch(hotset, "without", most=0.15)
    reports = hotset.end()
    assert ranks.share_on_fast(reports, hot_part) < 0.1


def hot_part(report):
    return report["hot"]


def test_hot_tenth_is_served_by_the_fast_tier(make, end):
    hotset = make(REQUEST, smaller=SMALLER)
    began = time.monotonic()
    hotset.wait_settled(SETTLE)
    stretch(hotset, "steady", least=RECOVERED)
    figures = migration.progress(hotset.job_id)
    print(json.dumps(figures))

    def is_within_its_share():
        job_s, ours = migration.cpu_seconds(hotset.job_id), cost_of_migration()
        # Half of the share is of what the job uses, for deciding and moving; the other of all CPUs that it has.
        all_s = (time.monotonic() - began) * os.cpu_count()
        print(f"job {job_s} s of {all_s} s", ours)
        assert job_s < LIMIT_S, ours
        return sum(ours.values()) <= CPU_LIMIT / 2 * (job_s + all_s)

    # The start costs more than its share, which later phases make up for within ten minutes; a migrator that overspends
    # never gets there.
    text = f"{CPU_LIMIT:.0%} of the job's CPU time"
    slurm.wait_for(is_within_its_share, text, patience=LIMIT_S, every=migration.QUIET)
    reports = end(hotset)
    assert ranks.share_on_fast(reports, hot_part) > 0.9
    told = slurm.record(hotset.job_id)["migration"]
    assert told["promoted_bytes"] >= figures["promoted_bytes"] > 0, told


def test_files_make_room(make, end):
    # As on every node that was up for a while: hardly anything is free, and the ranks' memory begins in the slow tier.
    hotset = make(SOON, full_of_files=True, work=WORK_SOON)
    held, files = migration.on_fast(migration.anon_bytes(hotset.pids)), migration.file_bytes()
    assert held < ROOM / 2 < files, (held, files, migration.progress(hotset.job_id))
    hotset.wait_settled(SETTLE_FULL)
    stretch(hotset, "files", least=RECOVERED - OTHERS)
    print(json.dumps(migration.progress(hotset.job_id)), held, files, migration.file_bytes())
    assert migration.file_bytes() < files / 2
    end(hotset)


def test_a_jump_is_recovered_in_two_phases(make, end):
    # A phase of 5 s cannot pay for all that moves after a jump.
    hotset = make("migrate,overhead=10%", "--jump", str(1_000_000 // SMALLER), smaller=SMALLER, work=WORK_SOON)
    hotset.wait_settled(SETTLE_FASTER)
    for jump in (1, 2):
        hotset.allow_jumps(jump)
        slurm.wait_for(lambda: hotset.jumps() == jump, "the hot tenth to move", every=migration.QUIET)  # noqa: B023
        hotset.wait_settled(2, share=RECOVERED)
        hotset.wait_settled(SETTLE_FASTER)  # else the stretch, which is long, would begin with what is left to move
        stretch(hotset, f"jump{jump}", least=RECOVERED - OTHERS)
    print(json.dumps(migration.progress(hotset.job_id)))
    end(hotset)


def test_uniform_accesses_move_nothing(make, end):
    # Without a cap, the migrator would fill memory that others free. Demotions to get below the cap are no exchange of
    # hot pages for cold ones.
    hotset = make(f"{SOON},fast={CAP}", "--uniform")
    hotset.wait_phases(SETTLE_FASTER)
    figures = migration.progress(hotset.job_id)
    print(json.dumps(figures))
    end(hotset)
    assert figures["samples"] > 0
    assert figures["promoted_bytes"] <= NOISE, figures


def test_writes_win_against_reads_of_equal_heat(make, end):
    room = FOOTPRINT // SMALLER // 10 * 5 // 4  # for the written tenth, and a quarter of the other
    hotset = make(f"{SOON},fast={room}", "--split", smaller=SMALLER, work=WORK_SOON)
    hotset.wait_settled(SETTLE, WRITTEN)
    stretch(hotset, "writes", least_writes=RECOVERED - OTHERS)
    figures = migration.progress(hotset.job_id)
    reports = end(hotset)
    read, written = (ranks.share_on_fast(reports, part) for part in (READ, WRITTEN))
    print(json.dumps(figures), read, written)
    assert written > 0.9
    assert read < 0.35
