# SPDX-License-Identifier: Apache-2.0
"""hybridmem ingest and report --history: the same table as over the records, whatever happened on the way there."""

import fcntl
import json
import os
import re
import shutil
import sys

import engine
import pytest
from engine import ingest
from installed import DATA, helper
from makerecords import GIB, many, record, tier, write

DAY = "2025-03-01"


def plain(folder, *words):
    return helper("hybridmem-report", "--records", folder, *words)


def same(records, history, *words):
    """Both reports, by bytes, with what they say of lines that are left out; returns the figures."""
    for form in ([], ["--csv"], ["--json"]):
        of_records, of_history = plain(records, *words, *form), engine.report(history, *words, *form)
        assert of_history.stdout == of_records.stdout
        assert of_history.stderr == of_records.stderr
    return json.loads(of_history.stdout)


def append(folder, *lines, day=DAY, node="n1"):
    path = folder / day / f"{node}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as stream:
        stream.write(b"".join(line if isinstance(line, bytes) else line.encode() + b"\n" for line in lines))


def contents(history):
    """All that is in a history, the tables by their rows."""
    found = {}
    for path in sorted(history.rglob("*")):
        if path.suffix == ".parquet":
            found[path] = sorted(engine.query("SELECT COLUMNS(*)::VARCHAR FROM read_parquet('{}')", path), key=repr)
        elif path.is_file():
            found[path] = path.read_text()
    return found


def varied(folder):
    """Records of every kind that a report tells apart."""
    small = {"tiers": [tier("dram", [0], 5, 3), tier("hbm", [1], 7, 2), tier("pmem", [2], 11, 1)]}
    write(
        folder,
        record(1),
        record(1, node="n2", exit_code=1, warnings=["a", "b"]),
        record(1, restart_count=1, elapsed_s=0.18, memory=small),
        record(1, cluster="other", elapsed_s=1e-3),
        record(1, cluster=None, account=None),
        record(2, elapsed_s=1800.001, memory={"tiers": [tier("dram", [0], 4 * GIB, 4 * GIB), tier("pmem", [1], 0, 0)]}),
        record(3, user="bob", mode="fast", memory={"tiers": [tier("dram", [0], GIB, GIB)]}, exit_code=137),
        record(4, user="bob", request=None, plan=None, memory=None, elapsed_s=None, start=None, exit_code=None),
        record(5, user="carol", account="chemistry", end="2025-03-01T23:59:59.999Z", exit_code=2),
        record(5, user="carol", account="chemistry", end="2025-03-02T00:00:00.250Z", node="n2", exit_code=2),
        record(6, user=None, mode="slow", end="2025-03-02T12:00:00Z"),
        record(7, user="", mode="interleave", end="2025-03-03T12:00:00+01:00", energy={"package_j": 1.5}),
        # A node where no step ran knows the request only: the run counts where its first record does.
        record(8, node="n1", mode="slow", plan=None, request="fast,socket=all", end="2025-03-04T12:00:00Z"),
        record(8, node="n2", mode="slow", exit_code=1, end="2025-03-04T12:00:01Z"),
    )
    append(
        folder,
        json.dumps(record(1)),
        json.dumps(record(9))[:70],
        *('{"schema": 2}', "[1]", "", "x" * (2 << 20)),
        b'{"user": "\xff"}\n',
        json.dumps(record(10, user="a\0b\x1b\n'\"", account="\ud800", end="2025-03-01T11:00:00Z")),
        json.dumps({**record(11), "elapsed_s": "INF"}).replace('"INF"', "1e999"),
        json.dumps(record(12, end="yesterday", memory={"tiers": [{"peak_bytes": -1, "mean_bytes": 1.5}, 7]})),
        json.dumps(record(13, exit_code=1 << 62, elapsed_s=1 << 60, memory={"tiers": [tier("dram", [0], 1 << 60, 1)]})),
        json.dumps(record(15, elapsed_s=-7200)),
        json.dumps(record(14))[:-1].encode(),
    )
    append(folder, json.dumps(record(3, node="n2", user="bob", end="2025-03-02T01:00:00Z")), "torn", day="2025-03-02")
    (folder / "2025-99-99").mkdir()
    (folder / "2025-03-03" / "pipe.jsonl").symlink_to("/dev/null")


