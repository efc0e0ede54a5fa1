# SPDX-License-Identifier: Apache-2.0
"""Which jobs run on this node, by the processes that a user may know of: no privilege is needed."""

import os
from pathlib import Path

PROC = "/proc"


def has_job(number, uid):
    """Has the user (root: anybody) a process in one of the job's steps? So another user's job is none."""
    place = f"/job_{number}/step_".encode()  # of Slurm's cgroups
    with os.scandir(PROC) as entries:
        processes = [entry for entry in entries if entry.name.isdigit()]
    for process in processes:
        try:
            if uid in (0, process.stat().st_uid) and place in Path(process.path, "cgroup").read_bytes():
                return True
        except OSError:
            pass  # it has ended
    return False
