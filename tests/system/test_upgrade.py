# SPDX-License-Identifier: Apache-2.0
"""As if hybridmem were replaced while jobs run: the ledger gets entries like those of an earlier or a later version."""

import os
import struct

import entries
import processes
import pytest
import readings
import slurm
from namespaces import ours

REQUESTS = ("spill", "migrate", "isolate", "fsdax,size=128M")
EARLIER = "spill"  # the mode of the job whose entry becomes one of version 8
LATER = {"future.place": "3", "plan.request.later": "a b", "namespaces.later": ""}
NOT_YET = ("memory_peak", "mongroup.why", "migration.judged_samples")  # fields that the other version does not know
SIZE = 8  # offset of a raw structure's length
WARNINGS = ["a warning\twith a tab and a \\", "another"]  # those of the entry of version 8, entries.make_raw

pytestmark = pytest.mark.usefixtures("empty_regions")


def begin(request, go):
    return slurm.sbatch("alice", f"while [ ! -e {go} ]; do sleep 0.2; done", f"--hybrid-mem={request}", "-n1")


def lengthen(path):
    """Append bytes, as if a later version with a longer structure had written the file."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END) + 64
        file.write(bytes(64))
        file.seek(SIZE)
        file.write(struct.pack("=I", size))


def replace(job_id, request):
    for path in slurm.JOBS.glob(f"{job_id}.*"):
        lengthen(path)
    if request == EARLIER:
        entries.make_raw(job_id)
    else:
        entries.change(job_id, LATER, removed=NOT_YET)


def check_entry(job_id, request):
    """This version has written the entry since the other one did: the entry is text, complete, and has all that the
    other version knows."""
    now = entries.fields(job_id)
    assert now["user"] == "alice" and now["request"] == request
    assert set(NOT_YET) <= set(now)
    assert {name: now.get(name) for name in LATER} == (dict.fromkeys(LATER) if request == EARLIER else LATER)


def test_jobs_of_several_modes_outlive_another_version():
    go = slurm.folder_of("alice") / "go"
    jobs = {request: begin(request, go) for request in REQUESTS}
    for job_id in jobs.values():
        slurm.wait_for(lambda: (slurm.JOBS / f"{job_id}.samples").exists(), f"a monitor of {job_id}")  # noqa: B023
        readings.wait_sampled(job_id)
    for request, job_id in jobs.items():
        replace(job_id, request)
        slurm.run(f"srun --jobid={job_id} -n1 --overlap true", user="alice")
        check_entry(job_id, request)
    slurm.run("hybridmem reap --grace 0")
    assert len(ours()) == 2
    go.touch()
    for request, job_id in jobs.items():
        assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
        record = slurm.record(job_id)
        assert (record["user"], record["request"], record["exit_code"]) == ("alice", request, 0)
        assert record["plan"]["mode"] == request.split(",")[0]
        assert record["memory"]["peak_bytes"] > 0
        assert request != "migrate" or record["migration"]["self_reported"]
        warnings = WARNINGS if request == EARLIER else []
        assert [warning for warning in record["warnings"] if warning in WARNINGS] == warnings
        assert not [warning for warning in record["warnings"] if "version" in warning], record["warnings"]
        assert len(record["namespaces"]) == (2 if request.startswith("fsdax") else 0)
    slurm.wait_idle()
    assert ours() == [] and processes.of_hybridmem() == []
