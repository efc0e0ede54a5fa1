# SPDX-License-Identifier: Apache-2.0
"""Kills hybridmem-job before each change that it makes to the system: the next command repairs what is left."""

import contextlib
import signal
import subprocess
from pathlib import Path

import entries
import processes
import pytest
import slurm
from namespaces import killed_before_each_step, ours

PROGRAM = "/usr/libexec/hybridmem/hybridmem-job"
STEPS = "/usr/local/lib/job-steps.so"
JOB = 4000000  # not a job of Slurm's
FOLDER = Path("/run/hybridmem/fsdax") / str(JOB)
WHOSE = ("--uid=1001", "--gid=1001", "--user=alice", "--cluster=testbed", f"--node={slurm.NODE}")
BEGIN = ("begin", f"--job={JOB}", *WHOSE, "--request=fsdax,size=64M")
BEGIN_WITHOUT_FILES = ("begin", f"--job={JOB}", *WHOSE, "--request=spill")
END = ("end", f"--job={JOB}", "--exit-status=0")
REAP = ("reap", "--grace=0")
CGROUP = Path("/sys/fs/cgroup/killed-steps")

pytestmark = pytest.mark.usefixtures("job_steps")


@pytest.fixture(scope="session")
def job_steps():
    """Build the library that counts the steps of hybridmem-job."""
    source = Path(__file__).parent / "programs" / "job" / "steps.c"
    slurm.run(f"gcc -O1 -Wall -Werror -D_GNU_SOURCE -shared -fPIC -o {STEPS} {source} -ldl")


def job(*words):
    slurm.run(" ".join((PROGRAM, *words)))


@pytest.fixture(autouse=True)
def no_job_is_left(empty_regions):
    """End the job, also where a test fails half-way: nothing else ends a job that Slurm does not know."""
    yield
    if str(JOB) in slurm.ledger():
        job(*END)


def killed(*words):
    """Kill the program before each of its steps. A child that the program had started may go on: its end is waited
    for."""
    for number, steps in killed_before_each_step(*words, program=PROGRAM, library=STEPS):
        slurm.wait_for(lambda: not slurm.run("pgrep -f [h]ybridmem-namespace", check=False).stdout, "its child's end")
        yield number, steps


def is_whole():
    return len(ours()) == 2 and sorted(path.name for path in FOLDER.iterdir()) == ["0", "1"]


def nothing_is_left(steps):
    assert (ours(), FOLDER.exists(), slurm.ledger(), processes.of_hybridmem()) == ([], False, [], []), steps


def test_killed_at_each_step_of_begin():
    seen = []
    for _, steps in killed(*BEGIN):
        seen = [step.split()[0] for step in steps]
        job(*END)
        nothing_is_left(steps)
    assert is_whole() and slurm.ledger() == [str(JOB)]
    job(*END)
    nothing_is_left(seen)
    # folders are made by a child (fork)
    assert {"create", "write", "rename", "fork", "waitpid"} <= set(seen), seen


@contextlib.contextmanager
def dead_step():
    """Leave the job as killed steps do: an empty cgroup, a monitor that still runs, and its samples."""
    CGROUP.mkdir()
    words = ["setpriv", "--reuid=hybridmem", "--clear-groups", "sleep", "1000000"]
    with subprocess.Popen(words) as monitor:
        start_time = Path(f"/proc/{monitor.pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
        process = {"monitor.pid": monitor.pid, "monitor.start_time": start_time}
        entries.change(JOB, {"cgroup": CGROUP, **process})
        (slurm.JOBS / f"{JOB}.samples").write_bytes(b"torn")
        try:
            yield
            assert monitor.wait(slurm.PATIENCE) == -signal.SIGTERM
        finally:
            monitor.kill()
            CGROUP.rmdir()


def end_at_each_step(begin, before, put_right):
    """For each step of `hybridmem-job end`: begin a job, enter the context before(), kill `end` before that step, then
    call put_right(steps). Returns the kinds of steps."""
    seen = []
    with contextlib.ExitStack() as jobs:

        def begin_job():
            job(*begin)
            jobs.enter_context(before())

        begin_job()
        written = len(slurm.records(JOB))
        for _, steps in killed(*END):
            seen = [step.split()[0] for step in steps]
            put_right(steps)
            nothing_is_left(steps)
            # `end` writes the record before it removes the entry: after a kill in between, the record is written again.
            earlier, written = written, len(slurm.records(JOB))
            assert written - earlier in (1, 2), steps
            jobs.close()
            begin_job()
    nothing_is_left(seen)
    assert len(slurm.records(JOB)) == written + 1
    return set(seen)


def test_killed_at_each_step_of_end():
    """Until `end` has renamed the job's entry, `reap` leaves the job alone: it takes the job for a living one, whose
    epilog is still to come."""

    def put_right(steps):
        job(*REAP)
        if not any(step.startswith("rename") for step in steps[:-1]):
            assert is_whole() and slurm.ledger() == [str(JOB)], steps
            job(*END)

    seen = end_at_each_step(BEGIN, contextlib.nullcontext, put_right)
    assert {"create", "write", "rename", "fork", "waitpid", "remove"} <= seen, seen


def test_killed_at_each_step_of_end_with_what_steps_have_left():
    seen = end_at_each_step(BEGIN_WITHOUT_FILES, dead_step, lambda _: job(*REAP))
    assert {"signal", "create", "write", "rename", "remove"} <= seen, seen
