# SPDX-License-Identifier: Apache-2.0
"""Tests folders of records that are shut to the caller: that is reported, and not taken for "no records". Callers who
may enter the folder but not list it see their own records alone."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from installed import LIBEXEC, helper
from makerecords import record, write
from showing import no_record
from sysfstree import NOBODY, as_user

UID = as_user().get("user", os.geteuid())


@pytest.fixture
def folder():
    """A folder of records within a folder that everybody may enter."""
    with tempfile.TemporaryDirectory(prefix="hm-shut.") as name:
        above = Path(name)
        above.chmod(0o755)
        write(above / "records", record(1), record(2, user="me", uid=UID))
        yield above / "records"
        for path in (above / "records", *(above / "records").rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)


def asked(program, *words, status):
    return helper(f"hybridmem-{program}", *words, status=status, cwd="/", **as_user())


@pytest.fixture(params=["report", "view", "show", "export", "ingest"])
def command(request, folder):
    """A program that reads records, and its words."""
    history, engine = folder.parent / "history", folder.parent / "engine"
    engine.mkdir()
    (engine / "duckdb.py").touch()  # an empty module: ingest ends before it needs DuckDB
    return {
        "report": ("report", "--records", folder),
        "view": ("report", "--records", folder, "--view", "jobs"),
        "show": ("show", "--records", folder, "2"),
        "export": ("export", "prometheus", "--records", folder),
        "ingest": ("ingest", "--records", folder, "--history", history, "--engine", engine),
    }[request.param]


@pytest.mark.parametrize("mode", [0o700, 0o744])
def test_a_folder_that_is_shut_is_not_an_empty_one(folder, command, mode):
    folder.chmod(mode if os.geteuid() == 0 else mode & 0o477)
    done = asked(*command, status=1)
    name = "hybridmem " + command[0]
    assert (done.stdout, done.stderr) == ("", f"{name}: cannot enter {folder}: Permission denied\n")


def test_a_folder_of_ones_own_that_is_shut(folder, command):
    own = folder / "by-user" / str(UID)
    own.chmod(0)
    folder.chmod(0o751 if os.geteuid() == 0 else 0o311)
    assert asked(*command, status=1).stderr.endswith(f": cannot enter {own}: Permission denied\n")


def test_who_may_read_only_their_own_sees_their_own(folder):
    folder.chmod(0o751 if os.geteuid() == 0 else 0o311)
    found = json.loads(asked("report", "--records", folder, "--json", status=0).stdout)
    assert [row["user"] for row in found["rows"]] == ["me"]
    assert "Job 2, user me" in asked("show", "--records", folder, "2", status=0).stdout
    assert asked("show", "--records", folder, "1", status=1).stderr == f"hybridmem show: {no_record(1)}\n"


def test_ones_own_records_are_not_the_nodes(folder):
    words = ("export", "prometheus", "--records", folder, "--node", "n1", "--since", "2025-01-01")
    assert 'hybridmem_window_jobs{node="n1",mode="spill"} 2\n' in asked(*words, status=0).stdout
    folder.chmod(0o751 if os.geteuid() == 0 else 0o311)
    said = "a node's figures need all of its records, which only root and the record group may read"
    done = asked(*words, status=1)
    assert (done.stdout, done.stderr) == ("", f"hybridmem export: {said}\n")
    (folder / "by-user" / str(UID)).rename(folder / "by-user" / "none")
    assert asked(*words, status=1).stderr == f"hybridmem export: {said}\n"


def test_a_user_without_records_sees_none(folder):
    own = folder / "by-user" / str(UID)
    own.rename(folder / "by-user" / "none")
    folder.chmod(0o751 if os.geteuid() == 0 else 0o311)
    found = json.loads(asked("report", "--records", folder, "--json", status=0).stdout)
    assert found["rows"] == [] and found["left_out"]["unreadable_file"] == 0
    assert asked("show", "--records", folder, "2", status=1).stderr == f"hybridmem show: {no_record(2)}\n"


def test_a_day_that_is_shut_is_counted(folder):
    day = folder / "2025-03-01"
    day.chmod(0)
    done = asked("report", "--records", folder, status=0)
    assert f"left out: 1 file or folder ({day})" in done.stderr
    done = asked("export", "prometheus", "--records", folder, "--since", "2025-03-01", "--node", "n1", status=0)
    assert f"left out: 1 file or folder ({day}/n1.jsonl)" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="the folders must be root's")
def test_config_check_does_not_make_a_folder_that_is_there(folder):
    config = folder.parent / "hybridmem.conf"
    config.write_text(f'record_dir = "{folder}"\nrecord_group = root\n')
    config.chmod(0o644)
    folder.parent.chmod(0o700)
    with config.open() as stream:  # opened by root, as it is below the closed folder
        words = [LIBEXEC / "hybridmem-config", "check", "--config", "/dev/stdin", "--scontrol", "/none"]
        done = subprocess.run(words, stdin=stream, capture_output=True, text=True, check=False, **as_user())
    shut = folder.parent
    said = f"change  record_dir {folder}: user {NOBODY} may not enter {shut}: chmod a+x {shut}, or check as root"
    assert said in done.stdout.splitlines()
