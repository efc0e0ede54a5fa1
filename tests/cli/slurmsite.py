# SPDX-License-Identifier: Apache-2.0
"""A fake Slurm for the tests of hybridmem config check."""

import os
import re

from installed import PREFIX, helper

VERSION = re.search(r"for Slurm (\S+)", os.popen(f"{PREFIX}/bin/hybridmem --version").read())[1]
GOOD = {
    "ProctrackType": "proctrack/cgroup",
    "TaskPlugin": "task/cgroup,task/affinity",
    "PrEpPlugins": "prep/script",
    "PrologFlags": "Alloc,Contain,X11",
    "SLURM_VERSION": VERSION,
}


class Site:
    """A fake Slurm: scontrol prints `settings`, and plugstack.conf is beside its slurm.conf."""

    def __init__(self, folder):
        self.folder = folder
        self.settings = {**GOOD, "SLURM_CONF": f"{folder}/slurm.conf", "PluginDir": f"{folder}/none:{folder}/plugins"}
        self.status = 0
        (folder / "plugins").mkdir()
        (folder / "plugins" / "hybridmem.so").touch()
        (folder / "plugstack.conf").write_text("optional hybridmem.so\n")

    def check(self, *words, status=1):
        scontrol = self.folder / "scontrol"
        lines = [f"{name:<23} = {value}" for name, value in self.settings.items()]
        text = "\n".join(["Configuration data as of today", *lines])
        scontrol.write_text(
            f"#!/bin/sh\n[ \"$*\" = 'show config' ] || exit 9\ncat <<'END'\n{text}\nEND\nexit {self.status}\n"
        )
        scontrol.chmod(0o755)
        # The node itself (users, cgroups) can be anything here: only Slurm's lines are checked.
        done = helper("hybridmem-config", "check", "--scontrol", scontrol, *words, status=status)
        return done.stdout.splitlines()


def any_status(site, *words):
    """The lines of a check whose exit status depends on the node itself, too."""
    try:
        return site.check(*words, status=0)
    except AssertionError:
        return site.check(*words, status=1)
