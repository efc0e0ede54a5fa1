# SPDX-License-Identifier: Apache-2.0
"""Installs another version of hybridmem: copies of the programs and libraries that are installed, with another number,
and with names of their own for two fields of the ledger's entry and for the source of a record's memory."""

import contextlib
import shutil
import tempfile
from pathlib import Path

import slurm

LIBEXEC = Path("/usr/libexec/hybridmem")
FIELDS = ("memory_peak", "dead_boot_ns")
SOURCE = "memory.numa_stat of the job's cgroup"


def name_of(word):
    """What the other version calls it. Only the first letter differs, as the linker may store another text as the
    end of this one."""
    return word[0].upper() + word[1:]


def files():
    """The files that hooks, steps and helpers of jobs use."""
    plugin = Path(slurm.PLUGSTACK.read_text().split()[-1])
    return [plugin, Path("/usr/bin/hybridmem"), *LIBEXEC.iterdir(), *plugin.parents[1].glob("hybridmem/*.so")]


def number():
    """The number of the version that is installed."""
    return slurm.run("hybridmem --version").stdout.split()[1]


def changed(content, before, after):
    """A file's content in the other version, whose number is `after`."""
    content = content.replace(before.encode(), after.encode())
    for word in (*FIELDS, SOURCE):
        content = content.replace(f"\0{word}\0".encode(), f"\0{name_of(word)}\0".encode())
    return content


@contextlib.contextmanager
def installed():
    """Installs the other version, and at the end this one again. Each file is renamed over the old one, as package
    managers do it: processes keep the file that they have opened."""
    before = number()
    after = f"9{before[1:]}"
    with tempfile.TemporaryDirectory(dir=LIBEXEC.parent) as folder, contextlib.ExitStack() as this_version:
        new = Path(folder) / "new"
        for i, path in enumerate(files()):
            kept = Path(folder) / str(i)
            kept.hardlink_to(path)
            new.write_bytes(changed(path.read_bytes(), before, after))
            shutil.copymode(path, new)
            new.rename(path)
            this_version.callback(kept.rename, path)
        assert number() == after != before
        yield


def is_of_this_version(pid, program):
    """While the other version is installed: does the process run this version's program of that name?"""
    return not Path(f"/proc/{pid}/exe").samefile(LIBEXEC / program)
