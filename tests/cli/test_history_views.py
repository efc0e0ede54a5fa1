# SPDX-License-Identifier: Apache-2.0
"""Tests views that DuckDB makes of a history's columns: they equal the views of the records themselves, whatever the
records contain."""

import json
import re
import shutil
import sys

import engine
import pytest
from engine import ingest
from histories import FORMS, append, plain, same, source, varied
from installed import DATA, helper
from makerecords import record, tier, write
from oddrecords import odd_records

sys.path.insert(0, str(DATA / "python"))
from hybridmem import folds, forms, groups, history, report, runquery, temporary, terms, viewquery, views


@pytest.fixture(name="odd", scope="module")
def odd_history(tmp_path_factory):
    """(records, history) of odd records, with duplicates, lines of another schema and torn ones."""
    top = tmp_path_factory.mktemp("odd")
    for made in odd_records(600):
        day = made["end"][:10]
        append(top / "records", json.dumps(made), day=day, node=made["node"])
    varied(top / "records")
    ingest(top / "records", top / "history")
    return top / "records", top / "history"


def test_the_help_lists_all_views():
    listed = re.findall(r"^  (\w+) ", helper("hybridmem-report", "--help").stdout, re.MULTILINE)
    assert sorted(listed) == sorted(views.NAMES)


@pytest.mark.parametrize("view", views.NAMES)
def test_odd_records_have_the_same_figures(odd, view):
    found = same(*odd, "--view", view, forms=FORMS)
    few = 2 if view == "advice" else 6  # some rules must hold on most nodes of a job, and figures are odd
    assert len(found["rows"]) >= few and found["left_out"]["duplicate"] > 20
    assert view not in ("energy", "writes") or any(
        row["memory_j" if view == "energy" else "slow_read_bytes"] for row in found["rows"]
    )


def test_whether_a_job_was_alone_is_known_of_records_of_all_kinds(odd):
    total = same(*odd, "--view", "waste")["total"]
    alone, shared = total["alone_records"], total["shared_records"]
    assert min(alone, shared, total["records"] - alone - shared) > 30
    assert 0 < total["unused_byte_hours_missing"] < total["records"]
    made = "FROM read_parquet('{}/records/day=*/records.parquet') WHERE contains(record, '\"shared\"')"
    for condition, found in ((made, 3), (made.replace("WHERE", "WHERE NOT"), 3)):
        assert len(engine.query(f"SELECT DISTINCT shared {condition}", odd[1])) == found


@pytest.mark.parametrize(
    "words",
    [
        ["--user", "alice,bob"],
        ["--user", "nobody"],
        ["--account", "bob,nobody"],
        ["--mode", "spill,slow"],
        ["--since", "2025-03-02"],
        ["--since", "2025-03-01T12:00:01Z", "--until", "2025-03-02T00:00:01Z"],
        ["--since", "2030-01-01"],
        ["--top", "2"],
        ["--by", "jobs"],
    ],
    ids=" ".join,
)
def test_filters_choose_the_same_records(odd, words):
    same(*odd, "--view", "nodes", *words)


def test_runs_are_counted_in_parts(odd, monkeypatch):
    """Millions of runs are read in several parts."""

    def filled():
        report = groups.Report([views.named("nodes")], None)
        source(odd[1]).feed(report)
        return report.sums[0].rows, report.sums[0].total

    whole = filled()
    assert len(whole[0]) >= 6
    monkeypatch.setattr(viewquery, "RUNS_AT_ONCE", 7)
    assert filled() == whole


def test_records_of_a_day_are_read_in_parts(odd, tmp_path, monkeypatch):
    """Records that are more than the engine sorts at one time are read in several parts, in the same order."""
    older = changed(odd[1], tmp_path / "history", "EXCLUDE (failures, job)")

    def read():
        texts = []
        monkeypatch.setattr(temporary.Rows, "add", lambda _, record: texts.append(record))
        source(older).feed(groups.Report([views.named("failures"), views.named("jobs")], None))
        return texts

    whole = read()
    assert len(whole) > 500
    for most in (1, 20_000):
        monkeypatch.setattr(history, "BYTES_AT_ONCE", most)
        assert read() == whole


def test_the_life_that_writes_cost(odd):
    rows = same(*odd, "--view", "writes", "--endurance", "10P")["rows"]
    assert any(row["life_share"] for row in rows)


