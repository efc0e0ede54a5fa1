# SPDX-License-Identifier: Apache-2.0
"""Tests that users hold up nobody, whatever they do to the processes that have their uid while a job of theirs begins,
runs and ends."""

import contextlib
import fcntl
import os
import signal
import subprocess
from pathlib import Path

import hooks
import processes
import pytest
import slurm

PROGRAMS = Path(__file__).parent / "programs" / "hostile"
# The programs that run as a job's user for hybridmem, as the kernel cuts their names: the migrator, and the child of
# hybridmem-job that copies the record into the user's folder. The monitor is a system user's.
MIGRATOR, COPY = "hybridmem-migra", "hybridmem-job"
NOT_PERMITTED = {MIGRATOR: {"trace", "renice"}, COPY: {"trace"}}  # the migrator has capabilities
TASK = ("slurmstepd", "slurm_script", "sleep")  # the names that a task's process has, one after the other
FLOODS = ("sockets", "processes")
LONGEST_WAIT, LONGEST_HOOK = 1, 3  # seconds
URGENT = os.SCHED_RR | os.SCHED_RESET_ON_FORK  # policy of the thread that has the ledger's lock, or waits for it
FULL_MIB = 48  # memory limit of the job whose memory is to be full
# Soft limits that a job's processes get from its shell: with fewer descriptors no shell starts.
LIMITS = "-n 16 -f 0 -l 0 -u 1 -i 0 -q 0 -x 0"


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


def run_job(user):
    """Runs a job, until its epilog has written its record. Returns its id."""
    job_id = slurm.sbatch(user, "true", "-n1", "--hybrid-mem=spill")
    assert slurm.wait_job(job_id) == "COMPLETED"
    slurm.record(job_id)
    return job_id


def assert_not_held_up(watch, jobs):
    assert max(watch.waits) < LONGEST_WAIT
    assert max(watch.hooks[job_id, kind] for job_id in jobs for kind in hooks.KINDS) < LONGEST_HOOK


def test_a_user_who_holds_the_locks_of_folders_holds_up_nobody():
    """A user who can list a folder can hold the lock that the kernel has of it (hold.py), as with the folders above
    ours. Ours they cannot list. The folders in which root works for jobs they cannot even reach."""
    dax = "/run/hybridmem/fsdax"
    slurm.run(f"mkdir -p -m 711 {dax}; chmod 666 /dev/fuse")  # as udev sets its mode
    run_job("bob")
    above = ("/run", "/var/lib")
    with hostile("alice", *above, program="hold.py") as done:
        slurm.wait_for(lambda: len(done()) == len(above), "held folders")
        run_job("bob")  # with whole hooks and a record
    for folder in ("/run/hybridmem", dax, "/var/lib/hybridmem", "/var/lib/hybridmem/records"):
        assert "Permission denied" in slurm.run(f"ls {folder}", user="alice", check=False).stderr
    # chmod takes the kernel's lock of a folder before it looks at the owner. "Operation not permitted" would mean that
    # alice has got as far as that.
    for folder in (slurm.JOBS, "/run/hybridmem/root/node"):
        assert "Permission denied" in slurm.run(f"chmod 700 {folder}", user="alice", check=False).stderr


def test_a_user_whose_memory_is_full_of_files_holds_up_nobody():
    """The files stay when the job's processes are gone: slurmstepd, which the kernel does not kill, has no memory
    left."""
    run_job("bob")
    file, go = Path("/dev/shm/of-alice"), slurm.folder_of("alice") / "go"
    script = f"until [ -e {go} ]; do sleep 0.1; done; head -c 1G /dev/zero > {file}"
    job_id = slurm.sbatch("alice", script, "-n1", "--hybrid-mem=spill")
    try:
        with hooks.Watch() as watch:
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
    # Slurm's own slurmstepds may have died without memory. slurmctld would find that out only minutes later.
    slurm.wait_for(lambda: slurm.end_of(job_id) or not stepds_of(job_id), "the end of the job or of its slurmstepds")
    if not slurm.end_of(job_id):
        slurm.run(f"scancel {job_id}", check=False)
    slurm.wait_job(job_id)
    assert slurm.record(job_id)["user"] == "alice"
    assert_not_held_up(watch, bobs)


def stepds_of(job_id):
    return slurm.run(f"pgrep -f 'slurmstepd: \\[{job_id}\\.'", check=False).stdout.split()


