# SPDX-License-Identifier: Apache-2.0
"""Replaces hybridmem by another version while jobs of all modes run, and puts it back. Before that, the ledger's
entries of some jobs are changed, as if a later version had written them."""

import fcntl
import json
import os
import struct

import entries
import otherversion
import processes
import pytest
import readings
import slurm
import stepmigrators
from modes import MODES, NOT_HERE
from namespaces import ours

WITH_LATER = ("isolate", "migrate", "fsdax,size=128M")  # jobs whose entries get fields of a later version
MIGRATED = ("isolate", "migrate")
LATER = {"future.place": "3", "plan.request.later": "a b", "namespaces.later": ""}
NOT_YET = ("mongroup.why", "migration.judged_samples")  # fields that the entries of WITH_LATER lose
SIZE = 8  # offset of a raw structure's length

pytestmark = pytest.mark.usefixtures("empty_regions")


def hold():
    """A file for which the jobs of begin() wait until it is closed."""
    go = (slurm.folder_of("alice") / "go").open("w")
    fcntl.flock(go, fcntl.LOCK_EX)
    return go


def begin(request, go):
    """Starts a job that prints its policy and waits for `go`. With fsdax, its file system keeps a file meanwhile."""
    first, last = "true", "true"
    if request.startswith("fsdax"):
        first, last = "echo kept > $HYBRIDMEM_FSDAX_DIR/file", "cat $HYBRIDMEM_FSDAX_DIR/file"
    script = f"{slurm.POLICY}\n{first}\nflock --shared {go.name} {last}"
    return slurm.sbatch("alice", script, f"--hybrid-mem={request}", "-n1")


def wait_begun(job_id, request):
    policy, mode, _ = MODES[request]
    slurm.wait_output(job_id, policy)
    if mode:
        readings.wait_sampled(job_id)


def lengthen(path):
    """Appends bytes, as if a later version with a longer structure had written the file."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END) + 64
        file.write(bytes(64))
        file.seek(SIZE)
        file.write(struct.pack("=I", size))


def change(job_id, request):
    """Changes what the ledger has of the job, if it is one of those to be changed."""
    if request not in WITH_LATER:
        return
    entries.change(job_id, LATER, removed=NOT_YET)
    for path in slurm.JOBS.glob(f"{job_id}.*"):
        lengthen(path)


def check_entry(job_id, request):
    """The other version has written the entry: it has all that the other version knows, and what others have written
    into it."""
    now = entries.fields(job_id)
    assert now["user"] == "alice" and now["request"] == request
    assert {*NOT_YET, *map(otherversion.name_of, otherversion.FIELDS)} <= set(now)
    assert set(otherversion.FIELDS) <= set(now)
    for name, value in LATER.items():
        assert now.get(name) == (value if request in WITH_LATER else None)
    return now


def check_helpers(job_id, mode, entry):
    """The helpers that the job began with run on, and are those of this version."""
    assert otherversion.is_of_this_version(entry["monitor.pid"], "hybridmem-monitor")
    migrators = stepmigrators.migrators(job_id).items()
    first = [pid for pid, options in migrators if options["--step"] == str(stepmigrators.BATCH)]
    assert len(first) == (mode in MIGRATED)
    assert all(otherversion.is_of_this_version(pid, "hybridmem-migrator") for pid in first)


def check_end(job_id, request, source):
    """The job ends well. The version whose name for the memory's source is `source` has written its record."""
    policy, mode, _ = MODES[request]
    is_fsdax = request.startswith("fsdax")
    assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
    assert slurm.output(job_id).split() == [policy, *(["kept"] if is_fsdax else [])]
    if mode is None:
        return
    record = slurm.record(job_id)
    assert (record["user"], record["request"], record["exit_code"]) == ("alice", request, 0)
    assert record["plan"]["mode"] == mode
    assert record["memory"]["source"] == source and record["memory"]["peak_bytes"] > 0
    assert bool(record["migration"]["self_reported"]) == (mode in MIGRATED)
    assert not [warning for warning in record["warnings"] if "version" in warning], record["warnings"]
    assert len(record["namespaces"]) == (2 if is_fsdax else 0)


def test_jobs_of_all_modes_outlive_another_version():
    every = json.loads(slurm.run("hybridmem plan --modes --json").stdout)["modes"]
    assert {mode["name"] for mode in every} == NOT_HERE | {request.split(",")[0] for request in MODES}
    with hold() as go:
        jobs = {request: begin(request, go) for request in MODES}
        for request, job_id in jobs.items():
            wait_begun(job_id, request)
            change(job_id, request)
        with otherversion.installed():
            for request, job_id in jobs.items():
                policy, mode, _ = MODES[request]
                done = slurm.run(f"srun --jobid={job_id} -n1 --overlap {slurm.POLICY}", user="alice")
                assert done.stdout.strip() == policy
                entry = check_entry(job_id, request)
                if mode:
                    check_helpers(job_id, mode, entry)
            slurm.run("hybridmem reap --grace 0")
            assert len(ours()) == 2
            go.close()
            for request, job_id in jobs.items():
                check_end(job_id, request, otherversion.name_of(otherversion.SOURCE))
            slurm.wait_idle()
    assert slurm.records(jobs["off"]) == []
    assert ours() == [] and processes.of_hybridmem() == []


def test_a_job_of_another_version_ends_when_this_one_is_back():
    with hold() as go:
        with otherversion.installed():
            job_id = begin("migrate", go)
            wait_begun(job_id, "migrate")
            assert set(map(otherversion.name_of, otherversion.FIELDS)) <= set(entries.fields(job_id))
        go.close()
        check_end(job_id, "migrate", otherversion.SOURCE)
