# SPDX-License-Identifier: Apache-2.0
"""Compares hybridmem's records with Slurm's own accounting (slurmdbd with MariaDB) for the same jobs."""

import base64
import collections
import itertools
import json
import os
import signal
from datetime import datetime, timezone

import accounting
import pytest
import slurm

pytestmark = pytest.mark.accounting

MODES = ("off", "fast", "spill", "migrate")
PAIRS = tuple(itertools.product(slurm.USERS, MODES))
COMMENT_BYTES = 4096  # the most that a summary takes
NO_JOB = 4000000
STORM = 2 * len(PAIRS)  # jobs
FAILING, CODE = 2, 7  # every second task of the storm's arrays ends with this code
CUT = 1  # second: sacct's times are truncated to whole seconds
TO_RUN = 900  # seconds after which a wait is given up, far more than an emulated node needs


@pytest.fixture(scope="module", autouse=True)
def all_recorded():
    """All jobs have records, also those in mode off."""
    with slurm.configured(slurm.CONFIG.read_text() + "record = all\n"):
        yield


@pytest.fixture(scope="module")
def jobs(all_recorded):
    """Run two jobs of alice and two of bob, and wait until they have ended and are stored. Returns job ids by user and
    mode."""
    options = {("alice", "fast"): ("--comment=about the run", "--extra=more of it")}
    pairs = (("alice", "fast"), ("alice", "slow"), ("bob", "fast"), ("bob", "spill"))
    ids = {
        (user, mode): slurm.sbatch(user, "true", f"--hybrid-mem={mode}", "-n1", *options.get((user, mode), ()))
        for user, mode in pairs
    }
    accounting.wait_stored(ids.values())
    return ids


def seconds(text):
    """Convert a record's time to seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


def assert_same(line, record):
    """Compare sacct's line with the record, for a job whose script ran to its end or that was refused."""
    assert int(line["JobIDRaw"]) == record["job_id"]
    assert (line["User"], int(line["UID"])) == (record["user"], record["uid"])
    assert (line["Account"], line["Partition"]) == (record["account"], record["partition"])
    assert (line["NodeList"], int(line["Restarts"])) == (record["node"], record["restart_count"])
    assert line["State"] == ("FAILED" if record["exit_code"] else "COMPLETED")
    assert line["ExitCode"] == f"{record['exit_code']}:0"
    # All times are of one clock, and must be in order: the job's start, the prolog, the script, the job's end, the
    # epilog.
    assert int(line["Start"]) <= seconds(record["start"]) < int(line["End"]) + CUT
    assert int(line["End"]) <= seconds(record["end"])


def test_users_see_their_own_jobs_alone(jobs):
    of_alice, of_bob = ([jobs[pair] for pair in jobs if pair[0] == user] for user in ("alice", "bob"))
    found = accounting.rows(of_alice + of_bob, user="alice")
    assert sorted(int(line["JobID"]) for line in found) == sorted(of_alice)
    # The two users share an account: look bob's jobs up by it, too.
    assert accounting.rows(of_bob, "-a", "-A", accounting.ACCOUNTS["bob"], user="alice") == []


