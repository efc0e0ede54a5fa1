# SPDX-License-Identifier: Apache-2.0
"""Shared by tests of steps' migrators: lists the migrators that run, reads their figures, and starts a job with one."""

import contextlib
import ctypes
from pathlib import Path

import processes
import slurm

MIGRATOR = Path("/usr/libexec/hybridmem/hybridmem-migrator")
OPTION = "--hybrid-mem=migrate,interval=200ms"
BATCH = 0xFFFFFFFB  # Slurm's number of a batch step


class Progress(ctypes.Structure):
    """The beginning of struct hm_progress (helpers/migrator/figures/progress.h)."""

    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("magic", "version", "bytes", "step_id", "state")),
        ("algorithm", ctypes.c_char * 16),
        ("source", ctypes.c_char * 16),
        ("source_why", ctypes.c_char * 200),
        ("period", ctypes.c_uint64),
        ("period_is_time", ctypes.c_uint32),
        ("knows_writes", ctypes.c_uint32),
        ("interval_ms", ctypes.c_uint64),
        ("hot_by", ctypes.c_char * 16),
        *(
            (name, ctypes.c_uint64)
            for name in ("phases", "samples", "lost", "throttled", "dropped", "promoted_bytes", "demoted_bytes")
        ),
    )


def progress(job_id, step):
    """The figures so far; None if the file does not exist, or was just made and is empty."""
    data = b""
    with contextlib.suppress(FileNotFoundError):
        data = (slurm.JOBS / f"{job_id}.{step}.migration").read_bytes()
    return Progress.from_buffer_copy(data) if len(data) >= ctypes.sizeof(Progress) else None


def phases(job_id, step):
    now = progress(job_id, step)
    return now.phases if now else 0


def wait_phases(job_id, step, count=1):
    slurm.wait_for(lambda: phases(job_id, step) >= count, f"{count} phases of the migrator of {job_id}.{step}")


def migrators(job_id=None):
    """{pid: its options} of all migrators, or of those of the job."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
            if words and words[0] == "hybridmem-migrator":
                options = dict(zip(words[1::2], words[2::2], strict=False))
                if job_id is None or options["--job"] == str(job_id):
                    found[int(folder.name)] = options
    return found


def status_of(pid):
    return dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)


def steps_of(record):
    return {step["step"]: step for step in record["migration"]["steps"]}


def nothing_is_left(job_id, may_stay=False):
    """Checks that no process and file of the job's migrators is left. The job's cgroups, which slurmstepd removes, must
    be empty and, without `may_stay`, gone, too. Where processes.has_lost() says that one stays, empty is enough."""
    slurm.wait_for(lambda: not migrators(job_id), f"the end of the migrators of {job_id}")
    slurm.wait_for(lambda: not list(slurm.JOBS.glob(f"{job_id}.*")), f"the end of the files of {job_id}")
    slurm.wait_for(lambda: not processes.is_populated(job_id), f"empty cgroups of {job_id}")
    if not may_stay:
        slurm.wait_for(
            lambda: not processes.cgroups(job_id) or processes.has_lost(job_id), f"the end of the cgroups of {job_id}"
        )


class Started:
    """A job that holds memory, whose migrator has made at least one decision."""

    def __init__(self, *options, step=BATCH, **more):
        words = options if any(word.startswith("--hybrid-mem") for word in options) else (OPTION, *options)
        self.held = slurm.Occupied("alice", 48, *words, **more)
        self.job_id = self.held.job_id
        wait_phases(self.job_id, step)
