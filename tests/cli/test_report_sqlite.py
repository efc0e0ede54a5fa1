# SPDX-License-Identifier: Apache-2.0
"""Tests the temporary database of hybridmem report: its errors are told by their cause."""

import sqlite3
import sys

import pytest
from installed import DATA
from makerecords import record
from viewing import filled

sys.path.insert(0, str(DATA / "python"))
from hybridmem import temporary, views
from hybridmem.failure import Failure


def test_a_full_disk_is_one_line(monkeypatch):
    connect = temporary.connect

    def full(sqlite3):
        connection = connect(sqlite3)
        connection.execute("PRAGMA max_page_count = 9")
        return connection

    monkeypatch.setattr(temporary, "connect", full)
    with pytest.raises(Failure, match=r"^cannot keep .* SQLITE_TMPDIR, TMPDIR or /var/tmp: database or disk is full$"):
        filled([views.named("jobs")], map(record, range(2000)))


def test_a_folder_that_takes_no_file_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(temporary, "connect", lambda module: module.connect(tmp_path / "none" / "file"))
    with pytest.raises(Failure, match=r"^cannot keep .* or /var/tmp: unable to open database file$"):
        filled([views.named("jobs")], [])


def test_an_error_of_our_own_is_not_laid_to_the_folder(monkeypatch):
    def wrong(upper, lower):
        raise ValueError

    monkeypatch.setattr(temporary, "FUNCTIONS", (*temporary.FUNCTIONS, ("quotient", 2, wrong)))
    with pytest.raises(sqlite3.OperationalError, match="user-defined function raised exception"):
        filled([views.named("jobs")], [record(1)])


def test_a_python_without_sqlite_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlite3", None)
    with pytest.raises(Failure, match=r"^this Python, .*, lacks sqlite3 of its standard library: "):
        filled([views.named("jobs")], [])
