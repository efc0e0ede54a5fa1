# SPDX-License-Identifier: Apache-2.0
"""Makes views from a history's columns with DuckDB. The cells are those that groups.Groups has after all records, but
no record is read."""

from . import engine, groups
from .folds import Peak, is_of_runs, met, placed

RUNS_AT_ONCE = 2_000_000  # runs that are counted at one time: each has rows in memory


def in_part(part, parts):
    """SQL that tests whether a run is in this part of `parts`. Of the run's number, which may be negative, it uses 30
    bits."""
    return f"(run & {(1 << 30) - 1}) % {parts} = {part}"


def source(view, paths, where):
    """SQL for the rows of the tables that meet a condition; one for each item if the view shows the items of a list."""
    found = view.items
    items = f", unnest({found}) AS item, unnest(range(len({found}))) AS number" if found else ""
    return f"(SELECT *, filename{items} FROM {engine.parquet(paths)} WHERE {where})"


class Query(engine.Asking):
    """The rows of a view. Records with the same keys share a row, which has the cells of all columns."""

    def __init__(self, connection, source, values, keys, columns, place=None):
        """`place`: SQL for what tells rows apart, if it is not the keys."""
        self.connection, self.source, self.values, self.columns = connection, source, values, columns
        self.keys = [key.term.sql for key in keys]
        self.place = place or f"hash({', '.join(self.keys)})"  # grouping by one number is faster than by words

    def cells(self):
        """Yields (SQL for a cell, function that combines this cell of all rows), in the order of a row's cells."""
        for column in self.columns:
            yield from zip(column.fold.cells(), column.fold.alls)

    def add_up(self):
        """Makes the table of sums; returns how many rows it has."""
        cells = ", ".join(f"{sql} AS cell_{number}" for number, (sql, _) in enumerate(self.cells()))
        keys = ", ".join(f"{sql} AS key_{number}" for number, sql in enumerate(self.keys))
        self.run(
            f"CREATE OR REPLACE TEMP TABLE sums AS SELECT {self.place} AS place, {keys}, {cells} FROM {self.source} "
            "GROUP BY ALL",
            *self.values,
        )
        return self.run("SELECT count(*) FROM sums")[0][0]

    def rows(self):
        """Returns (key, cells) of each row by its place. Numbers of runs and nodes of peaks are filled in later."""
        width = len(self.keys)
        found = self.run("SELECT * FROM sums")
        return {place: (tuple(values[:width]), list(values[width:])) for place, *values in found}

    def in_order(self, rows):
        """Sorts the rows of a view of items in the order in which the first item of each row is read."""
        firsts = self.run(
            f"SELECT place FROM (SELECT {self.place} AS place, {met('number', 'number')} AS met FROM {self.source}) "
            "GROUP BY place ORDER BY min(met)",
            *self.values,
        )
        return {place: rows[place] for (place,) in firsts}

    def total(self):
        alls = ", ".join(f"{fold}(cell_{number})" for number, (_, fold) in enumerate(self.cells()))
        return list(self.run(f"SELECT {alls} FROM sums")[0])

    def name_nodes(self, rows, total=None):
        """Fills in the node that had each peak: the first one, in the order in which records are read."""
        peaks = {at: column.fold.figure.sql for at, column in placed(self.columns) if isinstance(column.fold, Peak)}
        if not peaks:
            return
        figures = ", ".join(f"{figure} AS figure_{at}" for at, figure in peaks.items())
        firsts = ", ".join(f"min(met) FILTER (figure_{at} = cell_{at})" for at in peaks)
        found = self.run(
            f"SELECT place, {firsts} FROM (SELECT {self.place} AS place, {figures}, {met('node', 'node')} AS met "
            f"FROM {self.source}) JOIN sums USING (place) "
            f"WHERE {' OR '.join(f'figure_{at} = cell_{at}' for at in peaks)} GROUP BY place",
            *self.values,
        )
        for number, at in enumerate(peaks, 1):
            firsts = {row[0]: row[number] for row in found if row[number]}
            for place, first in firsts.items():
                rows[place][1][at + 2] = first["node"]
            if total and firsts:
                most = [first for place, first in firsts.items() if rows[place][1][at] == total[at]]
                total[at + 2] = min(most, key=lambda first: (first["day"], first["file"], first["line"]))["node"]

    def count_runs(self, rows, total):
        """Fills in how many runs there are, and how many failed. Each counts once in a row and once in the total,
        although each of its nodes wrote a record."""
        places = {at: column.fold.failed for at, column in placed(self.columns) if is_of_runs(column)}
        if not places:
            return
        of_run = f"FROM (SELECT run, exit_code, {self.place} AS place FROM {self.source})"
        found = self.run(
            "SELECT least, count(*), count(*) FILTER (failed), count(*) FILTER (least <> most) FROM (SELECT run, "
            f"min(place) AS least, max(place) AS most, bool_or(exit_code <> 0) AS failed {of_run} GROUP BY run) "
            "GROUP BY least",
            *self.values,
        )
        counts = {(): [sum(counts[number] for _, *counts in found) for number in range(2)]}
        if any(several for *_, several in found):
            found = self.count_runs_of_several(of_run, 1 + counts[()][0] // RUNS_AT_ONCE)
        counts.update({place: counts for place, *counts in found})
        of_rows = [(place, cells) for place, (_, cells) in rows.items()]
        for at, failed in places.items():
            for place, cells in (*of_rows, *([((), total)] if total else ())):
                cells[at] = counts[place][failed]

    def count_runs_of_several(self, of_run, parts):
        """Counts runs and failures if runs have records in several rows. Not all pairs of a run and a row fit into
        memory: the runs are taken in so many parts."""
        counts = {}
        for part in range(parts):
            of_part = f"{of_run} WHERE {in_part(part, parts)}"
            found = self.run(
                "SELECT place, count(*), count(*) FILTER (failed) FROM "
                f"(SELECT place, bool_or(exit_code <> 0) AS failed {of_part} GROUP BY place, run) GROUP BY place",
                *self.values,
            )
            for place, runs, failures in found:
                before = counts.get(place, (0, 0))
                counts[place] = before[0] + runs, before[1] + failures
        return [(place, *both) for place, both in counts.items()]


def fill(connection, paths, where, values, sums):
    """Fills the rows of a view. Returns False if its records have to be read."""
    view = sums.view
    query = Query(connection, source(view, paths, where), values, view.keys, view.columns)
    if query.add_up() > groups.Groups.LIMIT:  # which keys get a row of their own depends on the order of the records
        return False
    rows = query.in_order(query.rows()) if view.items else query.rows()
    sums.total = (query.total() if rows else view.new_row()) if view.has_total else None
    query.name_nodes(rows, sums.total)
    query.count_runs(rows, sums.total)
    sums.rows = dict(rows.values())
    return True
