# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem show: which records a user gets, and what is said if there are none."""

import json
import os
import re
from pathlib import Path

import jsonschema
import pytest
from installed import helper
from makerecords import record, write
from showing import no_record, show


@pytest.mark.parametrize("word", ["", "x", "-1", "1_", "_1", "1+", "1_2_3", "1.batch", "12345678901", " 1", "1\n"])
def test_a_word_that_is_no_job_id_is_named(tmp_path, word):
    done = show(tmp_path, "--", word, status=2)
    word = word.replace("\n", "\\x0a")
    assert f'"{word}" is no job id: 12, 12_3 (array task) or 12+1 (component)' in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "JOBID is missing"),
        (["1", "2"], "unexpected word '2'"),
        (["--jsn", "1"], "unrecognized option '--jsn'"),
        (["--records"], "option '--records' requires an argument"),
        (["--json", "--html", "x", "1"], "--html does not go with --json"),
    ],
)
def test_wrong_arguments(tmp_path, words, said):
    assert show(tmp_path, *words, status=2).stderr == f"hybridmem show: {said}. Try 'hybridmem show --help'.\n"


def test_no_such_job(tmp_path):
    write(tmp_path, record(12), record(112), record(120))
    done = show(tmp_path, "1", status=1)
    assert (done.stdout, done.stderr) == ("", f"hybridmem show: {no_record(1)}\n")


def test_a_folder_that_has_no_records_is_named(tmp_path):
    """The messages are those of report, for the folder of a day and for a folder of other things."""
    write(tmp_path, record(12))
    day = tmp_path / "2025-03-01"
    said = f"there are no folders of days in {day}: it is the folder of a day; name the one above it"
    assert show(day, "12", status=1).stderr == f"hybridmem show: {said}\n"
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "file").touch()
    said = f"there are no folders of days (YYYY-MM-DD) in {tmp_path}/notes: no job was recorded there"
    assert show(tmp_path / "notes", "12", status=1).stderr == f"hybridmem show: {said}\n"


def test_no_records_folder_is_an_error_of_its_own(tmp_path):
    done = show(tmp_path / "none", "1", status=1)
    assert done.stderr == f"hybridmem show: there is no folder {tmp_path}/none\n", "it says nothing of record_dir"


def test_json_is_the_records_unchanged(tmp_path):
    made = record(7, account="größe")
    write(tmp_path, record(6), made)
    assert json.loads(show(tmp_path, "--json", "7").stdout) == [made]


def test_nodes_runs_arrays_and_components_are_sorted_and_chosen(tmp_path):
    task = {"array_job_id": 20, "array_task_id": 3}
    made = [
        record(10, node="n2"),
        record(10, node="n1"),
        record(10, node="n1", restart_count=1, end="2025-03-02T11:00:00Z"),
        record(21, **task),
        record(20, array_job_id=20, array_task_id=10),
        record(30, het_job_id=30),
        record(31, het_job_id=30),
    ]
    write(tmp_path, *made)

    def chosen(job):
        found = json.loads(show(tmp_path, "--json", job).stdout)
        return [(r["job_id"], r["node"], r["restart_count"]) for r in found]

    assert chosen("10") == [(10, "n1", 0), (10, "n2", 0), (10, "n1", 1)]
    assert chosen("20_3") == [(21, "n1", 0)]
    assert chosen("21") == [(21, "n1", 0)]
    assert chosen("20") == [(21, "n1", 0), (20, "n1", 0)], "by task; the last has the array's job id"
    assert chosen("30+1") == [(31, "n1", 0)]
    assert chosen("30") == [(30, "n1", 0), (31, "n1", 0)]
    assert "no record of job 20_5 that" in show(tmp_path, "20_5", status=1).stderr
    assert "no record of job 30+2 that" in show(tmp_path, "30+2", status=1).stderr
    text = show(tmp_path, "20").stdout
    assert text.index("Job 20_3 (21)") < text.index("Job 20_10 (20)")
    assert "Job 30+1 (31)" in show(tmp_path, "31").stdout
    lines = show(tmp_path, "10").stdout.splitlines()
    assert [line for line in lines if line.startswith("Job ")] == [
        "Job 10, user alice, account physics, partition main, cluster test",
        "Job 10, run 2, user alice, account physics, partition main, cluster test",
    ]
    assert [line for line in lines if "requeued" in line] == ["  requeued     1 time"]


