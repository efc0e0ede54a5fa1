# SPDX-License-Identifier: Apache-2.0
"""Starts a test's own DAMON broker, reads and writes the files of kdamonds (DAMON's kernel threads), and starts
processes to watch."""

import contextlib
import errno
import os
import pwd
import signal
import subprocess
import time
from pathlib import Path

import slurm

KDAMONDS = Path("/sys/kernel/mm/damon/admin/kdamonds")
BROKER = "/usr/libexec/hybridmem/hybridmem-damon"


def number():
    """The number of kdamonds."""
    return int((KDAMONDS / "nr_kdamonds").read_text())


def state(k):
    """Reads the state of a kdamond. Tries again while the kernel returns EBUSY, as it does while another process reads
    or writes."""

    def read():
        try:
            return (KDAMONDS / str(k) / "state").read_text().strip()
        except OSError as why:
            assert why.errno == errno.EBUSY
            return None

    return slurm.wait_for(read, f"the state of kdamond {k}")


def write(path, text):
    """Writes a text to a file of DAMON's. Tries again while the kernel returns EBUSY."""

    def is_written():
        try:
            path.write_text(text)
        except OSError as why:
            assert why.errno == errno.EBUSY, why
            return False
        return True

    slurm.wait_for(is_written, f"{path} to take {text!r}")


def states():
    return [state(k) for k in range(number())]


def one_is_on():
    return states().count("on") == 1


def kill_while(process, is_so):
    """Kills a broker while is_so() is true of its kdamonds, and it stays true. Where a broker looks in bursts, its
    kdamond is on for a tenth of a second only: so this looks often, and looks again once the broker is stopped."""

    def is_stopped():
        if not is_so():
            return False
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        if is_so():
            return True
        process.send_signal(signal.SIGCONT)
        return False

    deadline = time.monotonic() + slurm.PATIENCE
    while not is_stopped():
        assert time.monotonic() < deadline, f"never was {is_so.__name__}: {states()}"
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert is_so()


def end_left():
    """Ends the broker that a job's step has started: it would stay for a minute."""
    slurm.run("pkill -x hybridmem-damon", check=False)
    slurm.wait_for(lambda: slurm.run("pgrep -x hybridmem-damon", check=False).returncode, "the end of the broker")


@contextlib.contextmanager
def broker(folder, *options):
    """Runs a broker with its files in the folder. At the end the broker is told to end, and, unless the test has killed
    it, must leave nothing behind but the files of locks."""
    folder.chmod(0o755)
    process = subprocess.Popen([BROKER, "--run-dir", str(folder), *options], stderr=subprocess.PIPE, text=True)
    assert process.stderr.read() == ""  # returns when the broker listens, as it then closes its standard error
    try:
        yield process, folder / "damon.sock"
    finally:
        process.terminate()
        assert process.wait(slurm.PATIENCE) in (0, -signal.SIGKILL)
    if process.returncode == 0:
        assert number() == 0
        assert sorted(p.name for p in folder.iterdir() if p.name != "jobs") == ["damon.lock", "root"]
        assert [p.name for p in (folder / "root" / "node").iterdir()] == ["damon.start"]


@contextlib.contextmanager
def step(folder, user):
    """A job of the user in the ledger of a test's own broker, and the cgroup of its step."""
    cgroup = Path(f"/sys/fs/cgroup/damon-test-{user}")
    entry = folder / "jobs" / str(pwd.getpwnam(user).pw_uid)
    (cgroup / "step_0").mkdir(parents=True)
    entry.parent.mkdir(mode=0o700, exist_ok=True)
    entry.touch(mode=0o600)  # the mode that the plugin gives it, and without which nobody believes it
    entry.write_text(f"hybridmem job 1\nuid {pwd.getpwnam(user).pw_uid}\ncgroup {cgroup}\nend\n")
    try:
        yield cgroup / "step_0"
    finally:
        entry.unlink()
        events = cgroup / "cgroup.events"
        slurm.wait_for(lambda: "populated 0" in events.read_text(), "the end of the step's processes")
        (cgroup / "step_0").rmdir()
        cgroup.rmdir()


def start(user, *argv):
    return subprocess.Popen(argv, user=user, group=user, extra_groups=[], stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def sleeper(user):
    process = start(user, "sleep", "100000")
    try:
        slurm.wait_for(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n", "a process of the user")
        yield process.pid
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def programs(count, mib, kind="write", user="alice"):
    """Run programs whose accesses go mostly to one tenth of their memory, unless `kind` says otherwise
    (programs/hotrange.c). Gives (pid, start, end, start of the hot tenth, end of the hot tenth) of each."""
    folder = slurm.folder_of(user)
    go = folder / "go"
    ready = [folder / f"ready{i}" for i in range(count)]
    running = [start(user, "hotrange", str(mib), kind, str(path), str(go)) for path in ready]
    try:
        slurm.wait_for(lambda: all(path.exists() for path in ready), "programs with a hot tenth")
        words = [path.read_text().split() for path in ready]
        yield [(int(pid), *(int(word, 16) for word in rest)) for pid, *rest in words]
    finally:
        go.touch()
        assert [program.wait(slurm.PATIENCE) for program in running] == [0] * count
