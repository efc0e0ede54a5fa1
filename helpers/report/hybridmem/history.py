# SPDX-License-Identifier: Apache-2.0
"""The table of hybridmem report out of a history, by DuckDB: the same sums as over the records themselves."""

import contextlib
import errno
import json
import os

from . import daysums, engine, layout, moments, records, tally, viewquery

TRIES = 10
BYTES_AT_ONCE = 64 << 20  # of records that the engine puts in order
USER, ACCOUNT, MODE = (viewquery.KEYS[name] for name in ("user", "account", "mode"))


def keys_of(options):
    """Of the records that are wanted, as for their users, accounts and modes: SQL, and the values in it."""
    found, values = ["true"], []
    for column, chosen in ((USER, options.user), (ACCOUNT, options.account), (MODE, options.mode)):
        if chosen:
            found.append(f"{column} IN (SELECT unnest(?::VARCHAR[]))")
            values.append(sorted(chosen))
    return " AND ".join(found), values


def period_of(options, first="end_time", last="end_time"):
    """The same as for the time, of which only the first and the last may be known."""
    found, values = ["true"], []
    for time, comparison, bound in ((first, ">=", options.since), (last, "<", options.until)):
        if bound:
            found.append(f"{time} {comparison} ?::TIMESTAMPTZ")
            values.append(bound.isoformat())
    return " AND ".join(found), values


def conditions(options):
    """Of the records that are wanted."""
    (keys, chosen), (period, bounds) = keys_of(options), period_of(options)
    return f"{keys} AND {period}", [*chosen, *bounds]


def slices(files):
    """(first, last) of files that follow each other and have so many bytes together, or are one. `files`: names and
    bytes, in order."""
    found, free = [], 0
    for name, size in files:
        if size > free:
            found.append([name, name])
            free = BYTES_AT_ONCE
        found[-1][1] = name
        free -= size
    return found


class Table:
    """The report's rows, out of the sums that ingest left; of days without them, and of those that are wanted in part,
    out of the records' columns."""

    def __init__(self, connection, history, days, made, options):
        """`made`: the days that have sums."""
        self.connection, self.history, self.days, self.options = connection, history, days, options
        self.stale = [day for day in days if day not in made]
        self.summed = self.wholly_wanted(made)
        self.counted = [day for day in days if day not in self.summed]

    def run(self, statement, values=()):
        return self.connection.execute(statement, values).fetchall()

    def wholly_wanted(self, days):
        """Those of the days of which the period leaves nothing out."""
        if not days or not (self.options.since or self.options.until):
            return days
        period, values = period_of(self.options, "min(first_end)", "max(last_end)")
        found = self.run(
            f"SELECT parse_filename(filename, true) FROM {self.tables(self.history.sums, days)} GROUP BY filename "
            f"HAVING sum(endless) = 0 AND {period}",
            values,
        )
        return sorted(day for (day,) in found)

    @staticmethod
    def tables(name, days):
        return engine.parquet(list(map(name, days)))

    def sums(self):
        """SQL of the sums of the records that are wanted, and its values."""
        parts, values = [], []
        if self.summed:
            where, found = keys_of(self.options)
            parts.append(f"SELECT * FROM {self.tables(self.history.sums, self.summed)} WHERE {where}")
            values += found
        if self.counted:
            where, found = conditions(self.options)
            parts.append(daysums.select(list(map(self.history.parquet, self.counted)), where))
            values += found
        return " UNION ALL BY NAME ".join(parts), values

    def runs(self):
        """SQL of the records of runs that the sums may count more than once."""
        parts = []
        if listed := [day for day in self.days if day not in self.stale]:
            parts.append(f"SELECT * FROM {self.tables(self.history.runs, listed)}")
        if self.stale:
            tables, beside = (list(map(self.history.parquet, days)) for days in (self.stale, listed))
            parts.append(daysums.select_runs(tables, beside))
        return " UNION ALL BY NAME ".join(parts)

    def add_up(self):
        """The rows as a Tally."""
        sums = tally.Tally()
        statement, values = self.sums()
        for user, mode, *figures in self.run(
            f"SELECT {USER} AS u, mode, {daysums.folded()} FROM ({statement}) GROUP BY u, mode", values
        ):
            sums.rows[user, mode] = row_of(figures)
        if self.options.account:
            found = self.run(f"SELECT DISTINCT {ACCOUNT} FROM ({statement})", values)
            sums.accounts.update(account for (account,) in found)
        self.count_once(sums)
        return sums

    def count_once(self, sums):
        """A run, or its failure, that several sums have counts once in a row, and once in all of them."""
        where, values = conditions(self.options)
        self.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE counted AS SELECT run, {daysums.KEYS}, {USER} AS u, "
            "CASE WHEN day IN (SELECT unnest(?::VARCHAR[])) THEN day END AS summed, bool_or(exit_code <> 0) AS failed "
            f"FROM ({self.runs()}) WHERE {where} GROUP BY ALL",
            [self.summed, *values],
        )
        more = "sum(times - 1), sum(greatest(failures - 1, 0))"
        times = "count(*) AS times, count(*) FILTER (failed) AS failures"
        of_row = f"SELECT run, u, mode, {times} FROM counted GROUP BY run, u, mode"
        for user, mode, *runs in self.run(f"SELECT u, mode, {more} FROM ({of_row}) GROUP BY u, mode"):
            row = sums.rows[user, mode]
            row.jobs, row.failed = row.jobs - runs[0], row.failed - runs[1]
        in_rows = "SELECT run, bool_or(failed) AS failed FROM counted GROUP BY run, u, mode"
        of_all = f"SELECT {times} FROM ({in_rows}) GROUP BY run"
        [runs] = self.run(
            f"SELECT coalesce(sum(times - 1), 0), coalesce(sum(greatest(failures - 1, 0)), 0) FROM ({of_all})"
        )
        sums.runs = [
            sum(getattr(row, name) for row in sums.rows.values()) - n for name, n in zip(("jobs", "failed"), runs)
        ]