def test_a_record_that_was_written_twice_is_shown_once(tmp_path):
    """Duplicates are recognized as in reports: of a day's records of the same run and node, the first one is taken,
    whatever the others contain."""
    again, later = record(5, end="2025-03-01T11:00:07Z"), record(5, end="2025-03-09T11:00:00Z")
    write(tmp_path, record(5), record(5), again, later, record(5, node="n2"), record(5, restart_count=1))
    shown = json.loads(show(tmp_path, "--json", "5").stdout)
    assert [(one["node"], one["restart_count"], one["end"]) for one in shown] == [
        ("n1", 0, "2025-03-01T11:00:00.000Z"),
        ("n1", 0, "2025-03-09T11:00:00Z"),  # the job id was used again long after
        ("n2", 0, "2025-03-01T11:00:00.000Z"),
        ("n1", 1, "2025-03-01T11:00:00.000Z"),
    ]


def test_days_before_the_job_began_are_not_read(tmp_path):
    """Each day has a line with the number that is no record: it is left out, and counted, if the day was read."""
    ran = {"start": "2025-03-08T22:00:00Z", "end": "2025-03-10T11:00:00Z"}
    write(
        tmp_path,
        *(record(job, end=f"2025-03-{day:02}T11:00:00Z") for day in range(5, 13) for job in (5, 6)),
        record(7, node="n2", **ran),
        record(7, node="n3", **{**ran, "end": "2025-03-09T11:00:00Z"}),
        record(8, array_job_id=7, array_task_id=0, start="2025-03-12T00:00:00Z", end="2025-03-12T11:00:00Z"),
        record(9, restart_count=1, start="2025-03-12T00:00:00Z", end="2025-03-12T11:00:00Z"),
        record(9, start="2025-03-06T12:00:00Z", end="2025-03-06T13:00:00Z"),
        record(10, start="2999-03-12T00:00:00Z", end="2025-03-12T11:00:00Z"),
    )
    for day in tmp_path.glob("2*"):
        with (day / "n1.jsonl").open("a") as stream:
            stream.write("5 7 8 9 10 torn\n")

    def read(job, *words):
        done = show(tmp_path, "--json", *words, job)
        return len(json.loads(done.stdout)), int(re.search(r"left out: (\d+)", done.stderr)[1])

    assert read("7", "--until", "2025-03-11") == (2, 5), "10 and 9, on which they ended, 8 and the day before, and 11"
    assert read("7") == (3, 8), "the tasks of an array may have begun at any time"
    assert read("8") == (1, 2)
    assert read("9") == (2, 8)
    assert read("10") == (1, 8), "a clock that is wrong tells nothing"
    assert read("7", "--since", "2025-03-10", "--until", "2025-03-10") == (1, 1)
    said = show(tmp_path, "--until", "2025-03-05", "7", status=1).stderr.splitlines()[-1]
    assert "no record of job 7 of this period that you may read" in said


def test_torn_lines_beside_a_record(tmp_path):
    write(tmp_path, record(9))
    with (tmp_path / "2025-03-01" / "n1.jsonl").open("a") as stream:
        stream.write('{"schema": 1, "job_id": 9, "no\n')
    done = show(tmp_path, "--json", "9")
    assert len(json.loads(done.stdout)) == 1
    assert (
        f"left out: 1 line ({tmp_path}/2025-03-01/n1.jsonl:2) not JSON, as after a crash or on a full disk\n"
        in done.stderr
    )


def test_the_folder_comes_from_hybridmem_conf(tmp_path):
    done = helper("hybridmem-config", "show")
    named = next(line for line in done.stdout.splitlines() if line.startswith("record_dir"))
    assert named.split("=", 1)[1].strip().strip('"').startswith("/")
    helper("hybridmem-show", "4000000000", status=1)


@pytest.mark.parametrize("variable", ["PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT"])
def test_the_environment_cannot_bring_code_in(tmp_path, variable):
    (tmp_path / "json.py").write_text("raise SystemExit('injected')")
    (tmp_path / "hybridmem.py").write_text("raise SystemExit('injected')")
    write(tmp_path / "records", record(9))
    done = helper(
        "hybridmem-show",
        "--records",
        "records",
        "9",
        cwd=tmp_path,
        env={variable: str(tmp_path), "PATH": os.environ["PATH"]},
    )
    assert "Job 9" in done.stdout and "injected" not in done.stderr


def test_the_records_of_these_tests_follow_the_schema():
    schema = json.loads((Path(__file__).resolve().parents[2] / "site-docs" / "record.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(record(1))
