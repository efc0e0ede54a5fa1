# SPDX-License-Identifier: Apache-2.0
"""Tests which jobs get a record, who may read it, and what show and report make of it."""

import json

import readings
import slurm


def check_running(job_id):
    """Only a job's user and root see that the job runs."""
    said = f"hybridmem show: job {job_id} runs on this node: what is recorded of it is written at its end\n"
    for user in (None, "alice"):
        assert slurm.run(f"hybridmem show {job_id}", user=user, check=False).stderr == said
    assert said not in slurm.run(f"hybridmem show {job_id}", user="bob", check=False).stderr


def check_nothing_is_counted(record):
    """The node has no counters of energy and traffic: the record has no figure, but the reason."""
    energy, traffic = record["energy"], record["traffic"]
    assert energy["package_j"] is None and energy["node"] is None
    assert "powercap: the kernel shows no RAPL zone" in energy["source"]
    assert traffic["tiers"] == [] and traffic["node"] is None
    assert "perf-imc: the kernel has no PMU uncore_imc" in traffic["source"]


def test_records_of_jobs_who_may_read_them_and_report():
    failing = slurm.sbatch("carol", "exit 7", "--hybrid-mem=spill")
    with slurm.Occupied("alice", 96, "--hybrid-mem=fast") as held:
        check_running(held.job_id)
        readings.wait_metered(held.job_id)
    record = slurm.record(held.job_id)
    assert record["user"] == "alice" and record["partition"] == "main" and record["node"] == slurm.NODE
    assert record["step_ids"] == ["batch"] and record["exit_code"] == 0
    assert record["elapsed_s"] > 0
    check_nothing_is_counted(record)
    own = slurm.run(f"hybridmem show --json {held.job_id}", user="alice")
    assert json.loads(own.stdout) == [record]
    other = slurm.run(f"hybridmem show {held.job_id}", user="bob", check=False)
    assert other.returncode != 0 and f"no record of job {held.job_id} that you may read" in other.stderr
    assert slurm.run(f"hybridmem show --json {held.job_id}").stdout == own.stdout
    for command in (f"ls {slurm.RECORDS}/by-user/1001", f"cat {slurm.RECORDS}/2*/*.jsonl"):
        assert slurm.run(command, user="bob", check=False).returncode != 0
    slurm.wait_job(failing)
    assert slurm.record(failing)["exit_code"] == 7
    report = json.loads(slurm.run("hybridmem report --json --user carol").stdout)
    assert {"carol"} == {row["user"] for row in report["rows"]}
    assert any(row["mode"] == "spill" and row["failed_jobs"] for row in report["rows"]), report


def test_all_jobs_have_a_record_where_the_site_records_all():
    with slurm.configured(slurm.CONFIG.read_text() + "record = all\n"):
        silent, off = slurm.sbatch("alice", "true"), slurm.sbatch("bob", "true", "--hybrid-mem=off")
        assert slurm.record(off)["request"] == "off"
        record = slurm.record(silent)
    assert record["request"] is None and record["plan"] is None


def test_page_cache_and_shared_memory_are_told_apart():
    shared, folder = "/dev/shm/$SLURM_JOB_ID", slurm.folder_of("alice")
    fill = f"head -c 64M /dev/zero > $HOME/file; head -c 32M /dev/zero > {shared}"
    hold = f"touch {folder}/ready; until [ -e {folder}/go ]; do sleep 0.2; done"
    job_id = slurm.sbatch("alice", f"{fill}; {hold}; rm {shared}", "--hybrid-mem=spill")
    try:
        slurm.wait_for((folder / "ready").exists, "the job's file and shared memory")
        readings.wait_sampled(job_id)
    finally:
        (folder / "go").touch()
    assert slurm.wait_job(job_id) == "COMPLETED"
    tiers = slurm.record(job_id)["memory"]["tiers"]
    assert sum(t["file_bytes"] for t in tiers) >= 60 * slurm.MIB
    assert 30 * slurm.MIB <= sum(t["shmem_bytes"] for t in tiers) <= 40 * slurm.MIB
    assert sum(t["anon_bytes"] for t in tiers) <= 30 * slurm.MIB
