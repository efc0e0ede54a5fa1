# SPDX-License-Identifier: Apache-2.0
"""The collector's rules: when it waits, what it writes where, what it sets aside, and that dying changes nothing."""

import json
import os

import pytest
from collecting import END, START, SUBMIT, WAIT, Bench, Died, Slurm, entry, leave, row
from hybridmem import collect, database, failure, jobrecords, merge, records, spool, summaries
from makerecords import record, tier, write


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def summary(bench, job_id=7):
    return summaries.decode(bench.slurm.text(job_id))


def test_a_job_whose_nodes_have_all_reported(bench):
    leave(bench.folder, entry(nodes="n[1-2]"))
    write(bench.records, record(7, node="n1"), record(7, node="n2"), record(8, node="n1"))
    bench.collect()
    assert (summary(bench)["nodes"], summary(bench)["reported"], summary(bench)["missing"]) == (2, 2, "")
    assert bench.left() == [] and bench.said == [] and bench.aside() == {}


def test_nodes_are_waited_for(bench):
    leave(bench.folder, entry(nodes="n[1-3]"))
    write(bench.records, record(7, node="n1"))
    collector = bench.collector()
    collector.visit_all()
    assert bench.left() and bench.slurm.steps == ["nodes"]
    write(bench.records, record(7, node="n3"))
    collector.visit_all()  # not due: nothing is looked at
    bench.clock.now += collect.LOOK_S
    collector.visit_all()
    assert bench.left() and bench.slurm.steps == ["nodes"]
    write(bench.records, record(7, node="n2"))
    bench.clock.now += collect.LOOK_S
    collector.visit_all()
    assert bench.left() == [] and summary(bench)["reported"] == 3


def test_those_that_never_report_are_named(bench):
    leave(bench.folder, entry(nodes="n[1-4]"))
    write(bench.records, record(7, node="n3"))
    bench.clock.now = END + WAIT
    bench.collect()
    assert (summary(bench)["nodes"], summary(bench)["reported"], summary(bench)["missing"]) == (4, 1, "n[1-2,4]")


def test_a_job_that_asked_and_has_no_record_at_all(bench):
    leave(bench.folder, entry(nodes="n[1-2]"))
    bench.clock.now = END + WAIT
    bench.collect()
    assert (summary(bench)["reported"], summary(bench)["missing"], summary(bench)["mode"]) == (0, "n[1-2]", None)


def test_a_job_that_did_not_ask(bench):
    """It has a summary where one of its steps has asked; the database is not bothered with the others."""
    leave(bench.folder, entry(7, asked=False), entry(8, asked=False))
    bench.slurm = Slurm(row(7), row(8))
    write(bench.records, record(8))
    collector = bench.collector()
    collector.visit_all()
    assert bench.left() and "rows" not in bench.slurm.steps
    bench.clock.now = END + WAIT
    collector.visit_all()
    assert bench.left() == [] and bench.slurm.text(7) == "" and summary(bench, 8)["reported"] == 1
    assert bench.slurm.steps.count("rows") == 1


@pytest.mark.parametrize(
    "other",
    [
        {"job_id": 70},
        {"uid": 1002},
        {"cluster": "elsewhere"},
        {"restart_count": 5},
        {"node": "n2"},
        {"end": "2025-03-01T10:58:00Z"},
        {"start": "2025-03-01T11:02:00Z", "end": "2025-03-01T11:03:00Z"},
        {"end": None},
    ],
)
def test_records_of_other_jobs_and_runs(bench, other):
    leave(bench.folder, entry())
    made = {**record(7), **other}
    folder = bench.records / "2025-03-01"
    folder.mkdir()
    (folder / "n1.jsonl").write_text(f"torn 7\n{json.dumps(made)}\n[7]\n")
    bench.clock.now = END + WAIT
    bench.collect()
    assert summary(bench)["reported"] == 0


