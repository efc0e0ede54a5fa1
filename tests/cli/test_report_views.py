# SPDX-License-Identifier: Apache-2.0
"""hybridmem report --view: each view's rows and figures, what was not measured, and what bounds the memory."""

import csv
import io
import json
import sys

import pytest
from installed import DATA, helper
from makerecords import GIB, many, record, tier, write
from test_report import peak_kib

sys.path.insert(0, str(DATA / "python"))
from hybridmem import draw, forms, groups, tally, views


def report(folder, view, *words, **options):
    return helper("hybridmem-report", "--records", folder, "--view", view, *words, **options)


def report_json(folder, view, *words):
    return json.loads(report(folder, view, "--json", *words).stdout)


def rows_by(found, *keys):
    return {tuple(row[key] for key in keys): row for row in found["rows"]}


def memory(fast, slow=(0, 0), capacity=None):
    """A record's memory by (peak, mean) of the fast and the slow tier."""
    return {
        "peak_bytes": fast[0] + slow[0],
        "tiers": [tier("dram", [0], *fast, capacity=capacity), tier("pmem", [1], *slow, capacity=capacity)],
    }


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--view", "user"], "invalid choice: 'user' (choose from"),
        (["--top", "5"], "--top wants a --view or --html"),
        (["--by", "jobs"], "--by wants a --view"),
        (["--endurance", "1P"], "--endurance wants --view writes or --html"),
        (["--html", "x", "--by", "jobs"], "--by wants a --view"),
        (["--html", "x", "--csv"], "not allowed with argument"),
        (["--html", "x/"], '"x/" is no file'),
        (["--view", "users", "--endurance", "1P"], "--endurance wants --view writes"),
        (["--view", "users", "--top", "0"], '"0" is no number of rows'),
        (["--view", "users", "--top", "-1"], '"-1" is no number of rows: 1 to'),
        (["--view", "users", "--by", "user"], '--by "user" is no figure of the view users: jobs, failed_jobs,'),
        (["--view", "jobs", "--by", "end"], '--by "end" is no figure of the view jobs: nodes, exit_code, elapsed_s'),
        (["--view", "writes", "--endurance", "0"], '"0" is no size'),
        (["--view", "writes", "--endurance", "1.5P"], '"1.5P" is no size: digits and K, M, G, T or P'),
        (["--view", "writes", "--endurance", "1E"], '"1E" is no size'),
    ],
)
def test_wrong_arguments_are_named(tmp_path, words, expected):
    assert expected in helper("hybridmem-report", "--records", tmp_path, *words, status=2).stderr


@pytest.mark.parametrize("view", views.NAMES)
def test_no_records_are_no_rows(tmp_path, view):
    found = report_json(tmp_path, view)
    assert (found["view"], found["rows"], found["rows_left_out"], found["exact"]) == (view, [], 0, True)
    assert len(report(tmp_path, view).stdout.splitlines()) >= 1
    assert len(report(tmp_path, view, "--csv").stdout.splitlines()) == 1, "the head"


@pytest.mark.parametrize("view", views.NAMES)
def test_the_forms_have_the_same_rows(tmp_path, view):
    for job in range(1, 6):
        write(tmp_path, record(job, exit_code=job, mode="slow", memory=memory((GIB, GIB), (GIB, GIB), 9 * GIB)))
    found = report_json(tmp_path, view)
    read = list(csv.DictReader(io.StringIO(report(tmp_path, view, "--csv").stdout)))
    assert found["rows"]
    assert [list(row) for row in found["rows"]] == [list(row) for row in read]
    assert [["" if v is None else str(v) for v in row.values()] for row in found["rows"]] == [
        list(row.values()) for row in read
    ]
    lines = report(tmp_path, view).stdout.splitlines()
    assert len(lines) >= 1 + len(found["rows"]) + (found["total"] is not None)


def three_users(folder):
    """alice: a job on two nodes that failed, and its run after a requeue; bob: measured in part; carol: not at all."""
    write(
        folder,
        record(1, node="n1", exit_code=3, memory=memory((4 * GIB, 2 * GIB), (GIB, GIB))),
        record(1, node="n2", exit_code=3, memory=memory((6 * GIB, 4 * GIB), (GIB, GIB)), warnings=["a"]),
        record(1, node="n1", restart_count=1, memory=memory((GIB, GIB)), elapsed_s=7200),
        record(2, user="bob", account="chemistry", mode="fast", memory=memory((GIB, GIB)), elapsed_s=None),
        record(3, user="carol", account=None, request=None, plan=None, memory=None, elapsed_s=1800),
    )


