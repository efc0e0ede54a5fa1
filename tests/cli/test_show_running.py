# SPDX-License-Identifier: Apache-2.0
"""Tests what hybridmem show says of jobs that run, are ending, or run again."""

import json
import os
import sys

import pytest
from installed import DATA
from makerecords import record, write
from showing import no_record

sys.path.insert(0, str(DATA / "python"))
from hybridmem import records, running
from hybridmem import show as show_module

OWNER = os.geteuid() or 1001
STRANGER = OWNER + 1


@pytest.fixture
def processes(tmp_path, monkeypatch):
    """A fake /proc: OWNER's jobs 12, 13 and 15 run, in the forms that Slurm's cgroups have. Process 9 is ending.
    Process 10 is in no cgroup of Slurm's."""
    places = {
        7: "/system.slice/slurmstepd.scope/job_12/step_0/user/task_0",
        8: "/system.slice/n1_slurmstepd.scope/job_13/step_batch/user/task_special",
        9: None,
        10: "/user.slice/job_14",
        11: "/system.slice/n1_slurmstepd.scope/sF49M86JYTY100/step_0/user/task_0",
    }
    numbers = {10: 14, 11: 15}  # job ids in the processes' environments
    folder = tmp_path / "proc"
    for pid, place in places.items():
        (folder / str(pid)).mkdir(parents=True)
        if place:
            (folder / str(pid) / "cgroup").write_text(f"0::{place}\n")
            (folder / str(pid) / "environ").write_text(f"A=1\0SLURM_JOB_ID={numbers.get(pid, 99)}\0B=\0")
        if os.geteuid() == 0:
            os.chown(folder / str(pid), OWNER, OWNER)
    (folder / "sys").mkdir()
    monkeypatch.setattr(running, "PROC", str(folder))


@pytest.mark.parametrize(
    ("job", "uid", "runs"),
    [(12, OWNER, True), (13, OWNER, True), (12, STRANGER, False), (12, 0, True), (13, 0, True)]
    + [(15, OWNER, True), (15, STRANGER, False), (15, 0, True)]
    + [(job, uid, False) for job in (1, 2, 14, 112, 120) for uid in (OWNER, 0)],
)
def test_only_ones_own_jobs_are_seen_to_run(processes, job, uid, runs):
    assert running.has_job(job, uid) is runs


def shown_to(uid, job, folder, monkeypatch, config_program="/none"):
    """The message with which show ends for a user."""
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(sys, "argv", ["show", "--records", str(folder), job])
    with pytest.raises(records.Failure) as failure:
        show_module.main(config_program, "")
    return str(failure.value)


def test_a_job_that_runs_has_no_record_yet(processes, tmp_path, monkeypatch):
    write(tmp_path, record(1))
    said = "job 12 runs on this node: what is recorded of it is written at its end"
    assert shown_to(OWNER, "12", tmp_path, monkeypatch) == said
    assert shown_to(0, "12", tmp_path, monkeypatch) == said
    assert shown_to(STRANGER, "12", tmp_path, monkeypatch) == no_record(12)
    for job in ("112", "12_3", "12+0"):
        assert shown_to(OWNER, job, tmp_path, monkeypatch) == no_record(job)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_job_that_is_ending_is_in_the_ledger(processes, tmp_path, monkeypatch, is_first):
    """The job's last process has ended, its epilog has not. Root is told so, also if it is the node's first job."""
    folder, run_dir = tmp_path / "records", tmp_path / "run"
    (run_dir / "jobs").mkdir(parents=True)
    (run_dir / "jobs" / "40").touch()
    (run_dir / "jobs" / "41.draft").touch()
    if not is_first:
        write(folder, record(1))
    config = tmp_path / "config"
    config.write_text(f"#!/bin/sh\necho 'run_dir = \"{run_dir}\"'\n")
    config.chmod(0o755)
    nothing = f"there is no folder {folder}"

    def told(uid, job):
        return shown_to(uid, job, folder, monkeypatch, str(config))

    said = "job 40 is on this node, with no step that runs: its record is written at the end of its epilog"
    assert told(0, "40") == said
    for uid, job in ((OWNER, "41"), (0, "41"), (0, "40_1"), (STRANGER, "40")):
        assert told(uid, job) == (nothing if is_first else no_record(job))
    config.write_text("#!/bin/sh\nexit 1\n")
    assert told(0, "40") == (nothing if is_first else no_record("40")), "without a configuration, records are read"


@pytest.mark.parametrize("words", [[], ["--json"]], ids=["text", "json"])
def test_a_requeued_job_that_runs_again(processes, tmp_path, monkeypatch, capsys, words):
    """Records of earlier runs are shown."""
    write(tmp_path / "records", record(12))
    for uid, said in (
        (
            OWNER,
            "hybridmem show: job 12 runs on this node: what is recorded of it is written at its end; below is what ",
        ),
        (STRANGER, ""),
    ):
        monkeypatch.setattr(os, "geteuid", lambda uid=uid: uid)
        monkeypatch.setattr(sys, "argv", ["show", "--records", str(tmp_path / "records"), *words, "12"])
        assert show_module.main(None, "") == 0
        told = capsys.readouterr()
        assert told.err.startswith(said) and bool(told.err) == bool(said)
        assert len(json.loads(told.out)) == 1 if words else "Job 12, user alice" in told.out


def test_a_running_job_is_named_although_the_records_folder_is_not_there_yet(processes, tmp_path, monkeypatch):
    """The folder is made with the node's first record."""
    none = tmp_path / "none"
    said = "job 12 runs on this node: what is recorded of it is written at its end"
    assert shown_to(OWNER, "12", none, monkeypatch) == said
    for uid, job in ((STRANGER, "12"), (OWNER, "112"), (OWNER, "12_3")):
        assert shown_to(uid, job, none, monkeypatch) == f"there is no folder {none}"
