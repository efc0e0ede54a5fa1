# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the collector: a spool folder, a clock that real time does not move, and a database in
memory."""

import json
import sys

from installed import DATA

sys.path.insert(0, str(DATA / "python"))
from hybridmem import collect, commands, database, settings, spool, summaries

END = 1740826800  # 2025-03-01T11:00:00Z, the end of jobs in makerecords.py
START = END - 3600
SUBMIT = START - 60
WAIT = 300


def entry(job_id=7, **changes):
    """The entry that hybridmem-spool leaves for a job of alice that asked for hybrid memory."""
    made = {
        "spool": 1,
        "job_id": job_id,
        "array_job_id": None,
        "array_task_id": None,
        "het_job_id": None,
        "het_job_offset": None,
        "restart_count": 0,
        "uid": 1001,
        "cluster": "test",
        "start_s": START,
        "end_s": END,
        "nodes": "n1",
        "asked": True,
    }
    return {**made, **changes}


def leave(folder, *entries):
    """Writes the entries as hybridmem-spool does. Returns their names."""
    names = []
    for made in entries:
        names.append(f"{made['job_id']}.{made['end_s']}.json")
        (folder / names[-1]).write_text(json.dumps(made))
    return names


class Clock:
    """A clock that moves by pause(), which is noted in `pauses`, and by what tests add to `now`."""

    def __init__(self, now=END + 1):
        self.now, self.pauses = now, []

    def __call__(self):
        return self.now

    def pause(self, seconds):
        self.pauses.append(seconds)
        self.now += seconds


class Slurm(database.Database):
    """Slurm's database, in memory. Its functions call step() with a name: `fail` has the names of the calls that fail,
    `die` those of the calls in which the process dies."""

    def __init__(self, *jobs, field="AdminComment"):
        super().__init__(field)
        self.table = [dict(row) for row in jobs]
        self.steps, self.fail, self.die = [], {}, set()
        self.takes = lambda: None  # called by each step()

    def step(self, name):
        self.steps.append(name)
        self.takes()
        if name in self.die:
            raise Died(name)
        if name in self.fail:
            raise commands.Failed(self.fail[name])

    def nodes(self, text):
        self.step("nodes")
        first, last = text[2:-1].split("-") if "[" in text else (text[1:], text[1:])
        return [f"n{i}" for i in range(int(first), int(last) + 1)]

    def rows(self, made):
        self.step("rows")
        return [database.Row(**{key: row[key] for key in database.Row._fields}) for row in self.table]

    def write(self, made, text):
        self.step("before write")
        rows = [row for row in self.table if row["job_id"] == made["job_id"]]
        max(rows, key=lambda row: row["submit"])["text"] = text
        self.step("after write")

    def text(self, job_id=7):
        return [row["text"] for row in self.table if row["job_id"] == job_id][-1]


class Died(BaseException):
    """Ends the collector at this point, as SIGKILL would end its process."""


def row(job_id=7, submit=SUBMIT, end=END, text=""):
    return {"job_id": job_id, "submit": submit, "end": end, "text": text}


class Bench:
    """A spool folder, a records folder, and a collector that works on them."""

    def __init__(self, folder):
        self.folder, self.records = folder / "spool", folder / "records"
        self.folder.mkdir(mode=0o700)
        self.records.mkdir()
        self.clock, self.slurm, self.said, self.rate = Clock(), Slurm(row()), [], 6000

    def collector(self):
        """A collector that remembers nothing of earlier ones, like a new process."""
        words = {
            "record_dir": str(self.records),
            "collect_wait": f"{WAIT}s",
            "summary_rate": str(self.rate),
        }
        held = spool.Spool(self.folder)
        held.aside.mkdir(mode=0o700, exist_ok=True)
        return collect.Collector(
            settings.Settings(words, "config"), held, self.slurm, self.clock, self.clock.pause, self.said.append
        )

    def collect(self):
        self.collector().visit_all()

    def summary(self, job_id=7):
        return summaries.decode(self.slurm.text(job_id))

    def left(self):
        return sorted(path.name for path in self.folder.glob("*.json"))

    def aside(self):
        """The reasons of entries that were set aside."""
        found = {path.name: path for path in (self.folder / "aside").glob("*")}
        return {name: found[f"{name}.why"].read_text() for name in found if name.endswith(".json")}
