# SPDX-License-Identifier: Apache-2.0
"""Tests histories: a report of a history equals the report of its records, and other engines can read the folder."""

import fcntl
import json
import os
import re
import shutil

import engine
import pytest
from engine import ingest
from histories import DAY, FORMS, append, plain, same, varied
from installed import DATA, helper
from makerecords import many, record, write
from showing import show


@pytest.mark.parametrize(
    ("program", "words", "expected"),
    [
        ("ingest", [], "--history is missing"),
        ("ingest", ["--history", "h", "extra"], "unexpected word 'extra'"),
        ("report", ["--history", "h", "--records", "r"], "--records does not go with --history"),
    ],
)
def test_wrong_arguments_are_named(program, words, expected):
    said = helper(f"hybridmem-{program}", *words, status=2).stderr
    assert said.startswith(f"hybridmem {program}: ") and said.count("\n") == 1 and expected in said


@pytest.mark.parametrize("program", ["ingest", "report"])
def test_without_duckdb_one_line_says_how_to_install_it(tmp_path, program):
    words = ("--history", tmp_path, "--engine", tmp_path / "none")
    done = helper(f"hybridmem-{program}", *words, status=1)
    requirements = DATA / "python" / "hybridmem" / "requirements.txt"
    expected = (
        rf"hybridmem {program}: DuckDB is missing, there is no folder {tmp_path}/none: /\S+ -m pip install --no-index "
        rf"--find-links WHEELS --require-hashes "
        rf"-r {requirements} --target {tmp_path}/none \(how to fill WHEELS: man 8 hybridmem-ingest\)\n"
    )
    assert re.fullmatch(expected, done.stderr) and done.stdout == ""
    assert re.search(r"^duckdb==[\d.]+ ", requirements.read_text(), re.MULTILINE)
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "duckdb.py").write_text("import no_such_module_of_duckdb\n")
    done = helper(f"hybridmem-{program}", *words, status=1)
    assert done.stderr == f"hybridmem {program}: DuckDB cannot be loaded: No module named 'no_such_module_of_duckdb'\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_folder_of_duckdb_that_may_not_be_read_is_not_called_missing(tmp_path):
    tmp_path.chmod(0o700)
    words = ("--history", "/none", "--engine", tmp_path)
    done = helper("hybridmem-report", *words, status=1, user=65534, group=65534, extra_groups=[])
    assert done.stderr == f"hybridmem report: cannot read {tmp_path}: Permission denied\n"


def test_a_copy_may_leave_out_an_empty_folder(tmp_path):
    records, history = tmp_path / "records", tmp_path / "history"
    write(records, record(1))
    ingest(records, history)
    (history / "left-out").rmdir()
    assert same(records, history)["total"]["jobs"] == 1


def test_errors_are_one_line(tmp_path):
    history = tmp_path / "history"
    (tmp_path / "file").touch()
    write(tmp_path / "records", record(1))
    assert f"there is no history in {history} that you" in engine.report(history, status=1).stderr
    assert f"there is no folder {tmp_path}/none" in ingest(tmp_path / "none", history, status=1).stderr
    for wrong in (tmp_path / "file", tmp_path / "none" / "deep"):
        assert f"cannot write in {wrong}" in ingest(tmp_path / "records", wrong, status=1).stderr
    ingest(tmp_path / "records", history)
    with (history / ".lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = ingest(tmp_path / "records", history, status=1)
        assert done.stderr == f"hybridmem ingest: another ingest is at work in {history}\n"
    table = history / "records" / f"day={DAY}" / "records.parquet"
    table.write_text("no table")
    append(tmp_path / "records", json.dumps(record(2)))
    for done in (engine.report(history, status=1), ingest(tmp_path / "records", history, status=1)):
        assert re.fullmatch(rf"hybridmem \w+: {table} is damaged: .*\n", done.stderr)
    assert table.read_text() == "no table"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--user", "alice"],
        ["--user", "?"],
        ["--account", "?,physics"],
        ["--user", "bob,nobody,a\0b\x1b\n'\"".replace("\0", "")],
        ["--account", "physics"],
        ["--mode", "spill,slow"],
        ["--mode", "none"],
        ["--since", "2025-03-02"],
        ["--until", "2025-03-02"],
        ["--since", "2025-03-02T00:00:00.250Z", "--until", "2025-03-02T13:00:00+01:00"],
        ["--since", "2025-03-02T00:00:00.2501Z"],
        ["--since", "2030-01-01"],
        ["--until", "2020-01-01", "--user", "alice"],
    ],
    ids=" ".join,
)
def test_the_report_is_that_of_the_records(tmp_path, words):
    records, history = tmp_path / "records", tmp_path / "history"
    varied(records)
    assert ingest(records, history).stdout == "20 records taken, in 4 days\n"
    found = same(records, history, *words, forms=FORMS)
    if not words:
        assert found["total"]["jobs"] == 16 and found["total"]["failed_jobs"] == 5
        assert found["left_out"] == {
            **{"torn": 4, "foreign": 1, "unknown_schema": 1, "too_long": 1, "unreadable_file": 1, "duplicate": 1}
        }


