# SPDX-License-Identifier: Apache-2.0
"""Tests the summaries in Slurm's database: slurmctld's epilog, the collector as SlurmUser, and a real slurmdbd."""

import json

import accounting
import nodes
import pytest
import slurm
from accounting import LIBEXEC, SPOOL, collect, collect_at_once, summary

pytestmark = pytest.mark.accounting


@pytest.fixture(scope="module", autouse=True)
def summed_up():
    """Set up the collector as a site does, by the administrator guide."""
    slurm.run(f"install -d -o slurm -m 0700 {SPOOL}")
    text = f"{nodes.SLURM_CONF.read_text()}EpilogSlurmctld={LIBEXEC}/hybridmem-spool\n"
    settings = f"{slurm.CONFIG.read_text()}summary_field = AdminComment\nsummary_rate = 6000\ncollect_wait = 60s\n"
    with slurm.configured(settings), nodes.reconfigured(text):
        yield


def test_slurmctld_leaves_an_entry_and_the_job_gets_its_summary():
    job_id = slurm.sbatch("alice", "true", "--hybrid-mem=spill", "-n1")
    (line,) = accounting.wait_stored([job_id])
    (path,) = slurm.wait_for(lambda: list(SPOOL.glob("*.json")), "an entry")
    made = json.loads(path.read_text())
    assert path.owner() == "slurm" and path.stat().st_mode & 0o777 == 0o600
    assert (made["job_id"], made["uid"], made["nodes"]) == (job_id, int(line["UID"]), line["NodeList"])
    assert (made["start_s"], made["end_s"], made["asked"]) == (int(line["Start"]), int(line["End"]), True)
    collect()
    found = summary(accounting.row(job_id))
    record = slurm.record(job_id)
    assert (found["job_id"], found["nodes"], found["reported"], found["missing"]) == (job_id, 1, 1, "")
    assert (found["request"], found["end"]) == (record["request"], record["end"])
    assert found["memory"]["peak_bytes"]["sum"] == record["memory"]["peak_bytes"]
    check_shown(job_id)


def check_shown(job_id):
    """`hybridmem show` shows a job's user the summary, also where there are no records."""
    with slurm.configured(slurm.CONFIG.read_text() + 'record_dir = "/var/lib/hybridmem/none"\n'):
        said = slurm.run(f"hybridmem show {job_id}", user="alice").stdout
        assert "of AdminComment in Slurm's database" in said and "nodes        1\n" in said
        done = slurm.run(f"hybridmem show {job_id}", user="bob", check=False)  # by Slurm's PrivateData
        assert done.returncode == 1 and f"no summary of job {job_id} in Slurm's database" in done.stderr


def test_tasks_of_an_array_have_summaries_and_a_job_that_did_not_ask_has_none():
    array = slurm.sbatch("bob", "true", "--hybrid-mem=fast", "-n1", "--array=1-3")
    silent = slurm.sbatch("alice", "true", "-n1")
    accounting.wait_stored([array, silent], 4)
    for line in accounting.rows([array]):
        slurm.record(int(line["JobIDRaw"]))
    collect_at_once()  # no record of the silent job comes
    assert accounting.row(silent)["AdminComment"] == ""
    for line in accounting.rows([array]):
        found = summary(line)
        assert f"{found['array_job_id']}_{found['array_task_id']}" == line["JobID"]
        assert found["job_id"] == int(line["JobIDRaw"])


def test_the_last_run_of_a_requeued_job_has_the_summary():
    folder = slurm.folder_of("carol")
    script = f"touch {folder}/ran; until [ -e {folder}/go ]; do sleep 0.2; done"
    job_id = slurm.sbatch("carol", script, "--hybrid-mem=slow", "--requeue", "-n1")
    slurm.wait_for((folder / "ran").exists, "the first run")
    slurm.requeue(job_id)
    (folder / "go").touch()
    accounting.wait_runs(job_id, 2)
    slurm.wait_idle()
    collect()
    first, last = accounting.rows([job_id], "--duplicates")
    assert first["AdminComment"] == "" and summary(last)["restart_count"] == 1


def job_on_both_nodes():
    job_id = slurm.sbatch("alice", "srun true", "--hybrid-mem=spill", "-N2", "-n2")
    (line,) = accounting.wait_stored([job_id])
    assert line["NodeList"] == "n[1-2]"
    slurm.wait_for(lambda: len(slurm.records(job_id)) == 2, "a record of each node")
    return job_id, {record["node"]: record for record in slurm.records(job_id)}


def test_a_job_on_two_nodes_is_one_summary_and_a_node_without_a_record_is_named(node_apart):
    check_both_nodes()
    check_ids_of_an_array()
    check_a_node_without_a_record()


def check_both_nodes():
    job_id, of_node = job_on_both_nodes()
    assert sorted(of_node) == ["n1", "n2"]
    collect()
    found = summary(accounting.row(job_id))
    peaks = {node: record["memory"]["peak_bytes"] for node, record in of_node.items()}
    assert (found["nodes"], found["reported"], found["missing"]) == (2, 2, "")
    assert found["memory"]["peak_bytes"]["sum"] == sum(peaks.values())
    node = max(peaks, key=peaks.get)
    assert found["memory"]["peak_bytes"]["most"] == [peaks[node], node]
    assert found["end"] == max(record["end"] for record in of_node.values())
    shown = slurm.run(f"hybridmem show {job_id}", user="alice").stdout
    assert "\nNode n1\n" in shown and "\nNode n2\n" in shown


def check_ids_of_an_array():
    """The record of the node without the batch script has the array's ids that slurmctld tells, even if the environment
    of a step has others, as here in the array's second task."""
    forge = "[ $SLURM_ARRAY_TASK_ID = 3 ] || export SLURM_ARRAY_JOB_ID=1 SLURM_ARRAY_TASK_ID=9"
    array = slurm.sbatch("alice", f"{forge}\nsrun true", "-N2", "--hybrid-mem=slow", "--array=3-4%1")
    slurm.wait_no_jobs()
    slurm.wait_for(lambda: sum(record["job_id"] >= array for record in slurm.all_records()) == 4, "four records")
    found = [record for record in slurm.all_records() if record["job_id"] >= array]
    jobs = {record["array_task_id"]: record["job_id"] for record in found if record["node"] == "n1"}
    ids = {(record["job_id"], record["node"], record["array_job_id"], record["array_task_id"]) for record in found}
    assert ids == {(jobs[task], node, array, task) for node in ("n1", "n2") for task in (3, 4)}
    assert not [warning for record in found for warning in record["warnings"] if "array" in warning]
    collect()


def check_a_node_without_a_record():
    """A node without a record is named once collect_wait has passed."""
    job_id, of_node = job_on_both_nodes()
    files = list(slurm.RECORDS.glob("*/n2.jsonl"))
    assert files
    for file in files:  # midnight may have passed since the first test with this node
        file.rename(file.with_suffix(".lost"))
    collect_at_once()
    found = summary(accounting.row(job_id))
    assert (found["nodes"], found["reported"], found["missing"]) == (2, 1, "n2")
    assert found["memory"]["peak_bytes"]["sum"] == of_node["n1"]["memory"]["peak_bytes"]
