# SPDX-License-Identifier: Apache-2.0
"""Tests the sums that ingest stores beside a history's tables: reports are the same with and without them."""

import json
import os
import random
import shutil
import sys

import engine
import pytest
from engine import ingest
from histories import DAY, append, killed, plain, same, source, varied
from installed import DATA
from makerecords import record, write
from oddrecords import odd_records
from viewing import figure

sys.path.insert(0, str(DATA / "python"))
from hybridmem import daysums, groups, tallyquery, viewquery, views

DAYS = ["2025-03-01", "2025-03-02", "2025-03-03", "2025-03-04"]
WANTED = (
    [],
    ["--user", "alice,bob"],
    ["--mode", "spill,none"],
    ["--account", "physics"],
    ["--since", "2025-03-02"],
    ["--until", "2025-03-01T23:59:59.999Z"],
    ["--since", "2025-03-01T11:30:00Z", "--until", "2025-03-03T12:00:00+01:00", "--user", "carol,alice"],
)


def added_up(found):
    """(rows, total) of the report without --view that a source makes."""
    report = groups.Report([views.TOTALS], None)
    found.add_up(report)
    [sums] = report.sums
    return sums.rows, sums.total


def sums(history, kind="sums"):
    return {path.stem: path.stat().st_mtime_ns for path in (history / kind).iterdir()}


@pytest.fixture(name="both", scope="module")
def both_of_all_kinds(tmp_path_factory):
    """(records, history) with every kind of record. Some runs of jobs have several rows of sums, or several days."""
    top = tmp_path_factory.mktemp("sums")
    varied(top / "records")
    for made in odd_records(200):
        append(top / "records", json.dumps(made), day=made["end"][:10], node=made["node"])
    ingest(top / "records", top / "history")
    assert sorted(sums(top / "history")) == sorted(sums(top / "history", "runs")) == DAYS
    return top / "records", top / "history"


@pytest.mark.parametrize("words", WANTED, ids=" ".join)
@pytest.mark.parametrize("missing", [[], DAYS[:1], DAYS[1:2], DAYS], ids=len)
def test_it_does_not_matter_which_days_have_sums(both, tmp_path, words, missing):
    records, history = both[0], tmp_path / "history"
    shutil.copytree(both[1], history)
    for day in missing:
        (history / "sums" / f"{day}.parquet").unlink()
    found = same(records, history, *words)
    assert found["total"]["jobs"] >= 5 and found["left_out"]


def test_records_that_come_in_any_order_have_sums_of_their_runs(tmp_path):
    """Of a run over midnight, records of either day may be taken first, and those of the other day later."""
    dice, records, history = random.Random(7), tmp_path / "records", tmp_path / "history"
    left = list(odd_records(40))
    dice.shuffle(left)
    while left:
        for made in [left.pop() for _ in range(min(len(left), dice.randrange(1, 12)))]:
            append(records, json.dumps(made), day=made["end"][:10], node=made["node"])
        ingest(records, history)
        for words in (["--since", dice.choice(DAYS[:3])], []):
            same(records, history, *words)
    same(records, history)


