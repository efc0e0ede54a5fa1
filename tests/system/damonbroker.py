# SPDX-License-Identifier: Apache-2.0
"""Starts a test's own DAMON broker, reads and writes the files of kdamonds (DAMON's kernel threads), and starts
processes to watch."""

import contextlib
import errno
import os
import pwd
import signal
import subprocess
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


def kill_in_a_burst(process):
    """Kills a broker while a kdamond is on, which stays on. It is on only for bursts of looks."""

    def is_stopped():
        if "on" not in states():
            return False
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        if "on" in states():
            return True
        process.send_signal(signal.SIGCONT)
        return False

    slurm.wait_for(is_stopped, "a kdamond that is on")
    process.kill()
    process.wait()
    assert states().count("on") == 1


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
