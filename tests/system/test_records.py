# SPDX-License-Identifier: Apache-2.0
"""Who gets a record, who may read it, and what show and report make of it."""

import json

import pytest
import slurm


@pytest.mark.main
def test_record_of_a_job_and_who_may_read_it():
    with slurm.Occupied("alice", 96, "--hybrid-mem=fast") as held:
        pass
    record = slurm.record(held.job_id)
    assert record["user"] == "alice" and record["partition"] == "main" and record["node"] == slurm.NODE
    assert record["step_ids"] == ["batch"] and record["exit_code"] == 0
    assert record["energy"]["package_j"] is None and record["energy"]["source"]
    assert record["elapsed_s"] > 0
    own = slurm.run(f"hybridmem show --json {held.job_id}", user="alice")
    assert json.loads(own.stdout) == [record]
    other = slurm.run(f"hybridmem show {held.job_id}", user="bob", check=False)
    assert other.returncode != 0 and f"no record of job {held.job_id} that you may read" in other.stderr
    assert slurm.run(f"hybridmem show --json {held.job_id}").stdout == own.stdout
    for command in (f"ls {slurm.RECORDS}/by-user/1001", f"cat {slurm.RECORDS}/2*/*.jsonl"):
        assert slurm.run(command, user="bob", check=False).returncode != 0


def test_jobs_without_the_option_are_recorded_only_under_all():
    assert slurm.wait_job(slurm.sbatch("alice", "true")) == "COMPLETED"
    slurm.wait_idle()
    before = len(slurm.all_records())
    with slurm.configured(slurm.CONFIG.read_text() + "record = all\n"):
        job_id = slurm.sbatch("alice", "true")
        slurm.wait_job(job_id)
        record = slurm.record(job_id)
    assert record["request"] is None and record["plan"] is None
    assert len(slurm.all_records()) == before + 1


@pytest.mark.main
def test_exit_codes_and_report():
    failing = slurm.sbatch("carol", "exit 7", "--hybrid-mem=spill")
    slurm.wait_job(failing)
    assert slurm.record(failing)["exit_code"] == 7
    report = json.loads(slurm.run("hybridmem report --json --user carol").stdout)
    assert "spill" in json.dumps(report)
    assert "carol" in slurm.run("hybridmem report --user carol").stdout


def test_page_cache_and_shared_memory_are_told_apart():
    shared, folder = "/dev/shm/$SLURM_JOB_ID", slurm.folder_of("alice")
    fill = f"head -c 64M /dev/zero > $HOME/file; head -c 32M /dev/zero > {shared}"
    hold = f"touch {folder}/ready; until [ -e {folder}/go ]; do sleep 0.2; done"
    job_id = slurm.sbatch("alice", f"{fill}; {hold}; rm {shared}", "--hybrid-mem=spill")
    try:
        slurm.wait_for((folder / "ready").exists, "the job's file and shared memory")
        slurm.wait_sampled(job_id)
    finally:
        (folder / "go").touch()
    assert slurm.wait_job(job_id) == "COMPLETED"
    tiers = slurm.record(job_id)["memory"]["tiers"]
    assert sum(t["file_bytes"] for t in tiers) >= 60 * slurm.MIB
    assert 30 * slurm.MIB <= sum(t["shmem_bytes"] for t in tiers) <= 40 * slurm.MIB
    assert sum(t["anon_bytes"] for t in tiers) <= 30 * slurm.MIB