def test_sums_by_user_account_node_and_mode(tmp_path):
    three_users(tmp_path)
    found = report_json(tmp_path, "users")
    rows = rows_by(found, "user")
    assert list(rows) == [("alice",), ("carol",), ("bob",)], "by node-hours, those without any last"
    alice = rows[("alice",)]
    assert (alice["jobs"], alice["failed_jobs"], alice["records"], alice["node_hours"]) == (2, 1, 3, 4.0)
    assert (alice["fast_peak_bytes"], alice["fast_peak_bytes_node"]) == (6 * GIB, "n2")
    # (1 h x 2 + 1 h x 4 + 2 h x 1) / 4 h; the share: 8 of 10 GiB hours
    assert (alice["fast_mean_bytes"], alice["fast_share"]) == (2 * GIB, 0.8)
    assert alice["warnings"] == 1 and alice["node_hours_missing"] == 0
    bob = rows[("bob",)]
    assert (bob["node_hours"], bob["node_hours_missing"], bob["fast_peak_bytes"]) == (None, 1, GIB)
    assert (bob["fast_mean_bytes"], bob["fast_mean_bytes_missing"]) == (None, 1), "no time to weigh it by"
    carol = rows[("carol",)]
    assert (carol["fast_peak_bytes"], carol["fast_peak_bytes_missing"], carol["fast_share"]) == (None, 1, None)
    total = found["total"]
    assert (total["jobs"], total["failed_jobs"], total["records"], total["node_hours"]) == (4, 1, 5, 4.5)
    assert (total["node_hours_missing"], total["fast_peak_bytes_missing"]) == (1, 1)
    accounts = rows_by(report_json(tmp_path, "accounts"), "account")
    assert {key: row["records"] for key, row in accounts.items()} == {("physics",): 3, ("chemistry",): 1, ("?",): 1}
    nodes = rows_by(report_json(tmp_path, "nodes"), "node")
    assert {key: (row["jobs"], row["failed_jobs"]) for key, row in nodes.items()} == {("n1",): (4, 1), ("n2",): (1, 1)}
    modes = rows_by(report_json(tmp_path, "modes"), "mode")
    assert {key: row["jobs"] for key, row in modes.items()} == {("spill",): 2, ("fast",): 1, ("none",): 1}


def test_a_table_says_what_was_not_measured(tmp_path):
    three_users(tmp_path)
    lines = [" ".join(line.split()) for line in report(tmp_path, "users").stdout.splitlines()]
    assert lines[0] == "USER JOBS FAILED NODE-HOURS FAST PEAK SLOW PEAK FAST MEAN FAST SHARE WARNINGS"
    assert lines[1] == "alice 2 1 4.000 6.0 GiB 1.0 GiB 2.0 GiB 80 % 1"
    assert lines[3] == "bob 1 0 - 1.0 GiB 0 B - - 0"
    assert lines[4].startswith("total 4 1 4.500 6.0 GiB ")
    assert lines[5:] == [
        "not measured in 1 of 5 records: node-hours, fast peak, slow peak",
        "not measured in 2 of 5 records: fast mean, fast share",
    ]


def test_top_and_by(tmp_path):
    for job, hours in enumerate((1, 3, 2), 1):
        peak = memory(((4 - job) * GIB, GIB))
        write(tmp_path, record(job, user=f"user{job}", uid=1001, elapsed_s=3600 * hours, memory=peak))
    found = report_json(tmp_path, "users", "--top", "2")
    assert [row["user"] for row in found["rows"]] == ["user2", "user3"] and found["rows_left_out"] == 1
    assert found["total"]["jobs"] == 3, "of all rows"
    assert "rows that are not shown: 1 (see --top)" in report(tmp_path, "users", "--top", "2").stdout
    found = report_json(tmp_path, "users", "--by", "fast_peak_bytes", "--top", "1")
    assert [row["user"] for row in found["rows"]] == ["user1"]