@pytest.mark.parametrize("tail", [1, 100, 5000, 1 << 20])
@pytest.mark.parametrize("place", range(4))
def test_records_are_found_wherever_they_are_in_their_file(bench, monkeypatch, tail, place):
    monkeypatch.setattr(jobrecords, "TAIL", tail)
    jobs = [71, 72, 73]
    jobs.insert(place, 7)
    write(bench.records, *map(record, jobs))
    kept = jobrecords.JobRecords(str(bench.records), "test", entry(), ["n1"])
    assert kept.look(bench.clock()) and [made["job_id"] for made in kept.read(bench.clock())] == [7]


def test_of_a_file_that_grows_only_its_end_is_read_again(bench, monkeypatch):
    """Also a line that was seen half-written."""
    monkeypatch.setattr(records, "LINE_MAX", 20000)
    starts, lines = [], records.lines
    monkeypatch.setattr(
        records, "lines", lambda path, skipped, start: starts.append(start) or lines(path, skipped, start)
    )
    write(bench.records, *map(record, range(71, 91)))
    path = bench.records / "2025-03-01" / "n1.jsonl"
    kept = jobrecords.JobRecords(str(bench.records), "test", entry(), ["n1"])
    assert not kept.look(bench.clock()) and starts == [0]
    first, text = path.stat().st_size, json.dumps(record(7)) + "\n"
    assert first > records.LINE_MAX > len(text)
    for part in (text[:500], text[500:]):
        with path.open("a") as stream:
            stream.write(part)
        complete = kept.look(bench.clock())
        assert complete == part.endswith("\n")
    assert starts == [0, first - records.LINE_MAX, first + 500 - records.LINE_MAX]
    assert kept.look(bench.clock()) and len(starts) == 3


@pytest.mark.parametrize(("start", "found"), [(0, "abc"), (1, "bc"), (2, "bc"), (3, "c"), (4, "c"), (5, ""), (99, "")])
def test_lines_from_a_byte_on(tmp_path, start, found):
    path = tmp_path / "n1.jsonl"
    path.write_bytes(b"a\nb\nc")
    assert b"".join(line for _, line in records.lines(path, records.Skipped(), start)).decode().split() == list(found)


def test_what_is_kept_of_many_records_is_small(bench):
    """Ten thousand nodes with all their points would fill the host's memory."""
    full = {"memory": {"peak_bytes": 1, "tiers": [tier("dram", [0], 1, 1, 256) for _ in range(8)]}}
    write(bench.records, record(7, **full, migration={"promoted_bytes": 5, "steps": [{"step": "0"}] * 16}))
    kept = jobrecords.JobRecords(str(bench.records), "test", entry(), ["n1"])
    (made,) = kept.read(bench.clock())
    assert len(json.dumps(made)) < 4096 and made["migration"] == {"promoted_bytes": 5}
    assert merge.summary(entry(), ["n1"], [made]) == merge.summary(
        entry(), ["n1"], [record(7, **full, migration={"promoted_bytes": 5})]
    )


def test_records_of_the_next_day(bench):
    """The job ended a moment before midnight, its node's epilog a moment after."""
    end = 1740873599  # 2025-03-01T23:59:59Z
    leave(bench.folder, entry(end_s=end))
    bench.slurm = Slurm(row(end=end))
    bench.clock.now = end + 5
    write(bench.records, record(7, end="2025-03-02T00:00:01Z"))
    bench.collect()
    assert summary(bench)["reported"] == 1


def test_the_summary_of_a_requeued_job_is_that_of_its_last_run(bench):
    """slurmctld counted up before it told of the first run's end: both entries have the same count."""
    later = END + 7200
    leave(bench.folder, entry(restart_count=1), entry(restart_count=1, start_s=END + 600, end_s=later))
    write(
        bench.records,
        record(7),
        record(7, restart_count=1, start="2025-03-01T11:10:00Z", end="2025-03-01T13:00:01Z"),
    )
    bench.slurm = Slurm(row(), row(submit=END + 120, end=None))
    bench.collect()
    assert bench.slurm.text() == "" and bench.left() == [f"7.{later}.json"]
    assert bench.said == ["job 7 was requeued: Slurm's database takes a summary for its last run only"]
    bench.slurm.table[1]["end"] = later
    bench.clock.now = later + 5
    bench.collect()
    assert bench.left() == [] and bench.slurm.table[0]["text"] == "" and summary(bench)["restart_count"] == 1


