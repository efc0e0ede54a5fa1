# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem report --view: the figures of views by user, node, job and day, and what was not measured."""

import json
from pathlib import Path

import pytest
from installed import helper
from makerecords import GIB, record, tier, write
from viewing import memory, report_view, rows_by, view_json


def three_users(folder):
    """alice has a failed job on two nodes, and its run after a requeue; bob's job has no time, carol's no memory."""
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
    found = view_json(tmp_path, "users")
    rows = rows_by(found, "user")
    assert list(rows) == [("alice",), ("carol",), ("bob",)], "by node-hours; users without any come last"
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
    accounts = rows_by(view_json(tmp_path, "accounts"), "account")
    assert {key: row["records"] for key, row in accounts.items()} == {("physics",): 3, ("chemistry",): 1, ("?",): 1}
    nodes = rows_by(view_json(tmp_path, "nodes"), "node")
    assert {key: (row["jobs"], row["failed_jobs"]) for key, row in nodes.items()} == {("n1",): (4, 1), ("n2",): (1, 1)}
    modes = rows_by(view_json(tmp_path, "modes"), "mode")
    assert {key: row["jobs"] for key, row in modes.items()} == {("spill",): 2, ("fast",): 1, ("none",): 1}


def test_a_table_says_what_was_not_measured(tmp_path):
    three_users(tmp_path)
    lines = [" ".join(line.split()) for line in report_view(tmp_path, "users").stdout.splitlines()]
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
    found = view_json(tmp_path, "users", "--top", "2")
    assert [row["user"] for row in found["rows"]] == ["user2", "user3"] and found["rows_left_out"] == 1
    assert found["total"]["jobs"] == 3, "of all rows"
    assert "rows that are not shown: 1 (see --top)" in report_view(tmp_path, "users", "--top", "2").stdout
    found = view_json(tmp_path, "users", "--by", "fast_peak_bytes", "--top", "1")
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
    found = view_json(tmp_path, "jobs")
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
    text = report_view(tmp_path, "jobs").stdout
    assert "2.0 GiB n2" in text and "3.0 GiB n1" not in text, "a node is named where there are several"
    assert text.splitlines()[0].startswith("JOB      USER ")


def test_an_end_has_its_zone_and_an_unknown_user_one_name(tmp_path):
    """The end has its zone in the table and on the page. An unknown user is "?" here, as in the rows of users."""
    write(tmp_path, record(1, user=None, account=None, end="2025-03-01T11:00:00+01:00"), record(2))
    lines = report_view(tmp_path, "jobs").stdout.splitlines()
    assert (
        lines[0].endswith("  END (UTC)")
        and lines[1].endswith("  2025-03-01 10:00:00")
        and lines[1].split()[:3] == ["1", "?", "?"]
    )
    report_view(tmp_path, "jobs", "--html", tmp_path / "page.html")
    assert ">End (UTC)</th>" in (tmp_path / "page.html").read_text()
    energies = report_view(tmp_path, "energy").stdout.splitlines()
    assert energies[1].split()[:2] == ["?", "?"]


def test_only_the_largest_jobs_are_kept(tmp_path):
    for job in range(1, 121):
        write(tmp_path, record(job, elapsed_s=3600 * job, end=f"2025-03-{job % 7 + 1:02}T10:00:00Z"))
    found = view_json(tmp_path, "jobs")
    assert [row["job"] for row in found["rows"]] == [str(job) for job in range(120, 70, -1)]
    assert found["rows_left_out"] == 70
    found = view_json(tmp_path, "jobs", "--top", "3", "--by", "warnings")
    assert [row["job"] for row in found["rows"]] == ["7", "14", "21"], "of equal ones those that ended first"


def test_tiers_by_day(tmp_path):
    half = record(3, end="2025-03-02T10:00:00Z", elapsed_s=1800)
    write(tmp_path, record(1), record(2, elapsed_s=7200), half, record(4, memory=None), record(5, elapsed_s=None))
    rows = rows_by(view_json(tmp_path, "tiers"), "day", "tier")
    assert list(rows) == [(f"2025-03-0{day}", name) for day in (1, 2) for name in ("dram", "pmem")]
    first = rows["2025-03-01", "dram"]
    assert (first["jobs"], first["node_hours"], first["node_hours_missing"]) == (3, 3.0, 1)
    assert (first["peak_bytes"], first["mean_bytes"], first["byte_hours"]) == (3 * GIB, 2 * GIB, 6 * GIB)
    assert rows["2025-03-02", "pmem"]["byte_hours"] == GIB // 4