def test_a_job_is_one_row_over_its_nodes_its_array_and_midnight(tmp_path):
    task = {"array_job_id": 20, "array_task_id": 3}
    write(
        tmp_path,
        record(1, node="n1", elapsed_s=10, exit_code=0, end="2025-03-01T23:59:59Z", memory=memory((GIB, GIB))),
        record(1, node="n2", elapsed_s=12, exit_code=9, end="2025-03-02T00:00:01Z", memory=memory((2 * GIB, GIB))),
        record(1, node="n1", restart_count=1, elapsed_s=36, end="2025-03-04T10:00:00Z", warnings=["w"]),
        record(21, **task, elapsed_s=7200),
        record(31, het_job_id=30, elapsed_s=None, exit_code=None, memory=None),
    )
    found = report_json(tmp_path, "jobs")
    rows = rows_by(found, "job_id", "restart_count")
    assert list(rows) == [(21, 0), (1, 1), (1, 0), (31, 0)], "what used most comes first"
    assert [row["job"] for row in rows.values()] == ["20_3", "1 run 2", "1", "30+1"]
    both = rows[1, 0]
    assert (both["nodes"], both["exit_code"], both["exit_code_node"]) == (2, 9, "n2")
    assert (both["elapsed_s"], both["elapsed_s_node"], both["node_hours"]) == (12, "n2", round(22 / 3600, 4))
    assert (both["fast_peak_bytes"], both["fast_peak_bytes_node"]) == (2 * GIB, "n2")
    assert (both["cluster"], both["user"], both["account"], both["mode"]) == ("test", "alice", "physics", "spill")
    bare = rows[31, 0]
    assert (bare["node_hours"], bare["exit_code"], bare["fast_peak_bytes"]) == (None, None, None)
    assert bare["exit_code_missing"] == 1 and found["total"] is None
    text = report(tmp_path, "jobs").stdout
    assert "2.0 GiB n2" in text and "3.0 GiB n1" not in text, "a node is named where there are several"
    assert text.splitlines()[0].startswith("JOB      USER ")


def test_only_the_largest_jobs_are_kept(tmp_path):
    for job in range(1, 121):
        write(tmp_path, record(job, elapsed_s=3600 * job, end=f"2025-03-{job % 7 + 1:02}T10:00:00Z"))
    found = report_json(tmp_path, "jobs")
    assert [row["job"] for row in found["rows"]] == [str(job) for job in range(120, 70, -1)]
    assert found["rows_left_out"] == 70
    found = report_json(tmp_path, "jobs", "--top", "3", "--by", "warnings")
    assert [row["job"] for row in found["rows"]] == ["7", "14", "21"], "of equal ones those that ended first"


def test_tiers_by_day(tmp_path):
    half = record(3, end="2025-03-02T10:00:00Z", elapsed_s=1800)
    write(tmp_path, record(1), record(2, elapsed_s=7200), half, record(4, memory=None), record(5, elapsed_s=None))
    rows = rows_by(report_json(tmp_path, "tiers"), "day", "tier")
    assert list(rows) == [(f"2025-03-0{day}", name) for day in (1, 2) for name in ("dram", "pmem")]
    first = rows["2025-03-01", "dram"]
    assert (first["jobs"], first["node_hours"], first["node_hours_missing"]) == (3, 3.0, 1)
    assert (first["peak_bytes"], first["mean_bytes"], first["byte_hours"]) == (3 * GIB, 2 * GIB, 6 * GIB)
    assert rows["2025-03-02", "pmem"]["byte_hours"] == GIB // 4


def test_waste_wants_the_capacity(tmp_path):
    write(tmp_path, record(1, memory=memory((9 * GIB, 6 * GIB), (4 * GIB, 3 * GIB), 10 * GIB)), record(2))
    found = report_json(tmp_path, "waste")
    [row] = found["rows"]
    assert (row["unused_share"], row["unused_share_missing"]) == (0.4, 1)
    assert (row["unused_byte_hours"], row["slow_beside_room_byte_hours"]) == (4 * GIB, 3 * GIB)
    assert "others had some of it" in report(tmp_path, "waste").stdout
    write(tmp_path / "old", record(2))
    [row] = report_json(tmp_path / "old", "waste")["rows"]
    assert row["unused_byte_hours"] is None and row["unused_share"] is None
    text = report(tmp_path / "old", "waste").stdout
    assert "UNUSED" not in text and "left out, as no record has it: unused share, unused, slow beside room" in text


def test_a_mean_above_the_capacity_wastes_nothing(tmp_path):
    write(tmp_path, record(1, memory=memory((9 * GIB, 6 * GIB), (GIB, GIB), 5 * GIB)))
    assert report_json(tmp_path, "waste")["rows"][0]["unused_byte_hours"] == 0


