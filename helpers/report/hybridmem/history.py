# SPDX-License-Identifier: Apache-2.0
"""The table of hybridmem report out of a history, by DuckDB: the same sums as over the records themselves."""

import json

from . import engine, layout, moments, records, tally, viewquery

BYTES_AT_ONCE = 64 << 20  # of records that the engine puts in order
USER = viewquery.KEYS["user"]
SUMS = (
    "count(*)",
    "count(*) FILTER (fast_peak_bytes IS NULL AND slow_peak_bytes IS NULL)",
    "sum(warnings)",
    "sum(elapsed_ms)",
    "max(fast_peak_bytes)",
    "max(slow_peak_bytes)",
    "coalesce(sum(fast_mean_bytes::HUGEINT * elapsed_ms), 0)",
    "coalesce(sum(elapsed_ms) FILTER (fast_mean_bytes IS NOT NULL), 0)",
    "coalesce(sum(fast_mean_bytes::HUGEINT * elapsed_ms) FILTER (all_mean_bytes IS NOT NULL), 0)",
    "coalesce(sum(all_mean_bytes::HUGEINT * elapsed_ms), 0)",
    # Records that lack a figure, in the order of tally.MEASURED.
    "count(*) FILTER (elapsed_ms IS NULL)",
    "count(*) FILTER (fast_peak_bytes IS NULL)",
    "count(*) FILTER (slow_peak_bytes IS NULL)",
    "count(*) FILTER (fast_mean_bytes IS NULL OR elapsed_ms IS NULL)",
    "count(*) FILTER (all_mean_bytes IS NULL OR elapsed_ms IS NULL)",
)
# A row of the table as one number, which is grouped by faster than its words.
PLACE = f"hash({USER}, mode)"


def conditions(options):
    """Of the records that are wanted: SQL, and the values in it."""
    found, values = ["true"], []
    for column, chosen in (('"user"', options.user), ("account", options.account), ("mode", options.mode)):
        if chosen:
            found.append(f"{column} IN (SELECT unnest(?::VARCHAR[]))")
            values.append(sorted(chosen))
    for comparison, bound in ((">=", options.since), ("<", options.until)):
        if bound:
            found.append(f"end_time {comparison} ?::TIMESTAMPTZ")
            values.append(bound.isoformat())
    return " AND ".join(found), values


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


def row_of(figures):
    row = tally.Row()
    row.records, row.unmeasured, row.warnings, row.milliseconds, *rest = figures
    row.peaks, row.mean, row.share, row.missing = rest[:2], rest[2:4], rest[4:6], rest[6:]
    return row


def runs_by_first(connection, table, where, values):
    """{(user, mode): runs} where runs have records of several rows: each counts where its first record does."""
    found = connection.execute(
        f"SELECT first.u, first.mode, count(*) FROM (SELECT arg_min({{u: {USER}, mode: mode}}, "
        f"{{day: filename, file: file, line: line}}) AS first FROM {table} WHERE {where} GROUP BY run) GROUP BY ALL",
        values,
    )
    return {(user, mode): runs for user, mode, runs in found.fetchall()}


def runs_by_place(connection, table, where, values):
    """{place: (runs, those that failed)}: each once though every node wrote a record. None where runs have records of
    several rows."""
    found = connection.execute(
        "SELECT least, count(*), count(*) FILTER (failed), count(*) FILTER (least <> most) FROM (SELECT run, "
        f"min(place) AS least, max(place) AS most, bool_or(exit_code <> 0) AS failed FROM (SELECT run, exit_code, "
        f"{PLACE} AS place FROM {table} WHERE {where}) GROUP BY run) GROUP BY least",
        values,
    ).fetchall()
    return None if any(several for *_, several in found) else {place: counts for place, *counts, _ in found}


def query(connection, paths, options):
    """The table's rows as a Tally."""
    sums, table = tally.Tally(), engine.parquet(paths)
    where, values = conditions(options)
    found = connection.execute(
        f"SELECT hash(u, mode), * FROM (SELECT {USER} AS u, mode, {', '.join(SUMS)} FROM {table} WHERE {where} "
        "GROUP BY ALL)",
        values,
    ).fetchall()
    runs = runs_by_place(connection, table, where, values)
    for place, user, mode, *figures in found:
        row = sums.rows[user, mode] = row_of(figures)
        if runs is not None:
            row.jobs, row.failed = runs[place]
    if options.account:
        found = connection.execute(f"SELECT DISTINCT account FROM {table} WHERE {where}", values)
        sums.accounts.update(account for (account,) in found.fetchall())
    if runs is None:
        first = runs_by_first(connection, table, where, values)
        failed = runs_by_first(connection, table, f"{where} AND exit_code <> 0", values)
        for key, row in sums.rows.items():
            row.jobs, row.failed = first.get(key, 0), failed.get(key, 0)
    return sums


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
        self.tables = [path for path in map(self.history.parquet, self.days) if path.exists()]
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
        """Their Tally."""
        if not self.tables:
            return tally.Tally()
        with engine.session(self.duckdb) as connection:
            return query(connection, self.tables, self.options)

    def feed(self, sums):
        """Fill a report's views: what is made of columns by the engine; for the others it finds the records that are
        wanted, which are read here, one by one, in the order in which they were written. Each is there once."""
        if not self.tables:
            return
        where, values = conditions(self.options)
        with engine.session(self.duckdb) as connection:
            sums.fed = [one for one in sums.sums if not viewquery.fill(connection, self.tables, where, values, one)]
            if not sums.fed:
                self.tell_names(connection, sums)
                return
            for table in self.tables:
                sums.next_day()
                for text in self.texts(connection, engine.parquet([table]), where, values):
                    sums.add(json.loads(text))

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
            f"SELECT DISTINCT {USER}, account FROM {engine.parquet(self.tables)} WHERE {where} {most}", values
        ).fetchall()
        sums.users.update(user for user, _ in found)
        sums.accounts.update(account for _, account in found)
