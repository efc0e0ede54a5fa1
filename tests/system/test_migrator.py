# SPDX-License-Identifier: Apache-2.0
"""The live migrator by hand, without Slurm: what it moves, what it leaves alone, how it ends.

Its samples are page faults that a program makes on its hot range (programs/rewrite.c): known pages, no hardware.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
import slurm

MIGRATOR = "/usr/libexec/hybridmem/hybridmem-migrator"
CGROUPS = Path("/sys/fs/cgroup")
FAST, SLOW = (0, 1), (2, 3)
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
HUGE_SWITCH = Path("/sys/kernel/mm/transparent_hugepage/enabled")
MIB = slurm.MIB
PAGES = MIB // slurm.PAGE  # of a MiB
HOT_FIRST, HOT = 40, 8  # MiB
SIZE = 80

libnuma = ctypes.CDLL("libnuma.so.1", use_errno=True)


@pytest.fixture(autouse=True)
def faults_for_users():
    before = PARANOID.read_text()
    PARANOID.write_text("2")
    yield
    PARANOID.write_text(before)


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
    """programs/rewrite.c in a cgroup, its memory on the nodes that are given."""

    def __init__(self, folder, user="alice", kind="small", nodes="2,3", mib=SIZE, first=HOT_FIRST, hot=HOT):
        self.place = slurm.folder_of(user)
        self.ready, self.go = self.place / "ready", self.place / "go"
        command = f"numactl --membind={nodes} rewrite {mib} {first} {hot} {kind} {self.ready} {self.go}"
        script = f"echo $$ > {folder}/cgroup.procs && exec setpriv --reuid {user} --regid {user} --clear-groups {command}"
        self.process = subprocess.Popen(["bash", "-c", script])
        slurm.wait_for(lambda: self.ready.exists() or self.process.poll() is not None, "a program's memory")
        pid, start = self.ready.read_text().split()
        self.pid, self.start, self.mib, self.first, self.hot = int(pid), int(start, 16), mib, first, hot

    def nodes(self, first, mib):
        """Node of each page of a range, in MiB from the start; negative: not there."""
        count = mib * PAGES
        pages = (ctypes.c_void_p * count)(*(self.start + first * MIB + i * slurm.PAGE for i in range(count)))
        status = (ctypes.c_int * count)()
        assert libnuma.move_pages(self.pid, ctypes.c_ulong(count), pages, None, status, 0) == 0
        return list(status)

    def on_fast(self, first=0, mib=None):
        return sum(node in FAST for node in self.nodes(first, self.mib if mib is None else mib))

    def hot_on_fast(self):
        return self.on_fast(self.first, self.hot) / (self.hot * PAGES)

    def end(self):
        """It ran to its end by itself."""
        self.go.touch()
        assert self.process.wait(slurm.PATIENCE) == 0


class Migrator:
    def __init__(self, *options, user="alice", wait=False):
        words = ["--fast-nodes", "0,1", "--slow-nodes", "2,3", "--source", "faults", "--overhead", "50%", "--json"]
        argv = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", MIGRATOR, *words, *map(str, options)]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        """The figures."""
        out, err = self.process.communicate(timeout=slurm.PATIENCE)
        assert self.process.returncode == 0 and err == "", (self.process.returncode, err)
        return json.loads(out)


def phases(samples=20000):
    return ["--phase-samples", samples, "--interval", "1s"]


def test_the_hot_range_is_promoted():
    with cgroup("hm-hot") as folder:
        program = Program(folder)
        assert program.on_fast() == 0
        migrator = Migrator("--cgroup", folder, *phases())
        slurm.wait_for(lambda: program.hot_on_fast() > 0.95, "the hot range in the fast tier")
        cold = program.on_fast(0, HOT_FIRST - 4)
        figures = migrator.stop()
        program.end()
    assert figures["source"] == "faults"
    assert figures["phases"] >= 1 and figures["samples"] >= 20000
    assert figures["promoted_bytes"] >= 0.95 * HOT * MIB
    assert cold * slurm.PAGE < 0.05 * SIZE * MIB
    assert figures["most_ranks"] == 1 and figures["warnings"] == []
    assert 0 < figures["fast_share"] <= figures["best_share"] <= 1