def test_an_admin_comment_is_as_long_as_the_longest_summary_and_can_be_replaced(jobs):
    job_id = jobs["bob", "spill"]
    longest = base64.b64encode(os.urandom(COMMENT_BYTES * 3 // 4)).decode()
    assert len(longest) == COMMENT_BYTES
    for comment in (longest, "HM1:short"):
        accounting.set_comment(job_id, comment)
        assert accounting.row(job_id)["AdminComment"] == comment
    assert accounting.row(jobs["bob", "fast"])["AdminComment"] == ""
    assert accounting.rows([job_id], user="bob")[0]["AdminComment"] == "HM1:short"


def test_admin_comment_that_cannot_be_written_and_why(jobs):
    """A user may not write the comment, or there is no such job: sacctmgr's exit status is 1 in both cases on every
    version of Slurm; its message tells them apart. Where slurmdbd closes the connection before sacctmgr does, sacctmgr
    ends by SIGPIPE after that message."""
    job_id = jobs["alice", "slow"]
    for target, user, why in ((job_id, "alice", "Access/permission denied"), (NO_JOB, None, "Data has not changed")):
        done = accounting.set_comment(target, "lost", user=user, check=False)
        assert done.returncode in (1, -signal.SIGPIPE), (target, user, done)
        assert why in done.stdout + done.stderr, (target, user, done)
    assert accounting.row(job_id)["AdminComment"] == ""


def test_what_the_owner_says_of_the_job_is_stored(jobs):
    line = accounting.row(jobs["alice", "fast"])
    assert (line["Comment"], line["Extra"]) == ("about the run", "more of it")


def test_failed_refused_and_cancelled_jobs():
    ran = slurm.folder_of("carol") / "ran"
    failing = slurm.sbatch("alice", f"exit {CODE}", "--hybrid-mem=slow", "-n1")
    refused = slurm.sbatch("bob", "true", "--hybrid-mem=hbm", "-n1")
    cancelled = slurm.sbatch("carol", f"touch {ran}; sleep 10000", "--hybrid-mem=fast", "-n1")
    slurm.wait_for(ran.exists, "the job that is to be cancelled")
    slurm.run(f"scancel {cancelled}")
    lines = {int(line["JobID"]): line for line in accounting.wait_stored([failing, refused, cancelled])}
    for job_id in (failing, refused):
        assert lines[job_id]["State"] == "FAILED"
        assert_same(lines[job_id], slurm.record(job_id))
    assert lines[failing]["ExitCode"] == f"{CODE}:0"
    # To Slurm a cancelled job's code is 0; the record has what became of its script.
    assert (lines[cancelled]["State"], lines[cancelled]["ExitCode"]) == ("CANCELLED by 0", "0:0")
    assert slurm.record(cancelled)["exit_code"] in (128 + signal.SIGTERM, 128 + signal.SIGKILL)


def test_ids_of_an_array_and_what_they_mean_to_sacctmgr():
    """A task's record has the number that sacct calls JobIDRaw. sacctmgr has to be given the JobID, which consists of
    the array's id and the task's index. The last task's number would not do: it is also the array's own number, which
    sacctmgr takes for all tasks."""
    array = slurm.sbatch("alice", f"exit $((SLURM_ARRAY_TASK_ID == 3 ? {CODE} : 0))", "-n1", "--array=1-3")
    lines = accounting.wait_stored([array], 3)
    slurm.wait_idle()
    records = {record["job_id"]: record for record in slurm.all_records() if record["array_job_id"] == array}
    assert len(records) == 3 and array in records
    for line in lines:
        record = records[int(line["JobIDRaw"])]
        assert line["JobID"] == f"{record['array_job_id']}_{record['array_task_id']}"
        assert_same(line, record)
    assert {record["array_task_id"]: record["exit_code"] for record in records.values()} == {1: 0, 2: 0, 3: CODE}

    def comments():
        return {line["JobID"]: line["AdminComment"] for line in accounting.rows([array])}

    for task, comment in ((2, "second"), (3, "third")):
        accounting.set_comment(f"{array}_{task}", comment)
    assert comments() == {f"{array}_1": "", f"{array}_2": "second", f"{array}_3": "third"}
    accounting.set_comment(array, "all")
    assert set(comments().values()) == {"all"}


def test_ids_of_a_heterogeneous_job_and_what_they_mean_to_sacctmgr(second_node):
    """LEADER+OFFSET names one component; the leader's number stands for the whole job, as an array's id does for its
    tasks. Each component has its own request, although the script's environment has the leader's. A step's own option
    takes precedence."""
    script = f"""{slurm.OVERLAP}srun --het-group=0 {slurm.POLICY}; srun --het-group=1 {slurm.POLICY}
        srun --het-group=1 --hybrid-mem=interleave {slurm.POLICY}"""
    options = ("-n1", "--hybrid-mem=slow", ":", "-n1", "--hybrid-mem=fast")
    leader = slurm.sbatch("carol", script, *options)
    lines = accounting.wait_stored([leader], 2)
    slurm.wait_for(lambda: not slurm.ledger(), "an empty ledger")
    assert slurm.output(leader).split() == ["bind=static:2-3", "bind=static:0-1", "interleave=static:0-3"]
    records = {record["job_id"]: record for record in slurm.all_records() if record["het_job_id"] == leader}
    assert sorted(records) == [leader, leader + 1]
    assert [records[leader + offset]["request"] for offset in (0, 1)] == ["slow", "fast"]
    for offset, line in enumerate(lines):
        assert line["JobID"] == f"{leader}+{offset}"
        assert_same(line, records[int(line["JobIDRaw"])])

    def comments():
        return [line["AdminComment"] for line in accounting.rows([leader])]

    for offset, comment in enumerate(("first", "second")):
        accounting.set_comment(f"{leader}+{offset}", comment)
    assert comments() == ["first", "second"]
    accounting.set_comment(leader, "all")
    assert comments() == ["all", "all"]


def test_runs_of_a_requeued_job_are_told_apart_by_their_count():
    """All runs have the same job id. sacct shows only the last run unless it is asked for all; sacctmgr writes to the
    last run. Each run is placed."""
    folder = slurm.folder_of("bob")
    script = f"{slurm.POLICY}; touch {folder}/ran; until [ -e {folder}/go ]; do sleep 0.2; done"
    job_id = slurm.sbatch("bob", script, "--hybrid-mem=slow", "--requeue", "--open-mode=append", "-n1")
    slurm.wait_for((folder / "ran").exists, "the first run")
    slurm.requeue(job_id)
    (folder / "go").touch()
    shown = accounting.wait_runs(job_id, 2)
    slurm.wait_idle()
    of_run = {record["restart_count"]: record for record in slurm.records(job_id)}
    assert sorted(of_run) == [0, 1] and len(slurm.records(job_id)) == 2
    # The output also has Slurm's message about the first run's end.
    assert slurm.output(job_id).count("bind=static:2-3") == 2
    first, last = accounting.rows([job_id], "--duplicates")
    assert shown == last
    assert_same(last, of_run[1])
    # The count in this row is 0 or 1: it depends on when slurmdbd's answer to the first run's start reaches slurmctld.
    assert (first["JobIDRaw"], first["State"]) == (str(job_id), "REQUEUED")
    assert int(first["End"]) <= seconds(of_run[0]["end"])
    accounting.set_comment(job_id, "which")
    assert [line["AdminComment"] for line in accounting.rows([job_id], "--duplicates")] == ["", "which"]


def test_jobs_that_end_while_there_is_no_slurmdbd_are_stored_later():
    slurm.run(slurm.stop("slurmdbd"))
    try:
        job_id = slurm.sbatch("carol", f"exit {CODE}", "--hybrid-mem=spill", "-n1")
        assert slurm.wait_job(job_id) == "FAILED"
        record = slurm.record(job_id)
        assert accounting.set_comment(job_id, "early", check=False).returncode != 0
    finally:
        slurm.run("slurmdbd")
        slurm.wait_for(lambda: slurm.lines("sacctmgr -n show cluster"), "slurmdbd")
    (line,) = accounting.wait_stored([job_id])
    assert_same(line, record)
    assert line["AdminComment"] == ""


def submit_storm():
    """Submit an array of jobs for each user and mode. Returns (user, mode) by the array's id."""
    script = f"exit $((SLURM_ARRAY_TASK_ID % {FAILING} == 0 ? {CODE} : 0))"
    options = ("-n1", "-p", "alone", f"--array=1-{STORM // len(PAIRS)}")
    return {slurm.sbatch(user, script, f"--hybrid-mem={mode}", *options): (user, mode) for user, mode in PAIRS}


def counted(found):
    """Count (user, mode, state) tuples of jobs. Returns {(user, mode): (number of jobs, number of failed jobs)}."""
    counts = collections.Counter(found)
    return {
        (user, mode): (counts[user, mode, "COMPLETED"] + counts[user, mode, "FAILED"], counts[user, mode, "FAILED"])
        for user, mode, _ in counts
    }


@pytest.fixture(scope="module")
def storm():
    """Run the storm of jobs. Returns the time they began, (user, mode) by array, sacct's lines, and the records."""
    # The jobs share no cores, so that no more of them run at once than the guest can serve and hooks are not late.
    with slurm.alone_partition():
        begin = datetime.now(timezone.utc).isoformat()
        arrays = submit_storm()
        slurm.wait_no_jobs(TO_RUN, every=0.5)
        slurm.wait_idle()
    lines = {int(line["JobIDRaw"]): line for line in accounting.wait_stored(arrays, STORM)}
    records = [record for record in slurm.all_records() if record["array_job_id"] in arrays]
    assert len(lines) == len(records) == STORM
    return begin, arrays, lines, records


def reported(*words):
    return json.loads(slurm.run(f"hybridmem report --json {' '.join(words)}").stdout)


def jobs_by(rows, *keys):
    return {tuple(row[key] for key in keys): (row["jobs"], row["failed_jobs"]) for row in rows}


def test_storm_of_jobs_adds_up_to_what_sacct_has(storm):
    begin, arrays, lines, records = storm
    report = reported("--since", begin)
    for record in records:
        assert_same(lines[record["job_id"]], record)
        assert record["account"] == accounting.ACCOUNTS[record["user"]]
    by_sacct = counted((*arrays[int(line["JobID"].split("_")[0])], line["State"]) for line in lines.values())
    assert by_sacct == counted(
        (record["user"], record["request"], "FAILED" if record["exit_code"] else "COMPLETED") for record in records
    )
    assert by_sacct == jobs_by(report["rows"], "user", "mode")
    assert sorted(by_sacct) == sorted(PAIRS) and all(failed == 1 for _, failed in by_sacct.values())
    # How late the hooks run depends on the host, so that Slurm's times may differ: compare with the sum of the records.
    for record in records:
        assert record["elapsed_s"] == pytest.approx(seconds(record["end"]) - seconds(record["start"]), abs=0.0015)
    hours = sum(record["elapsed_s"] for record in records) / 3600
    assert report["total"]["node_hours"] == pytest.approx(hours, abs=1e-4)


@pytest.mark.parametrize(("view", "key", "column"), [("users", "user", "User"), ("accounts", "account", "Account")])
def test_views_of_the_storm_have_what_sacct_has(storm, view, key, column):
    begin, _, lines, _ = storm
    states = collections.Counter((line[column], line["State"]) for line in lines.values())
    expected = {
        (name,): (states[name, "COMPLETED"] + states[name, "FAILED"], states[name, "FAILED"]) for name, _ in states
    }
    assert jobs_by(reported("--since", begin, "--view", view)["rows"], key) == expected


def test_a_corrupted_day_loses_its_bad_lines_and_says_how_many(storm, tmp_path):
    """Every second record of the storm is damaged: cut in half, overwritten with zeros, or no valid JSON."""
    _, _, _, records = storm
    damages = (lambda text: text[: len(text) // 2], lambda text: "\0" * len(text), lambda text: text.replace('"', "'"))
    texts = [json.dumps(record) for record in records]
    for number in range(1, STORM, 2):
        texts[number] = damages[number // 2 % len(damages)](texts[number])
    day = tmp_path / records[0]["end"][:10]
    day.mkdir()
    (day / f"{slurm.NODE}.jsonl").write_text("\n".join(texts) + "\n")
    found = reported("--records", str(tmp_path))
    whole = counted(
        (record["user"], record["request"], "FAILED" if record["exit_code"] else "COMPLETED") for record in records[::2]
    )
    assert jobs_by(found["rows"], "user", "mode") == whole
    assert found["left_out"]["torn"] == STORM // 2