def stepds_at_the_root():
    """The slurmstepd processes in the root of the cgroups."""
    pids = Path("/sys/fs/cgroup/cgroup.procs").read_text().split()
    return [pid for pid in pids if Path(f"/proc/{pid}/comm").read_text() == "slurmstepd\n"]


def policies(pid):
    """The scheduling policies of the process's threads."""
    found = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # it has ended
            found.append(os.sched_getscheduler(int(thread.name)))
    return found


def test_a_step_of_a_job_without_memory_has_the_lock_outside_of_it():
    """Otherwise whoever has the lock would wait until the kernel finds memory for the job, which can take seconds where
    its processes take all that others give back. It also has priority over the processes on the job's CPUs."""
    job_id = slurm.sbatch("alice", "echo begun; sleep 1000", "-n1", "--hybrid-mem=spill")
    slurm.wait_output(job_id, "begun")
    (cgroup,) = processes.cgroups(job_id)
    (cgroup / "memory.max").write_text(f"{int((cgroup / 'memory.current').read_text()) + 32 * slurm.MIB}")
    assert stepds_at_the_root() == []
    with hooks.LOCK.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = ["srun", f"--jobid={job_id}", "--overlap", "-n1", "cat"]
        step = subprocess.Popen(command, stdin=subprocess.PIPE, **slurm.identity("alice"))
        slurm.wait_for(stepds_at_the_root, "a slurmstepd that waits for the lock")
        (stepd,) = stepds_at_the_root()
        slurm.wait_for(lambda: policies(stepd).count(URGENT) == 1, "one urgent thread")
    slurm.wait_for(lambda: not stepds_at_the_root(), "a slurmstepd back in its cgroup, while its step runs")
    step.stdin.close()
    assert step.wait() == 0
    # It takes the lock again in its end, which srun does not wait for.
    slurm.wait_for(lambda: not Path(f"/proc/{stepd}").exists(), "the end of the step's slurmstepd")
    others = slurm.run("pgrep -x slurmstepd").stdout.split()  # of the batch step and the extern step
    assert {policy for pid in others for policy in policies(pid)} == {os.SCHED_OTHER}
    slurm.run(f"scancel {job_id}")
    slurm.wait_job(job_id)
    assert len(slurm.record(job_id)["step_ids"]) == 2


def outcomes(attacks, program):
    """What the hostile program prints in the end of these attacks on the program."""
    refused = NOT_PERMITTED.get(program, ())
    return {f"no {word} {program}" if word in refused else f"{word} {program}" for word in attacks}


def wait_met(done, attacks, *programs):
    """Waits until the hostile program has done all of this that it may to one of these programs of alice's, and has
    tried the rest."""
    met = [outcomes(attacks, program) for program in programs]
    slurm.wait_for(lambda: any(each <= set(done()) for each in met), f"{attacks} of {programs}")


@pytest.mark.parametrize(
    "words", (("stop",), ("renice", "trace", "sockets"), ("limit", "kill", "processes")), ids="-".join
)
def test_a_user_hostile_to_all_that_becomes_theirs_holds_up_nobody(words):
    """The user attacks these processes while their job's step runs, at its end and during its epilog, floods the node
    with processes or connections meanwhile, and gives the job the least limits. What runs for hybridmem as the user is
    attacked, too; it cannot be traced, nor the migrator reniced."""
    run_job("alice")
    slurm.wait_epilogs()  # the ledger's lock and alice's folder of records exist now
    attacks = [word for word in words if word not in FLOODS]
    option = "--propagate=ALL --hybrid-mem=migrate --wrap='exec sleep 1000'"
    job_id = int(slurm.run(f"ulimit -S {LIMITS}; sbatch --parsable -H -n1 {option}", user="alice").stdout)
    with hooks.Watch() as watch, hostile("alice", *words) as done:
        slurm.run(f"scontrol release {job_id}")
        wait_met(done, attacks, *TASK)
        wait_met(done, attacks, MIGRATOR)
        bobs = [run_job("bob")]
        # scancel would wait for KillWait, as a stopped or traced process does not end by another signal.
        slurm.run(f"pkill -KILL -U alice -x '{'|'.join(TASK)}'", check=False)
        bobs.append(run_job("bob"))
        wait_met(done, attacks, COPY)
        bobs.append(run_job("bob"))
        slurm.wait_job(job_id)
        assert slurm.record(job_id)["user"] == "alice"
        assert not {f"{word} {program}" for program, words in NOT_PERMITTED.items() for word in words} & set(done())
    assert_not_held_up(watch, bobs)
