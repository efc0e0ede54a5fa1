# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem ingest, which takes records into a history: each is taken once, whatever happens meanwhile."""

import json
import os
import re
import shutil
import subprocess
import sys

import engine
import pytest
from engine import ingest
from histories import DAY, append, contents, killed, same, varied
from installed import DATA, PREFIX
from makerecords import record, write

sys.path.insert(0, str(DATA / "python"))
from hybridmem import engine as module
from hybridmem import ingest as program
from hybridmem import layout
from hybridmem import records as taken


def test_what_was_taken_is_not_taken_again(tmp_path):
    records, history = tmp_path / "records", tmp_path / "history"
    varied(records)
    ingest(records, history)
    before, left = contents(history), json.loads(engine.report(history, "--json").stdout)["left_out"]
    tables = {path: path.stat() for path in history.rglob("*.parquet")}
    assert ingest(records, history).stdout == "0 records taken, in 0 days\n"
    for path in records.glob("2*/*.jsonl"):
        os.utime(path, follow_symlinks=False)
    assert ingest(records, history).stdout == "0 records taken, in 0 days\n"
    assert {path: path.stat() for path in tables} == tables, "no table is written without need"
    after = contents(history)
    assert {p: c for p, c in after.items() if p.suffix != ".json"} == {
        p: c for p, c in before.items() if p.suffix != ".json"
    }
    assert json.loads(engine.report(history, "--json").stdout)["left_out"] == left


MAKES = "and run hybridmem ingest, which makes the day anew from its records"


@pytest.mark.parametrize("text", ["", "X\n", "PAR1", "PAR1 and no end", "no beginning PAR1", None])
def test_a_damaged_table_is_named_and_made_anew(tmp_path, text):
    """This holds also if nothing is new. The other days are taken all the same."""
    records, history = tmp_path / "records", tmp_path / "history"
    write(records, record(1), record(2, end="2025-03-02T11:00:00Z"))
    ingest(records, history)
    table, ledger = history / "records" / f"day={DAY}" / "records.parquet", history / "taken" / f"{DAY}.json"
    table.write_bytes(table.read_bytes()[:-1] if text is None else text.encode())
    said = f"{table} is damaged: remove it and {ledger}, {MAKES}\n"
    write(records, record(3, end="2025-03-02T12:00:00Z", node="n3"))
    done = ingest(records, history, status=1)
    assert (done.stdout, done.stderr) == ("1 record taken, in 1 day\n", f"hybridmem ingest: {said}")
    assert ingest(records, history, status=1).stderr == f"hybridmem ingest: {said}"
    for words in ([], ["--view", "users"]):
        assert engine.report(history, *words, status=1).stderr == f"hybridmem report: {said}"
    table.unlink()
    ledger.unlink()
    assert ingest(records, history).stdout == "1 record taken, in 1 day\n"
    assert same(records, history)["total"]["jobs"] == 3


def test_damage_inside_of_a_table_is_told_of_that_table(tmp_path):
    records, history = tmp_path / "records", tmp_path / "history"
    write(records, record(1))
    ingest(records, history)
    table = history / "records" / f"day={DAY}" / "records.parquet"
    table.write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    for words in ([], ["--view", "users"]):
        (line,) = engine.report(history, *words, status=1).stderr.splitlines()
        assert line.startswith(f"hybridmem report: {table} is damaged: remove it and ")


@pytest.mark.parametrize(("records", "history"), [("r", "r"), ("r", "r/h"), ("h/r", "h"), ("r", "link/h")])
def test_history_and_records_lie_apart(tmp_path, records, history):
    write(tmp_path / records, record(1))
    (tmp_path / "link").symlink_to(tmp_path / "r")
    before = sorted(tmp_path.rglob("*"))
    done = ingest(tmp_path / records, tmp_path / history, status=2)
    assert done.stderr == (
        f"hybridmem ingest: --history {tmp_path / history} and the records in {tmp_path / records}: name two "
        "folders, neither inside the other\n"
    )
    assert sorted(tmp_path.rglob("*")) == before


def test_a_kill_at_any_point_loses_and_doubles_nothing(tmp_path):
    records, reference, history = tmp_path / "records", tmp_path / "reference", tmp_path / "history"
    write(records, record(1), record(2, end="2025-03-01T23:59:59Z"), record(2, node="n2", end="2025-03-02T00:00:01Z"))
    append(records, "torn")
    ingest(records, reference)

    def relative(folder):
        return {str(path.relative_to(folder)): what for path, what in contents(folder).items()}

    wanted, places = relative(reference), 0
    while killed(records, history, places + 1):
        places += 1
        ingest(records, history)
        assert relative(history) == wanted
        assert [path.name for path in history.iterdir() if path.name.startswith(".")] == [".lock"]
        shutil.rmtree(history)
    assert places >= 10, "each of two days has five files (layout.py)"
    assert relative(history) == wanted