def row_of(figures):
    row = tally.Row()
    row.records, row.unmeasured, row.warnings, row.milliseconds, *rest, row.jobs, row.failed = figures
    row.peaks, row.mean, row.share, row.missing = rest[:2], rest[2:4], rest[4:6], rest[6:]
    return row


def is_wanted_twice(left, is_wanted):
    """Was a record, which was there before, one that is wanted?"""
    try:
        return is_wanted(json.loads(left["text"]))
    except (ValueError, TypeError):  # the line was UTF-16, which JSON may be
        return True


class Source:
    """The records of a history that the options want; is_wanted() says the same of one record."""

    def __init__(self, options, engine_folder, is_wanted):
        self.duckdb = engine.load(engine_folder, options.engine)
        self.options, self.is_wanted = options, is_wanted
        self.history = layout.History(options.history)
        period = moments.Period(options.since, options.until)
        self.days = [day for day in self.history.days() if period.has_day(day)]
        self.with_table = [day for day in self.days if self.history.has_table(day)]
        self.tables = list(map(self.history.parquet, self.with_table))
        for day in self.days:
            if not self.history.is_whole(day):
                raise records.Failure(self.history.damaged(day))

    def tell_left_out(self, skipped):
        """What ingest kept aside; a record that was there twice counts where it is wanted."""
        for day in self.days:
            for left in self.history.left_out_lines(day):
                if left["cause"] != "duplicate" or is_wanted_twice(left, self.is_wanted):
                    skipped.add(left["cause"], left["path"], left["line"])

    def add_up(self):
        """Their Tally, of tables that were the same before and after: an ingest may be at work."""
        if not self.tables:
            return tally.Tally()
        with self.session() as connection:
            for _ in range(TRIES):
                before = self.history.states(self.with_table)
                found = self.look(connection)
                if found and self.history.states(self.with_table) == before:
                    return found
        raise records.Failure(f"an ingest is at work in {self.history.folder}: try again")

    def look(self, connection):
        """What add_up() gives; None where what it found changed meanwhile. Sums that cannot be read are left aside."""
        made = daysums.made(connection, self.history, self.with_table)
        try:
            return Table(connection, self.history, self.with_table, made, self.options).add_up()
        except KeyError:
            return None
        except engine.error():
            return Table(connection, self.history, self.with_table, [], self.options).add_up()

    @contextlib.contextmanager
    def session(self):
        """One of the engine, in which an error is told of the table that has it."""
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
        if not daysums.can_be_read(connection, [path]):
            raise records.Failure(self.history.damaged(day))

    def feed(self, sums):
        """Fill a report's views: what is made of columns by the engine; for the others it finds the records that are
        wanted, which are read here, one by one, in the order in which they were written. Each is there once."""
        if not self.tables:
            return
        where, values = conditions(self.options)
        with self.session() as connection:
            sums.fed = [one for one in sums.sums if not viewquery.fill(connection, self.tables, where, values, one)]
            if not sums.fed:
                self.tell_names(connection, sums)
                return
            connection.execute("SET threads = 1")  # each takes whole groups of rows; we are slower than one
            for day, table in zip(self.with_table, self.tables):
                sums.next_day()
                for text in self.texts(connection, engine.parquet([table]), where, values):
                    sums.add(self.parsed(text, day))

    def parsed(self, text, day):
        try:
            return json.loads(text)
        except ValueError as error:
            raise records.Failure(self.history.damaged(day)) from error

    def texts(self, connection, table, where, values):
        """The records of a day's table that are wanted, in their order. The engine sorts some files at a time: those of
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

    def tell_names(self, connection, sums):
        """The users and accounts that have a record; where none were asked for, one that has."""
        where, values = conditions(self.options)
        most = "" if self.options.user or self.options.account else "LIMIT 1"
        found = connection.execute(
            f"SELECT DISTINCT {USER}, {ACCOUNT} FROM {engine.parquet(self.tables)} WHERE {where} {most}", values
        ).fetchall()
        sums.users.update(user for user, _ in found)
        sums.accounts.update(account for _, account in found)
