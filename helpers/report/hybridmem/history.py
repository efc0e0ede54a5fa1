# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of hybridmem report from a history with DuckDB. They are the same as those made from the records."""

import contextlib
import errno
import json
import os
import time

from . import daysums, engine, layout, moments, records, runquery, tallyquery, temporary, viewquery
from .columns import ITEMS

PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 0)  # seconds between two looks, while an ingest is at work
BYTES_AT_ONCE = 64 << 20  # of records that the engine sorts at one time


class Tables:
    """The rows of a history's tables that meet a condition, for the statements of viewquery.py and runquery.py."""

    def __init__(self, connection, paths, where, values):
        self.connection, self.paths, self.where, self.values = connection, paths, where, values

    def source(self, items=None):
        """SQL for a row of each record, or of each item in the records' list `items`."""
        met, of_table = "day: filename, file: file, line: line", f"FROM {engine.parquet(self.paths)} WHERE {self.where}"
        if items is None:
            return f"(SELECT *, {{{met}}} AS met {of_table})"
        made = ", ".join(f"item.{field} AS item_{field}" for field in ITEMS[items]._fields)
        found = f"SELECT *, filename, unnest({items}) AS item, unnest(range(len({items}))) AS number {of_table}"
        return f"(SELECT *, {made}, {{{met}, number: number}} AS met FROM ({found}))"


def slices(files):
    """Groups files that follow each other: a group has at most BYTES_AT_ONCE, or is one larger file. Returns (first,
    last) of each group. `files`: (name, bytes), in order."""
    found, free = [], 0
    for name, size in files:
        if size > free:
            found.append([name, name])
            free = BYTES_AT_ONCE
        found[-1][1] = name
        free -= size
    return found


def is_wanted_duplicate(left, wanted):
    """Is this duplicate of a record wanted?"""
    try:
        return wanted.has(json.loads(left["text"]))
    except (ValueError, TypeError):  # the line was UTF-16, which JSON may be
        return True