@pytest.mark.parametrize(
    ("program", "words", "expected"),
    [
        ("ingest", [], "--history"),
        ("ingest", ["--history", "h", "extra"], "unrecognized arguments: extra"),
        ("report", ["--history", "h", "--records", "r"], "not allowed with argument"),
    ],
)
def test_wrong_arguments_are_named(program, words, expected):
    assert expected in helper(f"hybridmem-{program}", *words, status=2).stderr


@pytest.mark.parametrize("program", ["ingest", "report"])
def test_without_duckdb_one_line_says_how_to_install_it(tmp_path, program):
    words = ("--history", tmp_path, "--engine", tmp_path / "none")
    done = helper(f"hybridmem-{program}", *words, status=1)
    requirements = DATA / "python" / "hybridmem" / "requirements.txt"
    expected = (
        rf"hybridmem {program}: DuckDB is missing: /\S+ -m pip install --no-index --find-links WHEELS --require-hashes "
        rf"-r {requirements} --target {tmp_path}/none \(how to fill WHEELS: man 8 hybridmem-ingest\)\n"
    )
    assert re.fullmatch(expected, done.stderr) and done.stdout == ""
    assert re.search(r"^duckdb==[\d.]+ ", requirements.read_text(), re.MULTILINE)
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "duckdb.py").write_text("import no_such_module_of_duckdb\n")
    done = helper(f"hybridmem-{program}", *words, status=1)
    assert done.stderr == f"hybridmem {program}: DuckDB cannot be loaded: No module named 'no_such_module_of_duckdb'\n"


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
        assert re.fullmatch(rf"hybridmem \w+: DuckDB: .*{table}.*\n", done.stderr)
    assert table.read_text() == "no table"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--user", "alice"],
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
    found = same(records, history, *words)
    if not words:
        assert found["total"]["jobs"] == 16 and found["total"]["failed_jobs"] == 5
        assert found["left_out"] == {
            **{"torn": 5, "foreign": 1, "unknown_schema": 1, "too_long": 1, "unreadable_file": 1, "duplicate": 1}
        }


@pytest.mark.parametrize(
    "view", [word for word in re.findall(r"^  (\w+) ", helper("hybridmem-report", "--help").stdout, re.MULTILINE)]
)
def test_views_are_those_of_the_records(tmp_path, view):
    records, history = tmp_path / "records", tmp_path / "history"
    varied(records)
    ingest(records, history)
    same(records, history, "--view", view)
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


def killed(records, history, place):
    """Run ingest in a child that is gone, as by SIGKILL, before it gives its `place`th file its name; False where it
    ended before that."""
    child = os.fork()
    if child == 0:
        from pathlib import Path  # the installed package, in this process alone

        sys.path.insert(0, str(DATA / "python"))
        sys.argv[1:] = ["--records", str(records), "--history", str(history)]
        from hybridmem import ingest as program

        replace, count = Path.replace, [0]

        def counted(self, target):
            count[0] += 1
            if count[0] == place:
                os._exit(9)
            return replace(self, target)

        Path.replace = counted
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        status = program.main("/bin/false", engine.folder())
        os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, 9)
    return status == 9


def test_a_kill_at_any_point_loses_and_doubles_nothing(tmp_path):
    records, reference, history = tmp_path / "records", tmp_path / "reference", tmp_path / "history"
    varied(records)
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
    assert places >= 10, "each day has a table, what was left out, and a list of what was taken"
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
    assert ingest(records, history).stdout == "1 records taken, in 1 days\n"
    write(records, record(3, node="n0"), record(4, node="n9"))
    assert ingest(records, history).stdout == "2 records taken, in 1 days\n"
    assert same(records, history)["total"]["jobs"] == 4


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
    assert ingest(records, history).stdout == "1 records taken, in 1 days\n"
    after = engine.report(history, "--json")
    assert json.loads(after.stdout)["total"]["records"] == json.loads(before.stdout)["total"]["records"] + 1
    assert after.stderr == before.stderr


