# SPDX-License-Identifier: Apache-2.0
"""Takes the files of records of one day into a history."""

import json
from pathlib import Path

from . import daysums, engine, fields, layout, moments, records

# A row contains its whole record, some KiB, and a group of rows is kept in memory while it is written.
ROWS_A_GROUP, BYTES_A_GROUP = 20_000, "64MB"
LONGEST_ROW = 8 << 20  # a line has at most 1 MiB, but grows when it is a text within JSON


def text_of(line, record):
    """The text of the record, as it was written; written anew if the line is not UTF-8."""
    try:
        return line.decode("utf-8").strip()
    except UnicodeDecodeError:  # JSON may be UTF-16
        return json.dumps(record)


RUN = ("cluster", "job_id", "restart_count")  # the columns that name a run of a job


class Aside(records.Skipped):
    """Counts the lines of one file that are left out, and writes them to a stream. `total` counts over all files."""

    def __init__(self, total, stream):
        super().__init__()
        self.total, self.stream, self.line = total, stream, None

    def add(self, cause, path, number=None):
        super().add(cause, path, number)
        self.total.add(cause, path, number)
        text = None if self.line is None else self.line.decode("utf-8", "backslashreplace")
        json.dump({"path": str(path), "line": number, "cause": cause, "text": text}, self.stream)
        self.stream.write("\n")


class Day:
    """One day of a history. `work` is a folder on the history's file system; `total` counts the lines that are left
    out."""

    def __init__(self, history, day, work, total):
        self.history, self.day, self.work, self.total = history, day, work, total
        self.table = history.parquet(day)
        self.owners = {}  # key of a row -> name of the file that it is from
        self.old = frozenset()  # keys of the rows that the history already had
        self.added = 0

    def changed(self, paths):
        """Those of the files that have changed since they were taken."""
        taken = self.history.noted(self.day)
        return [path for path in map(Path, paths) if layout.state_of(path) != taken.get(path.name)]

    def take(self, connection, paths):
        """Takes these files: adds their new records to the table, and stores their lines that are left out."""
        taken, fresh, asides = self.history.noted(self.day), self.work / "fresh.jsonl", []
        self.read_keys(connection)
        with fresh.open("w", encoding="ascii") as stream:
            for number, path in enumerate(paths):
                aside = self.work / f"{number}.jsonl"
                asides.append((aside, self.history.left_out(self.day, path.name)))
                taken[path.name] = self.read(path, aside, stream)
        if self.added:
            self.write_table(connection, fresh)
        # This order matters: a file is noted as taken only when the table has its rows and its bad lines are stored.
        for aside, target in asides:
            if aside.stat().st_size:
                self.history.settle(aside, target)
            else:
                target.unlink(missing_ok=True)
        ledger = self.work / "taken.json"
        ledger.write_text(json.dumps(taken, sort_keys=True))
        self.history.settle(ledger, self.history.taken(self.day))

    def read_keys(self, connection):
        if not self.table.exists():
            return
        found = connection.execute(
            f"SELECT cluster, job_id, restart_count, node, file FROM {engine.parquet([self.table])}"
        )
        while rows := found.fetchmany(10_000):
            self.owners.update((layout.mark(*key), file) for *key, file in rows)
        self.old = frozenset(self.owners)

    def read(self, path, aside, stream):
        """Writes the rows that the history does not have. Returns the file's state, or None if it cannot be read, so
        that it is tried again. The state is read first: whatever is appended later makes it another state."""
        state, met = layout.state_of(path), set()
        with aside.open("w", encoding="ascii") as left_out:
            skipped = Aside(self.total, left_out)
            for number, line in records.lines(path, skipped):
                skipped.line = line
                record = records.parse(line, path, number, skipped)
                if record and not self.add(record, path.name, number, line, met, stream):
                    skipped.add("duplicate", path, number)
                skipped.line = None  # of a line that is too long only the position is known
        return None if skipped.counts["unreadable_file"] else state

    def add(self, record, file, number, line, met, stream):
        """Adds a record. Returns False if it was met before in this file, or belongs to another file."""
        file = fields.clean(file)
        key = layout.mark(*fields.key(record))
        if key in met or self.owners.setdefault(key, file) != file:
            return False
        met.add(key)
        if key not in self.old:
            self.added += 1
            json.dump(layout.row(record, self.day, file, number, text_of(line, record)), stream)
            stream.write("\n")
        return True

    def write_table(self, connection, fresh):
        """Writes the day's new table: the rows of the old one and the fresh rows. A run with records on both days
        around midnight is one run, and keeps its number."""
        rows = read_fresh(fresh)
        names = ", ".join((*RUN, "run"))
        days = [day for day in moments.neighbours(self.day) if not daysums.is_spoilt(self.history, day)]
        for tables in (map(self.history.parquet, days), [self.table]):  # the day's own table has the last word
            known = [path for path in tables if layout.is_parquet(path) and engine.can_read(connection, [path], names)]
            rows = number_runs(rows, known) if known else rows
        if self.table.exists():
            rows = f"{rows} UNION ALL BY NAME {self.kept(connection)}"
        self.settle(connection, rows)

    def settle(self, connection, rows):
        draft = self.work / "records.parquet"
        form = (
            f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROWS_A_GROUP}, ROW_GROUP_SIZE_BYTES '{BYTES_A_GROUP}'"
        )
        connection.execute(f"COPY ({rows}) TO {engine.literal(draft)} ({form})")
        daysums.settle(self.history, self.day, draft, self.work)

    def is_older(self, connection):
        """Is the day's table from another version: one with fewer columns, or with other values in them?"""
        return self.table.exists() and not layout.are_new(connection, [self.table], layout.NAMES)

    def kept(self, connection):
        """SQL for the rows of the present table, with all columns."""
        if self.is_older(connection):
            return self.made_again(connection)
        return f"SELECT * FROM {engine.parquet([self.table])}"

    def made_again(self, connection):
        """SQL for the rows of an older table, made again from the records in it."""
        again = self.work / "again.jsonl"
        found = connection.execute(f"SELECT file, line, run, record FROM {engine.parquet([self.table])}")
        with again.open("w", encoding="ascii") as stream:
            while rows := found.fetchmany(100):
                for file, line, run, text in rows:
                    made = layout.row(json.loads(text), self.day, file, line, text)
                    json.dump({**made, "run": run}, stream)
                    stream.write("\n")
        return read_fresh(again)

    def renew(self, connection):
        """Makes an older table again."""
        self.settle(connection, self.made_again(connection))


def read_fresh(path):
    """SQL for the rows in a file of JSON lines that layout.row() made."""
    types = ", ".join(f"{name}: '{kind}'" for name, kind in layout.COLUMNS)
    return (
        f"SELECT * FROM read_json({engine.quoted(path)}, format = 'newline_delimited', columns = {{{types}}}, "
        f"maximum_object_size = {LONGEST_ROW})"
    )


def number_runs(rows, tables):
    """SQL for the rows, with the numbers that their runs have in other tables."""
    same = " AND ".join(f"fresh.{name} IS NOT DISTINCT FROM beside.{name}" for name in RUN)
    beside = f"SELECT {', '.join(RUN)}, min(run) AS run FROM {engine.parquet(tables)} GROUP BY ALL"
    return (
        f"SELECT fresh.* REPLACE (coalesce(beside.run, fresh.run) AS run) FROM ({rows}) fresh "
        f"LEFT JOIN ({beside}) beside ON {same}"
    )
