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

import processes
import pytest
import slurm

PROGRAMS = Path(__file__).parent / "programs" / "hostile"
PAUSE, TO_EXECUTE = 0.05, 1  # seconds between two looks, and from a fork to exec
MIGRATOR = "hybridmem-migra"  # its name, as the kernel cuts it
LOCK = Path("/run/hybridmem/jobs/lock")
LONGEST_WAIT, LONGEST_HOOK = 1, 3  # seconds
FULL_MIB = 48  # of a job whose memory is full
HOOKS = ([b"spank", b"prolog"], [b"spank", b"epilog"])  # slurmstepd's words where it calls the plugins


@contextlib.contextmanager
def hostile(user, *words, program="hostile.py"):
    """Runs the program as the user, with these words: what hostile.py does to the user's processes, or what hold.py
    holds. Yields a function that returns what was done so far. Afterwards stopped processes go on."""
    log = slurm.folder_of(user) / "done"
    with log.open("w") as output:
        process = subprocess.Popen(
            ["python3", PROGRAMS / program, *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            start_new_session=True,
            **slurm.identity(user),
        )
    try:
        yield lambda: log.read_text().splitlines()
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        slurm.run(f"pkill -CONT -u {user}", check=False)


class Watch:
    """While the context is open, threads take the ledger's lock again and again, and look for prologs and epilogs.
    `waits` has the seconds of each wait for the lock, `hooks` those of each job's hooks by its id."""

    def __init__(self):
        self.waits, self.hooks = [], {}
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=look) for look in (self.take_the_lock, self.look_for_hooks)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for thread in self.threads:
            thread.join()

    def take_the_lock(self):
        with LOCK.open("rb") as lock:
            while not self.is_over.wait(PAUSE):
                begin = time.monotonic()
                fcntl.flock(lock, fcntl.LOCK_EX)
                fcntl.flock(lock, fcntl.LOCK_UN)
                self.waits.append(time.monotonic() - begin)

    def look_for_hooks(self):
        first_seen, running = {}, {}
        while not self.is_over.wait(PAUSE):
            now, pids = time.monotonic(), {entry.name for entry in os.scandir("/proc") if entry.name.isdecimal()}
            for pid in pids - running.keys():
                begin = first_seen.setdefault(pid, now)  # it may not have called exec yet
                if now - begin < TO_EXECUTE and (job_id := job_of_hook(pid)):
                    running[pid] = job_id, begin
            for pid in running.keys() - pids:
                job_id, begin = running.pop(pid)
                self.hooks.setdefault(job_id, []).append(now - begin)


def job_of_hook(pid):
    """The job whose SPANK prolog or epilog the process is; None: it is none."""
    with contextlib.suppress(OSError):
        if Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:3] in HOOKS:
            words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            return int(dict(word.split(b"=", 1) for word in words if b"=" in word)[b"SLURM_JOB_ID"])
    return None


def is_stopped(name):
    """Is a process of this name stopped? (State "T" in /proc/PID/stat.)"""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if f"({name}) T" in path.read_text():
                return True
    return False


def run_job(user):
    """Runs a job, until its epilog has written its record. Returns its id."""
    job_id = slurm.sbatch(user, "true", "-n1", "--hybrid-mem=spill")
    assert slurm.wait_job(job_id) == "COMPLETED"
    slurm.record(job_id)
    return job_id


def assert_not_held_up(watch, jobs):
    assert max(watch.waits) < LONGEST_WAIT
    for job_id in jobs:
        assert len(watch.hooks[job_id]) >= len(HOOKS)
        assert max(watch.hooks[job_id]) < LONGEST_HOOK


def test_a_user_who_stops_all_that_becomes_theirs_holds_up_nobody():
    run_job("bob")  # the ledger's lock exists now
    job_id = slurm.sbatch("alice", "true", "-n1", "-H", "--hybrid-mem=migrate")
    with Watch() as watch:
        with hostile("alice", "stop"):
            slurm.run(f"scontrol release {job_id}")
            slurm.wait_for(lambda: is_stopped(MIGRATOR), "alice's migrator, stopped")
            bobs = [run_job("bob")]
            assert is_stopped(MIGRATOR)
            slurm.run(f"scancel {job_id}")
            bobs.append(run_job("bob"))
        assert slurm.wait_job(job_id) in ("CANCELLED", "COMPLETED")
        slurm.wait_idle()
    assert slurm.record(job_id)["user"] == "alice"
    assert_not_held_up(watch, bobs)