def test_failures_by_text(tmp_path):
    refusal = "mode fast wants 200.0 GiB, the tier has 16.0 GiB"
    write(
        tmp_path,
        record(1, exit_code=137, warnings=["killed at 10:00", "killed at 11:30"]),
        record(1, node="n2", exit_code=137),
        record(2, exit_code=1, warnings=["killed at 9:00", 7, None, f"refused: {refusal}"]),
        record(3, warnings=[f"a task was refused: {refusal.replace('200', '9')}", "x" * 5000]),
        record(4, exit_code=None),
        record(5, exit_code=255),
    )
    rows = rows_by(report_json(tmp_path, "failures"), "kind", "text")
    assert {key: (row["jobs"], row["records"], row["last_job"]) for key, row in rows.items()} == {
        ("exit code", "137 (signal 9)"): (1, 2, "1"),
        ("exit code", "1"): (1, 1, "2"),
        ("exit code", "255"): (1, 1, "5"),
        ("warning", "killed at N:N"): (2, 2, "2"),
        ("warning", "N"): (1, 1, "2"),
        ("warning", "None"): (1, 1, "2"),
        ("refused", "mode fast wants N.N GiB, the tier has N.N GiB"): (2, 2, "3"),
        ("warning", "x" * 200): (1, 1, "3"),
    }


def test_energy_counts_who_measured_it(tmp_path):
    measured = {"package_j": 360000, "memory_j": None, "source": "powercap"}
    write(tmp_path, record(1, energy=measured), record(2, energy=measured, elapsed_s=None), record(3))
    found = report_json(tmp_path, "energy")
    [row] = found["rows"]
    assert (row["user"], row["account"]) == ("alice", "physics")
    assert (row["package_j"], row["package_j_missing"]) == (720000, 1)
    assert (row["memory_j"], row["memory_j_missing"]) == (None, 3)
    assert (row["package_w"], row["package_w_missing"]) == (100, 2), "of the job whose time is known"
    text = report(tmp_path, "energy").stdout
    assert (
        "720.0 kJ" in text and "100.0 W" in text and "left out, as no record has it: memory, peak, of traffic" in text
    )
    assert "not measured in 1 of 3 records: node-hours, packages\n" in text


def test_what_a_gigabyte_took(tmp_path):
    """Of the jobs that have the energy and all traffic of all tiers; other energy does not count."""
    whole = {"package_j": 900, "memory_j": 100, "peak_w": 410.5, "source": "powercap"}

    def moved(slow_written):
        parts = (("dram", 3 * 10**9, 10**9), ("pmem", 10**9, slow_written))
        return {"tiers": [{"name": name, "read_bytes": read, "write_bytes": written} for name, read, written in parts]}

    jobs = [record(1, energy=whole, traffic=moved(0)), record(2, energy={**whole, "memory_j": None}, traffic=moved(0))]
    jobs += [record(3, energy=whole, traffic=moved(None)), record(4, energy=whole), record(5, traffic=moved(0))]
    write(tmp_path, *jobs)
    [row] = report_json(tmp_path, "energy")["rows"]
    assert (row["joules_per_gb"], row["joules_per_gb_missing"]) == (190, 3)
    assert (row["peak_w"], row["peak_w_missing"]) == (410.5, 1)
    assert "190.0 J/GB" in report(tmp_path, "energy").stdout


def test_writes_and_the_life_they_cost(tmp_path):
    tiers = [
        {"name": name, "read_bytes": n * GIB, "write_bytes": 2 * n * GIB} for name, n in (("dram", 9), ("pmem", 2))
    ]
    write(tmp_path, record(1, traffic={"tiers": tiers, "source": "perf"}), record(2))
    [row] = report_json(tmp_path, "writes")["rows"]
    assert (row["slow_write_bytes"], row["slow_write_bytes_missing"]) == (4 * GIB, 1)
    assert (row["slow_read_bytes"], row["life_share"], row["life_share_missing"]) == (2 * GIB, None, 2)
    assert "LIFE" not in report(tmp_path, "writes").stdout
    [row] = report_json(tmp_path, "writes", "--endurance", "4T")["rows"]
    assert (row["life_share"], row["life_share_missing"]) == (0.0009765625, 1)
    assert "0.0977 %" in report(tmp_path, "writes", "--endurance", "4T").stdout


def test_traffic_of_one_tier_is_not_taken_for_the_other(tmp_path):
    only = [{"name": "dram", "read_bytes": GIB, "write_bytes": GIB}]
    write(tmp_path, record(1, traffic={"tiers": only, "source": "perf"}))
    assert report_json(tmp_path, "writes")["rows"][0]["slow_write_bytes"] is None


