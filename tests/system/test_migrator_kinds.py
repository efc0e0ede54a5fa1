# SPDX-License-Identifier: Apache-2.0
"""Runs the live migrator by hand, without Slurm: huge pages, shared memory and files."""

import os
import pwd
from pathlib import Path

import pytest
import slurm
from byhand import HOT, HOT_FIRST, MIB, PAGES, SIZE, Migrator, Program, by_samples, cgroup, hot_is_fast
from migration import written

pytestmark = pytest.mark.usefixtures("faults_for_users")


def test_huge_pages_move_whole():
    with cgroup("hm-huge") as folder:
        program = Program(folder, kind="huge")
        huge = program.huge_bytes()
        assert huge >= 0.8 * SIZE * MIB
        # The program's hot range is four huge pages. Each of them is sampled at its first page only, so a round of
        # writes makes four faults. Bins reach from one sampled page to the next, and the first and the last bin to the
        # ends of the process's memory, so that these two have much cold memory, too.
        migrator = Migrator("--cgroup", folder, "--lat-read", 100, "--lat-write", 100, *by_samples(3000))
        slurm.wait_for(lambda: program.hot_on_fast() > 0.4, "hot huge pages in the fast tier")
        migrator.wait_phases(2)
        figures = migrator.stop()
        assert program.huge_bytes() >= huge  # khugepaged may have made more of them
        promoted = program.on_fast() * slurm.PAGE
        program.end()
    assert abs(figures["promoted_bytes"] - figures["demoted_bytes"] - promoted) <= 2 * MIB
    assert figures["unmoved_bytes"]["busy"] == 0


def test_shared_pages_are_tried_once():
    with cgroup("hm-shared") as folder:
        program = Program(folder, kind="forked", nodes="0,1")
        migrator = Migrator("--cgroup", folder, "--cap", "1M", *by_samples())
        migrator.wait_phases(3)
        figures = migrator.stop()
        program.end()
    shared = (SIZE - HOT) * MIB
    assert figures["most_ranks"] == 2
    # The migrator may try them once for each of the two processes.
    assert 0.9 * shared <= figures["unmoved_bytes"]["shared"] <= 2.1 * shared
    assert figures["above_cap_bytes"] >= 0.9 * shared


def share_of(figures, kind, what="share"):
    return figures["heat"][kind][what]


def test_shared_memory_is_moved_for_all_who_map_it():
    with cgroup("hm-shm") as folder:
        program = Program(folder, kind="shared")
        migrator = Migrator("--cgroup", folder, *by_samples(), begun_by="root")
        hot_is_fast(program)
        migrator.wait_phases(1)
        cold = program.on_fast(0, HOT_FIRST - 4)
        figures = migrator.stop()
        private = program.bytes_of("Anonymous")
        program.end()
    assert figures["most_ranks"] == 2
    assert 0.95 * HOT * MIB <= figures["promoted_bytes"] <= 1.2 * HOT * MIB  # counted once, not for each process
    assert cold * slurm.PAGE < 0.05 * SIZE * MIB
    assert share_of(figures, "shared") > 0.9 and share_of(figures, "shared", "unmovable") < 0.05
    # The child's stack and its libraries' data are still its parent's, where neither has written since the fork: some
    # 12 pages. They are private, so they are not moved for both. Near hot ones, they may be tried, once for each.
    assert figures["unmoved_bytes"]["shared"] <= 2 * private < 0.1 * HOT * MIB


def run_with_half_moved(name, kind, **begun):
    """Runs a migrator that may not move what both processes use, until the half that one alone uses is fast, and some
    phases more. Returns its figures."""
    with cgroup(name) as folder:
        program = Program(folder, kind=kind)
        migrator = Migrator("--cgroup", folder, *by_samples(), **begun)
        slurm.wait_for(lambda: program.on_fast(HOT_FIRST + HOT // 2, HOT // 2) > 0.95 * HOT / 2 * PAGES, "its own half")
        migrator.wait_phases(4)  # in each of them some more of its pages are tried
        figures = migrator.stop()
        assert program.on_fast(HOT_FIRST, HOT // 2) == 0
        program.end()
    assert figures["unmoved_bytes"]["shared"] > 0
    return figures


def test_shared_memory_without_the_right_to_move_it_for_all():
    figures = run_with_half_moved("hm-mine", "shared")
    assert 0.05 < share_of(figures, "shared", "unmovable") < 0.8


def test_shared_memory_of_another_user_is_not_moved_for_all():
    given = Path("/dev/shm/given")
    given.touch()
    given.chmod(0o666)
    os.chown(given, pwd.getpwnam("bob").pw_uid, -1)
    run_with_half_moved("hm-given", "given", begun_by="root")
    given.unlink()


def test_a_file_of_the_users_is_moved():
    with cgroup("hm-file") as folder:
        program = Program(folder, kind="file")
        migrator = Migrator("--cgroup", folder, *by_samples(), begun_by="root")
        hot_is_fast(program)
        migrator.wait_phases(1)
        figures = migrator.stop()
        program.end()
    assert share_of(figures, "file") > 0.9 and share_of(figures, "file", "unmovable") < 0.1


def test_huge_pages_of_hugetlbfs_are_moved():
    pool = Path("/proc/sys/vm/nr_hugepages")
    pages = SIZE // 2 + 1
    with written({pool: pages + 4}), cgroup("hm-tlb") as folder:
        program = Program(folder, kind="hugetlb", nodes="0,1,2,3")
        before = program.on_fast()
        migrator = Migrator("--cgroup", folder, "--cap", "1M", "--interval", "1s", begun_by="root")
        slurm.wait_for(lambda: program.on_fast() == 0, "huge pages in the slow tier")
        migrator.wait_phases(1)
        figures = migrator.stop()
        program.end()
    assert before > 0
    assert figures["demoted_bytes"] >= before * slurm.PAGE
