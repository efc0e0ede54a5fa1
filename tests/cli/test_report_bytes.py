# SPDX-License-Identifier: Apache-2.0
"""Reads records that were changed by chance, byte by byte and value by value: whatever a line of the records has, it is
left out and counted, or every view can show it as text, JSON, CSV and HTML, and hybridmem show as text and HTML.
Summaries are changed, too, as the field of Slurm's database that has them may be one that users can write: each is
refused, or shown as text."""

import copy
import csv
import io
import json
import random
import sys

from installed import DATA
from makerecords import record, tier
from viewing import filled

sys.path.insert(0, str(DATA / "python"))
from hybridmem import forms, merge, records, reportpage, showpage, showtext, summaries, summary, summarytext, views

SEED = 20250302
MARKED = "<b>=1+1\x1b[2J\n"
VALUES = (None, True, 0, -1, 7, 0.5, -2.5, 1e300, 1 << 63, 10**400, "", "7", "\ud800", MARKED, [], [[]], {})
VALUES += ("2025-03-01T12:00:00Z", "9999-12-31T23:59:59.999Z", "0000-00-00", [None, "x", -1], {"a": {"b": []}})


def places(value):
    """All (container, key) in a record."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(item, (dict, list)):
            yield from places(item)


def change(made, dice, count):
    """Changes values at `count` places."""
    for _ in range(count):
        container, key = dice.choice(list(places(made)))
        container[key] = copy.deepcopy(dice.choice(VALUES))


def changed_lines(count):
    """Lines of records of which a few values or bytes were changed; the same at each call."""
    dice = random.Random(SEED)
    for job in range(count):
        made = record(
            job, node=f"n{job % 3}", memory={"tiers": [tier("dram", [0], 1 << 30, 1 << 29, capacity=1 << 40)]}
        )
        if job % 5 == 0:
            made[dice.choice(("user", "account", "request"))] = MARKED
        change(made, dice, dice.randrange(4))
        line = bytearray(json.dumps(made).encode() + b"\n")
        for _ in range(dice.choice((0, 0, 0, 1, 3))):
            line[dice.randrange(len(line))] = dice.randrange(256)
        yield bytes(line)


def is_harmless(text):
    return all(character.isprintable() or character == "\n" for character in text)


def check(shown):
    """Checks that no line has a control character except line feeds, and that some show one in its escaped form."""
    assert [line for line in shown if not is_harmless(line)] == []
    assert any("\\x1b" in line for line in shown)


def read(count):
    """The records that are accepted. Checks that all other lines are counted as left out."""
    skipped = records.Skipped()
    found = [records.parse(line, "n1.jsonl", number, skipped) for number, line in enumerate(changed_lines(count), 1)]
    accepted = [made for made in found if made is not None]
    assert len(accepted) + sum(skipped.counts.values()) == count and len(accepted) > count // 2
    return accepted


def test_views_of_records_that_were_changed_by_chance():
    made, shown = filled([views.named(name) for name in views.NAMES], read(800)), []
    for sums in made.sums:
        shown += forms.table(sums)
        json.dumps(forms.as_json(sums), allow_nan=False)
        stream = io.StringIO()
        forms.write_csv(sums, stream)
        for row in csv.reader(io.StringIO(stream.getvalue())):
            assert not any("\x1b" in cell or cell.startswith("=") for cell in row)
    check(shown)
    assert "<b>=" not in reportpage.make(made, "all", [])


def test_show_of_records_that_were_changed_by_chance():
    shown = []
    for one in read(400):
        showtext.Printer(shown.append, True, 100, 100, True).print_all([[one]])
        assert "<b>=" not in showpage.make("7", [[one]], showtext.of_node)
    check(shown)


def test_summaries_that_were_changed_by_chance():
    dice, shown, refused = random.Random(SEED), [], 0
    job = {"JobID": "7", "JobIDRaw": "7", **dict.fromkeys(summarytext.COLUMNS[2:], "x")}
    entry = {**dict.fromkeys(("array_job_id", "array_task_id", "het_job_id")), "job_id": 7, "restart_count": 0}
    made = json.dumps(merge.summary(entry, ["n1", "n2", "n3"], [record(7, node="n1"), record(7, node="n2")]))
    for _ in range(400):
        changed = {**json.loads(made), "missing": dice.choice(("n3", "n3", MARKED))}
        change(changed, dice, dice.randrange(3))
        try:
            found = summary.decode(job, summaries.pack(changed), "comment")
        except records.Failure as failure:
            assert is_harmless(str(failure))
            refused += 1
            continue
        summarytext.Printer(shown.append, 100, True).job(job, found)
    check(shown)
    assert 50 < refused < 350