def test_a_report_reads_sums_as_long_as_they_are_of_the_table(tmp_path):
    """A table of zeros with the same size and time is not read, as there are sums; one with another time is read."""
    records, history = tmp_path / "records", tmp_path / "history"
    write(records, *(record(job, end=f"{day}T12:00:00Z") for job, day in enumerate(DAYS)))
    ingest(records, history)
    made = sums(history)
    table = history / "records" / f"day={DAY}" / "records.parquet"
    found, content = table.stat(), table.read_bytes()
    table.write_bytes(b"PAR1" + bytes(found.st_size - 8) + b"PAR1")
    os.utime(table, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert same(records, history)["total"]["jobs"] == 4
    os.utime(table)
    assert str(table) in engine.report(history, status=1).stderr
    table.write_bytes(content)
    assert same(records, history)["total"]["jobs"] == 4
    assert ingest(records, history).stdout == "0 records taken, in 0 days\n"
    again = sums(history)
    changed = {day for day in DAYS if again[day] != made[day]}
    assert changed == set(DAYS[:2]), "the day whose table changed, and the next day, as a run may go over midnight"


def test_an_ingest_between_a_reports_two_looks(tmp_path, monkeypatch):
    """A report looks at the tables twice. If an ingest changes them in between, the report begins again."""
    records, made = tmp_path / "records", tmp_path / "history"
    write(records, *(record(1, end=f"{day}T00:00:01Z", node=f"n{day[-1]}") for day in DAYS[:2]), record(2))
    ingest(records, made)
    count_once, calls = tallyquery.Table.count_once, []

    def late(table, *sums):
        if not calls:
            write(records, record(2, end=f"{DAYS[1]}T00:00:02Z", node="n9"))
            ingest(records, made)
        calls.append(table)
        count_once(table, *sums)

    monkeypatch.setattr(tallyquery.Table, "count_once", late)
    _, total = added_up(source(made))
    figures = [figure(views.TOTALS, total, name) for name in ("jobs", "records")]
    assert (*figures, len(calls)) == (2, 4, 2)
    same(records, made)


def damaged(path, how):
    """Damages a file as a broken disk might, puts another day's file in its place, or removes it (`gone`)."""
    content = path.read_bytes()
    path.unlink()
    if how == "no end":
        path.write_bytes(content[:-1])
    elif how == "zeros inside":
        path.write_bytes(b"PAR1" + bytes(len(content)) + b"PAR1")
    elif how == "other bytes":
        path.write_bytes(content[:10] + bytes(byte ^ 255 for byte in content[10:90]) + content[90:])
    elif how == "another day's":
        shutil.copyfile(path.with_name(f"{DAYS[1]}.parquet"), path)
    else:
        assert how == "gone"


@pytest.mark.parametrize("kind", ["sums", "runs"])
@pytest.mark.parametrize("how", ["gone", "no end", "zeros inside", "other bytes", "another day's"])
def test_sums_that_are_damaged_are_not_used_and_made_again(tmp_path, kind, how):
    records, history = tmp_path / "records", tmp_path / "history"
    nodes = [record(1, end=f"{day}T00:00:01Z", node=f"n{day[-1]}") for day in DAYS[:2]]
    write(records, record(1), *nodes, record(2, node="n3", user="bob"))
    ingest(records, history)
    path = history / kind / f"{DAY}.parquet"
    rows = "SELECT COLUMNS(*)::VARCHAR FROM read_parquet('{}') ORDER BY ALL"
    whole = engine.query(rows, path)
    damaged(path, how)
    found, is_said = engine.report(history), how != "gone"
    assert found.stdout == plain(records).stdout
    assert (f"hybridmem report: {path} is damaged, and not used: run hybridmem ingest" in found.stderr) == is_said
    assert (f"hybridmem ingest: {path} was damaged: it is made anew" in ingest(records, history).stderr) == is_said
    assert engine.query(rows, path) == whole
    assert same(records, history)["total"]["jobs"] == 2


def test_a_bit_that_flips_in_a_file_of_sums_is_noticed(both, tmp_path):
    """Wherever a file is damaged, the report is right. A damaged file of sums or of runs is named. The seal is the JSON
    file beside the sums: a flipped bit in it means at most that the sums are not used."""
    folder, dice = tmp_path / "history", random.Random(5)
    shutil.copytree(both[1], folder)
    right = added_up(source(folder))
    for name in (f"sums/{DAY}.parquet", f"runs/{DAY}.parquet", f"sums/{DAY}.json"):
        path = folder / name
        content = path.read_bytes()
        places = [0, len(content) - 1, *(dice.randrange(len(content)) for _ in range(20))]
        for place in places:
            flipped = bytearray(content)
            flipped[place] ^= 1 << dice.randrange(8)
            path.write_bytes(flipped)
            found = source(folder)
            assert added_up(found) == right, (path, place)
            assert path.suffix == ".json" or list(found.notes()) == [
                f"{path} is damaged, and not used: run hybridmem ingest, which makes it anew from the day's table"
            ]
        path.write_bytes(content)


def spoil(table, where):
    """Changes bytes in the rows or the footer of a table, as a broken disk might."""
    content = bytearray(table.read_bytes())
    place = slice(10, 400) if where == "rows" else slice(-400, -8)
    content[place] = bytes(len(content[place]))
    table.write_bytes(content)


@pytest.mark.parametrize("where", ["rows", "footer"])
@pytest.mark.parametrize("fresh", [1, 2, 3], ids=["its own day", "the next day", "another day"])
def test_a_table_that_cannot_be_read_does_not_hinder_other_days(tmp_path, where, fresh):
    records, history = tmp_path / "records", tmp_path / "history"
    write(records, *(record(job, end=f"{day}T12:00:00Z") for job, day in enumerate(DAYS)))
    ingest(records, history)
    table = history / "records" / f"day={DAYS[1]}" / "records.parquet"
    spoil(table, where)
    write(records, *(record(9, end=f"{DAYS[day]}T13:00:00Z", node=f"n{day}") for day in {fresh, 3}))
    done = ingest(records, history, status=1)
    taken = len({fresh, 3} - {1})
    assert done.stdout == f"{taken} record{'s' * (taken > 1)} taken, in {taken} day{'s' * (taken > 1)}\n"
    assert done.stderr.startswith(f"hybridmem ingest: {table} is damaged: remove it and ")
    assert done.stderr.count("\n") == 1
    assert same(records, history, "--since", DAYS[3])["total"]["jobs"] == 2
    assert str(table) in engine.report(history, status=1).stderr
    # For a day without sums, no tables are read but its own and those of the days beside it.
    (history / "sums" / f"{DAYS[3]}.parquet").unlink()
    assert engine.report(history, "--since", DAYS[3]).returncode == 0
    (history / "taken" / f"{DAYS[1]}.json").unlink()
    table.unlink()
    ingest(records, history)
    same(records, history)


def flip(table):
    """Flips a bit in a table's footer, in the name of the program that wrote it. The table can still be read."""
    content, found = bytearray(table.read_bytes()), table.stat()
    content[content.rindex(b"DuckDB")] ^= 1
    table.write_bytes(content)
    os.utime(table, ns=(found.st_atime_ns, found.st_mtime_ns))


@pytest.mark.parametrize("fresh", [1, 2], ids=["its own day", "the next day"])
def test_a_flipped_bit_in_a_table_is_noticed_before_anything_is_made_of_it(tmp_path, fresh):
    """This includes a bit whose flip leaves a table that can be read."""
    records, history = tmp_path / "records", tmp_path / "history"
    write(records, *(record(job, end=f"{day}T12:00:00Z") for job, day in enumerate(DAYS)))
    ingest(records, history)
    table = history / "records" / f"day={DAYS[1]}" / "records.parquet"
    flip(table)
    same(records, history)
    write(records, record(9, end=f"{DAYS[fresh]}T13:00:00Z", node="n9"))
    done = ingest(records, history, status=1)
    assert done.stderr.startswith(f"hybridmem ingest: {table} is damaged: remove it and ")
    assert done.stdout == ("0 records taken, in 0 days\n" if fresh == 1 else "1 record taken, in 1 day\n")
    (history / "taken" / f"{DAYS[1]}.json").unlink()
    table.unlink()
    ingest(records, history)
    assert same(records, history)["total"]["jobs"] == 5


@pytest.mark.parametrize("place", [1, 2, 3, 5])
def test_a_flipped_bit_is_noticed_though_ingest_was_killed(tmp_path, place):
    """Wherever ingest was killed, it had stored the digest of the table that is there."""
    records, history = tmp_path / "records", tmp_path / "history"
    write(records, record(1))
    ingest(records, history)
    write(records, record(2, node="n2"))
    assert killed(records, history, place)
    table = history / "records" / f"day={DAY}" / "records.parquet"
    flip(table)
    assert ingest(records, history, status=1).stderr.startswith(f"hybridmem ingest: {table} is damaged: ")


def test_a_run_does_not_get_the_number_of_another_from_a_damaged_table_of_the_next_day(tmp_path):
    """The damaged table has the same size and time, but another job id. A new run of that job does not get the number
    of the run in it."""
    records, history = tmp_path / "records", tmp_path / "history"
    write(records, record(1, end=f"{DAYS[1]}T00:00:01Z"))
    ingest(records, history)
    table, drafts = history / "records" / f"day={DAYS[1]}" / "records.parquet", [tmp_path / "1", tmp_path / "2"]
    for draft in drafts:
        other = f"SELECT * REPLACE ({draft.name}::BIGINT AS job_id) FROM read_parquet('{{}}')"
        engine.query(f"COPY ({other}) TO '{{}}' (FORMAT parquet); SELECT 1", table, draft)
        os.utime(draft, ns=(0, 0))
    assert drafts[0].stat().st_size == drafts[1].stat().st_size
    drafts[0].replace(table)
    ingest(records, history)
    drafts[1].replace(table)
    write(records, record(2, end=f"{DAYS[0]}T23:59:59Z"))
    assert f"{table} is damaged" in ingest(records, history, status=1).stderr
    assert not (history / "sums" / f"{DAYS[0]}.parquet").exists(), "no sums are made beside a damaged table"
    table.unlink()
    (history / "taken" / f"{DAYS[1]}.json").unlink()
    ingest(records, history)
    assert same(records, history)["total"]["jobs"] == 2


def test_sums_made_while_a_table_could_not_be_read_are_not_used_with_it(tmp_path):
    """The table is restored unchanged, as from a copy. Sums that were made without it are not used."""
    records, history = tmp_path / "records", tmp_path / "history"
    nodes = [record(1, end=f"{day}T00:00:01Z", node=f"n{day[-1]}") for day in DAYS[:2]]
    write(records, *nodes)
    ingest(records, history)
    table = history / "records" / f"day={DAYS[1]}" / "records.parquet"
    content, found = table.read_bytes(), table.stat()
    table.write_bytes(content[:-1] + b"?")
    write(records, record(2, end=f"{DAYS[0]}T13:00:00Z"))
    ingest(records, history, status=1)
    table.write_bytes(content)
    os.utime(table, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert same(records, history)["total"]["jobs"] == 2
    ingest(records, history)
    assert same(records, history)["total"]["jobs"] == 2


def test_runs_of_several_sums_are_counted_in_parts(both, monkeypatch):
    """Millions of rows are read in several parts."""
    whole = added_up(source(both[1]))
    monkeypatch.setattr(viewquery, "RUNS_AT_ONCE", 5)
    assert added_up(source(both[1])) == whole


def test_a_day_that_is_made_anew_leaves_nothing_of_the_old_one(tmp_path):
    """The old day is also gone from what neighbouring days store about runs over midnight."""
    records, history = tmp_path / "records", tmp_path / "history"
    ends = [
        record(5, end=f"{day}T00:00:01Z", node=f"n{day[-1]}", user=user) for day, user in zip(DAYS, ("alice", "bob"))
    ]
    write(records, *ends, record(6, end=f"{DAYS[1]}T01:00:00Z", node="n7"))
    ingest(records, history)
    for path in (history / "records" / f"day={DAYS[1]}" / "records.parquet", history / "taken" / f"{DAYS[1]}.json"):
        path.unlink()
    (records / DAYS[1] / f"n{DAYS[1][-1]}.jsonl").unlink()
    ingest(records, history)
    assert same(records, history)["total"]["jobs"] == 2
    assert b"bob" not in b"".join(path.read_bytes() for kind in ("sums", "runs") for path in (history / kind).iterdir())


def test_a_table_that_is_lost_is_made_anew(tmp_path):
    records, history = tmp_path / "records", tmp_path / "history"
    write(records, *(record(job, end=f"{day}T12:00:00Z") for job, day in enumerate(DAYS)))
    ingest(records, history)
    shutil.rmtree(history / "records" / f"day={DAYS[1]}")
    assert ingest(records, history).stdout == "1 record taken, in 1 day\n"
    assert same(records, history)["total"]["jobs"] == 4
    for path in (history / "records" / f"day={DAYS[2]}", records / DAYS[2]):
        shutil.rmtree(path)
    assert ingest(records, history).stdout == "0 records taken, in 0 days\n"
    assert sorted(sums(history)) == sorted(sums(history, "runs")) == [DAYS[0], DAYS[1], DAYS[3]]


@pytest.mark.parametrize(("gone", "is_torn"), [([], False), ([], True), (["sums"], False)])
def test_a_damaged_table_that_is_removed_is_made_anew(tmp_path, gone, is_torn):
    """It is enough to remove the table, also if a line of the day's only file was left out."""
    records, history = tmp_path / "records", tmp_path / "history"
    write(records, *(record(job, end=f"{day}T12:00:00Z") for job, day in enumerate(DAYS)))
    append(records, *["torn"] * is_torn, day=DAYS[1])
    ingest(records, history)
    table = history / "records" / f"day={DAYS[1]}" / "records.parquet"
    table.write_text("X\n")
    ingest(records, history, status=1)
    table.unlink()
    for kind in gone:
        shutil.rmtree(history / kind)
    assert ingest(records, history).stdout == "1 record taken, in 1 day\n"
    assert ingest(records, history).stdout == "0 records taken, in 0 days\n"


def test_an_ingest_that_is_killed_between_any_two_files_leaves_right_reports(tmp_path):
    """A kill may leave tables with older sums, or sums with older lists of runs. Reports are equal to those without
    sums."""
    dice, records, history = random.Random(11), tmp_path / "records", tmp_path / "history"
    left, places = list(odd_records(28)), 0
    dice.shuffle(left)
    while left:
        for made in [left.pop() for _ in range(min(len(left), 4))]:
            append(records, json.dumps(made), day=made["end"][:10], node=made["node"])
        places += killed(records, history, dice.randrange(1, 12))
        if not (history / "records").exists():
            continue
        plain = tmp_path / f"plain{len(left)}"
        shutil.copytree(history, plain, ignore=shutil.ignore_patterns("sums", "runs"))
        for words in ([], ["--since", dice.choice(DAYS[:3])]):
            assert engine.report(history, *words, "--csv").stdout == engine.report(plain, *words, "--csv").stdout
    assert places >= 5
    ingest(records, history)
    same(records, history)


def test_sums_that_were_made_with_other_functions_are_old(monkeypatch):
    monkeypatch.setattr(daysums.engine, "FUNCTIONS", (*daysums.engine.FUNCTIONS, "one() AS 1"))
    assert daysums.form() != daysums.FORM