def test_kill_after_kill_ends_in_the_same_history(tmp_path):
    records, history = tmp_path / "records", tmp_path / "history"
    varied(records)
    rounds = 0
    while killed(records, history, 2 + rounds):
        rounds += 1
    assert rounds >= 4
    same(records, history)


def test_only_what_is_new_is_taken(tmp_path):
    records, history = tmp_path / "records", tmp_path / "history"
    write(records, record(1), record(2, end="2025-03-05T11:00:00Z"))
    assert ingest(records, history).stdout == "2 records taken, in 2 days\n"
    append(records, json.dumps(record(3)), "torn")
    assert ingest(records, history).stdout == "1 record taken, in 1 day\n"
    write(records, record(3, node="n0"), record(4, node="n9"))
    assert ingest(records, history).stdout == "2 records taken, in 1 day\n"
    assert same(records, history)["total"]["jobs"] == 4


def test_each_table_is_asked_once_whether_another_version_wrote_it(tmp_path, monkeypatch):
    """A timer runs ingest, and a history has a table for each day of several years: looking into each takes time."""
    write(tmp_path / "records", *(record(day, end=f"2025-03-0{day}T11:00:00Z") for day in (1, 2, 3)))
    ingest(tmp_path / "records", tmp_path / "history")
    are_new, asked, history = layout.are_new, [], layout.History(tmp_path / "history")
    monkeypatch.setattr(layout, "are_new", lambda *words: asked.append(words[1]) or are_new(*words))
    duckdb = module.load(engine.folder(), None)
    assert program.take(tmp_path / "records", history, duckdb, taken.Skipped()) == (0, 0, [])
    assert asked == [[history.parquet(day)] for day in history.days()]


def test_a_line_that_was_half_written_is_taken_when_it_is_whole(tmp_path):
    records, history = tmp_path / "records", tmp_path / "history"
    whole = json.dumps(record(2)).encode()
    write(records, record(1))
    append(records, whole[:100])
    ingest(records, history)
    assert same(records, history)["left_out"]["torn"] == 1
    append(records, whole[100:] + b"\n")
    ingest(records, history)
    found = same(records, history)
    assert found["left_out"]["torn"] == 0 and found["total"]["jobs"] == 2
    assert list((history / "left-out").rglob("*.jsonl")) == []


def test_what_is_removed_stays_in_the_history(tmp_path):
    records, history = tmp_path / "records", tmp_path / "history"
    varied(records)
    ingest(records, history)
    before = engine.report(history, "--json")
    shutil.rmtree(records / DAY)
    assert ingest(records, history).stdout == "0 records taken, in 0 days\n"
    append(records, json.dumps(record(77)), node="n3")
    assert ingest(records, history).stdout == "1 record taken, in 1 day\n"
    after = engine.report(history, "--json")
    assert json.loads(after.stdout)["total"]["records"] == json.loads(before.stdout)["total"]["records"] + 1
    assert after.stderr == before.stderr


def test_what_is_left_out_is_kept_aside_with_place_and_reason(tmp_path):
    records, history = tmp_path / "records", tmp_path / "history"
    write(records, record(1))
    append(records, "not a record", '{"schema": 7}', json.dumps(record(1)), b"\xff\n", "y" * (1 << 20))
    done = ingest(records, history)
    path = records / DAY / "n1.jsonl"
    assert f"left out: 2 lines ({path}:2, {path}:5) not JSON, " in done.stderr
    lines = (history / "left-out" / DAY / "n1.jsonl").read_text().splitlines()
    assert [tuple(json.loads(line).values()) for line in lines] == [
        (str(path), 2, "torn", "not a record\n"),
        (str(path), 3, "unknown_schema", '{"schema": 7}\n'),
        (str(path), 4, "duplicate", json.dumps(record(1)) + "\n"),
        (str(path), 5, "torn", "\\xff\n"),
        (str(path), 6, "too_long", None),
    ]


def test_a_copy_of_a_file_adds_nothing(tmp_path):
    """The copy may be taken after the file, or before it."""
    for first, second in (("n1", "n1-copy"), ("n1-copy", "n1")):
        records, history = tmp_path / first / "records", tmp_path / first / "history"
        append(records, json.dumps(record(1)), node=first)
        ingest(records, history)
        append(records, json.dumps(record(1)), json.dumps(record(2)), node=second)
        ingest(records, history)
        found = json.loads(engine.report(history, "--json").stdout)
        assert found["total"]["records"] == 2 and found["left_out"]["duplicate"] == 1


