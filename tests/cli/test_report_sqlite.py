# SPDX-License-Identifier: Apache-2.0
"""Tests the temporary database of hybridmem report: sqlite 3.26 can run its SQL, only a part of it is in memory, and
its errors name their cause."""

import re
import sqlite3
import sys

import pytest
from installed import DATA
from makerecords import many, record
from viewing import filled, peak_kib

sys.path.insert(0, str(DATA / "python"))
from hybridmem import groups, temporary, viewquery, views
from hybridmem.failure import Failure

FUNCTIONS = {"count", "sum", "min", "max", "coalesce", "nullif", "substr"}  # sqlite 3.26 has them
FUNCTIONS |= {name for name, *_ in (*temporary.AGGREGATES, *temporary.FUNCTIONS)}
# What sqlite 3.26 does not have, and which version has it
YOUNGER = {
    r"\bFILTER\b": "3.30",
    r"\bNULLS (FIRST|LAST)\b": "3.30",
    r"\bIS (NOT )?DISTINCT FROM\b": "3.39",
    r"\b(RIGHT|FULL)( OUTER)? JOIN\b": "3.39",
    r"\bUPDATE\b[^()]* FROM\b": "3.33",
    r"\b(RETURNING|MATERIALIZED)\b": "3.35",
    r"\bGENERATED\b": "3.31",
    r"\bSTRICT\b": "3.37",
    r"\bEXCLUDE\b": "3.28",
    r"->": "3.38",
    r"\w\((?!SELECT)[^()]*\bORDER BY\b": "3.44",
    r"::": "none",
    r"\bGROUP BY ALL\b": "none",
}


@pytest.fixture(name="sent")
def statements(monkeypatch):
    """The statements that sqlite runs, without the texts and names in quotes."""
    connect, found = temporary.connect, []

    def traced(module):
        connection = connect(module)
        connection.set_trace_callback(lambda sql: found.append(re.sub(r"'[^']*'|\"[^\"]*\"", "''", sql)))
        return connection

    monkeypatch.setattr(temporary, "connect", traced)
    return found


def test_every_statement_is_old_enough_for_sqlite_3_26(sent, monkeypatch):
    for name in ("MOST_ROWS", "RUNS_AT_ONCE"):  # all statements for many rows are sent, too
        monkeypatch.setattr(viewquery, name, 1)
    chosen = [views.TOTALS, *(views.named(name, 1) for name in views.NAMES)]
    rows = temporary.Rows(chosen)
    for day in (1, 3):  # with no record on the day between, a job has two runs
        rows.next_day(f"2025-03-0{day}")
        for job in (1, 2):
            rows.add(record(job, user=f"user{job}", node=f"n{day}", exit_code=job, mode="slow"))
    rows.fill([groups.Report([view], None, by).sums[0] for view in chosen for by in (*view.ranks(), None)])
    assert any(" IN (SELECT place FROM own)" in sql for sql in sent) and any(sql.startswith("UPDATE") for sql in sent)
    for sql in sent:
        for pattern, version in YOUNGER.items():
            assert not re.search(pattern, sql), f"sqlite has this since {version}: {sql}"
        assert FUNCTIONS.issuperset(re.findall(r"\b(\w+)\(", sql)), f"sqlite 3.26 may lack a function: {sql}"


def test_memory_does_not_grow_with_the_number_of_records(tmp_path):
    """What is kept of the records is six times as large as sqlite's cache, in a file. Sorting takes a little
    memory, too."""
    kept = 4000  # bytes of each record
    count = 6 * temporary.CACHE_KIB * 1024 // kept
    for name, number in (("few", 300), ("many", count)):
        many(tmp_path / name, number, padding="x" * kept)
    few, _ = peak_kib(tmp_path / "few")
    totals, found = peak_kib(tmp_path / "many")
    assert found["total"]["jobs"] == found["total"]["node_hours"] == count
    assert len(found["rows"]) == 12 and found["exact"]
    jobs, found = peak_kib(tmp_path / "many", "--view", "jobs")
    assert len(found["rows"]) == 50 and found["rows_left_out"] == count - 50
    for lot in (totals, jobs):
        assert lot - few < 1.5 * temporary.CACHE_KIB, f"{few} KiB for 300 records, {lot} KiB for {count}"


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
