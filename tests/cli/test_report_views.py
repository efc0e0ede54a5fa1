# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem report --view: its formats, its options, what it leaves out, and that its memory is bounded."""

import csv
import io
import json
import sys
from html import escape

import pytest
from installed import DATA, helper
from makerecords import GIB, record, write
from viewing import figure, filled, memory, report_view, view_json

sys.path.insert(0, str(DATA / "python"))
from hybridmem import draw, forms, runquery, viewquery, views


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--view", "user"], '--view: "user" is no view: use users, accounts, '),
        (["--top", "5"], "--top wants a --view or --html"),
        (["--engine", "x"], "--engine wants --history"),
        (["--by", "jobs"], "--by orders the rows of a view; the view users has jobs: add --view users"),
        (
            ["--by", "slow_write_bytes"],
            "--by orders the rows of a view; the view writes has slow_write_bytes: add --view writes",
        ),
        (["--by", "user"], '--by orders the rows of a view; no view has a figure "user"'),
        (["--endurance", "1P"], "--endurance wants --view writes or --html"),
        (["--html", "x", "--by", "jobs"], "--by orders the rows of a view; the view users has jobs: add --view users"),
        (["--html", "x", "--csv"], "--csv does not go with --html"),
        (["--html", "x/"], '"x/" is no file'),
        (["--view", "users", "--endurance", "1P"], "--endurance wants --view writes"),
        (["--view", "users", "--top", "0"], '"0" is no number of rows'),
        (["--view", "users", "--top", "-1"], '"-1" is no number of rows: 1 to'),
        (["--view", "users", "--by", "user"], '--by: "user" is no figure of the view users: use jobs, failed_jobs,'),
        (
            ["--view", "jobs", "--by", "end"],
            '--by: "end" is no figure of the view jobs: use nodes, exit_code, elapsed_s',
        ),
        (["--view", "writes", "--endurance", "0"], '"0" is no size'),
        (["--view", "writes", "--endurance", "1.5P"], '"1.5P" is no size: digits and K, M, G, T or P'),
        (["--view", "writes", "--endurance", "1E"], '"1E" is no size'),
    ],
)
def test_wrong_arguments_are_named(tmp_path, words, expected):
    said = helper("hybridmem-report", "--records", tmp_path, *words, status=2).stderr
    assert said.startswith("hybridmem report: ") and said.count("\n") == 1 and expected in said


@pytest.mark.parametrize("view", views.NAMES)
def test_no_records_are_no_rows(tmp_path, view):
    (tmp_path / "2024-01-01").mkdir()
    found = view_json(tmp_path, view)
    assert (found["view"], found["rows"], found["rows_left_out"], found["exact"]) == (view, [], 0, True)
    assert len(report_view(tmp_path, view).stdout.splitlines()) >= 1
    assert len(report_view(tmp_path, view, "--csv").stdout.splitlines()) == 1, "the head"


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ("advice", "Another mode would have suited no job better."),
        ("failures", "No job failed, was refused anything or was warned."),
        ("tiers", "No record has any tier's memory."),
    ],
)
def test_a_view_without_rows_says_why(tmp_path, view, said):
    page = tmp_path / "page.html"
    (tmp_path / "none" / "2024-01-01").mkdir(parents=True)
    write(tmp_path / "some", record(1, mode="fast", memory=None))
    for folder, expected in (("none", "No record."), ("some", said)):
        assert report_view(tmp_path / folder, view).stdout == f"{expected}\n"
        report_view(tmp_path / folder, view, "--html", page)
        assert f'<p class="note">{escape(expected)}</p>' in page.read_text()


@pytest.mark.parametrize("view", views.NAMES)
def test_the_forms_have_the_same_rows(tmp_path, view):
    for job in range(1, 6):
        write(tmp_path, record(job, exit_code=job, mode="interleave", memory=memory((GIB, GIB), (GIB, GIB), 9 * GIB)))
    found = view_json(tmp_path, view)
    read = list(csv.DictReader(io.StringIO(report_view(tmp_path, view, "--csv").stdout)))
    assert found["rows"]
    assert [list(row) for row in found["rows"]] == [list(row) for row in read]
    assert [["" if v is None else str(v) for v in row.values()] for row in found["rows"]] == [
        list(row.values()) for row in read
    ]
    lines = report_view(tmp_path, view).stdout.splitlines()
    assert len(lines) >= 1 + len(found["rows"]) + (found["total"] is not None)


def test_other_versions_torn_lines_and_duplicates_are_left_out(tmp_path):
    write(tmp_path, record(1), record(1), record(2))
    with (tmp_path / "2025-03-01" / "n1.jsonl").open("a") as stream:
        stream.write(json.dumps({**record(3), "schema": 2}) + "\n" + json.dumps(record(4))[:80])
    found = view_json(tmp_path, "jobs")
    assert [row["job"] for row in found["rows"]] == ["1", "2"]
    assert (found["left_out"]["duplicate"], found["left_out"]["unknown_schema"], found["left_out"]["torn"]) == (1, 1, 1)


