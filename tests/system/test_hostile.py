# SPDX-License-Identifier: Apache-2.0
"""Whatever users do to the processes that have their uid, while a job of theirs begins, runs and ends, they hold up
nobody."""

import contextlib
import fcntl
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
import slurm

HOSTILE = Path(__file__).parent / "programs" / "hostile" / "hostile.py"
MIGRATOR = "hybridmem-migra"  # its name, as the kernel cuts it
LOCK = Path("/run/hybridmem/jobs/lock")
# Seconds: who is held up waits for as long as the other is stopped. An emulated node whose CPUs are busy is slow, but
# not that slow.
LONGEST_WAIT = 5


@contextlib.contextmanager
def hostile(user, *words):
    """Does these things to the user's processes meanwhile, then lets those that are left go on. Yields a function that
    gives what was done so far."""
    log = slurm.folder_of(user) / "done"
    with log.open("w") as output:
        program = subprocess.Popen(
            ["python3", HOSTILE, *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            start_new_session=True,
            **slurm.identity(user),
        )
    try:
        yield lambda: log.read_text().splitlines()
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()
        slurm.run(f"pkill -CONT -u {user}", check=False)


@contextlib.contextmanager
def waits_for_the_lock():
    """Takes the ledger's lock again and again. Yields the seconds of each wait."""
    waits, is_over = [], threading.Event()

    def look():
        with LOCK.open("rb") as lock:
            while not is_over.wait(0.05):
                begin = time.monotonic()
                fcntl.flock(lock, fcntl.LOCK_EX)
                fcntl.flock(lock, fcntl.LOCK_UN)
                waits.append(time.monotonic() - begin)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield waits
    finally:
        is_over.set()
        thread.join()


def is_stopped(name):
    """Is a process of this name stopped? (State "T" in /proc/PID/stat.)"""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if f"({name}) T" in path.read_text():
                return True
    return False


def run_job(user):
    """Runs a job, until its epilog has written its record."""
    job_id = slurm.sbatch(user, "true", "-n1", "--hybrid-mem=spill")
    assert slurm.wait_job(job_id) == "COMPLETED"
    slurm.record(job_id)


def test_a_user_who_stops_all_that_becomes_theirs_holds_up_nobody():
    run_job("bob")  # the ledger's lock exists now
    job_id = slurm.sbatch("alice", "true", "-n1", "-H", "--hybrid-mem=migrate")
    with waits_for_the_lock() as waits:
        with hostile("alice", "stop"):
            slurm.run(f"scontrol release {job_id}")
            slurm.wait_for(lambda: is_stopped(MIGRATOR), "alice's migrator, stopped")
            run_job("bob")
            assert is_stopped(MIGRATOR)
            slurm.run(f"scancel {job_id}")
            run_job("bob")
        assert slurm.wait_job(job_id) in ("CANCELLED", "COMPLETED")
        slurm.wait_idle()
    assert slurm.record(job_id)["user"] == "alice"
    assert max(waits) < LONGEST_WAIT


@pytest.mark.parametrize("words", (("trace", "renice", "sockets"), ("limit", "kill", "processes")), ids="-".join)
def test_a_user_hostile_to_all_that_becomes_theirs_holds_up_nobody(words):
    """They also flood the node, during their job's steps, its end and its epilog."""
    run_job("bob")
    job_id = slurm.sbatch("alice", "true", "-n1", "-H", "--hybrid-mem=migrate")
    with waits_for_the_lock() as waits, hostile("alice", *words) as done:
        slurm.run(f"scontrol release {job_id}")
        slurm.wait_for(lambda: f"{words[1]} {MIGRATOR}" in done(), f"{words[1]} of alice's migrator")
        run_job("bob")
        slurm.run(f"scancel --signal=KILL --full {job_id}", check=False)  # what is traced takes no other signal
        run_job("bob")
        slurm.wait_job(job_id)
        assert slurm.record(job_id)["user"] == "alice"
        assert f"trace {MIGRATOR}" not in done()
    assert max(waits) < LONGEST_WAIT
