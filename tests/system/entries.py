# SPDX-License-Identifier: Apache-2.0
"""Reads and changes entries of the node's ledger, as another version of hybridmem would."""

import contextlib
import ctypes
import fcntl
from pathlib import Path

import slurm

FIXTURES = Path(__file__).parent.parent / "fixtures" / "ledger"
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


class Process(ctypes.Structure):
    _fields_ = (("pid", ctypes.c_int32), ("start_time", ctypes.c_uint64))


class Raw(ctypes.Structure):
    """The beginning of an entry of version 8, which was a raw structure (helpers/job/ledger/entryv8.c)."""

    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("magic", "version", "bytes", "job_id", "restart")),
        *((name, ctypes.c_uint32) for name in ("array_job_id", "array_task_id", "het_job_id", "uid", "gid")),
        *((name, ctypes.c_char * 64) for name in ("user", "account", "partition", "cluster", "node")),
        ("request", ctypes.c_char * 256),
        ("request_is_default", ctypes.c_bool),
        ("refusal", ctypes.c_char * 768),
        ("is_entered", ctypes.c_bool),
        ("recorded", ctypes.c_bool),
        ("start_ns", ctypes.c_int64),
        ("end_s", ctypes.c_uint64),
        ("boot_id", ctypes.c_char * 40),
        ("had_company", ctypes.c_bool),
        ("has_cores", ctypes.c_bool),
        ("cores", ctypes.c_uint64 * 128),
        ("cgroup", ctypes.c_char * 256),
        ("home_cgroup", ctypes.c_char * 256),
        ("monitor", Process),
    )


def make_raw(job_id, fixture="spill"):
    """Replaces the entry of a running job by one of version 8, with the fixture's plan, steps and warnings, but without
    its changes of the node and its resctrl group."""
    # Bytes of the last members: changes of the node, warnings, and (before the two) the resctrl group.
    changes, warnings, group = 136 * 128, 16 * 200, 4 + 4 + 8 + 200
    with locked():
        now = fields(job_id)
        content = bytearray((FIXTURES / f"{fixture}.v8").read_bytes())
        raw = Raw.from_buffer(content)
        for name in ("job_id", "restart", "array_job_id", "array_task_id", "het_job_id", "uid", "gid"):
            setattr(raw, name, int(now[name]))
        for name in ("start_ns", "end_s"):
            setattr(raw, name, int(now[name]))
        for name in ("user", "account", "partition", "cluster", "node", "request", "boot_id", "cgroup", "home_cgroup"):
            setattr(raw, name, now[name].encode())
        raw.monitor = Process(int(now["monitor.pid"]), int(now["monitor.start_time"]))
        del raw
        n_changes = len(content) - (4 + warnings) - changes - 4
        content[n_changes : n_changes + 4] = bytes(4)
        content[n_changes - group] = 0  # is_begun
        path(job_id).write_bytes(content)