def test_a_user_who_holds_the_locks_of_folders_holds_up_nobody():
    """Users can hold the folders above ours. Ours they cannot list, and so they cannot hold them."""
    dax = "/run/hybridmem/fsdax"
    slurm.run(f"mkdir -p -m 711 {dax}; chmod 666 /dev/fuse")  # as udev sets its mode
    run_job("bob")
    above = ("/run", "/var/lib")
    with hostile("alice", *above, program="hold.py") as done:
        slurm.wait_for(lambda: len(done()) == len(above), "held folders")
        run_job("bob")  # with whole hooks and a record
    for folder in ("/run/hybridmem", dax, "/var/lib/hybridmem", "/var/lib/hybridmem/records"):
        assert "Permission denied" in slurm.run(f"ls {folder}", user="alice", check=False).stderr


def test_a_user_whose_memory_is_full_of_files_holds_up_nobody():
    """The files stay when the job's processes are gone: slurmstepd, which the kernel does not kill, has no memory
    left."""
    run_job("bob")
    file, go = Path("/dev/shm/of-alice"), slurm.folder_of("alice") / "go"
    script = f"until [ -e {go} ]; do sleep 0.1; done; head -c 1G /dev/zero > {file}"
    job_id = slurm.sbatch("alice", script, "-n1", "--hybrid-mem=spill")
    try:
        with Watch() as watch:
            slurm.wait_for(lambda: processes.cgroups(job_id), "alice's job")
            (cgroup,) = processes.cgroups(job_id)
            # The testbed's Slurm counts no memory, and sets no limit.
            assert (cgroup / "memory.max").exists(), sorted(cgroup.iterdir())
            (cgroup / "memory.max").write_text(f"{FULL_MIB}M")
            go.touch()
            slurm.wait_for(lambda: "\nmax 0" not in (cgroup / "memory.events").read_text(), "full memory")
            # What the end of alice's processes gives back is taken, too.
            (cgroup / "memory.max").write_text("1M")
            bobs = [run_job("bob"), run_job("bob")]
            print(f"alice's job meanwhile: {slurm.end_of(job_id)}")
    finally:
        file.unlink(missing_ok=True)
        for cgroup in processes.cgroups(job_id):
            with contextlib.suppress(OSError):  # slurmstepd may remove it now
                (cgroup / "memory.max").write_text("max")
    slurm.wait_job(job_id)
    assert slurm.record(job_id)["user"] == "alice"
    assert_not_held_up(watch, bobs)


def stepds_at_the_root():
    """The slurmstepd processes in the root of the cgroups."""
    pids = Path("/sys/fs/cgroup/cgroup.procs").read_text().split()
    return [pid for pid in pids if Path(f"/proc/{pid}/comm").read_text() == "slurmstepd\n"]


def test_a_step_of_a_job_without_memory_has_the_lock_outside_of_it():
    """Otherwise whoever has the lock would wait until the kernel finds memory for the job, which can take seconds where
    its processes take all that others give back."""
    job_id = slurm.sbatch("alice", "echo begun; sleep 1000", "-n1", "--hybrid-mem=spill")
    slurm.wait_output(job_id, "begun")
    (cgroup,) = processes.cgroups(job_id)
    (cgroup / "memory.max").write_text(f"{int((cgroup / 'memory.current').read_text()) + 32 * slurm.MIB}")
    assert stepds_at_the_root() == []
    with LOCK.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        step = subprocess.Popen(["srun", f"--jobid={job_id}", "--overlap", "-n1", "true"], **slurm.identity("alice"))
        slurm.wait_for(stepds_at_the_root, "a slurmstepd that waits for the lock")
    assert step.wait() == 0
    assert stepds_at_the_root() == []
    slurm.run(f"scancel {job_id}")
    slurm.wait_job(job_id)
    assert len(slurm.record(job_id)["step_ids"]) == 2


@pytest.mark.parametrize("words", (("trace", "renice", "sockets"), ("limit", "kill", "processes")), ids="-".join)
def test_a_user_hostile_to_all_that_becomes_theirs_holds_up_nobody(words):
    """The user also floods the node with processes or connections, while the job's steps run, at its end and during its
    epilog."""
    run_job("bob")
    job_id = slurm.sbatch("alice", "true", "-n1", "-H", "--hybrid-mem=migrate")
    with Watch() as watch, hostile("alice", *words) as done:
        slurm.run(f"scontrol release {job_id}")
        slurm.wait_for(lambda: f"{words[1]} {MIGRATOR}" in done(), f"{words[1]} of alice's migrator")
        bobs = [run_job("bob")]
        slurm.run(f"scancel --signal=KILL --full {job_id}", check=False)  # what is traced takes no other signal
        bobs.append(run_job("bob"))
        slurm.wait_job(job_id)
        assert slurm.record(job_id)["user"] == "alice"
        assert f"trace {MIGRATOR}" not in done()
    assert_not_held_up(watch, bobs)