def test_a_run_whose_requeue_is_not_through_yet(bench):
    """Its row is the newest still, and its records have one restart less than slurmctld says."""
    leave(bench.folder, entry(restart_count=3))
    write(bench.records, record(7, restart_count=2))
    bench.collect()
    assert summary(bench)["restart_count"] == 2


@pytest.mark.parametrize(
    ("changes", "rows", "chosen"),
    [
        ({}, [row()], 0),
        ({}, [row(end=END - 2)], 0),
        ({}, [row(submit=START - 9000, end=START - 8000), row()], 1),
        ({}, [row(8), row()], 1),
        # all in one second, as a job that fails at once
        ({"start_s": END}, [row(submit=END)], 0),
        ({}, [row(), row(submit=END, end=END + 50)], None),
        ({}, [row(), row(submit=END + 9, end=None)], None),
        ({}, [row(submit=END + 9, end=END + 99)], None),
        # before 23.02 the end is a guess
        ({"start_s": None}, [row(end=END - 30)], 0),
    ],
)
def test_the_row_of_a_run(changes, rows, chosen):
    found = [database.Row(**one) for one in rows]
    assert database.choose(entry(**changes), found) == (None if chosen is None else found[chosen])


@pytest.mark.parametrize("rows", [[], [row(8)], [row(end=None)], [row(end=END - 30)], [row(submit=None)]])
def test_rows_that_may_still_come(rows):
    with pytest.raises(database.NotYet):
        database.choose(entry(), [database.Row(**one) for one in rows])


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "7"),
        ({"array_job_id": 5, "array_task_id": 0}, "5_0"),
        ({"het_job_id": 6, "het_job_offset": 1}, "6+1"),
        ({"job_id": 5, "array_job_id": 5, "array_task_id": 3}, "5_3"),
        ({"job_id": 6, "het_job_id": 6, "het_job_offset": 0}, "6+0"),
    ],
)
def test_tasks_and_components_are_named_by_themselves(changes, name):
    assert database.named(entry(**changes)) == name


def test_rows_of_sacct():
    output = "7|1740823140|1740826800|a|b\nsecond line\n8|1740823140|Unknown|\n9|None|Unknown|HM1:x\n"
    assert database.parse_rows(output) == [
        database.Row(7, SUBMIT, END, "a|b\nsecond line"),
        database.Row(8, SUBMIT, None, ""),
        database.Row(9, None, None, "HM1:x"),
    ]
    assert database.parse_rows("no row\n\n") == []


def test_another_tools_text_stays(bench):
    leave(bench.folder, entry(7), entry(8), entry(9))
    write(bench.records, record(7), record(8), record(9))
    bench.slurm = Slurm(row(7, text="JS1:xyz"), row(8, text="a note"), row(9))
    bench.collect()
    assert (bench.slurm.text(7), bench.slurm.text(8)) == ("JS1:xyz", "a note")
    assert summary(bench, 9)["reported"] == 1
    why = "AdminComment of job {} has another tool's text, which stays: name another summary_field in hybridmem.conf\n"
    assert bench.aside() == {f"{job}.{END}.json": why.format(job) for job in (7, 8)}
    assert len(bench.said) == 1 and why.format(7).strip() in bench.said[0]


def test_an_older_summary_is_replaced(bench):
    leave(bench.folder, entry())
    write(bench.records, record(7))
    bench.slurm = Slurm(row(text="HM1:old"))
    bench.collect()
    assert summary(bench)["reported"] == 1


@pytest.mark.parametrize("step", ["nodes", "rows", "before write", "after write"])
def test_dying_at_any_step_changes_nothing(bench, step):
    leave(bench.folder, entry())
    write(bench.records, record(7))
    bench.slurm.die = {step}
    with pytest.raises(Died):
        bench.collect()
    assert bench.left()
    bench.slurm.die, bench.slurm.steps = set(), []
    bench.collect()
    assert bench.left() == [] and summary(bench)["reported"] == 1
    assert bench.slurm.steps.count("before write") == (step != "after write")


