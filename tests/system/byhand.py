# SPDX-License-Identifier: Apache-2.0
"""Shared by tests that run the live migrator by hand, without Slurm.

Its samples are page faults that a program makes on its hot range (programs/rewrite.c), so that the pages are known and
no hardware is needed.
"""

import contextlib
import itertools
import json
import os
import pwd
import re
import signal
import socket
import subprocess
from pathlib import Path

import slurm
from migration import FAST, nodes_of
from stepmigrators import MIGRATOR, Progress

CGROUPS = Path("/sys/fs/cgroup")
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
MIB = slurm.MIB
PAGES = MIB // slurm.PAGE  # of a MiB
HOT_FIRST, HOT = 40, 8  # MiB
SIZE = 80


@contextlib.contextmanager
def cgroup(name):
    folder = CGROUPS / name
    folder.mkdir()
    try:
        yield folder
    finally:
        for pid in (folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        slurm.wait_for(lambda: "populated 0" in (folder / "cgroup.events").read_text(), f"an empty {name}")
        folder.rmdir()


class Program:
    """Runs programs/rewrite.c in a cgroup, with its memory on the given nodes."""

    def __init__(self, folder, user="alice", kind="small", nodes="2,3", mib=SIZE, first=HOT_FIRST, hot=HOT):
        self.place = slurm.folder_of(user)
        self.ready, self.go = self.place / "ready", self.place / "go"
        command = f"numactl --membind={nodes} rewrite {mib} {first} {hot} {kind} {self.ready} {self.go}"
        script = (
            f"echo $$ > {folder}/cgroup.procs && exec setpriv --reuid {user} --regid {user} --clear-groups {command}"
        )
        self.process = subprocess.Popen(["bash", "-c", script])
        slurm.wait_for(lambda: self.ready.exists() or self.process.poll() is not None, "a program's memory")
        pid, start = self.ready.read_text().split()
        self.pid, self.start, self.mib, self.first, self.hot = int(pid), int(start, 16), mib, first, hot

    def nodes(self, first, mib):
        """The node of each page of a range, given in MiB from the start; a negative number for a page that is
        absent."""
        return nodes_of(self.pid, self.start + first * MIB, mib * PAGES)

    def on_fast(self, first=0, mib=None):
        return sum(node in FAST for node in self.nodes(first, self.mib if mib is None else mib))

    def hot_on_fast(self):
        return self.on_fast(self.first, self.hot) / (self.hot * PAGES)

    def bytes_of(self, key):
        """The sum of this key of smaps over the program's mappings."""
        text = Path(f"/proc/{self.pid}/smaps").read_text()
        return sum(int(kib) * 1024 for kib in re.findall(rf"^{key}:\s+(\d+)", text, re.M))

    def huge_bytes(self):
        return self.bytes_of("AnonHugePages")

    def end(self):
        """Wait for the program's end; it must have ended by itself."""
        self.go.touch()
        assert self.process.wait(slurm.PATIENCE) == 0


class Migrator:
    """A migrator that is started by hand, as a user. The test asks it for its figures by its socket."""

    numbers = itertools.count(900001)

    def __init__(self, *options, user="alice", source="faults", begun_by="the user"):
        self.user, self.job = user, next(self.numbers)
        words = ["--fast-nodes", "0,1", "--slow-nodes", "2,3", "--source", source, "--overhead", "50%", "--json"]
        words += ["--algorithm", "bins", "--job", self.job, "--step", "0", *options]
        argv = [MIGRATOR, *map(str, words)]
        if begun_by == "root":  # as in a step
            argv += ["--uid", str(pwd.getpwnam(user).pw_uid), "--gid", str(pwd.getpwnam(user).pw_gid)]
        else:
            argv = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", *argv]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def name(self):
        """The name of the migrator's abstract socket, with a mark at its end that nobody can guess; "": none yet."""
        found = re.search(rf"@(hybridmem/{self.job}\.0\.\w+)$", Path("/proc/net/unix").read_text(), re.M)
        return found[1] if found else ""

    def view(self):
        """(phases, samples, promoted bytes, demoted bytes) now (helpers/migrator/figures/progress.h), or None."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asked:
            try:
                asked.connect(f"\0{self.name()}")
                asked.send(b"?")
                data = asked.recv(65536)
            except (ConnectionError, BrokenPipeError):
                return None
        if not data:
            return None
        now = Progress.from_buffer_copy(data)
        return now.phases, now.samples, now.promoted_bytes, now.demoted_bytes

    def wait_phases(self, count):
        """Wait until `count` more phases have ended."""
        first = slurm.wait_for(self.view, "the migrator to answer")[0]
        slurm.wait_for(lambda: self.view()[0] >= first + count, f"{count} phases")

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        """Wait for the end. Returns the figures."""
        out, err = self.process.communicate(timeout=slurm.PATIENCE)
        assert self.process.returncode == 0 and err == "", (self.process.returncode, err)
        return json.loads(out)


def by_samples(samples=20000):
    """Options for phases that end after so many samples."""
    return ["--phase-samples", samples, "--interval", "1s"]


def hot_is_fast(program):
    slurm.wait_for(lambda: program.hot_on_fast() > 0.95, "the hot range in the fast tier")
