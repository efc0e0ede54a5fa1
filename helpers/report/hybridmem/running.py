# SPDX-License-Identifier: Apache-2.0
"""Finds out whether a job runs: on this node from the user's own processes (for root from everybody's, and from the
ledger), on other nodes from Slurm's queue."""

import os
from pathlib import Path

from . import commands, settings
from .failure import Failure

PROC = "/proc"
MOST_BYTES = 8 << 20  # read of a file in /proc at most: a user can make their environment look as large as they like
PATIENCE_S = 10  # for squeue: if slurmctld does not answer, the message is that there is no record


def begin_of(process, name):
    with Path(process, name).open("rb") as stream:
        return stream.read(MOST_BYTES)


def is_of_job(process, number):
    """Is the process in a step of the job? Slurm's cgroups have the job's number in their path. From Slurm 26.05 on the
    path has another name of the job; then the number is taken from the process's environment."""
    path = begin_of(process, "cgroup")
    if f"/job_{number}/step_".encode() in path:
        return True
    if b"slurmstepd.scope/" not in path or b"/step_" not in path:
        return False
    return f"SLURM_JOB_ID={number}".encode() in begin_of(process, "environ").split(b"\0")


def has_job(number, uid):
    """Has the user a process in one of the job's steps (root: has anybody)? So another user's job does not count."""
    with os.scandir(PROC) as entries:
        processes = [entry for entry in entries if entry.name.isdigit()]
    for process in processes:
        try:
            if uid in (0, process.stat().st_uid) and is_of_job(process.path, number):
                return True
        except OSError:
            pass  # the process has ended, or its environment cannot be read
    return False


def is_in_ledger(number, config_program):
    """Is the job in the ledger? It is there from its prolog to the end of its epilog, and so for minutes after its last
    process if file systems are wiped. Only root can see the ledger; for others this is False."""
    if os.geteuid() != 0:
        return False
    try:
        run_dir = settings.read(config_program).option("run_dir")
    except Failure:
        return False  # no error: with --records the configuration is not needed
    return bool(run_dir) and Path(run_dir, "jobs", str(number)).exists()


def in_queue(name):
    """What Slurm's queue has on the user's job (root: on anybody's): (state, nodes), such as ("RUNNING", "n[1-2]"), of
    its first task or component. None if there is no such job, or squeue cannot be asked."""
    uid = os.geteuid()
    try:
        words = [commands.find("squeue"), "--noheader", f"--jobs={name}", "--format=%T|%N"]
        output = commands.run([*words, *([f"--user={uid}"] if uid else [])], patience=PATIENCE_S)
    except commands.Failed:
        return None
    state, _, nodes = output.partition("\n")[0].strip().partition("|")
    return (state, nodes) if state else None