@pytest.mark.parametrize("step", ["replace", "rename"])
def test_dying_while_an_entry_is_set_aside(bench, step, monkeypatch):
    def die(*_):
        raise Died(step)

    leave(bench.folder, entry())
    write(bench.records, record(7))
    bench.slurm = Slurm(row(text="other"))
    with monkeypatch.context() as patch:
        patch.setattr(type(bench.folder), step, die)
        with pytest.raises(Died):
            bench.collect()
    assert bench.left() and bench.aside() == {}
    bench.collect()
    assert bench.left() == [] and len(bench.aside()) == 1
    assert not list((bench.folder / "aside").glob(".*"))


def test_what_fails_is_tried_again_ever_more_slowly(bench):
    leave(bench.folder, entry())
    write(bench.records, record(7))
    bench.slurm.fail = {"rows": "sacct failed with status 1: slurmdbd is down"}
    collector, tries = bench.collector(), []
    for _ in range(4 * 3600):
        before = len(bench.slurm.steps)
        collector.visit_all()
        if len(bench.slurm.steps) > before:
            tries.append(bench.clock.now - END - 1)
        bench.clock.now += 1
    assert tries == [0, 30, 90, 210, 450, 930, 1890, 3810, 7410, 11010]
    assert bench.said == ["sacct failed with status 1: slurmdbd is down; it is tried again"]
    bench.slurm.fail = {}
    bench.clock.now += 3600
    collector.visit_all()
    assert bench.left() == [] and summary(bench)["reported"] == 1


@pytest.mark.parametrize(
    ("rows", "fail", "why"),
    [
        ([row(8)], {}, "Slurm's database does not know job 7"),
        ([row(end=None)], {}, "in Slurm's database job 7 has not ended"),
        ([row()], {"before write": "sacctmgr failed with status 1"}, "sacctmgr failed with status 1"),
        ([row()], {"nodes": "scontrol failed with status 1"}, "scontrol failed with status 1"),
    ],
)
def test_what_fails_for_a_day_is_set_aside(bench, rows, fail, why):
    leave(bench.folder, entry())
    write(bench.records, record(7))
    bench.slurm = Slurm(*rows)
    bench.slurm.fail = fail
    bench.clock.now = END + collect.GIVE_UP_S - 1
    bench.collect()
    assert bench.left() and bench.aside() == {}
    bench.clock.now += 1
    bench.collect()
    assert bench.left() == [] and bench.aside() == {f"7.{END}.json": f"given up after a day: {why}\n"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is torn"),
        ("{", "it is torn"),
        ("[]", "it is of another version"),
        ('{"spool": 2}', "it is of another version"),
        ('{"spool": 1}', "job_id is out of its form"),
        ("[" * 100000, "it is torn"),
        (" " * (spool.MOST_BYTES + 1), f"it is larger than {spool.MOST_BYTES} bytes"),
    ],
)
def test_an_entry_that_is_none(bench, text, why):
    (bench.folder / f"7.{END}.json").write_text(text)
    bench.collect()
    assert bench.left() == [] and bench.aside() == {f"7.{END}.json": f"{why}\n"}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"job_id": 8}, "it is of another job than its name"),
        ({"nodes": "-x"}, "nodes is out of its form"),
        ({"nodes": "n1 n2"}, "nodes is out of its form"),
        ({"nodes": "../n1"}, "nodes is out of its form"),
        ({"cluster": "a b"}, "cluster is out of its form"),
        ({"cluster": "a=b"}, "cluster is out of its form"),
        ({"uid": True}, "uid is out of its form"),
        ({"uid": -1}, "uid is out of its form"),
        ({"end_s": 1 << 40}, "end_s is out of its form"),
        ({"start_s": 0}, "start_s is out of its form"),
        ({"array_job_id": 3}, "array_job_id and array_task_id do not go together"),
        ({"het_job_offset": 3}, "het_job_id and het_job_offset do not go together"),
        ({"asked": 1}, "asked is out of its form"),
    ],
)
def test_entries_out_of_their_form(changes, why):
    with pytest.raises(spool.Unreadable, match=why):
        spool.parse(json.dumps({**entry(), **changes}), f"7.{END}.json")