@pytest.mark.parametrize(
    ("view", "query", "step"),
    [
        ("users", viewquery.Query, "add_up"),
        ("tiers", viewquery.Query, "add_up"),
        ("failures", viewquery.Query, "add_up"),
        ("jobs", runquery.Runs, "choose"),
        ("advice", runquery.Runs, "rank"),
    ],
)
def test_an_ingest_while_a_view_is_made(odd, tmp_path, monkeypatch, view, query, step):
    """The ingest between two statements brings a tier, a warning and jobs that the first statement did not find."""
    records, history = tmp_path / "records", tmp_path / "history"
    shutil.copytree(odd[1], history)
    first, calls = getattr(query, step), []

    def late(self):
        found = first(self)
        if not calls:
            memory = {"tiers": [tier("news", [0], 1 << 55, 1 << 30), tier("pmem", [1], 1 << 55, 1 << 30)]}
            made = record(900, user="bob", memory=memory, warnings=["news"], exit_code=99, elapsed_s=9e6)
            write(records, *({**made, "node": f"n{number}"} for number in range(3)), {**made, "job_id": 901})
            ingest(records, history)
        calls.append(self)
        return found

    def filled():
        report = groups.Report([views.named(view)], None)
        source(history).feed(report)
        return report.last, report.sums[0].total, report.sums[0].sorted_rows()

    monkeypatch.setattr(query, step, late)
    found = filled()
    assert len(calls) >= 2
    monkeypatch.undo()
    assert found == filled()


def changed(history, made, what):
    """A copy of the history whose tables have other columns."""
    shutil.copytree(history, made)
    for table in (made / "records").rglob("*.parquet"):
        draft = table.with_suffix(".draft")
        engine.query(
            f"COPY (SELECT * {what} FROM read_parquet('{{}}')) TO '{{}}' (FORMAT parquet); SELECT 1", table, draft
        )
        draft.rename(table)
    return made


@pytest.mark.parametrize("view", views.NAMES)
def test_no_record_is_read(odd, tmp_path, view):
    records, history = odd
    same(records, changed(history, tmp_path / "history", "REPLACE ('no record' AS record)"), "--view", view)


def test_a_table_without_the_columns_is_read_and_made_anew_by_ingest(odd, tmp_path):
    """This includes a day without new records, and one whose records are gone."""
    records, whole = odd
    lost = "package_uj, shared, slow_write_bytes, tiers, job, advice_rule"
    history = changed(whole, tmp_path / "history", f"EXCLUDE ({lost})")
    shutil.copyfile(*(top / "records" / "day=2025-03-02" / "records.parquet" for top in (whole, history)))
    for view in ("users", "waste", "energy", "jobs", "tiers", "advice", "failures"):
        same(records, history, "--view", view)
    (tmp_path / "none" / "2024-01-01").mkdir(parents=True)
    table = "records/day=*/records.parquet"
    rows = f"SELECT COLUMNS(*)::VARCHAR FROM read_parquet('{{}}/{table}') ORDER BY ALL"
    assert ingest(tmp_path / "none", history).stdout == "0 records taken, in 0 days\n"
    assert engine.query(rows, history) == engine.query(rows, whole)
    assert engine.query(f"SELECT count(package_uj) > 100 FROM read_parquet('{{}}/{table}')", history) == [[True]]


@pytest.mark.parametrize(
    ("view", "figure"), [(view, figure) for view in ("jobs", "advice") for figure in views.named(view).ranks()]
)
def test_runs_are_ranked_by_each_figure(odd, view, figure):
    """Runs with equal figures are in the order in which they are read."""
    words = ("--view", view, "--by", figure, "--top", "7", "--json")
    assert engine.report(odd[1], *words).stdout == plain(odd[0], *words).stdout


@pytest.mark.parametrize("view", ["nodes", "failures"])
def test_keys_beyond_the_limit_are_the_same(odd, monkeypatch, view):
    """The keys that are read first have rows of their own, with both engines."""
    monkeypatch.setattr(viewquery, "MOST_ROWS", 3)
    of_history, of_records = (groups.Report([views.named(view)], None) for _ in range(2))
    source(odd[1]).feed(of_history)
    wanted = report.Wanted(report.arguments().parse_args([]))
    report.feed(odd[0], wanted, report.records.Skipped(), of_records)
    found = forms.as_json(of_history.sums[0])
    assert found == forms.as_json(of_records.sums[0])
    assert len(found["rows"]) == 4 and any("(others)" in row.values() for row in found["rows"])


@pytest.mark.parametrize("top", ["1", "60000"])
def test_as_many_runs_are_shown_as_top_says(odd, top):
    same(*odd, "--view", "jobs", "--top", top)