class Source:
    """The records of a history that the options ask for; `wanted` tests a single record for the same options."""

    def __init__(self, options, engine_folder, wanted):
        self.duckdb = engine.load(engine_folder, options.engine)
        self.options, self.wanted = options, wanted
        self.history = layout.History(options.history)
        self.days = list(filter(wanted.period.has_day, self.history.days()))
        self.with_table = [day for day in self.days if self.history.has_table(day)]
        self.tables = list(map(self.history.parquet, self.with_table))
        self.damaged = []  # damaged files of sums, which were not used
        for day in self.days:
            if not self.history.is_whole(day):
                raise records.Failure(self.history.damaged(day))

    def tell_left_out(self, skipped):
        """Counts the lines that ingest left out; a duplicate record counts if it is wanted."""
        for day in self.days:
            for left in self.history.left_out_lines(day):
                if left["cause"] != "duplicate" or is_wanted_duplicate(left, self.wanted):
                    skipped.add(left["cause"], left["path"], left["line"])

    def add_up(self, report):
        """Fills the report without --view, which is a table by user and mode."""
        if not self.tables:
            return
        with self.session() as connection:
            self.of_same_tables(lambda: self.look(connection, report))

    def of_same_tables(self, look):
        """Returns what look() finds in tables that are the same before and after it. While an ingest replaces tables,
        two statements may not fit together: an error counts only if the tables have stayed the same."""
        for pause in PAUSES:
            before = self.history.states(self.with_table)
            try:
                found = look()
            except (engine.error(), LookupError, ValueError):
                if self.history.states(self.with_table) == before:
                    raise
            else:
                if self.history.states(self.with_table) == before:
                    return found
            time.sleep(pause)
        raise records.Failure(f"an ingest is at work in {self.history.folder}: try again")

    def notes(self):
        for path in self.damaged:
            yield f"{path} is damaged, and not used: run hybridmem ingest, which makes it anew from the day's table"

    def look(self, connection, report):
        """One look of add_up(). If the sums of days cannot be read, the report is made of the tables alone."""
        made, self.damaged = daysums.made(self.history, self.with_table)
        try:
            self.fill_totals(connection, made, report)
        except engine.error():
            if not made:
                raise
            self.fill_totals(connection, [], report)

    def fill_totals(self, connection, made, report):
        report.begin()
        [sums] = report.sums
        tallyquery.Table(connection, self.history, self.with_table, made, self.options).fill(sums)

    @contextlib.contextmanager
    def session(self):
        """A session of the engine. If a table cannot be read, the error names it."""
        with engine.session(self.duckdb) as connection:
            try:
                yield connection
            except engine.error():
                for day in self.with_table:
                    self.check_readable(connection, day)
                raise

    def check_readable(self, connection, day):
        path = self.history.parquet(day)
        if not os.access(path, os.R_OK):
            raise records.Failure(f"cannot read {path}: {os.strerror(errno.EACCES)}")
        if not engine.can_read(connection, [path]):
            raise records.Failure(self.history.damaged(day))

    def feed(self, report):
        """Fills a report's views. DuckDB makes those for which the tables' columns are enough. Tables of an older
        version may lack some: for the other views DuckDB finds the wanted records, which are read here in the order of
        their days, files and lines; a history has each record once."""
        if not self.tables:
            return
        where, values = tallyquery.conditions(self.options)
        with self.session() as connection:
            others = self.of_same_tables(lambda: self.fill_views(connection, where, values, report))
            if not others:
                return
            rows = temporary.Rows([sums.view for sums in others])
            # One thread reads faster than the records can be added here, and each more would take memory.
            connection.execute("SET threads = 1")
            for day, table in zip(self.with_table, self.tables):
                rows.next_day(day)
                for text in self.texts(connection, engine.parquet([table]), where, values):
                    rows.add(self.parsed(text, day))
        rows.fill(others)

    def fill_views(self, connection, where, values, report):
        """Empties all views, and fills those that DuckDB can make. Returns the others, which need the records."""
        report.begin()
        tables = Tables(connection, self.tables, where, values)
        self.look_at_all(tables, report)
        columns, others = layout.columns_of(connection, self.tables), []
        for sums in report.sums:
            if columns.issuperset(sums.view.names()):
                (runquery if sums.view.is_of_jobs else viewquery).fill(tables, sums)
            else:
                others.append(sums)
        return others

    def look_at_all(self, tables, report):
        """Finds out if there are records, and when the last job ended."""
        [(count, last)] = tables.connection.execute(
            f"SELECT count(*), epoch_us(max(end_time)) FROM {tables.source()}", tables.values
        ).fetchall()
        report.last = moments.of_epoch(last)
        for sums in report.sums:
            sums.has_records = count > 0

    def parsed(self, text, day):
        try:
            return json.loads(text)
        except ValueError as error:
            raise records.Failure(self.history.damaged(day)) from error

    def texts(self, connection, table, where, values):
        """Yields the wanted records of a day's table in their order. The engine sorts some files at a time, as those of
        a large day do not fit into its memory."""
        files = f"SELECT file, sum(strlen(record)) FROM {table} WHERE {where} GROUP BY file ORDER BY file"
        for first, last in slices(connection.execute(files, values).fetchall()):
            found = connection.execute(
                f"SELECT record FROM {table} WHERE {where} AND file BETWEEN ? AND ? ORDER BY file, line",
                [*values, first, last],
            )
            while rows := found.fetchmany(100):
                for (text,) in rows:
                    yield text

    def meet_names(self):
        """Tells `wanted` which names there are."""
        if not self.tables:
            return
        where, values = tallyquery.period_of(self.options)
        names = f"{tallyquery.USER}, {tallyquery.ACCOUNT}, {tallyquery.MODE}"
        with self.session() as connection:
            found = connection.execute(
                f"SELECT DISTINCT {names} FROM {engine.parquet(self.tables)} WHERE {where}", values
            )
            self.wanted.met.update(found.fetchall())
