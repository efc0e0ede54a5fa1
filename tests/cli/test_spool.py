# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem-spool: what slurmctld's EpilogSlurmctld leaves, and that it never fails Slurm."""

import json
import os

import pytest
from installed import helper

JOB = {
    "SLURM_JOB_ID": "42",
    "SLURM_JOB_UID": "1001",
    "SLURM_JOB_PARTITION": "main",
    "SLURM_CLUSTER_NAME": "test",
    "SLURM_JOB_RESTART_COUNT": "0",
    "SLURM_JOB_START_TIME": "1740823200",
    "SLURM_JOB_END_TIME": "1740826800",
    "SLURM_JOB_NODELIST": "n[1-3,7]",
}
NAME = "42.1740826800.json"


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "spool"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def spool(configure, folder):
    """Gives a function that runs hybridmem-spool as slurmctld does, and returns its standard error."""

    def run(*words, settings="summary_field = AdminComment\n", status=0, **changed):
        config = configure(f'spool_dir = "{folder}"\n{settings}')
        env = {name: value for name, value in {**JOB, **changed}.items() if value is not None}
        return helper("hybridmem-spool", "--config", config, *words, env=env, status=status).stderr

    return run


def test_an_entry(spool, folder):
    assert spool() == ""
    (path,) = folder.iterdir()
    assert path.name == NAME and path.stat().st_mode & 0o7777 == 0o600
    assert json.loads(path.read_text()) == {
        "spool": 1,
        "job_id": 42,
        "array_job_id": None,
        "array_task_id": None,
        "het_job_id": None,
        "het_job_offset": None,
        "restart_count": 0,
        "uid": 1001,
        "cluster": "test",
        "start_s": 1740823200,
        "end_s": 1740826800,
        "nodes": "n[1-3,7]",
        "asked": False,
    }


def test_each_run_of_a_requeued_job_has_its_own_entry(spool, folder):
    """slurmctld may give the same restart count for both."""
    spool(SLURM_JOB_RESTART_COUNT="1")
    spool(SLURM_JOB_RESTART_COUNT="1", SLURM_JOB_END_TIME="1740830000")
    assert sorted(path.name for path in folder.iterdir()) == [NAME, "42.1740830000.json"]


@pytest.mark.parametrize(
    ("settings", "changed", "asked"),
    [
        ("", {"SPANK__SLURM_SPANK_OPTION_hybridmem_hybrid_mem": "spill"}, True),
        ("record = all\n", {}, True),
        ('partition "main" { default_mode = spill }\n', {}, True),
        ('partition "other" { default_mode = spill }\n', {}, False),
    ],
)
def test_which_jobs_have_asked(spool, folder, settings, changed, asked):
    spool(settings=f"summary_field = SystemComment\n{settings}", **changed)
    assert json.loads((folder / NAME).read_text())["asked"] is asked


@pytest.mark.parametrize(
    ("settings", "changed"),
    [
        ("", {}),
        ("summary_field = none\n", {}),
        ("enabled = no\nsummary_field = AdminComment\n", {}),
        ("summary_field = AdminComment\n", {"SLURM_JOB_NODELIST": "(null)"}),
    ],
)
def test_nothing_to_leave(spool, folder, settings, changed):
    assert spool(settings=settings, **changed) == ""
    assert list(folder.iterdir()) == []


def test_what_is_wrong_is_one_line_and_no_failure(spool, folder):
    for settings, changed, said in (
        ("summary_field = AdminComment\n", {"SLURM_JOB_NODELIST": "n1\nn2"}, "SLURM_JOB_NODELIST: "),
        ("summary_field = AdminComment\n", {"SLURM_JOB_ID": "4\x1b[2J2"}, 'SLURM_JOB_ID: "4\\x1b[2J2" is not a number'),
        ("summary_field = AdminComment\n", {"SLURM_JOB_ID": None}, "SLURM_JOB_ID is not set"),
        ("summary_field = Extra\n", {}, "summary_field: "),
    ):
        (line,) = spool(settings=settings, **changed).splitlines()
        assert "no summary of job " in line and said in line and line.isprintable()
    assert list(folder.iterdir()) == []
    folder.rmdir()
    assert f"no summary of job 42: spool_dir {folder}: No such file or directory" in spool()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_not_written_to(spool, folder):
    os.chown(folder, 12345, -1)
    assert "must belong to user 0 and be writable by nobody else (it has user 12345, mode 0700)" in spool()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("words", [["now"], ["--nonsense"]])
def test_wrong_arguments(spool, words):
    assert "Try 'hybridmem spool --help'" in spool(*words, status=2)