def test_a_clock_that_was_set_back_makes_no_figure(tmp_path):
    """An end before the start: seconds below 0 are none."""
    write(tmp_path, record(1, start="2025-03-01T12:00:00Z", elapsed_s=-3600.0), record(2))
    row = report_json(tmp_path, "users")["rows"][0]
    assert (row["jobs"], row["node_hours"], row["node_hours_missing"]) == (2, 1.0, 1)


def test_other_versions_torn_lines_and_duplicates_are_left_out(tmp_path):
    write(tmp_path, record(1), record(1), record(2))
    with (tmp_path / "2025-03-01" / "n1.jsonl").open("a") as stream:
        stream.write(json.dumps({**record(3), "schema": 2}) + "\n" + json.dumps(record(4))[:80])
    found = report_json(tmp_path, "jobs")
    assert [row["job"] for row in found["rows"]] == ["1", "2"]
    assert (found["left_out"]["duplicate"], found["left_out"]["unknown_schema"], found["left_out"]["torn"]) == (1, 1, 1)


def test_a_corrupted_day_loses_only_its_bad_lines(tmp_path):
    for day in (1, 2, 3):
        write(tmp_path, *(record(day * 100 + job, end=f"2025-03-0{day}T10:00:00Z") for job in range(20)))
    path = tmp_path / "2025-03-02" / "n1.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[5] = lines[5][:40] + b"\xff\x00" + lines[5][42:]
    lines[7] = lines[7].replace(b"\n", b"")  # and so line 8 is on the same
    path.write_bytes(b"".join(lines))
    found = report_json(tmp_path, "users")
    assert found["total"]["jobs"] == 57 and found["left_out"]["torn"] == 2


@pytest.mark.parametrize("view", views.NAMES)
@pytest.mark.parametrize("key", ["elapsed_s", "memory", "warnings", "end", "energy", "traffic", "migration", "plan"])
def test_a_wrong_type_never_breaks_a_view(view, key):
    """In this process, for there are many."""
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
        made = groups.Report([views.named(view, 1)], None)
        made.next_day()
        made.next_file()
        assert made.add(record(1)) and made.add({**record(2), key: value})
        assert list(forms.table(made.sums[0]))


def test_hostile_text_is_harmless_on_a_terminal(tmp_path):
    evil = "\x1b[2Jevil\n"
    write(tmp_path, record(1, user=evil, account=evil, warnings=[evil]))
    for view in ("users", "accounts", "jobs", "failures"):
        text = report(tmp_path, view).stdout
        assert "\x1b" not in text and "\\x1b[" in text


def test_groups_are_bounded(monkeypatch):
    monkeypatch.setattr(groups.Groups, "LIMIT", 3)
    made = groups.Report([views.named("users")], None)
    for job in range(10):
        made.add(record(job, user=f"user{job}"))
    rows = dict(made.sums[0].sorted_rows())
    assert sorted(rows) == [("(others)",), ("user0",), ("user1",), ("user2",)]
    assert forms.count_of(made.sums[0].view, rows[("(others)",)]) == 7


def test_jobs_are_bounded_and_it_is_said(monkeypatch):
    monkeypatch.setattr(groups.Jobs, "LIMIT", 4)
    made = groups.Report([views.named("jobs")], 100)
    for job in (*range(6), 0):
        made.add(record(job, node=f"n{job}"))
    assert made.is_exact() is False
    assert len(made.sums[0].sorted_rows()) >= 6
    monkeypatch.setattr(tally.Jobs, "LIMIT", 2)
    made = groups.Report([views.named("users")], None)
    for job in range(3):
        made.add(record(job))
    assert made.is_exact() is False


def test_memory_does_not_grow_with_the_number_of_records(tmp_path):
    many(tmp_path / "few", 1000)
    many(tmp_path / "many", 30_000)
    few, _ = peak_kib(tmp_path / "few", "--view", "jobs")
    lot, found = peak_kib(tmp_path / "many", "--view", "jobs")
    assert len(found["rows"]) == 50 and found["rows_left_out"] == 29_950
    # 3000 jobs of each of two days, about 2 KiB each.
    assert lot - few < 14 * 1024, f"{few} KiB for 1000 records, {lot} KiB for 30,000"


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
        ("hours", 10, "10.0"),
        ("time", "x", "?"),
    ],
)
def test_units(unit, figure, shown):
    assert forms.UNITS[unit](figure) == shown
    assert forms.UNITS[unit](None) == draw.UNMEASURED
