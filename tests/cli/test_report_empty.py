# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem report where no record matches: a line on standard error says why."""

import engine
import pytest
from engine import ingest
from installed import helper
from makerecords import record, write
from viewing import report


@pytest.mark.parametrize(
    ("since", "until"),
    [
        ("2025-03-02", "2025-03-01"),
        ("2025-03-05T00:00:00Z", "2025-03-01"),
        ("1d", "7d"),
        ("2025-03-01T10:00:00Z", "2025-03-01T10:00:00Z"),
        ("2025-03-01T10:00:00+01:00", "2025-03-01T08:59:59Z"),
    ],
)
@pytest.mark.parametrize("view", [[], ["--view", "jobs"]], ids=["plain", "jobs"])
def test_a_period_that_ends_before_it_begins_is_refused(tmp_path, since, until, view):
    done = report(tmp_path, "--since", since, "--until", until, *view, status=2)
    assert f"--since {since} is not before --until {until}\n" in done.stderr and done.stdout == ""


def test_the_last_day_that_there_is_breaks_no_period(tmp_path):
    """A time that does not exist in UTC is no error either."""
    write(tmp_path, record(1), record(2, end="9999-12-31T23:59:59Z"), record(3, end="2025-03-01T10:00:00Z"))
    path = tmp_path / "2025-03-01" / "n1.jsonl"
    path.write_text(path.read_text().replace("2025-03-01T10:00:00Z", "9999-12-31T23:59:59-14:00"))
    done = report(tmp_path, "--since", "2025-01-01", "--until", "9999-12-30", "--csv")
    assert done.stderr == "" and len(done.stdout.splitlines()) == 2
    assert "to ? UTC" in helper("hybridmem-show", "--records", tmp_path, "3").stdout


def test_a_period_of_one_day_is_not_refused(tmp_path):
    write(tmp_path, record(1))
    done = report(tmp_path, "--since", "2025-03-01", "--until", "2025-03-01", "--csv")
    assert done.stderr == "" and len(done.stdout.splitlines()) == 2


def test_a_folder_without_days(tmp_path):
    (tmp_path / "notes").mkdir()
    said = f"hybridmem report: there are no folders of days (YYYY-MM-DD) in {tmp_path}: no job was recorded there"
    for words in ([], ["--view", "users"], ["--json"]):
        done = report(tmp_path, *words, status=1)
        assert (done.stdout, done.stderr) == ("", f"{said}\n")


@pytest.mark.parametrize("end", ["", "/", "/."])
def test_the_folder_of_a_day_is_not_that_of_the_records(tmp_path, end):
    write(tmp_path, record(1))
    day = f"{tmp_path}/2025-03-01{end}"
    said = f"there are no folders of days in {day}: it is the folder of a day; name the one above it"
    assert report(day, status=1).stderr == f"hybridmem report: {said}\n"


def test_accounts_without_records_are_named(tmp_path, tmp_path_factory):
    write(tmp_path, record(1), record(2, account=None), record(3, account="chemistry", user="bob"))
    said = (
        "hybridmem report: --account biology, p\\x1b: there is no such account in the records that you may read: "
        "use ?, chemistry or physics\n"
    )
    history = tmp_path_factory.mktemp("history")
    ingest(tmp_path, history)
    for view in ([], ["--view", "users"]):
        words = ("--account", "physics,biology,p\x1b", *view)
        assert report(tmp_path, *words).stderr == said
        assert engine.report(history, *words).stderr == said
        assert report(tmp_path, "--account", "physics,chemistry", *view).stderr == ""
    done = report(tmp_path, "--account", "physics", "--user", "bob")
    assert done.stderr.splitlines() == [
        "hybridmem report: --user bob: none of their records matches the other options",
        "hybridmem report: --account physics: none of their records matches the other options",
    ]


@pytest.mark.parametrize("words", [[], ["--view", "jobs"], ["--view", "users", "--csv"], ["--json"]], ids=" ".join)
def test_no_record_that_matches(tmp_path, words):
    write(tmp_path, record(1), record(2, mode="migrate"))
    there = "there is no such {} in the records{} that you may read: use {}"
    period = " of this period"
    for options, said in (
        (["--mode", "fast"], f"--mode fast: {there.format('mode', '', 'migrate or spill')}"),
        (["--user", "alcie"], f"--user alcie: {there.format('user', '', 'alice')}"),
        (["--user", "alcie", "--since", "2025-01-01"], f"--user alcie: {there.format('user', period, 'alice')}"),
        (["--since", "2025-05-01"], "no record matches, of those that you may read"),
        (["--user", "alice", "--until", "2025-01-01"], "no record matches, of those that you may read"),
    ):
        done = report(tmp_path, *options, *words)
        assert done.stderr == f"hybridmem report: {said}\n" and done.stdout
    assert report(tmp_path, "--mode", "spill", *words).stderr == ""


def test_of_many_names_some_are_named(tmp_path):
    write(tmp_path, *(record(number, user=f"user{number:02}") for number in range(20)))
    said = report(tmp_path, "--user", "eve").stderr
    assert said.endswith(", user10, user11 or one of 8 more\n") and "use user00, user01, " in said


def test_what_is_said_beside_the_result_names_the_program(tmp_path, tmp_path_factory):
    write(tmp_path, record(1))
    with (tmp_path / "2025-03-01" / "n1.jsonl").open("a") as stream:
        stream.write("torn\n")
    left = f"left out: 1 line ({tmp_path}/2025-03-01/n1.jsonl:2) not JSON, as after a crash or on a full disk\n"
    assert report(tmp_path).stderr == f"hybridmem report: {left}"
    assert helper("hybridmem-show", "--records", tmp_path, "1").stderr == ""
    words = ("prometheus", "--records", tmp_path, "--node", "n1", "--since", "2025-03-01")
    assert helper("hybridmem-export", *words).stderr == f"hybridmem export: {left}"
    assert ingest(tmp_path, tmp_path_factory.mktemp("history")).stderr == f"hybridmem ingest: {left}"
    assert (
        report(tmp_path, "--user", "eve").stderr.splitlines()[1].startswith("hybridmem report: --user eve: there is no")
    )