def test_what_is_left_out_is_kept_aside_with_place_and_reason(tmp_path):
    records, history = tmp_path / "records", tmp_path / "history"
    write(records, record(1))
    append(records, "not a record", '{"schema": 7}', json.dumps(record(1)), b"\xff\n", "y" * (1 << 20))
    done = ingest(records, history)
    path = records / DAY / "n1.jsonl"
    assert f"left out: 2 torn ({path}:2, {path}:5)\n" in done.stderr
    lines = (history / "left-out" / DAY / "n1.jsonl").read_text().splitlines()
    assert [tuple(json.loads(line).values()) for line in lines] == [
        (str(path), 2, "torn", "not a record\n"),
        (str(path), 3, "unknown_schema", '{"schema": 7}\n'),
        (str(path), 4, "duplicate", json.dumps(record(1)) + "\n"),
        (str(path), 5, "torn", "\\xff\n"),
        (str(path), 6, "too_long", None),
    ]


def test_a_copy_of_a_file_adds_nothing(tmp_path):
    """In whatever order they come; the records' own report cannot tell, for it knows a node's file only."""
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


def test_only_those_who_may_read_the_history_may_read_its_files(tmp_path):
    records, history = tmp_path / "records", tmp_path / "history"
    write(records, record(1))
    append(records, "torn")
    ingest(records, history)
    assert history.stat().st_mode & 0o777 == 0o750
    other = tmp_path / "other"
    other.mkdir()
    os.chown(other, -1, 12345)
    other.chmod(0o2770)
    ingest(records, other)
    for top, folder_mode, file_mode, group in ((history, 0o750, 0o640, os.getgid()), (other, 0o770, 0o660, 12345)):
        paths = [path for path in top.rglob("*") if path.name != ".lock"]
        assert len(paths) == 8
        for path in paths:
            found = path.stat()
            assert (found.st_mode & 0o777, found.st_gid) == (folder_mode if path.is_dir() else file_mode, group), path


def test_a_history_without_its_lists_is_whole(tmp_path):
    records, history = tmp_path / "records", tmp_path / "history"
    records.mkdir()
    assert ingest(records, history).stdout == "0 records taken, in 0 days\n"
    assert same(records, history)["rows"] == []
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
    assert done.stderr == f"hybridmem report: {path} is damaged: remove it and {ledger}, and run hybridmem ingest\n"
    path.unlink()
    ledger.unlink()
    ingest(records, history)
    same(records, history)


def test_long_records_fit_in_memory(tmp_path):
    """800 MiB of lines as long as they may be, in less than the engine's 1 GiB."""
    records, history = tmp_path / "records", tmp_path / "history"
    line = json.dumps(record(0, warnings=["WORD" * 240_000])) + "\n"
    (records / DAY).mkdir(parents=True)
    with (records / DAY / "n1.jsonl").open("w") as stream:
        stream.writelines(
            line.replace('"job_id": 0', f'"job_id": {job}').replace("WORD", f"{job:04}") for job in range(800)
        )
    assert ingest(records, history).stdout == "800 records taken, in 1 days\n"
    write(records, record(800))
    assert ingest(records, history).stdout == "1 records taken, in 1 days\n"
    assert json.loads(engine.report(history, "--json").stdout)["total"]["jobs"] == 801


def test_no_character_of_a_path_is_a_pattern(tmp_path):
    records, history = tmp_path / "re*c'o[r]ds", tmp_path / "a*'[b]?{c,d}"
    write(records, record(1))
    write(tmp_path / "rec'or-ds", record(2))
    (tmp_path / "aX'b1c" / "records" / f"day={DAY}").mkdir(parents=True)
    ingest(records, history)
    assert same(records, history)["total"]["jobs"] == 1


def test_the_layout_is_hives(tmp_path):
    """As the administrator guide shows it to other engines: a folder for each day, in it one table and nothing else."""
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
    names = {"TIMESTAMPTZ": "TIMESTAMP", "TIMESTAMP WITH TIME ZONE": "TIMESTAMP"}
    columns = re.findall(r"`(\w+)` (STRING|BIGINT|DOUBLE|TIMESTAMP)\b", shown)
    assert columns == [(name, names.get(kind, kind).replace("VARCHAR", "STRING")) for name, kind in types.items()]
    rows = engine.query(f"SELECT record FROM {whole} WHERE job_id = 1 AND node = 'n2'", history)
    assert [json.loads(text) for (text,) in rows] == [record(1, node="n2", exit_code=1, warnings=["a", "b"])]
    start = engine.query(f"SELECT epoch_ms(start_time), elapsed_ms FROM {whole} WHERE job_id = 2", history)
    assert start == [[1740823200000, 1800001]]
