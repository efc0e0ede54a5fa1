# SPDX-License-Identifier: Apache-2.0
"""readhelpers.py FOLDER: reads FOLDER/helpers.conf with node_features/helpers of the Slurm that is installed, as
slurmctld does. Prints what that has read, as JSON: {"is_read": true, "features": [...], "boot_time": 900}. Of the
features memmode=flat and memmode=cache it prints those that Slurm may change."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import docblocks

PLUGINS = next(Path("/usr/lib").glob("*/slurm-wlm"), None)  # where Debian has them
IS_SLURMCTLD = 1 << 3  # of Slurm's run_in_daemon.h
FEATURES = ("memmode=flat", "memmode=cache")
WHOLE = (list(FEATURES), 900)  # what Slurm has of a file of the guide that it understands


def main(folder):
    os.environ["SLURM_CONF"] = f"{folder}/slurm.conf"  # helpers.conf is looked for beside it
    slurm = ctypes.CDLL(PLUGINS / "libslurmfull.so", ctypes.RTLD_GLOBAL)
    if hasattr(slurm, "slurm_daemon"):  # from which it learns that it is slurmctld
        ctypes.c_uint32.in_dll(slurm, "slurm_daemon").value = IS_SLURMCTLD
    else:
        ctypes.c_char_p.in_dll(slurm, "slurm_prog_name").value = b"slurmctld"
    plugin = ctypes.CDLL(PLUGINS / "node_features_helpers.so")
    is_read = plugin.init() == 0
    plugin.node_features_p_changeable_feature.restype = ctypes.c_bool
    plugin.node_features_p_boot_time.restype = ctypes.c_uint32
    features = [name for name in FEATURES if is_read and plugin.node_features_p_changeable_feature(name.encode())]
    print(json.dumps({"is_read": is_read, "features": features, "boot_time": plugin.node_features_p_boot_time()}))


def read(folder, form):
    """What Slurm has read of the form of helpers.conf that the administrator guide has for a version; None: nothing."""
    (text,) = (one.text for one in docblocks.blocks("admin-guide.md") if one.words == [f"helpers-{form}.conf"])
    (folder / "helpers.conf").write_text(text)
    done = subprocess.run([sys.executable, __file__, folder], capture_output=True, text=True, check=False)
    # An error in a file may end the process, as it ends slurmctld.
    found = json.loads(done.stdout or '{"is_read": false}')
    return (found["features"], found["boot_time"]) if found["is_read"] else None


if __name__ == "__main__":
    main(*sys.argv[1:])
