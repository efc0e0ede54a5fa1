# SPDX-License-Identifier: Apache-2.0
"""Tests failures of the collector: dying changes nothing, failures are tried again, and in the end entries are set
aside."""

import errno

import pytest
from collecting import END, Died, Slurm, entry, leave, row
from hybridmem import collect, commands, spool
from makerecords import record, write


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
    assert bench.left() == [] and bench.summary()["reported"] == 1
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
    failure = "sacct failed with status 1: slurmdbd is down"
    assert bench.said == [f"{failure}; it is tried again"]
    bench.slurm.fail = {}
    bench.clock.now += 3600
    collector.visit_all()
    assert bench.left() == [] and bench.summary()["reported"] == 1
    assert bench.said[1:] == [f"goes on again, after: {failure}"]


def test_one_run_tries_each_entry_once_however_slow_the_database_is(bench):
    jobs = range(7, 12)
    leave(bench.folder, *(entry(job) for job in jobs))
    write(bench.records, *(record(job) for job in jobs))
    bench.slurm = Slurm(*(row(job) for job in jobs))
    bench.slurm.fail = {"rows": "sacct did not end in 60 s"}
    bench.slurm.takes = lambda: bench.clock.pause(60)
    bench.collector().visit_each()
    assert bench.slurm.steps.count("rows") == len(jobs) and len(bench.left()) == len(jobs)


def pass_time(bench, seconds, collector=None):
    """Lets time pass with a collector at work, which looks once an hour."""
    collector = collector or bench.collector()
    for _ in range(0, seconds, 3600):
        collector.visit_all()
        bench.clock.now += 3600
    return collector


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([row(8)], "Slurm's database does not know job 7"),
        ([row(end=None)], "in Slurm's database job 7 has not ended"),
    ],
)
@pytest.mark.parametrize("late", [0, 3 * collect.GIVE_UP_S])
@pytest.mark.parametrize("restarts", [False, True])
def test_what_the_database_does_not_know_for_a_day_is_set_aside(bench, rows, why, late, restarts):
    """The entry is given up a day after the first failure, however long ago the job ended."""
    leave(bench.folder, entry())
    write(bench.records, record(7))
    bench.slurm = Slurm(*rows)
    bench.clock.now = END + late
    collector = None
    for _ in range(12):
        collector = pass_time(bench, collect.GIVE_UP_S // 12, None if restarts else collector)
        assert bench.left() and bench.aside() == {}
    bench.collect()
    assert bench.left() == [] and bench.aside() == {f"7.{END}.json": f"given up after a day: {why}\n"}
    assert not list(bench.folder.glob("*.failed"))
    # An entry that was moved back is tried for another day.
    (bench.folder / "aside" / f"7.{END}.json").rename(bench.folder / f"7.{END}.json")
    bench.collect()
    assert bench.left()


def test_a_database_that_is_down_for_days_costs_no_summary(bench):
    """slurmdbd does not know yet that the job has ended, for an hour before its outage and two hours after it. Only
    these hours count for the day after which an entry is given up."""
    leave(bench.folder, entry())
    write(bench.records, record(7))
    bench.slurm = Slurm(row(end=None))
    collector = pass_time(bench, 3600)
    bench.slurm.fail = {"rows": "slurmdbd is down"}
    pass_time(bench, 3 * collect.GIVE_UP_S, collector)
    bench.slurm.fail = {}
    pass_time(bench, 7200, collector)
    assert bench.left() and bench.aside() == {}
    bench.slurm.table[0]["end"] = END
    pass_time(bench, 3600, collector)
    assert bench.left() == [] and bench.summary()["reported"] == 1


@pytest.mark.parametrize("torn", ["", "x", "-1 5\n", f"{10**12} 1\n", f"99999 {END}"])
def test_a_collector_that_was_down_for_days_costs_no_summary(bench, torn):
    """The note of the entry's failures may be torn, too."""
    leave(bench.folder, entry())
    write(bench.records, record(7))
    bench.slurm = Slurm(row(end=None))
    bench.collect()
    bench.clock.now += 3 * collect.GIVE_UP_S
    bench.collect()
    (note,) = bench.folder.glob("*.failed")
    note.write_text(torn)
    bench.clock.now += 3600
    bench.collect()
    assert bench.left() and bench.aside() == {}


class Picky(Slurm):
    """A database that never takes job 7."""

    def write(self, made, text):
        if made["job_id"] == 7:
            raise commands.Failed("sacctmgr failed with status 1")
        super().write(made, text)


@pytest.mark.parametrize("others", [False, True])
def test_what_fails_for_one_job_alone_is_set_aside(bench, others):
    """If no other entry succeeds meanwhile, the database may be down: the entry waits."""
    jobs = range(100, 126)
    leave(bench.folder, entry())
    write(bench.records, record(7), *map(record, jobs))
    bench.slurm = Picky(row(), *map(row, jobs))
    collector = bench.collector()
    for job in jobs:
        assert bench.left() and bench.aside() == {}
        if others:
            leave(bench.folder, entry(job))
        pass_time(bench, 3600, collector)
    why = {f"7.{END}.json": "given up after a day: sacctmgr failed with status 1\n"}
    assert bench.aside() == (why if others else {})


def test_each_outage_is_said_once_and_its_end(bench):
    jobs, collector = range(1, 5), bench.collector()
    write(bench.records, *map(record, jobs))
    bench.slurm = Slurm(*map(row, jobs))
    collector.database = bench.slurm
    for first in (1, 3):
        bench.slurm.fail = {"rows": "slurmdbd is down"}
        leave(bench.folder, entry(first), entry(first + 1))
        pass_time(bench, 3 * 3600, collector)
        bench.slurm.fail = {}
        pass_time(bench, 3600, collector)
        assert bench.left() == []
        assert bench.said == ["slurmdbd is down; it is tried again", "goes on again, after: slurmdbd is down"]
        bench.said.clear()


def test_a_folder_that_cannot_be_read_for_the_moment_is_said_each_time(bench, monkeypatch):
    def fail(*_):
        raise OSError(errno.EIO, "Input/output error")

    write(bench.records, record(7))
    collector = bench.collector()
    for _ in range(2):
        leave(bench.folder, entry())
        with monkeypatch.context() as patch:
            patch.setattr(spool.Spool, "read", fail)
            pass_time(bench, 7200, collector)
        pass_time(bench, 3600, collector)
        assert bench.left() == []
    assert [line.partition(":")[0] for line in bench.said] == [f"7.{END}.json", "goes on again, after"] * 2