def test_a_clock_that_was_set_back_makes_no_figure(tmp_path):
    """An end before the start: negative seconds count as none."""
    write(tmp_path, record(1, start="2025-03-01T12:00:00Z", elapsed_s=-3600.0), record(2))
    row = view_json(tmp_path, "users")["rows"][0]
    assert (row["jobs"], row["node_hours"], row["node_hours_missing"]) == (2, 1.0, 1)


def fixture(name, **changes):
    """A record that a unit test builds."""
    path = Path(__file__).resolve().parents[1] / "fixtures" / "records" / f"{name}.json"
    return {**json.loads(path.read_text()), **changes}


COMMON = ("node_hours", "fast_peak_bytes", "slow_peak_bytes", "fast_mean_bytes", "fast_share")


def test_the_plain_table_and_the_views_have_the_same_figures(tmp_path):
    """The records have bytes that no node can have (2^63 - 1), memory that was not measured, and time that was not
    measured."""
    write(tmp_path, fixture("killed"), fixture("whole", job_id=44), fixture("unsampled", job_id=45), fixture("nothing"))
    plain = json.loads(helper("hybridmem-report", "--records", tmp_path, "--json").stdout)["total"]
    keys = [key for name in COMMON for key in (name, f"{name}_missing")]
    for name in ("users", "accounts", "nodes", "modes"):
        total = view_json(tmp_path, name)["total"]
        assert {key: total[key] for key in keys} == {key: plain[key] for key in keys}, name
    assert (plain["slow_peak_bytes"], plain["slow_peak_bytes_missing"]) == (157286400, 3), "killed.json's is impossible"
    assert (plain["fast_peak_bytes"], plain["fast_peak_bytes_missing"]) == (527437824, 2)
    assert (plain["fast_mean_bytes_missing"], plain["fast_share_missing"], plain["node_hours_missing"]) == (2, 3, 1)
    told = [line for line in report_view(tmp_path, "users").stdout.splitlines() if line.startswith("not measured")]
    assert told == [
        "not measured in 1 of 4 records: node-hours",
        "not measured in 2 of 4 records: fast peak, fast mean",
        "not measured in 3 of 4 records: slow peak, fast share",
    ]
    assert helper("hybridmem-report", "--records", tmp_path).stdout.splitlines()[-3:] == told
    rows = rows_by(view_json(tmp_path, "tiers"), "tier")
    assert (rows["pmem",]["peak_bytes"], rows["pmem",]["peak_bytes_missing"]) == (157286400, 2)
    assert rows["pmem",]["byte_hours"] == round(31457280 * 3599.873 / 3600)


def test_no_advice_is_given_on_memory_that_no_node_can_have(tmp_path):
    slow = {
        "peak_bytes": 1 << 62,
        "tiers": [tier("dram", [0], 0, 0, capacity=GIB), tier("pmem", [1], 1 << 62, 1 << 62)],
    }
    write(tmp_path, record(1, mode="interleave", memory=slow))
    assert view_json(tmp_path, "advice")["rows"] == []


@pytest.mark.parametrize("words", [[], ["--view", "users"]], ids=["plain", "users"])
def test_hours_are_rounded_once(tmp_path, words):
    """JSON has a precision of 0.0001 h, the table of 0.001 h, rounded from what was measured, not from the JSON."""
    for job, (user, seconds) in enumerate((("ann", 1.66), ("bob", 12 * 3600), ("cem", 7 * 3600)), 1):
        write(tmp_path, record(job, user=user, uid=1, elapsed_s=seconds))
    found = json.loads(helper("hybridmem-report", "--records", tmp_path, *words, "--json").stdout)
    assert sorted(row["node_hours"] for row in found["rows"]) == [0.0005, 7, 12]
    assert found["total"]["node_hours"] == 19.0005
    lines = [line.split() for line in helper("hybridmem-report", "--records", tmp_path, *words).stdout.splitlines()]
    place = lines[0].index("NODE-HOURS")
    assert [line[place] for line in lines[1:4]] == ["12.000", "7.000", "0.000"]


def test_hours_that_no_record_has_are_none(tmp_path):
    write(tmp_path, record(1, elapsed_s=None))
    lines = helper("hybridmem-report", "--records", tmp_path).stdout.splitlines()
    assert lines[1].split()[4] == lines[2].split()[3] == "-"
    assert lines[3].startswith("not measured in 1 of 1 records: node-hours, ")
