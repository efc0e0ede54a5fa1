# SPDX-License-Identifier: Apache-2.0
"""Tests the collector's rules: when it waits, what it writes where, and which of the database's rows belongs to a
run."""

import pytest
from collecting import END, START, SUBMIT, WAIT, Slurm, entry, leave, row
from hybridmem import collect, database
from makerecords import record, write


def test_a_job_whose_nodes_have_all_reported(bench):
    leave(bench.folder, entry(nodes="n[1-2]"))
    write(bench.records, record(7, node="n1"), record(7, node="n2"), record(8, node="n1"))
    bench.collect()
    assert (bench.summary()["nodes"], bench.summary()["reported"], bench.summary()["missing"]) == (2, 2, "")
    assert bench.left() == [] and bench.said == [] and bench.aside() == {}


def test_nodes_are_waited_for(bench):
    leave(bench.folder, entry(nodes="n[1-3]"))
    write(bench.records, record(7, node="n1"))
    collector = bench.collector()
    collector.visit_all()
    assert bench.left() and bench.slurm.steps == ["nodes"]
    write(bench.records, record(7, node="n3"))
    collector.visit_all()  # not due, so nothing is looked at
    bench.clock.now += collect.LOOK_S
    collector.visit_all()
    assert bench.left() and bench.slurm.steps == ["nodes"]
    write(bench.records, record(7, node="n2"))
    bench.clock.now += collect.LOOK_S
    collector.visit_all()
    assert bench.left() == [] and bench.summary()["reported"] == 3


def test_nodes_that_never_report_are_named(bench):
    leave(bench.folder, entry(nodes="n[1-4]"))
    write(bench.records, record(7, node="n3"))
    bench.clock.now = END + WAIT
    bench.collect()
    assert (bench.summary()["nodes"], bench.summary()["reported"], bench.summary()["missing"]) == (4, 1, "n[1-2,4]")


def test_a_job_that_asked_and_has_no_record_at_all(bench):
    leave(bench.folder, entry(nodes="n[1-2]"))
    bench.clock.now = END + WAIT
    bench.collect()
    assert (bench.summary()["reported"], bench.summary()["missing"], bench.summary()["mode"]) == (0, "n[1-2]", None)


def test_a_job_that_did_not_ask(bench):
    """A job has a summary if one of its steps asked for hybrid memory; the database is not asked about others."""
    leave(bench.folder, entry(7, asked=False), entry(8, asked=False))
    bench.slurm = Slurm(row(7), row(8))
    write(bench.records, record(8))
    collector = bench.collector()
    collector.visit_all()
    assert bench.left() and "rows" not in bench.slurm.steps
    bench.clock.now = END + WAIT
    collector.visit_all()
    assert bench.left() == [] and bench.slurm.text(7) == "" and bench.summary(8)["reported"] == 1
    assert bench.slurm.steps.count("rows") == 1


def test_the_summary_of_a_requeued_job_is_that_of_its_last_run(bench):
    """slurmctld increased the restart count before it reported the first run's end: both entries have the same
    count."""
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
    assert bench.left() == [] and bench.slurm.table[0]["text"] == "" and bench.summary()["restart_count"] == 1


def test_a_run_whose_requeue_is_not_through_yet(bench):
    """The run's row is still the newest, and its records have one restart less than slurmctld says."""
    leave(bench.folder, entry(restart_count=3))
    write(bench.records, record(7, restart_count=2))
    bench.collect()
    assert bench.summary()["restart_count"] == 2


@pytest.mark.parametrize(
    ("changes", "rows", "chosen"),
    [
        ({}, [row()], 0),
        ({}, [row(end=END - 2)], 0),
        ({}, [row(submit=START - 9000, end=START - 8000), row()], 1),
        ({}, [row(8), row()], 1),
        # submitted and ended within a second, as a job that fails at once
        ({"start_s": END}, [row(submit=END)], 0),
        ({}, [row(), row(submit=END, end=END + 50)], None),
        ({}, [row(), row(submit=END + 9, end=None)], None),
        ({}, [row(submit=END + 9, end=END + 99)], None),
        # before Slurm 23.02 the end is a guess
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
    assert bench.summary(9)["reported"] == 1
    why = "AdminComment of job {} has another tool's text, which stays: name another summary_field in hybridmem.conf\n"
    assert bench.aside() == {f"{job}.{END}.json": why.format(job) for job in (7, 8)}
    assert len(bench.said) == 1 and why.format(7).strip() in bench.said[0]


def test_an_older_summary_is_replaced(bench):
    leave(bench.folder, entry())
    write(bench.records, record(7))
    bench.slurm = Slurm(row(text="HM1:old"))
    bench.collect()
    assert bench.summary()["reported"] == 1


def test_users_take_turns_and_new_entries_are_seen(bench):
    """A user with many jobs does not keep other users waiting, not even those who come later."""
    bench.rate = 30
    jobs = range(7, 57)
    leave(bench.folder, *(entry(job) for job in jobs), entry(99, uid=1002))
    bench.slurm = Slurm(*(row(job) for job in (*jobs, 98, 99)))
    write(bench.records, *(record(job) for job in jobs), record(98, uid=1003), record(99, uid=1002))
    collector = bench.collector()
    assert collector.visit_all()
    first = bench.left()
    assert f"7.{END}.json" not in first and f"99.{END}.json" not in first and f"50.{END}.json" in first
    leave(bench.folder, entry(98, uid=1003))
    assert collector.visit_all()
    assert f"98.{END}.json" not in bench.left()
    while collector.visit_all():
        pass
    assert bench.left() == []


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
