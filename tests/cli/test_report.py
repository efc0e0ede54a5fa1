# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem report: sums, filters, and what is left out."""

import csv
import io
import json
import os
import re
import signal
import subprocess
from datetime import datetime, timedelta, timezone

import pytest
from installed import LIBEXEC, helper
from makerecords import GIB, record, tier, write
from viewing import report, report_json


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--since", "yesterday"], '"yesterday" is not a date (2025-11-21), a time (2025-11-21T08:00:00Z) or an age'),
        (["--since", "2025-13-01"], '"2025-13-01" is not'),
        (["--until", "2025-02-30"], '"2025-02-30" is not'),
        (["--until", "2025-03-01T10:00:00"], '"2025-03-01T10:00:00" is not'),
        (["--until", "999999w"], '--until: "999999w" is out of range: 0001-01-01 to 9999-12-30'),
        (["--since", "99999999999d"], '"99999999999d" is out of range'),
        (["--until", "9999-12-31"], '"9999-12-31" is out of range'),
        (["--since", f"{'9' * 19}d"], 'd" is not a date'),
        (["--since", "0001-01-01T00:00:00+14:00"], '"0001-01-01T00:00:00+14:00" is not a date'),
        (["--since", "-7d"], '--since: "-7d" is not a date'),
        (["--since", "--until"], "option '--since' requires an argument. Try 'hybridmem report --help'."),
        (["--since", "7 d"], '"7 d" is not'),
        (["--user", "alice,"], '"alice," is no list of names'),
        (["--mode", "spill,"], '"spill," is no list of names'),
        (["--mode", "spill,spil"], '--mode: "spil" is no mode: use off, fast, slow, '),
        (["--mode", "Spill"], "memory, none or invalid"),
        (["--json", "--csv"], "--csv does not go with --json. Try"),
        (["extra"], "unexpected word 'extra'. Try"),
        (["--bogus"], "unrecognized option '--bogus'. Try"),
        (["--json=1"], "option '--json' takes no argument. Try"),
        (["--s", "x\x1b"], '--since: "x\\x1b" is not a date'),
    ],
)
def test_wrong_arguments_are_named(tmp_path, words, expected):
    said = report(tmp_path, *words, status=2).stderr
    assert said.startswith("hybridmem report: ") and said.count("\n") == 1 and expected in said


def test_no_records_folder_is_an_error_and_an_empty_one_is_not(tmp_path):
    assert f"there is no folder {tmp_path}/none" in report(tmp_path / "none", status=1).stderr
    (tmp_path / "file").touch()
    assert "Not a directory" in report(tmp_path / "file", status=1).stderr
    (tmp_path / "file").unlink()
    assert report_json(tmp_path)["rows"] == []
    (tmp_path / "2024-01-01").mkdir()
    assert report_json(tmp_path)["rows"] == []
    assert "total" in report(tmp_path).stdout


