# SPDX-License-Identifier: Apache-2.0
"""Tests what ends hybridmem-monitor: signals, and the end of the job's processes, in a made-up cgroup and a real
one."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import samplesfile
from monitoring import MIB, ends, wait_for


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_told_to_end_it_takes_a_last_sample(job, number):
    samplesfile.create(job.samples, 3_600_000)
    with job.monitor() as process:
        job.wait_samples()
        job.uses(anon=(0, 0, 0, 77 * MIB), file=(0, 0, 0, 0))
        process.send_signal(number)
        ends(process)
    assert job.read().tier_last[1] == 77 * MIB and job.read().finished == 1


def test_signals_blocked_by_the_parent_are_taken(job):
    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    with job.monitor(preexec_fn=block) as process:
        job.wait_samples()
        process.terminate()
        ends(process)


def test_ends_with_the_guards_processes(job):
    with job.monitor() as process:
        job.wait_samples()
        job.guard.write_text("populated 0\nfrozen 0\n")
        ends(process)
    assert job.read().finished == 1 and job.read().missing == b""


def test_ends_when_the_guard_vanishes(job):
    with job.monitor() as process:
        job.wait_samples()
        job.guard.unlink()
        ends(process)
    assert job.read().finished == 1


def test_a_guard_that_is_not_there_yet_is_waited_for(job):
    job.guard.unlink()
    with job.monitor() as process:
        job.wait_samples(3)
        job.guard.write_text("populated 0\nfrozen 0\n")
        job.wait_samples(3)
        assert process.poll() is None
        job.guard.write_text("populated 1\nfrozen 0\n")
        job.wait_samples(3)
        job.guard.write_text("populated 0\nfrozen 0\n")
        ends(process)


def cgroup2():
    """The mount point of cgroup v2, if cgroups can be made there."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    return next((Path(where) for _, where, kind, *_ in mounts if kind == "cgroup2" and os.access(where, os.W_OK)), None)


@pytest.fixture
def real_cgroup():
    root = cgroup2()
    if root is None:
        pytest.fail("no cgroup v2 hierarchy that can be written: mount one, or run as root")
    made = root / f"hm-test-{os.getpid()}"
    made.mkdir()
    yield made
    if made.exists():
        made.rmdir()


HOUR_MS = 3_600_000


def is_ended_by_the_event(job, cgroup):
    """A job's only process ends during a pause of the monitor. Did the monitor end in the same pause?"""
    samplesfile.create(job.samples, HOUR_MS)
    sleeper = subprocess.Popen(["sleep", "1000"])
    try:
        (cgroup / "cgroup.procs").write_text(f"{sleeper.pid}\n")
        earliest = time.monotonic()
        with job.monitor(cgroup=cgroup, guard=cgroup / "cgroup.events") as process:
            wait_for(lambda: job.read().missing or job.read().n_samples, "first look", seconds=60)
            latest = time.monotonic()
            # The monitor started between these two moments. It takes one early sample 2.56 s after its start and the
            # next 5.12 s after its start; the tick is up to an hour away. Between the two samples only the event can
            # wake it.
            wait_for(lambda: time.monotonic() > latest + 2.6, "long pause")
            sleeper.kill()
            sleeper.wait()
            ends(process)
            return time.monotonic() < earliest + 5.12
    finally:
        sleeper.kill()
        sleeper.wait()


def test_the_kernels_own_events_end_it(job, real_cgroup):
    """The cgroup is populated by a process, then empty, long before the next sample. If the machine was too busy for
    the pause, nobody knows what woke the monitor, and the test tries again."""
    assert any(is_ended_by_the_event(job, real_cgroup) for _ in range(10))
    assert job.read().finished == 1


def test_a_cgroup_that_was_removed_before_it_came(job, real_cgroup):
    """The monitor has nothing to sample. It ends when its grace for the job's first process is over, or by SIGTERM."""
    real_cgroup.rmdir()
    samplesfile.create(job.samples, HOUR_MS)
    with job.monitor(cgroup=real_cgroup, guard=real_cgroup / "cgroup.events") as process:
        wait_for(lambda: b"hm-test" in job.read().missing, "word of the missing cgroup")
        process.terminate()
        ends(process)