def test_links_and_folders_are_no_entries(bench, tmp_path):
    (tmp_path / "secret").write_text("root's")
    (bench.folder / f"7.{END}.json").symlink_to(tmp_path / "secret")
    (bench.folder / f"8.{END}.json").mkdir()
    bench.collect()
    assert bench.left() == [] and sorted(bench.aside()) == [f"7.{END}.json", f"8.{END}.json"]
    assert (tmp_path / "secret").read_text() == "root's"


def test_the_database_is_asked_at_the_rate_that_is_set(bench):
    bench.rate = 30
    leave(bench.folder, *(entry(job) for job in range(7, 12)))
    write(bench.records, *(record(job) for job in range(7, 12)))
    bench.slurm = Slurm(*(row(job) for job in range(7, 12)))
    collector = bench.collector()
    collector.visit_all()
    assert bench.clock.pauses == [2, 2, 2, 2] and bench.left() == []
    leave(bench.folder, entry(7))
    bench.clock.now += 60
    collector.visit_all()
    assert bench.clock.pauses == [2, 2, 2, 2]


def test_old_drafts_and_too_much_that_is_set_aside(bench, monkeypatch):
    monkeypatch.setattr(spool, "MOST_ASIDE", 2)
    bench.slurm = Slurm(*(row(job, end=END + job, text="other") for job in range(1, 5)))
    leave(bench.folder, *(entry(job, end_s=END + job) for job in range(1, 5)))
    write(bench.records, *(record(job) for job in range(1, 5)))
    for name, age in ((".1.draft", spool.DRAFT_S + 9), (".2.draft", 0)):
        (bench.folder / name).touch()
        os.utime(bench.folder / name, (bench.clock.now - age, bench.clock.now - age))
    bench.collect()
    assert len(bench.aside()) == 4
    bench.collect()
    assert sorted(bench.aside()) == [f"3.{END + 3}.json", f"4.{END + 4}.json"]
    assert len(list((bench.folder / "aside").iterdir())) == 4
    assert bench.said[-1].startswith("removed the oldest 2 entries of ")
    assert not (bench.folder / ".1.draft").exists() and (bench.folder / ".2.draft").exists()


def test_an_entry_that_an_administrator_removes_meanwhile(bench):
    leave(bench.folder, entry())
    write(bench.records, record(7))
    collector = bench.collector()
    bench.slurm.write = lambda *_: (bench.folder / f"7.{END}.json").unlink()
    collector.visit_all()
    assert bench.left() == [] and bench.said == []


def test_an_entry_from_the_future(bench):
    (name,) = leave(bench.folder, entry(end_s=END + 2 * collect.AHEAD_S))
    bench.collect()
    assert bench.aside() == {name: "the job's end is in the future: look at the clock of slurmctld's host\n"}


def test_a_folder_aside_that_has_gone(bench):
    """What cannot be set aside stays, and is told."""
    leave(bench.folder, entry())
    write(bench.records, record(7))
    bench.slurm = Slurm(row(text="other"))
    collector = bench.collector()
    (bench.folder / "aside").rmdir()
    collector.spool.tidy = lambda _: 0
    collector.visit_all()
    assert bench.left() and len(bench.said) == 1 and "No such file or directory" in bench.said[0]


def test_only_one_has_the_folder(bench):
    first, second = spool.Spool(bench.folder), spool.Spool(bench.folder)
    first.open()
    with pytest.raises(failure.Failure, match=f"another hybridmem-collect has {bench.folder}"):
        second.open()
    os.close(first.holder)
    second.open()


def test_folders_that_are_not_trusted(bench, tmp_path):
    bench.folder.chmod(0o770)
    link = tmp_path / "link"
    link.symlink_to(bench.records)
    for path, said in (
        (bench.folder, "that nobody else may write"),
        (link, "must be a folder"),
        (tmp_path / "none", "No such file or directory"),
    ):
        with pytest.raises(failure.Failure, match=said):
            spool.Spool(path).open()
