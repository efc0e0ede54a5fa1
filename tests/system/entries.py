# SPDX-License-Identifier: Apache-2.0
"""Reads and changes entries of the node's ledger, as another version of hybridmem would."""

import contextlib
import fcntl

import slurm

FIRST, LAST = "hybridmem job 1", "end"


def path(job_id):
    return slurm.JOBS / str(job_id)


def fields(job_id):
    """The lines of an entry: value by path."""
    first, *lines, last = path(job_id).read_text().splitlines()
    assert (first, last) == (FIRST, LAST)
    parts = [line.partition(" ") for line in lines]
    return {name: value for name, _, value in parts}


@contextlib.contextmanager
def locked():
    with (slurm.JOBS / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def change(job_id, values, removed=()):
    """Sets fields of an entry to these values, with new fields before its end, and removes others."""
    with locked():
        content = fields(job_id) | values
        lines = [f"{name} {value}" for name, value in content.items() if name not in removed]
        path(job_id).write_text("\n".join([FIRST, *lines, LAST, ""]))
