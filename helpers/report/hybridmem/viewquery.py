# SPDX-License-Identifier: Apache-2.0
"""Makes views with an engine: DuckDB over the columns of a history's tables (history.Tables), sqlite over the rows of
records (temporary.Rows). Both have `connection`, source(), and `values`, the parameters of the SQL that source() gives.
`met` tells where a record, or an item of it, was read: the least is the first one."""

from .folds import Peak, is_of_runs, placed

RUNS_AT_ONCE = 2_000_000  # runs that are counted at one time: each has rows in memory
MOST_ROWS = 50_000  # of a view; all keys that come later share one more row, except in a view with is_whole
OTHERS = "(others)"


def in_part(part, parts):
    """SQL that tests whether a run is in this part of `parts`. Of the run's number, which may be negative, it uses 30
    bits."""
    return f"(run & {(1 << 30) - 1}) % {parts} = {part}"


class Asking:
    """Base of the classes that run many statements on one connection, their attribute `connection`: of DuckDB or
    of sqlite."""

    def run(self, statement, *values):
        return self.connection.execute(statement, values).fetchall()

    def store(self, name, statement, *values):
        """Makes a temporary table of what a statement finds."""
        self.connection.execute(f"DROP TABLE IF EXISTS {name}")
        self.connection.execute(f"CREATE TEMP TABLE {name} AS {statement}", values)


