# SPDX-License-Identifier: Apache-2.0
"""Which jobs are on this node: by the processes that a user may know of, and for root by the ledger."""

import os
from pathlib import Path

from . import settings
from .failure import Failure

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


def is_in_ledger(number, config_program):
    """Has the ledger the job? It is there from its prolog to the end of its epilog, some minutes after the last
    process where file systems are wiped. The ledger is root's: others are told nothing."""
    if os.geteuid() != 0:
        return False
    try:
        run_dir = settings.read(config_program).option("run_dir")
    except Failure:
        return False  # the records were read without it
    return bool(run_dir) and Path(run_dir, "jobs", str(number)).exists()