def test_a_corrupted_day_loses_only_its_bad_lines(tmp_path):
    for day in (1, 2, 3):
        write(tmp_path, *(record(day * 100 + job, end=f"2025-03-0{day}T10:00:00Z") for job in range(20)))
    path = tmp_path / "2025-03-02" / "n1.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[5] = lines[5][:40] + b"\xff\x00" + lines[5][42:]
    lines[7] = lines[7].replace(b"\n", b"")  # lines[8] is appended to it
    path.write_bytes(b"".join(lines))
    found = view_json(tmp_path, "users")
    assert found["total"]["jobs"] == 57 and found["left_out"]["torn"] == 2


@pytest.mark.parametrize("view", views.NAMES)
@pytest.mark.parametrize("key", ["elapsed_s", "memory", "warnings", "end", "energy", "traffic", "migration", "plan"])
def test_a_wrong_type_never_breaks_a_view(view, key):
    """The view is made in this process, as there are many cases."""
    for value in (
        None,
        "x",
        -1,
        1e999,
        [1],
        {"tiers": 3},
        {"tiers": [{"peak_bytes": {}}, 7]},
        {"tiers": [{"name": []}]},
    ):
        [sums] = filled([views.named(view, 1)], [record(1), {**record(2), key: value}]).sums
        assert list(forms.table(sums))


def test_hostile_text_is_harmless_on_a_terminal(tmp_path):
    evil = "\x1b[2Jevil\n"
    write(tmp_path, record(1, user=evil, account=evil, warnings=[evil]))
    for view in ("users", "accounts", "jobs", "failures"):
        text = report_view(tmp_path, view).stdout
        assert "\x1b" not in text and "\\x1b[" in text


def test_groups_are_bounded(monkeypatch):
    monkeypatch.setattr(viewquery, "MOST_ROWS", 3)
    [sums] = filled([views.named("users")], [record(job, user=f"user{job % 7}") for job in range(10)]).sums
    rows = dict(sums.sorted_rows())
    assert sorted(rows) == [("(others)",), ("user0",), ("user1",), ("user2",)]
    assert forms.count_of(sums.view, rows[("(others)",)]) == 4


def test_warnings_beyond_the_limit_have_no_text(monkeypatch):
    monkeypatch.setattr(viewquery, "MOST_ROWS", 2)
    records = [record(job, warnings=["late" if job == 0 else f"{'abc'[job % 3]} {job}"]) for job in range(12)]
    [sums] = filled([views.named("failures")], records).sums
    found = {key[1]: figure(sums.view, row, "text") for key, row in sums.sorted_rows()}
    assert found == {"late": "late", "b N": "b N", "": ""}


def test_rows_of_jobs_are_made_in_parts(monkeypatch):
    """The engine makes at most MOST_ROWS rows at one time. Of a view with more, it makes one part after the other."""

    def rows():
        made = [record(job % 7, node=f"n{job}", elapsed_s=job) for job in range(20)]
        return filled([views.named("jobs")], made, top=6).sums[0].sorted_rows()

    whole = rows()
    assert len(whole) == 6
    monkeypatch.setattr(viewquery, "MOST_ROWS", 2)
    monkeypatch.setattr(runquery, "MOST_ROWS", 2)
    assert rows() == whole


def test_sums_are_exact_however_large():
    """The sum does not fit into 64 bits, and a floating point number would not have all of its digits."""
    written = (1 << 62) + 1
    traffic = {"tiers": [{"name": "pmem", "write_bytes": written, "read_bytes": 1}]}
    [sums] = filled([views.named("writes")], [record(job, traffic=traffic) for job in range(100)]).sums
    for row in (sums.total, *sums.rows.values()):
        assert figure(sums.view, row, "slow_write_bytes") == 100 * written


@pytest.mark.parametrize(
    ("unit", "figure", "shown"),
    [
        ("joules", 0, "0.0 J"),
        ("joules", 999.94, "999.9 J"),
        ("joules", 999.96, "1.0 kJ"),
        ("joules", 3.6e6, "3.6 MJ"),
        ("watts", 1e30, "1000000000000000.0 PW"),
        ("byte_hours", GIB, "1.0 GiB h"),
        ("fine_share", 1e-6, "0.0001 %"),
        ("hours", 9.9999, "10.000"),
        ("hours", 10, "10.000"),
        ("time", "x", "?"),
    ],
)
def test_units(unit, figure, shown):
    assert forms.UNITS[unit](figure) == shown
    assert forms.UNITS[unit](None) == draw.UNMEASURED