class Query(Asking):
    """The rows of a view. Records with the same keys share a row, which has the cells of all columns."""

    def __init__(self, tables, source, keys, columns, place=None, is_in_order=False):
        """`place`: SQL for what tells rows apart, if it is not the keys. `is_in_order`: rows are wanted in the order in
        which their first items are read."""
        self.connection, self.values, self.source, self.columns = tables.connection, tables.values, source, columns
        self.keys, self.is_in_order = [key.term.sql for key in keys], is_in_order
        self.place = place or f"hash({', '.join(self.keys)})"  # grouping by one number is faster than by words

    def cells(self):
        """Yields (SQL for a cell, function that combines this cell of all rows), in the order of a row's cells."""
        for column in self.columns:
            yield from zip(column.fold.cells(), column.fold.alls)

    def add_up(self):
        """Makes the table of sums; returns how many rows it has."""
        cells = ", ".join(f"{sql} AS cell_{number}" for number, (sql, _) in enumerate(self.cells()))
        keys = ", ".join(f"{sql} AS key_{number}" for number, sql in enumerate(self.keys))
        groups = ", ".join(f"key_{number}" for number in range(len(self.keys)))
        first = "min(met)" if self.is_in_order else "NULL"
        self.store(
            "sums",
            f"SELECT {self.place} AS place, {first} AS first, {keys}, {cells} FROM {self.source} "
            f"GROUP BY place, {groups}",
            *self.values,
        )
        return self.run("SELECT count(*) FROM sums")[0][0]

    def limit(self):
        """Keeps the rows whose keys are read first; all others share one."""
        self.store(
            "own",
            f"SELECT place FROM (SELECT {self.place} AS place, met FROM {self.source}) AS found "
            f"GROUP BY place ORDER BY min(met) LIMIT {MOST_ROWS}",
            *self.values,
        )
        is_own = f"{self.place} IN (SELECT place FROM own)"
        names = [OTHERS, *[""] * (len(self.keys) - 1)]
        self.keys = [f"CASE WHEN {is_own} THEN {key} ELSE '{name}' END" for key, name in zip(self.keys, names)]
        self.place = f"CASE WHEN {is_own} THEN {self.place} ELSE 0 END"

    def rows(self):
        """Returns (key, cells) of each row by its place. Numbers of runs and nodes of peaks are filled in later."""
        width = len(self.keys)
        sums = [number for number, (_, fold) in enumerate(self.cells()) if fold == "sum"]
        rows = {}
        found = self.run("SELECT * FROM sums")
        if self.is_in_order:
            found.sort(key=lambda row: order(row[1]))
        for place, _, *values in found:
            cells = values[width:]
            for number in sums:
                if isinstance(cells[number], str):  # it does not fit into 64 bits
                    cells[number] = int(cells[number])
            rows[place] = tuple(values[:width]), cells
        return rows

    def name_nodes(self, rows, total=None):
        """Fills in the node that had each peak: the first one, in the order in which records are read."""
        peaks = {at: column.fold.figure.sql for at, column in placed(self.columns) if isinstance(column.fold, Peak)}
        if not peaks:
            return
        figures = ", ".join(f"{figure} AS figure_{at}" for at, figure in peaks.items())
        met = "min(CASE WHEN figure_{0} = cell_{0} THEN met END)" if total else "NULL"
        firsts = ", ".join(
            f"first_word(CASE WHEN figure_{at} = cell_{at} THEN node END, met), {met.format(at)}" for at in peaks
        )
        found = self.run(
            f"SELECT place, {firsts} FROM (SELECT {self.place} AS place, {figures}, node, met FROM {self.source}) "
            f"AS found JOIN sums USING (place) WHERE {' OR '.join(f'figure_{at} = cell_{at}' for at in peaks)} "
            "GROUP BY place",
            *self.values,
        )
        for number, at in enumerate(peaks):
            firsts = [(place, *nodes[2 * number : 2 * number + 2]) for place, *nodes in found]
            for place, node, _ in firsts:
                rows[place][1][at + 2] = node
            most = [(order(met), node) for place, node, met in firsts if total and rows[place][1][at] == total[at]]
            if most and total[at] is not None:
                total[at + 2] = min(most)[1]

    def count_runs(self, rows, total):
        """Fills in how many runs there are, and how many failed. Each counts once in a row and once in the total,
        although each of its nodes wrote a record."""
        places = {at: column.fold.failed for at, column in placed(self.columns) if is_of_runs(column)}
        if not places:
            return
        failed = "CASE WHEN exit_code <> 0 THEN 1 ELSE 0 END AS failed"
        of_run = f"FROM (SELECT run, {failed}, {self.place} AS place FROM {self.source}) AS found"
        counts = self.counts(of_run, total)
        of_rows = [(place, cells) for place, (_, cells) in rows.items()]
        for at, is_failed in places.items():
            for place, cells in (*of_rows, *([((), total)] if total else ())):
                cells[at] = counts[place][is_failed]

    def counts(self, of_run, total):
        """Returns {place: (runs, failed ones)}; if there is a total, the place () has those of all rows. In a view
        without a total, such as tiers, most runs are in several rows; in other views most are in one."""
        if total is None:
            [[runs]] = self.run(f"SELECT count(*) FROM (SELECT DISTINCT run FROM {self.source}) AS runs", *self.values)
            return self.counts_of_several(of_run, 1 + runs // RUNS_AT_ONCE)
        found = self.run(
            "SELECT least, count(*), sum(failed), count(CASE WHEN least <> most THEN 1 END) FROM (SELECT run, "
            f"min(place) AS least, max(place) AS most, max(failed) AS failed {of_run} GROUP BY run) AS runs "
            "GROUP BY least",
            *self.values,
        )
        of_all = [sum(counts[number] for _, *counts in found) for number in range(2)]
        if any(several for *_, several in found):
            return {(): of_all, **self.counts_of_several(of_run, 1 + of_all[0] // RUNS_AT_ONCE)}
        return {(): of_all, **{place: counts for place, *counts in found}}

    def counts_of_several(self, of_run, parts):
        """Counts runs and failures if runs have records in several rows. Not all pairs of a run and a row fit into
        memory: the runs are taken in so many parts."""
        counts = {}
        for part in range(parts):
            of_part = f"{of_run} WHERE {in_part(part, parts)}"
            found = self.run(
                "SELECT place, count(*), sum(failed) FROM "
                f"(SELECT place, max(failed) AS failed {of_part} GROUP BY run, place) AS pairs GROUP BY place",
                *self.values,
            )
            for place, runs, failures in found:
                before = counts.get(place, (0, 0))
                counts[place] = before[0] + runs, before[1] + failures
        return counts


def order(met):
    """Where a record was read, as something that can be compared."""
    return list(met.values()) if isinstance(met, dict) else met


def fill(tables, sums):
    """Fills the rows of a view."""
    view = sums.view
    query = Query(tables, tables.source(view.items), view.keys, view.columns, is_in_order=bool(view.items))
    if query.add_up() > MOST_ROWS and not view.is_whole:
        query.limit()
        query.add_up()
    rows = query.rows()
    sums.total = view.total([cells for _, cells in rows.values()]) if view.has_total else None
    query.name_nodes(rows, sums.total)
    query.count_runs(rows, sums.total)
    sums.rows = dict(rows.values())