def test_sums_by_user_and_mode(tmp_path):
    write(
        tmp_path,
        record(1, node="n1", exit_code=1),
        record(1, node="n2", exit_code=1, warnings=["a", "b"]),
        record(2, elapsed_s=1800, memory={"tiers": [tier("dram", [0], 4 * GIB, 4 * GIB), tier("pmem", [1], 0, 0)]}),
        record(3, user="bob", mode="fast", memory={"tiers": [tier("dram", [0], GIB, GIB)]}),
        record(4, user="bob", request=None, plan=None, memory=None, elapsed_s=None),
    )
    found = report_json(tmp_path)
    rows = {(row["user"], row["mode"]): row for row in found["rows"]}
    assert list(rows) == [("alice", "spill"), ("bob", "fast"), ("bob", "none")], "what used most comes first"
    # fast mean: (2 nodes x 1 h x 2 GiB + 0.5 h x 4 GiB) / 2.5 h; share: 6 of 7 GiB hours
    assert rows["alice", "spill"] == {
        "user": "alice",
        "mode": "spill",
        "jobs": 2,
        "failed_jobs": 1,
        "records": 3,
        "node_hours": 2.5,
        "node_hours_missing": 0,
        "fast_peak_bytes": 4 * GIB,
        "fast_peak_bytes_missing": 0,
        "slow_peak_bytes": GIB,
        "slow_peak_bytes_missing": 0,
        "fast_mean_bytes": round(2.4 * GIB),
        "fast_mean_bytes_missing": 0,
        "fast_share": round(6 / 7, 6),
        "fast_share_missing": 0,
        "warnings": 2,
        "unmeasured_records": 0,
    }
    assert rows["bob", "fast"]["slow_peak_bytes"] is None and rows["bob", "fast"]["fast_share"] == 1
    assert rows["bob", "none"]["fast_peak_bytes"] is None and rows["bob", "none"]["unmeasured_records"] == 1
    assert (rows["bob", "none"]["node_hours"], rows["bob", "none"]["node_hours_missing"]) == (None, 1)
    assert found["total"]["jobs"] == 4 and found["total"]["node_hours"] == 3.5 and found["exact"] is True
    text = report(tmp_path).stdout.splitlines()
    squeezed = [" ".join(line.split()) for line in text]
    assert squeezed[0] == "USER MODE JOBS FAILED NODE-HOURS FAST PEAK SLOW PEAK FAST MEAN FAST SHARE WARNINGS"
    assert squeezed[1] == "alice spill 2 1 2.500 4.0 GiB 1.0 GiB 2.4 GiB 86 % 2"
    assert squeezed[4].startswith("total 4 1 3.500 ")
    assert squeezed[3] == "bob none 1 0 - - - - - 0"
    assert text[5:] == [
        "not measured in 1 of 5 records: node-hours, fast peak, fast mean, fast share",
        "not measured in 2 of 5 records: slow peak",
    ]
    rows_csv = list(csv.DictReader(io.StringIO(report(tmp_path, "--csv").stdout)))
    assert len(rows_csv) == 3 and rows_csv[0]["fast_peak_bytes"] == str(4 * GIB) and rows_csv[2]["fast_share"] == ""


@pytest.mark.parametrize(
    ("words", "jobs"),
    [
        ([], {1, 2, 3, 4}),
        (["--user", "alice"], {1, 2}),
        (["--user", "alice,bob"], {1, 2, 3}),
        (["--account", "chemistry"], {2}),
        (["--mode", "fast"], {3}),
        (["--mode", "none"], {4}),
        (["--since", "2025-03-02"], {3, 4}),
        (["--until", "2025-03-02"], {1, 2, 3}),
        (["--since", "2025-03-01T11:00:01Z", "--until", "2025-03-02T12:00:00+01:00"], {2}),
        (["--since", "2025-03-01T12:00:00Z", "--until", "2025-03-02T11:00:00.5Z"], {2, 3}),
        (["--since", "7d"], set()),
    ],
)
def test_filters(tmp_path, words, jobs):
    write(
        tmp_path,
        record(1),
        record(2, account="chemistry", end="2025-03-01T12:00:00Z"),
        record(3, user="bob", mode="fast", end="2025-03-02T11:00:00.25Z"),
        record(4, user="carol", request=None, plan=None, end="2025-03-03T11:00:00Z"),
    )
    ages = {1: 1, 2: 10, 3: 100, 4: 1000}
    for day in tmp_path.glob("2*/*.jsonl"):
        made = [json.loads(line) for line in day.read_text().splitlines()]
        day.write_text("".join(json.dumps({**r, "elapsed_s": 3600 * ages[r["job_id"]]}) + "\n" for r in made))
    assert report_json(tmp_path, *words)["total"]["node_hours"] == (sum(ages[job] for job in jobs) or None)


def test_the_modes_are_those_of_the_option(configure):
    """An empty configuration allows every mode."""
    text = helper("hybridmem-config", "show", "--config", configure("")).stdout
    known = re.search(r"^modes = \{ (.*) \}$", text, re.MULTILINE)[1].split(", ")
    assert "invalid: jobs whose option was not valid" in " ".join(report("/", "--help").stdout.split())
    assert f'"?" is no mode: use {", ".join(known)}, none or invalid\n' in report("/", "--mode", "?", status=2).stderr


