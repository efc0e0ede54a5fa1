# SPDX-License-Identifier: Apache-2.0
"""Tests that show and report show a user their own records alone, and root and the record group all: who may read them
is decided by the files' owners and modes. The test needs root, to become other users."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from makerecords import record, write

RECORD_GROUP = 990  # a group that owns no other file
NO_RECORD = (
    "hybridmem show: no record of job {} that you may read: a job with --hybrid-mem gets one at the end of its epilog, "
    "and one without it where the site records all jobs\n"
)
ALICE, BOB, CAROL = 1001, 1002, 1003


@pytest.fixture
def folder(tmp_path):
    """A folder with a record of alice's and one of bob's, with owners and modes like those that the epilog gives."""
    folder = tmp_path / "records"
    write(folder, record(1), record(2, user="bob"))
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 0, RECORD_GROUP)
        path.chmod(0o750 if path.is_dir() else 0o640)
    for uid in (ALICE, BOB):
        own = folder / "by-user" / str(uid)
        for path in (own, *own.rglob("*")):
            os.chown(path, uid, uid)
    for path in (folder, folder / "by-user"):
        path.chmod(0o751)
    for parent in folder.parents[:3]:
        parent.chmod(0o755)
    return folder


def run_as(uid, groups, *words):
    return subprocess.run(
        ["hybridmem", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        user=uid,
        group=uid,
        extra_groups=groups,
        cwd="/",
    )


def test_a_user_sees_only_their_own(folder):
    own = run_as(BOB, [], "show", "--json", "--records", folder, 2)
    assert [r["job_id"] for r in json.loads(own.stdout)] == [2]
    report = json.loads(run_as(BOB, [], "report", "--json", "--records", folder).stdout)
    assert [row["user"] for row in report["rows"]] == ["bob"]


def test_another_users_job_is_no_such_job(folder):
    for uid in (BOB, CAROL):
        done = run_as(uid, [], "show", "--records", folder, 1)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", NO_RECORD.format(1))


def test_root_and_the_record_group_see_all(folder):
    for uid, groups in ((0, []), (CAROL, [RECORD_GROUP])):
        assert "Job 2," in run_as(uid, groups, "show", "--records", folder, 2).stdout
        report = json.loads(run_as(uid, groups, "report", "--json", "--records", folder).stdout)
        assert report["total"]["jobs"] == 2, "the copies in by-user are not counted again"
