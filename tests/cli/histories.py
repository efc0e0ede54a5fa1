# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the history: records of every kind, and reports over both records and history."""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import engine
import forked
from installed import DATA
from makerecords import GIB, record, tier, write

sys.path.insert(0, str(DATA / "python"))
from hybridmem import history
from hybridmem.wanted import Wanted

DAY = "2025-03-01"


FORMS = [], ["--csv"], ["--json"]


def plain(folder, *words):
    return forked.run("report", "--records", folder, *words)


def same(records, history, *words, forms=FORMS[-1:]):
    """Checks that the reports over the records and over the history are equal to the byte, messages on left-out lines
    included. Returns the figures. The last form has to be JSON, which has everything that the other forms show."""
    for form in forms:
        of_records, of_history = plain(records, *words, *form), engine.report(history, *words, *form)
        assert of_history.stdout == of_records.stdout
        assert of_history.stderr == of_records.stderr
    return json.loads(of_history.stdout)


def source(folder):
    """All contents of a history, as a report reads them."""
    conditions = ("user", "account", "mode", "since", "until")
    options = SimpleNamespace(history=str(folder), engine=None, **dict.fromkeys(conditions))
    return history.Source(options, engine.folder(), Wanted(options))


def append(folder, *lines, day=DAY, node="n1"):
    path = folder / day / f"{node}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as stream:
        stream.write(b"".join(line if isinstance(line, bytes) else line.encode() + b"\n" for line in lines))


def contents(history):
    """Everything in a history; tables by their rows."""
    files = [path for path in sorted(history.rglob("*")) if path.is_file()]
    tables = [path for path in files if path.suffix == ".parquet"]
    rows = engine.queries(f"SELECT COLUMNS(*)::VARCHAR FROM read_parquet('{path}')" for path in tables)
    found = {path: sorted(of_table, key=repr) for path, of_table in zip(tables, rows)}
    for path in files:
        # Beside the sums are seals (daysums.py). They contain the times of tables, so they are left out.
        if path not in found and path.parent.name != "sums":
            found[path] = path.read_text()
    return found


# Estimates of a job on a node with an energy model, and with a migrator. Older records do not have these keys.
ESTIMATES = {
    "energy": {"package_j": 9.5, "estimate": {"tiers": [{"name": "dram", "static_j": 7200.5, "dynamic_j": None}]}},
    "traffic": {"tiers": [], "estimate": {"of": "writes", "tiers": [{"name": "dram", "share": 0.5}]}},
}


def varied(folder):
    """Writes records of every kind that a report distinguishes."""
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
        record(6, user=None, mode="slow", end="2025-03-02T12:00:00Z", **ESTIMATES),
        record(7, user="", mode="interleave", end="2025-03-03T12:00:00+01:00", energy={"package_j": 1.5}),
        # No step of job 8 ran on n1, so that record has no plan, and its request names another mode than n2's plan. The
        # run counts in the rows of both modes, and once in the total.
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


def killed(records, history, place):
    """Runs ingest in a child that ends, as if killed, before it renames its `place`th file. Returns False if ingest has
    fewer files to rename."""
    program = forked.loaded("ingest", engine.folder())

    def run():
        replace, count = Path.replace, [0]

        def counted(self, target):
            count[0] += 1
            if count[0] == place:
                os._exit(9)
            return replace(self, target)

        Path.replace = counted
        sys.argv[1:] = ["--records", str(records), "--history", str(history)]
        return program.main("/bin/false", engine.folder())

    status = forked.call(run)[0]
    assert status in (0, 9)
    return status == 9
