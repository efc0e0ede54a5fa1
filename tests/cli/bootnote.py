# SPDX-License-Identifier: Apache-2.0
"""The check of hybridmem-memmode after a boot, on a machine that does not boot and has no Slurm."""

import platform
import re
import subprocess

from installed import LIBEXEC, with_mounts

SCONTROL = """#!/bin/sh
case "$*" in
"-o show aliases {host}") echo "{aliases}" ;;
"-o show "*) ;;
*) printf "%s\\n" "$@" >> {told} ;;
esac
"""


def came(mode):
    """What BootNote.check() returns where the mode has come: slurmctld hears of it before slurmd reports it."""
    return 0, "", ["update", "nodename=n1", f"activefeatures=memmode={mode}"]


class BootNote:
    """The note of what was asked for, in the folder of a node."""

    def __init__(self, folder):
        self.folder, self.path = folder, folder / "notes" / "memmode"

    def age(self):
        """The note is then of an earlier boot."""
        self.path.write_text(re.sub("boot_id .*", "boot_id an-earlier-one", self.path.read_text()))

    def check(self, *words, aliases="n1"):
        """Runs the check with a stand-in for scontrol, which has these nodes on this host, and notes what it is told.
        Returns the exit status, what the check printed, and what was told."""
        slurm = self.folder / "slurm"
        slurm.mkdir(exist_ok=True)
        told = slurm / "told"
        told.write_text("")
        host = platform.node().partition(".")[0]
        (slurm / "scontrol").write_text(SCONTROL.format(host=host, aliases=aliases, told=told))
        (slurm / "scontrol").chmod(0o755)
        command = with_mounts(f"mount --bind {slurm} /usr/local/bin", LIBEXEC / "hybridmem-memmode", "--check", *words)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr, told.read_text().splitlines()
