# SPDX-License-Identifier: Apache-2.0
"""The collector where something fails: dying changes nothing, what fails is tried again, and in the end set aside."""

import pytest
from collecting import END, Died, Slurm, entry, leave, row
from hybridmem import collect
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
    assert bench.said == ["sacct failed with status 1: slurmdbd is down; it is tried again"]
    bench.slurm.fail = {}
    bench.clock.now += 3600
    collector.visit_all()
    assert bench.left() == [] and bench.summary()["reported"] == 1


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