@pytest.mark.parametrize("order", [("01", "02", "03"), ("03", "02", "01"), ("02", "01", "03")])
def test_a_run_on_both_sides_of_midnight_is_one_and_a_number_given_out_again_is_not(tmp_path, order):
    records, history = tmp_path / "records", tmp_path / "history"
    made = {
        "01": [record(1, end="2025-03-01T23:59:59Z"), record(2, restart_count=None, end="2025-03-01T23:59:59Z")],
        "02": [
            record(1, node="n2", end="2025-03-02T00:00:01Z"),
            record(2, node="n2", restart_count=None, end="2025-03-02T00:00:01Z"),
        ],
        "03": [record(3, end="2025-03-03T12:00:00Z")],
    }
    for day in order:
        write(records, *made[day])
        ingest(records, history)
    write(records, record(1, end="2025-03-09T12:00:00Z"), record(4, end="2025-03-05T12:00:00Z"))
    ingest(records, history)
    assert same(records, history)["total"]["jobs"] == 5
    assert same(records, history, "--since", "2025-03-02", "--until", "2025-03-02")["total"]["jobs"] == 2


def test_a_wrong_folder_of_records_is_refused(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "file").touch()
    done = ingest(tmp_path / "notes", tmp_path / "history", status=1)
    said = f"there are no folders of days (YYYY-MM-DD) in {tmp_path}/notes: no job was recorded there"
    assert (done.stdout, done.stderr) == ("", f"hybridmem ingest: {said}\n")
    assert not (tmp_path / "history").exists()


def test_a_history_without_its_lists_is_whole(tmp_path):
    """The lists are those of the files taken, in the folder taken."""
    records, history = tmp_path / "records", tmp_path / "history"
    (records / "2024-01-01").mkdir(parents=True)
    assert ingest(records, history).stdout == "0 records taken, in 0 days\n"
    assert json.loads(engine.report(history, "--json").stdout)["rows"] == []
    varied(records)
    ingest(records, history)
    for path in (history / "taken").iterdir():
        path.write_text("damaged" if path.name != f"{DAY}.json" else "7")
    same(records, history)
    assert ingest(records, history).stdout == "0 records taken, in 0 days\n"
    shutil.rmtree(history / "taken")
    same(records, history)
    assert ingest(records, history).stdout == "0 records taken, in 0 days\n"
    same(records, history)


@pytest.mark.parametrize("damage", ["7\n", "{}\n", '{"cause": "x"}\n', "\0\xff\n", '{"path": "n1'])
def test_what_is_damaged_in_left_out_is_named(tmp_path, damage):
    records, history = tmp_path / "records", tmp_path / "history"
    write(records, record(1))
    append(records, "torn")
    ingest(records, history)
    path = history / "left-out" / DAY / "n1.jsonl"
    path.write_bytes(damage.encode("latin-1"))
    done = engine.report(history, status=1)
    ledger = history / "taken" / f"{DAY}.json"
    assert done.stderr == f"hybridmem report: {path} is damaged: remove it and {ledger}, {MAKES}\n"
    path.unlink()
    ledger.unlink()
    ingest(records, history)
    same(records, history)


def test_long_records_fit_in_memory(tmp_path):
    """800 lines of almost the greatest length (records.LINE_MAX), 735 MiB, are taken within the engine's 1 GiB."""
    records, history = tmp_path / "records", tmp_path / "history"
    line = json.dumps(record(0, warnings=["WORD" * 240_000])) + "\n"
    (records / DAY).mkdir(parents=True)
    with (records / DAY / "n1.jsonl").open("w") as stream:
        stream.writelines(
            line.replace('"job_id": 0', f'"job_id": {job}').replace("WORD", f"{job:04}") for job in range(800)
        )
    assert ingest(records, history).stdout == "800 records taken, in 1 day\n"
    write(records, record(800))
    assert ingest(records, history).stdout == "1 record taken, in 1 day\n"
    assert json.loads(engine.report(history, "--json").stdout)["total"]["jobs"] == 801


def test_the_unit_starts_an_ingest(tmp_path):
    unit = (PREFIX / "lib" / "systemd" / "system" / "hybridmem-ingest.service").read_text()
    *start, folder = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE)[1].split()
    assert folder == "/srv/hybridmem"
    write(tmp_path / "records", record(1))
    words = [*start, tmp_path / "history", "--records", tmp_path / "records", "--engine", engine.folder()]
    done = subprocess.run(words, check=True, capture_output=True, text=True, env={"LC_ALL": "C.UTF-8"})
    assert done.stdout == "1 record taken, in 1 day\n"
