# SPDX-License-Identifier: Apache-2.0
"""Scripts that stand in for the programs which a monitor asks for what the node's own counters do not have."""

import contextlib
import os
import signal
from pathlib import Path

from installed import check_root
from monitoring import ends, wait_for
from sysfstree import Sysfs

SLURM = "echo slurm 1 24.11.5; echo event 0 platform-energy - - J 0 acct_gather_energy/ipmi; echo ready 1\n"
PAPI = (
    "echo papi 1 7.1.0\n"
    "echo event 0 package-energy - 0 uJ 0 rapl::RAPL_ENERGY_PKG\n"
    "echo event 1 read-bytes dram 0 64B 0 cas\n"
    "echo ready 2\n"
)
COUNTS = "while read line; do echo read 1 $(cat $0.count); done\n"
HANGS = "exec sleep 1000\n"
DRAM = 1  # enum hm_kind
PACKAGE, PLATFORM = 0, 2  # enum hm_domain


def sysfs_of(job):
    """Makes a /sys without counters beside the job's folder."""
    check_root()
    (job.folder.parent / "sys").mkdir()
    return Sysfs(job.folder.parent / "sys")


class Program:
    """A script that notes its process id before it writes anything."""

    def __init__(self, folder, word, script):
        self.word, self.path = word, folder / f"stand-in-{word}"
        self.path.write_text(f"#!/bin/sh\necho $$ >> $0.pids\n{script}")
        self.path.chmod(0o700)
        self.count(0)

    def count(self, *values):
        """Sets all its counters at once."""
        draft = self.path.with_suffix(".draft")
        draft.write_text(" ".join(map(str, values)) + "\n")
        draft.rename(f"{self.path}.count")

    def pid(self):
        """The script's process id; None: it was not started."""
        note = Path(f"{self.path}.pids")
        return int(note.read_text()) if note.exists() and note.read_text().endswith("\n") else None

    def is_there(self):
        stat = Path(f"/proc/{self.pid()}/stat")
        with contextlib.suppress(OSError):
            return stat.read_text().rpartition(")")[2].split()[0] not in "ZX"
        return False


@contextlib.contextmanager
def monitored(job, node, *programs):
    """Runs the job's monitor with these programs, and yields its process. Scripts that are left are killed."""
    words = [word for program in programs for word in (f"--{program.word}", program.path)]
    try:
        with job.monitor(sysfs=node.folder, become=True, words=words) as process:
            yield process
    finally:
        for program in programs:
            if program.pid() and program.is_there():
                os.kill(program.pid(), signal.SIGKILL)


def finish(job, process):
    process.terminate()
    ends(process)
    found = job.read()
    assert found.finished == 1
    return found


def wait_read(job, more=2):
    """Waits for new readings, which have the present values of the counters."""
    before = job.read().n_readings
    wait_for(lambda: job.read().n_readings >= before + more, "reading", seconds=30)


def wait_counted(job, *domains):
    """Waits until the programs' figures are known, which is after their second answer. If a program started more
    than a second late, its figure is known only after a hundred times that delay."""
    wait_for(lambda: all(job.read().energy[domain].is_known for domain in domains), "figure from a program", 120)


def wait_told(job, text):
    return wait_for(lambda: text in job.read().energy_source, text.decode(), seconds=30)
