# SPDX-License-Identifier: Apache-2.0
"""Makes the table of hybridmem report from a history with DuckDB: from the sums of days, and from columns for days that
have no sums or are only partly wanted."""

from . import daysums, engine, moments, viewquery, views
from .folds import is_of_runs, placed

USER, ACCOUNT, MODE = (key.term.sql for key in (views.BY_USER, views.BY_ACCOUNT, views.BY_MODE))
PLACE = f"hash({USER}, mode)"  # a row of the table, as one number


def keys_of(options):
    """The condition on the users, accounts and modes of wanted records: SQL, and the values in it."""
    found, values = ["true"], []
    for column, chosen in ((USER, options.user), (ACCOUNT, options.account), (MODE, options.mode)):
        if chosen:
            found.append(f"{column} IN (SELECT unnest(?::VARCHAR[]))")
            values.append(sorted(chosen))
    return " AND ".join(found), values


def period_of(options, first="end_time", last="end_time"):
    """The condition on the time of wanted records, by one column; on rows for several records, by the columns of their
    first and last time."""
    found, values = ["true"], []
    for time, comparison, bound in ((first, ">=", options.since), (last, "<", options.until)):
        if bound:
            found.append(f"{time} {comparison} ?::TIMESTAMPTZ")
            values.append(bound.isoformat())
    return " AND ".join(found), values


def conditions(options):
    """The condition on wanted records: SQL, and the values in it."""
    (keys, chosen), (period, bounds) = keys_of(options), period_of(options)
    return f"{keys} AND {period}", [*chosen, *bounds]


class Table(viewquery.Asking):
    """The report's rows. They come from the sums that ingest stored; for days that have no sums, or that are only
    partly wanted, they come from the records' columns."""

    def __init__(self, connection, history, days, made, options):
        """`made`: the days that have sums."""
        self.connection, self.history, self.days, self.options = connection, history, days, options
        self.stale = [day for day in days if day not in made]  # days without sums
        self.summed = self.wholly_wanted(made)  # days that are taken from their sums
        self.counted = [day for day in days if day not in self.summed]  # days that are taken from the records' columns

    def wholly_wanted(self, days):
        """Returns the days that are wholly in the period."""
        if not days or not (self.options.since or self.options.until):
            return days
        period, values = period_of(self.options, "min(first_end)", "max(last_end)")
        found = self.run(
            f"SELECT parse_filename(filename, true) FROM {self.tables(self.history.sums, days)} GROUP BY filename "
            f"HAVING sum(endless) = 0 AND {period}",
            *values,
        )
        return sorted(day for (day,) in found)

    @staticmethod
    def tables(name, days):
        return engine.parquet(list(map(name, days)))

    def sums(self):
        """Returns SQL for the sums of the wanted records, and its values."""
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
        """Returns SQL for the records of runs that the sums may count more than once."""
        parts = []
        if listed := [day for day in self.days if day not in self.stale]:
            parts.append(f"SELECT * FROM {self.tables(self.history.runs, listed)}")
        if self.stale:
            near = {one for day in self.stale for one in moments.neighbours(day)}
            tables, beside = ([self.history.parquet(day) for day in days] for days in (self.stale, near & set(listed)))
            parts.append(daysums.select_runs(tables, beside))
        return " UNION ALL BY NAME ".join(parts)

    def fill(self, sums):
        """Fills the rows of the report."""
        rows = {}
        statement, values = self.sums()
        for place, user, mode, *cells in self.run(
            f"SELECT {PLACE}, {USER} AS u, mode, {daysums.folded()} FROM ({statement}) GROUP BY ALL", *values
        ):
            rows[place] = sums.rows[user, mode] = cells
        sums.total, sums.has_records = sums.view.total(rows.values()), bool(rows)
        self.count_once(rows, sums.total)

    def count_once(self, rows, total):
        """Corrects the counts of runs that are in several sums: a run, or its failure, counts once in a row and once in
        the total. Millions of runs are taken in parts."""
        jobs, failed = (at for at, column in placed(views.TOTALS.columns) if is_of_runs(column))
        where, values = conditions(self.options)
        self.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE met AS SELECT run, {PLACE} AS place, hash({daysums.KEYS}) AS keys, "
            "CASE WHEN day IN (SELECT unnest(?::VARCHAR[])) THEN hash(day) END AS summed, exit_code <> 0 AS failed "
            f"FROM ({self.runs()}) WHERE {where}",
            [self.summed, *values],
        )
        [[records]] = self.run("SELECT count(*) FROM met")
        parts = 1 + records // viewquery.RUNS_AT_ONCE
        for part in range(parts):
            of_part = f"SELECT run, place, bool_or(failed) AS failed FROM met WHERE {viewquery.in_part(part, parts)} "
            # `times`: how many of the sums in this row count the run; `failures`: how many count its failure
            self.run(
                "CREATE OR REPLACE TEMP TABLE counted AS SELECT run, place, count(*) AS times, "
                f"count(*) FILTER (failed) AS failures FROM ({of_part} GROUP BY run, place, keys, summed) GROUP BY ALL"
            )
            more = "sum(times - 1), sum(greatest(failures - 1, 0))"
            found = self.run(f"SELECT place, {more} FROM counted GROUP BY place")
            found += self.run(
                "SELECT NULL, coalesce(sum(times) - count(DISTINCT run), 0), coalesce(sum(failures), 0) - "
                "count(DISTINCT run) FILTER (failures > 0) FROM counted"
            )
            for place, more_jobs, more_failed in found:
                cells = total if place is None else rows[place]
                cells[jobs] -= more_jobs
                cells[failed] -= more_failed