@pytest.mark.parametrize(
    "view", [word for word in re.findall(r"^  (\w+) ", helper("hybridmem-report", "--help").stdout, re.MULTILINE)]
)
def test_views_are_those_of_the_records(tmp_path, view):
    records, history = tmp_path / "records", tmp_path / "history"
    varied(records)
    ingest(records, history)
    same(records, history, "--view", view, forms=FORMS)
    same(records, history, "--view", view, "--user", "alice,bob", "--since", "2025-03-02")


def test_a_page_is_that_of_the_records(tmp_path):
    records, history, pages = tmp_path / "records", tmp_path / "history", [tmp_path / "1.html", tmp_path / "2.html"]
    varied(records)
    ingest(records, history)
    plain(records, "--html", pages[0])
    engine.report(history, "--html", pages[1])
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_many_records_have_the_same_sums(tmp_path):
    many(tmp_path / "records", 3000)
    assert ingest(tmp_path / "records", tmp_path / "history").stdout == "3000 records taken, in 10 days\n"
    assert same(tmp_path / "records", tmp_path / "history")["total"]["jobs"] == 3000


def test_only_those_who_may_read_the_history_may_read_its_files(tmp_path):
    records, history = tmp_path / "records", tmp_path / "history"
    write(records, record(1))
    append(records, "torn")
    ingest(records, history)
    assert history.stat().st_mode & 0o777 == 0o750
    assert (history / ".lock").stat().st_mode & 0o777 == 0o600
    other = tmp_path / "other"
    other.mkdir()
    os.chown(other, -1, 12345)
    other.chmod(0o2770)
    ingest(records, other)
    for top, folder_mode, file_mode, group in ((history, 0o750, 0o640, os.getgid()), (other, 0o770, 0o660, 12345)):
        paths = [path for path in top.rglob("*") if path.name != ".lock"]
        assert len(paths) == 13
        for path in paths:
            found = path.stat()
            assert (found.st_mode & 0o777, found.st_gid) == (folder_mode if path.is_dir() else file_mode, group), path


def test_no_character_of_a_path_is_a_pattern(tmp_path):
    records, history = tmp_path / "re*c'o[r]ds", tmp_path / "a*'[b]?{c,d}"
    write(records, record(1))
    write(tmp_path / "rec'or-ds", record(2))
    (tmp_path / "aX'b1c" / "records" / f"day={DAY}").mkdir(parents=True)
    ingest(records, history)
    assert same(records, history)["total"]["jobs"] == 1


def test_a_folder_whose_name_begins_as_a_home_does(tmp_path):
    write(tmp_path / "records", record(1))
    ingest("records", "~history", cwd=tmp_path)
    assert json.loads(engine.report("~history", "--json", cwd=tmp_path).stdout)["total"]["jobs"] == 1