def test_a_page_of_odd_records_is_that_of_the_records(odd, tmp_path):
    """This includes what the charts show in the order of the records, and the time when the last job ended."""
    pages = [tmp_path / "1.html", tmp_path / "2.html"]
    plain(odd[0], "--html", pages[0], "--endurance", "10P")
    engine.report(odd[1], "--html", pages[1], "--endurance", "10P")
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_a_run_over_several_midnights_is_one_row(tmp_path):
    records, history = tmp_path / "records", tmp_path / "history"
    for day in range(1, 8):
        job = 2 if day in (5, 6) else 1
        code = 7 if day in (1, 3) else 0
        write(records, record(job, node=f"n{day}", end=f"2025-03-0{day}T12:00:00Z", exit_code=code))
    ingest(records, history)
    rows = same(records, history, "--view", "jobs")["rows"]
    assert [row["nodes"] for row in rows if row["job"] == "1"] == [4, 1]
    [row] = same(records, history, "--view", "failures")["rows"]
    assert (row["jobs"], row["records"]) == (1, 2), "the records between them are of the run, though they did not fail"


def test_rows_are_ranked_by_figures_before_they_are_rounded(tmp_path):
    """Sums that do not fit into 64 bits have their place, too."""
    records, history = tmp_path / "records", tmp_path / "history"
    for job, joules, means in (
        (1, (0.0025, 0, 0), (1, 2, 2)),
        (2, (0.003, 0, 0), (2, 2, 2)),
        (3, (3.2e12, 3.2e12, 3.2e12), (3, 3, 3)),
        (4, (4e12, 4e12, 4e12), (4, 4, 4)),
    ):
        for node, (package, mean) in enumerate(zip(joules, means)):
            memory = {"tiers": [tier("dram", [0], 9, mean)]}
            write(
                records,
                record(job, user=f"user{job}", node=f"n{node}", memory=memory, energy={"package_j": package}),
            )
    ingest(records, history)
    for view, key, by, shown in (
        ("jobs", "job", "package_j", [12e12, 9.6e12, 0.003, 0.003]),
        ("energy", "user", "package_j", [12e12, 9.6e12, 0.003, 0.003]),
        ("jobs", "job", "fast_mean_bytes", [4, 3, 2, 2]),
    ):
        rows = same(records, history, "--view", view, "--by", by)["rows"]
        assert [row[key][-1] for row in rows] == ["4", "3", "2", "1"], by
        assert [row[by] for row in rows] == shown


@pytest.mark.parametrize(("view", "column"), [("advice", "advice_why"), ("jobs", "job"), ("users", "user")])
def test_columns_of_another_form_are_not_believed(odd, tmp_path, view, column):
    """A table whose `form` is another was written by another version. The report takes its records instead, and ingest
    makes the table anew."""
    records, whole = odd
    history = changed(whole, tmp_path / "history", f"REPLACE ('77' AS \"{column}\", 0 AS form)")
    same(records, history, "--view", view)
    ingest(records, history)
    wrong = f"SELECT count(*) FROM read_parquet('{{}}/records/day=*/records.parquet') WHERE \"{column}\" = '77'"
    assert engine.query(wrong, history) == [[0]]


def test_a_view_of_a_column_that_tables_do_not_have_is_read_from_records(odd, monkeypatch):
    """A view may have figures that are in no column."""
    dearest = views.Column("dearest", "DEAREST", "joules_per_gb", folds.Peak(terms.Value("joules_per_gb")))
    view, read = views.named("users"), []
    add = temporary.Rows.add
    monkeypatch.setattr(temporary.Rows, "add", lambda rows, record: (read.append(record), add(rows, record)))
    report = groups.Report([view._replace(columns=(*view.columns, dearest))], None)
    source(odd[1]).feed(report)
    assert len(read) > 500 and len(report.sums[0].rows) > 5


def test_the_first_node_of_a_peak_is_named(tmp_path):
    """Rows are in the order of days, files and lines, also if all have the same peak."""
    records, history = tmp_path / "records", tmp_path / "history"
    write(records, record(3, node="n1", end="2025-03-02T11:00:00Z"), record(1, node="n10"), record(2, node="n9"))
    ingest(records, history)
    write(records, record(4, node="n0", user="bob"))
    ingest(records, history)
    found = same(records, history, "--view", "users")
    assert [row["fast_peak_bytes_node"] for row in found["rows"]] == ["n10", "n0"]
    assert found["total"]["fast_peak_bytes_node"] == "n0"
