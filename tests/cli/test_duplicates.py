# SPDX-License-Identifier: Apache-2.0
"""Tests records that exist more than once: every report counts them once and says so, over records and over a
history."""

import json
import random
import sys

import engine
import pytest
from installed import DATA, helper
from makerecords import ENERGY, record, write
from viewing import figure

sys.path.insert(0, str(DATA / "python"))
from hybridmem import fields, groups, report, views
from hybridmem import seen as remembered

DAY = "2025-03-01"
JOULES = {**dict.fromkeys(ENERGY), "package_j": 3600.0, "memory_j": 360.0, "node": None, "source": "powercap"}


def copy(folder, source, target, *more):
    """Copies a file of the day under another name, with further records."""
    text = (folder / DAY / f"{source}.jsonl").read_text()
    (folder / DAY / f"{target}.jsonl").write_text(text + "".join(json.dumps(made) + "\n" for made in more))


def copied(folder):
    """Five records of three runs; one run also has a record on the next day. Ten lines are duplicates: in the same
    file, in two copies of it (one of which is read before it), and in the file of another node."""
    first = record(1, energy=JOULES, warnings=["a"], exit_code=1)
    write(
        folder,
        first,
        record(1, restart_count=1, energy=JOULES),
        record(2, user="bob", mode="fast", energy=JOULES),
        first,
        record(1, node="n2", energy=JOULES),
        record(2, user="bob", energy=JOULES, end="2025-03-02T11:00:00Z"),
    )
    copy(folder, "n1", "n1-pending")
    copy(folder, "n1", "n10", record(1, node="n2", energy=JOULES))


def both(tmp_path, *words):
    """The report as JSON over the records and over their history, which must be equal to the byte."""
    folder, history = tmp_path / "records", tmp_path / "history"
    if not history.exists():
        engine.ingest(folder, history)
    plain = helper("hybridmem-report", "--records", folder, "--json", *words)
    assert (plain.stdout, plain.stderr) == ((done := engine.report(history, "--json", *words)).stdout, done.stderr)
    return json.loads(plain.stdout)


def test_a_copied_file_adds_nothing(tmp_path):
    copied(tmp_path / "records")
    found = both(tmp_path)
    total = found["total"]
    assert (total["records"], total["jobs"], total["failed_jobs"], total["warnings"]) == (5, 3, 1, 1)
    assert total["node_hours"] == 5 and found["left_out"]["duplicate"] == 10 and found["exact"] is True


@pytest.mark.parametrize("view", views.NAMES)
def test_every_view_of_a_copied_file(tmp_path, view):
    copied(tmp_path / "records")
    found = both(tmp_path, "--view", view)
    assert found["left_out"]["duplicate"] == 10
    if view == "energy":
        assert (found["total"]["records"], found["total"]["package_j"], found["total"]["memory_j"]) == (5, 18000, 1800)
        joules = {row["user"]: row["package_j"] for row in found["rows"]}
        assert joules == {"alice": 10800, "bob": 7200}
    if view == "nodes":
        assert {row["node"]: row["records"] for row in found["rows"]} == {"n1": 4, "n2": 1}


def test_filters_do_not_choose_which_of_two_duplicates_counts(tmp_path):
    """The second record is the duplicate, also where a filter takes it and leaves out the first one."""
    write(tmp_path / "records", record(1), record(1, user="bob", uid=1002), record(2, user="bob", uid=1002))
    for words, jobs, duplicates in (([], 2, 1), (["--user", "bob"], 1, 1), (["--user", "alice"], 1, 0)):
        for view in ([], ["--view", "users"]):
            found = both(tmp_path, *words, *view)
            assert (found["total"]["jobs"], found["left_out"]["duplicate"]) == (jobs, duplicates)


@pytest.mark.parametrize(
    "other",
    [
        {"cluster": "elsewhere"},
        {"cluster": None},
        {"restart_count": 1},
        {"restart_count": None},
        {"node": "n2"},
        {"job_id": 2},
        {"end": "2025-03-02T00:00:00Z"},
    ],
)
def test_records_that_differ_in_one_key_are_no_duplicates(tmp_path, other):
    write(tmp_path / "records", record(1), {**record(1), **other})
    found = both(tmp_path)
    assert (found["total"]["records"], found["left_out"]["duplicate"]) == (2, 0)


def test_more_records_than_are_remembered(tmp_path, monkeypatch):
    """If there are more records than are remembered, some may count twice, which is reported."""
    monkeypatch.setattr(remembered.Written, "LIMIT", 3)
    sums, skipped = groups.Report([views.TOTALS], None), report.records.Skipped()
    write(tmp_path, *(record(job) for job in (1, 2, 3)), record(1, end="2025-03-02T11:00:00Z"))
    wanted = report.Wanted(report.arguments().parse_args([]))
    report.feed(tmp_path, wanted, skipped, sums)
    assert sums.is_exact
    write(tmp_path, record(4), record(4), record(1))
    report.feed(tmp_path, wanted, skipped, sums := groups.Report([views.TOTALS], None))
    assert not sums.is_exact and skipped.counts["duplicate"] == 1
    assert figure(views.TOTALS, sums.sums[0].total, "records") == 6


def test_what_is_remembered_is_small_and_tells_keys_apart():
    shuffled = random.Random(7)
    seen, met = remembered.Keys(100_000), set()
    for _ in range(150_000):
        key = fields.key(record_of(shuffled.randrange(60_000), f"n{shuffled.randrange(3)}"))
        assert seen.is_new(*key) == (key not in met)
        met.add(key)
        if len(met) == 100_000:
            break
    assert seen.count == len(met) and not seen.full
    assert sys.getsizeof(seen.places) <= 24 * len(met) + 1000


def test_when_no_more_can_be_remembered_known_keys_still_are():
    seen = remembered.Keys(2)
    assert [seen.is_new(key) for key in (1, 2, 1, 3, 3, 2)] == [True, True, False, True, True, False]
    assert seen.full and seen.count == 2


def record_of(job, node):
    return {"cluster": "test", "job_id": job, "restart_count": 0, "node": node}