def test_columns_that_an_older_table_lacks(tmp_path):
    """An older table is read as it is. The next ingest gives all its rows the new columns."""
    records, history = tmp_path / "records", tmp_path / "history"
    group = {"total_bytes": 5, "local_bytes": 3, "source": "resctrl"}
    counted = {"tiers": [], "node": None, "job": group, "source": "no counters"}
    write(records, record(1, traffic=counted))
    ingest(records, history)
    table, older = history / "records" / f"day={DAY}" / "records.parquet", tmp_path / "older.parquet"
    without = "COPY (SELECT * EXCLUDE (job_traffic_bytes, job_local_bytes) FROM read_parquet('{}')) TO '{}'"
    engine.query(f"{without}; SELECT 1", table, older)
    shutil.copyfile(older, table)
    assert same(records, history)["total"]["jobs"] == 1
    write(records, record(2, traffic=counted), record(3))
    ingest(records, history)
    rows = engine.query("SELECT job_id, job_traffic_bytes, job_local_bytes FROM read_parquet('{}') ORDER BY 1", table)
    assert rows == [[1, 5, 3], [2, 5, 3], [3, None, None]]
    assert same(records, history)["total"]["jobs"] == 3


def of_spark(kind):
    """The name that Spark has for a type of DuckDB's."""
    kind = kind.replace("VARCHAR", "STRING").replace("TIMESTAMP WITH TIME ZONE", "TIMESTAMP").replace('"', "")
    found = re.fullmatch(r"STRUCT\((.*)\)\[\]", kind)
    return f"ARRAY<STRUCT<{re.sub(r'(?<=[a-z]) ', ': ', found[1])}>>" if found else kind


def test_the_layout_is_hives(tmp_path):
    """There is a folder for each day, with one table in it. The table has the columns that the administrator guide
    shows."""
    varied(tmp_path / "records")
    history = tmp_path / "history"
    ingest(tmp_path / "records", history)
    tables = sorted(path for path in (history / "records").rglob("*") if path.is_file())
    assert [str(path.relative_to(history)) for path in tables] == [
        f"records/day=2025-03-0{day}/records.parquet" for day in (1, 2, 3, 4)
    ]
    whole = "read_parquet('{}/records/*/*.parquet', hive_partitioning = true)"
    types = dict(row[:2] for row in engine.query(f"DESCRIBE SELECT * FROM {whole}", history))
    assert types.pop("day") == "DATE"
    guide = (DATA.parents[1] / "share" / "doc" / "hybridmem" / "admin-guide.md").read_text()
    shown = guide[guide.index("CREATE EXTERNAL TABLE") :].split("```")[0]
    columns = re.findall(r"`(\w+)` (STRING|BIGINT|DOUBLE|BOOLEAN|TIMESTAMP|ARRAY<STRUCT<.*>>)(?=[,\n])", shown)
    assert columns == [(name, of_spark(kind)) for name, kind in types.items()]
    rows = engine.query(f"SELECT record FROM {whole} WHERE job_id = 1 AND node = 'n2'", history)
    assert [json.loads(text) for (text,) in rows] == [record(1, node="n2", exit_code=1, warnings=["a", "b"])]
    start = engine.query(f"SELECT epoch_ms(start_time), elapsed_ms FROM {whole} WHERE job_id = 2", history)
    assert start == [[1740823200000, 1800001]]


def test_show_has_the_same_records_of_a_history(tmp_path):
    records, history = tmp_path / "records", tmp_path / "history"
    write(
        records,
        record(20, array_job_id=20, array_task_id=10),
        record(21, array_job_id=20, array_task_id=3, end="2025-03-05T11:00:00Z"),
        record(22),
        record(31, het_job_id=30, account="größe"),
    )
    ingest(records, history)
    words = ("--history", history, "--engine", engine.folder())
    for job in ("20", "20_3", "21", "30+1"):
        assert helper("hybridmem-show", *words, job).stdout == show(records, job).stdout
    found = json.loads(helper("hybridmem-show", *words, "--json", "--since", "2025-03-02", "20").stdout)
    assert [one["job_id"] for one in found] == [21]
    said = helper("hybridmem-show", *words, "23", status=1).stderr
    assert said.startswith(f"hybridmem show: no record of job 23 in {history} that you may read")