def test_users_without_records_are_named(tmp_path):
    write(tmp_path, record(1), record(2, user="bob", mode="fast"))
    done = report(tmp_path, "--user", "carol,bob,eve\x1b", "--json")
    said = "--user carol, eve\\x1b: there is no such user in the records that you may read: use alice or bob"
    assert done.stderr == f"hybridmem report: {said}\n"
    assert json.loads(done.stdout)["total"]["jobs"] == 1
    done = report(tmp_path, "--user", "bob", "--mode", "spill")
    assert "--user bob: none of their records matches the other options\n" in done.stderr and "total" in done.stdout
    assert report(tmp_path, "--user", "alice,bob").stderr == ""


def test_ages_count_from_now(tmp_path):
    now = datetime.now(timezone.utc)
    for days in (1, 3, 10):
        write(tmp_path, record(days, end=(now - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")))
    assert [report_json(tmp_path, "--since", age)["total"]["jobs"] for age in ("30min", "25h", "4d", "2w")] == [
        0,
        1,
        2,
        3,
    ]


def test_days_outside_the_period_are_not_even_opened(tmp_path):
    write(tmp_path, record(1))
    (tmp_path / "2024-01-01").mkdir()
    (tmp_path / "2024-01-01" / "n1.jsonl").write_text("not a record\n")
    assert report_json(tmp_path)["left_out"]["torn"] == 1
    assert report_json(tmp_path, "--since", "2024-01-02")["left_out"]["torn"] == 0


def test_lines_that_are_no_records_are_counted_and_named(tmp_path):
    write(tmp_path, record(1))
    path = tmp_path / "2025-03-01" / "n1.jsonl"
    whole = json.dumps(record(2))
    bad = {
        "torn": [whole[:99], "\0" * 20, "[" * 100000, '{"schema": NaN}', '{"schema": ' + "1" * 5000 + "}"],
        "foreign": ["[1]", "7", "{}", '{"schema": 1}', '{"schema": 1, "job_id": "2", "node": "n1"}'],
        "unknown_schema": ['{"schema": 2, "job_id": 2}', '{"schema": true}', '{"schema": "1"}'],
        "too_long": ["x" * (1 << 20) + "y", '{"schema": 1' + " " * (3 << 20) + "}"],
        "duplicate": [json.dumps(record(1))],
    }
    with path.open("a") as stream:
        stream.write("".join(line + "\n" for lines in bad.values() for line in lines))
        stream.write("\n \t\r\n" + whole + "\n")  # an empty line is not counted
    with path.open("ab") as stream:
        stream.write(b'{"schema": 1, "user": "\xff\xfe\n' + whole[:50].encode())
    done = report(tmp_path, "--json")
    found = json.loads(done.stdout)
    assert found["total"]["jobs"] == 2
    expected = {cause: len(lines) for cause, lines in bad.items()}
    assert found["left_out"] == {**expected, "torn": len(bad["torn"]) + 2, "unreadable_file": 0}
    assert f"left out: 7 lines ({path}:2, {path}:3, {path}:4, ...) not JSON, " in done.stderr
    places = f"({path}:12, {path}:13, {path}:14)"
    assert f"left out: 3 records {places} of another version of hybridmem (this one reads schema 1): " in done.stderr
    assert "update hybridmem on this host\n" in done.stderr
    assert report(tmp_path, "--json").stdout == done.stdout


@pytest.mark.parametrize("words", [[], ["--view", "users"]], ids=str)
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_columns_are_straight_in_every_locale(tmp_path, locale, words):
    write(tmp_path, record(1, user="größe"), record(2, user="bob"))
    lines = report(tmp_path, *words, env={"LC_ALL": locale}).stdout.splitlines()[:4]
    assert len({len(line) for line in lines}) == 1, lines


@pytest.mark.parametrize("first", ["n1", "n3"])
def test_a_job_counts_in_each_row_and_once_in_all(tmp_path, first):
    """The record of a node where no step ran has no plan, and counts as another mode. The order of the job's
    records does not matter."""
    write(tmp_path, record(1, node=first), record(1, node="n2", plan=None, request=None, exit_code=1), record(2))
    found = report_json(tmp_path)
    counts = {
        row["mode"]: (row["jobs"], row["failed_jobs"]) for row in [*found["rows"], {**found["total"], "mode": ""}]
    }
    assert counts == {"spill": (2, 0), "none": (1, 1), "": (2, 1)}
    by_view = report_json(tmp_path, "--view", "modes")["rows"]
    assert {row["mode"]: (row["jobs"], row["failed_jobs"]) for row in by_view} == {"spill": (2, 0), "none": (1, 1)}


@pytest.mark.parametrize("words", [["--user", "?"], ["--account", "?"]], ids=" ".join)
def test_unknown_users_and_accounts_can_be_asked_for(tmp_path, words):
    write(tmp_path, record(1), record(2, user=None), record(3, account=None), record(4, user="\ud800", account=""))
    assert report_json(tmp_path, *words)["total"]["jobs"] == 2


def test_half_a_character_is_no_error(tmp_path):
    write(tmp_path, record(1, user="\ud800"))
    rows = csv.DictReader(io.StringIO(report(tmp_path, "--csv").stdout))
    assert [row["user"] for row in rows] == ["?"]
    assert report_json(tmp_path)["rows"][0]["user"] == "?"


def test_only_regular_files_of_day_folders_are_read(tmp_path):
    write(tmp_path, record(1))
    day = tmp_path / "2025-03-01"
    line = json.dumps(record(2)) + "\n"
    (tmp_path / "2025-3-1").mkdir()
    (tmp_path / "2025-3-1" / "n1.jsonl").write_text(line)
    (tmp_path / "2025-99-99").mkdir()
    (day / "n1.jsonl.1").write_text(line)
    (tmp_path / "elsewhere").write_text(line)
    (day / "link.jsonl").symlink_to(tmp_path / "elsewhere")
    (day / "folder.jsonl").mkdir()
    os.mkfifo(day / "pipe.jsonl")
    (tmp_path / "2025-03-02").symlink_to(day)
    done = report(tmp_path, "--json", timeout=60)
    found = json.loads(done.stdout)
    assert found["total"]["jobs"] == 1 and found["left_out"]["unreadable_file"] == 3
    assert f"{day}/link.jsonl" in done.stderr and f"{day}/pipe.jsonl" in done.stderr


@pytest.mark.parametrize(
    "key", ["elapsed_s", "exit_code", "user", "plan", "memory", "warnings", "end", "restart_count"]
)
@pytest.mark.parametrize("value", [None, "x", -1, 1e999, [1], {"tiers": 3}, {"tiers": [{"peak_bytes": {}}]}])
def test_a_wrong_type_never_breaks_the_report(tmp_path, key, value):
    write(tmp_path, record(1))
    with (tmp_path / "2025-03-01" / "n1.jsonl").open("a") as stream:
        stream.write(json.dumps({**record(2), key: value}).replace("Infinity", "1e999") + "\n")
    found = report_json(tmp_path)
    assert found["total"]["jobs"] == 2
    assert report(tmp_path, "--since", "2025-01-01").stdout
    assert "Infinity" not in json.dumps(found)


def test_a_job_whose_nodes_end_on_both_sides_of_midnight_is_one_job(tmp_path):
    write(tmp_path, record(1, end="2025-03-01T23:59:59Z"), record(1, node="n2", end="2025-03-02T00:00:01Z"))
    write(tmp_path, record(1, restart_count=1, end="2025-03-02T09:00:00Z"))
    found = report_json(tmp_path)["total"]
    assert (found["jobs"], found["records"]) == (2, 3), "a run that was requeued counts by itself"


def test_a_reader_that_goes_away_ends_the_report_quietly(tmp_path):
    for user in range(3000):
        write(tmp_path, record(user + 1, user=f"user{user}", uid=1001))
    child = subprocess.Popen(
        [LIBEXEC / "hybridmem-report", "--records", tmp_path, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    child.stdout.read(10)
    child.stdout.close()
    errors = child.stderr.read()
    assert child.wait() == -signal.SIGPIPE and errors == b""


def test_the_help_text_names_every_option():
    text = helper("hybridmem-report", "--help").stdout
    names = "since until user account mode view top by endurance json csv html records history engine help"
    assert set(re.findall(r"--[a-z]+", text)) == {f"--{name}" for name in names.split()}


def test_a_long_name_does_not_widen_the_table(tmp_path):
    write(tmp_path, record(1, user="u" * 5000))
    lines = report(tmp_path).stdout.splitlines()
    assert max(map(len, lines)) < 300 and any(line.startswith(f"{'u' * 61}...  ") for line in lines)
    assert json.loads(report(tmp_path, "--json").stdout)["rows"][0]["user"] == "u" * 5000
