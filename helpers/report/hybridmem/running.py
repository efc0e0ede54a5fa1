# SPDX-License-Identifier: Apache-2.0
"""Which jobs run: on this node by the processes that a user may know of, and for root by the ledger; elsewhere by
Slurm's queue."""

import os
from pathlib import Path

from . import commands, settings
from .failure import Failure

PROC = "/proc"
PATIENCE_S = 10  # for squeue: where slurmctld does not answer, the job has no record all the same


def is_of_job(process, number):
    """Is a process in a step of the job? Slurm's cgroups have the job's number in their path; from 26.05 on they have a
    name of Slurm's own there, and the step's environment has the number."""
    path = Path(process, "cgroup").read_bytes()
    if f"/job_{number}/step_".encode() in path:
        return True
    if b"slurmstepd.scope/" not in path or b"/step_" not in path:
        return False
    return f"SLURM_JOB_ID={number}".encode() in Path(process, "environ").read_bytes().split(b"\0")


def has_job(number, uid):
    """Has the user (root: anybody) a process in one of the job's steps? So another user's job is none."""
    with os.scandir(PROC) as entries:
        processes = [entry for entry in entries if entry.name.isdigit()]
    for process in processes:
        try:
            if uid in (0, process.stat().st_uid) and is_of_job(process.path, number):
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


def in_queue(name):
    """What Slurm's queue says of a job of the user's (root: of anybody's): (state, nodes), as ("RUNNING", "n[1-2]"),
    of its first task or component there; None where there is none, or squeue cannot be asked."""
    uid = os.geteuid()
    try:
        words = [commands.find("squeue"), "--noheader", f"--jobs={name}", "--format=%T|%N"]
        output = commands.run([*words, *([f"--user={uid}"] if uid else [])], patience=PATIENCE_S)
    except commands.Failed:
        return None
    state, _, nodes = output.partition("\n")[0].strip().partition("|")
    return (state, nodes) if state else None
