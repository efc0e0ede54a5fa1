# SPDX-License-Identifier: Apache-2.0
"""Runs hybridmem-monitor on a folder of files that look like a job's cgroup."""

import contextlib
import os
import subprocess
import time

import samplesfile
from installed import LIBEXEC
from sysfstree import NOBODY, as_user

MONITOR = LIBEXEC / "hybridmem-monitor"
MIB = 1 << 20


def wait_for(condition, what, seconds=60):
    """Waits until the condition is true, and returns its value. The limit only ends tests that would hang."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"no {what} within {seconds} s"
        time.sleep(0.005)
    return value


class Job:
    """A folder with the files of a cgroup, a samples file, and monitors of them."""

    def __init__(self, folder, interval_ms):
        self.folder, self.samples = folder / "job", folder / "samples"
        self.guard = self.folder / "cgroup.events"  # tells the monitor whether the job has processes left
        self.folder.mkdir()
        self.guard.write_text("populated 1\nfrozen 0\n")
        samplesfile.create(self.samples, interval_ms)
        self.uses(anon=(4 * MIB, 0, 2 * MIB, 0), file=(MIB, 0, 0, 0))
        (self.folder / "memory.peak").write_text(f"{8 * MIB}\n")

    def uses(self, **figures):
        """Sets memory.numa_stat, in bytes by node, with one write, as the monitor keeps the file open."""
        lines = [f"{key} {' '.join(f'N{n}={value}' for n, value in enumerate(by))}\n" for key, by in figures.items()]
        descriptor = os.open(self.folder / "memory.numa_stat", os.O_WRONLY | os.O_CREAT, 0o644)
        os.pwrite(descriptor, "".join(lines).ljust(1024, "\n").encode(), 0)
        os.close(descriptor)

    def read(self):
        return samplesfile.read(self.samples)

    @contextlib.contextmanager
    def monitor(self, cgroup=None, guard=None, sysfs="/sys", resctrl=None, become=False, words=(), **options):
        """Starts a monitor. With `become`, the monitor starts as root and becomes the user nobody by itself."""
        descriptor = os.open(self.samples, os.O_RDWR)
        process = subprocess.Popen(
            [
                MONITOR,
                f"--samples-fd={descriptor}",
                f"--cgroup={cgroup or self.folder}",
                f"--guard={guard or self.guard}",
                f"--sysfs={sysfs}",
                *([f"--resctrl={resctrl}"] if resctrl else []),
                *words,
                *([f"--uid={NOBODY}", f"--gid={NOBODY}"] if become else []),
            ],
            pass_fds=[descriptor],
            stderr=subprocess.PIPE,
            text=True,
            **({} if become else as_user()),
            **options,
        )
        os.close(descriptor)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def wait_samples(self, more=1):
        before = self.read().n_samples
        return wait_for(lambda: (now := self.read()).n_samples >= before + more and now, "sample")

    def wait_reading(self):
        """Waits for the first reading of the counters: figures are what is counted after it. By then the monitor has
        given up root's rights."""
        wait_for(lambda: self.read().n_readings > 0, "reading")


def ends(process):
    """Checks that the process ends by itself, without a message."""
    _, text = process.communicate(timeout=20)
    assert (process.returncode, text) == (0, "")
