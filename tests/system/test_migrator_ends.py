# SPDX-License-Identifier: Apache-2.0
"""Runs the live migrator by hand, without Slurm: how it ends, and what it says of its source."""

import signal
from pathlib import Path

import pytest
import slurm
from byhand import HOT, MIB, PARANOID, Migrator, Program, by_samples, cgroup, hot_is_fast

pytestmark = pytest.mark.usefixtures("faults_for_users")


def test_a_killed_migrator_leaves_the_program_running():
    with cgroup("hm-kill") as folder:
        program = Program(folder)
        migrator = Migrator("--cgroup", folder, *by_samples())
        hot_is_fast(program)
        migrator.process.kill()
        assert migrator.process.wait(slurm.PATIENCE) == -signal.SIGKILL
        program.end()


def test_past_the_time_limit_that_it_began_with_it_goes_on():
    """The limit was raised since, or a clock was wrong: a step that runs after it proves so."""
    with cgroup("hm-end") as folder:
        program = Program(folder)
        migrator = Migrator("--cgroup", folder, "--end", 1, *by_samples())
        hot_is_fast(program)
        figures = migrator.stop()
        program.end()
    assert figures["promoted_bytes"] > 0
    assert [text for text in figures["warnings"] if "beyond the time limit" in text], figures["warnings"]


def test_it_ends_with_the_cgroup():
    with cgroup("hm-guard") as folder:
        program = Program(folder)
        migrator = Migrator("--cgroup", folder, *by_samples())
        migrator.wait_phases(1)
        program.end()
        figures = migrator.wait()
    assert figures["phases"] >= 1


def test_it_ends_with_the_processes_it_was_given():
    with cgroup("hm-pid") as folder:
        program = Program(folder)
        migrator = Migrator("--pid", program.pid, *by_samples())
        hot_is_fast(program)
        program.end()
        figures = migrator.wait()
    assert figures["promoted_bytes"] >= 0.95 * HOT * MIB


def test_the_kernels_own_tiering_is_named():
    balancing = Path("/proc/sys/kernel/numa_balancing")
    before = balancing.read_text()
    with cgroup("hm-kernel") as folder:
        program = Program(folder, mib=8, first=0, hot=1)
        try:
            balancing.write_text("2")
            migrator = Migrator("--cgroup", folder, *by_samples(1000))
            migrator.wait_phases(1)
            figures = migrator.stop()
        finally:
            balancing.write_text(before)
        program.end()
    assert any("numa_balancing" in warning for warning in figures["warnings"])


def test_without_a_source_it_stays_and_says_why():
    PARANOID.write_text("3")
    with cgroup("hm-none") as folder:
        program = Program(folder, mib=8, first=0, hot=1)
        migrator = Migrator("--cgroup", folder, "--interval", "100ms", source="auto")
        slurm.wait_for(migrator.view, "the migrator to answer")
        figures = migrator.stop()
        program.end()
    assert figures["source"] == "none" and figures["fast_share"] is None
    assert any("no source" in warning for warning in figures["warnings"])


def test_the_next_best_source():
    with cgroup("hm-next") as folder:
        program = Program(folder)
        migrator = Migrator("--cgroup", folder, "--broker", "/run/nobody/there", *by_samples(), source="damon")
        hot_is_fast(program)
        figures = migrator.stop()
        program.end()
    assert figures["source"] == "clock"
    assert any("/run/nobody/there" in warning for warning in figures["warnings"])


def test_the_view_is_for_its_user():
    with cgroup("hm-view") as folder:
        program = Program(folder, mib=8, first=0, hot=1)
        migrator = Migrator("--cgroup", folder, *by_samples(1000))
        migrator.wait_phases(1)
        ask = (
            "import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); "
            f"s.connect('\\0{migrator.name()}'); s.send(b'?'); print(len(s.recv(65536)))"
        )
        sizes = {}
        for user in ("alice", "bob"):
            done = slurm.run(f'python3 -c "{ask}"', user=user, check=False)
            sizes[user] = int(done.stdout) if done.returncode == 0 else 0
        migrator.stop()
        program.end()
    assert sizes["alice"] > 1000 and sizes["bob"] == 0
