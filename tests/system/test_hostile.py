# SPDX-License-Identifier: Apache-2.0
"""A user who stops every process that has their uid, while a job of theirs begins, runs and ends, holds up nobody."""

import contextlib
import fcntl
import subprocess
import threading
import time
from pathlib import Path

import slurm

STOPPER = """
import os, signal
while True:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat("/proc/" + pid).st_uid == os.getuid() and int(pid) != os.getpid():
                os.kill(int(pid), signal.SIGSTOP)
        except OSError:
            pass
"""
LOCK = Path("/run/hybridmem/jobs/lock")
# Seconds: who is held up waits for as long as the other is stopped. An emulated node whose CPUs are busy is slow, but
# not that slow.
LONGEST_WAIT = 5


@contextlib.contextmanager
def stopping(user):
    """Stops the user's processes meanwhile, then lets them go on."""
    stopper = subprocess.Popen(["python3", "-c", STOPPER], stdin=subprocess.DEVNULL, **slurm.identity(user))
    try:
        yield
    finally:
        stopper.kill()
        stopper.wait()
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
        with stopping("alice"):
            slurm.run(f"scontrol release {job_id}")
            slurm.wait_for(lambda: is_stopped("hybridmem-migra"), "alice's migrator, stopped")
            run_job("bob")
            assert is_stopped("hybridmem-migra")
            slurm.run(f"scancel {job_id}")
            run_job("bob")
        assert slurm.wait_job(job_id) in ("CANCELLED", "COMPLETED")
        slurm.wait_idle()
    assert slurm.record(job_id)["user"] == "alice"
    assert max(waits) < LONGEST_WAIT
