# SPDX-License-Identifier: Apache-2.0
"""Views out of a history's columns, by DuckDB: the cells that groups.Groups has after all records, without reading one.

What figures.py says of a record stands here as SQL over the columns that layout.py made by the same figures: whole
numbers, whose sums are exact in any order."""

import re

from . import engine, groups, layout
from .folds import Count, Peak, Ratio, Sum, Unknown


def named(column):
    return f"coalesce(nullif(\"{column}\", ''), '?')"


KEYS = {"user": named("user"), "account": named("account"), "node": "node", "mode": "mode"}
JOBS = ("jobs", "failed_jobs")  # counted apart: a run counts once, whatever the number of its records
RUNS_AT_ONCE = 2_000_000  # of which each has rows of its own
UNUSED = "unused_bytes::HUGEINT * elapsed_ms"
# What a column's fold takes of a record, by the column's name.
FIGURES = {
    "records": ("1",),
    "warnings": ("warnings",),
    "node_hours": ("elapsed_ms",),
    "fast_peak_bytes": ("fast_peak_bytes",),
    "slow_peak_bytes": ("slow_peak_bytes",),
    "fast_mean_bytes": (layout.FAST_BYTE_MS, "elapsed_ms"),
    "fast_share": (layout.FAST_BYTE_MS, "all_mean_bytes::HUGEINT * elapsed_ms"),
    "alone_records": ("(shared IS NOT DISTINCT FROM false)::BIGINT",),
    "shared_records": ("(shared IS NOT DISTINCT FROM true)::BIGINT",),
    "unused_share": (UNUSED, "fast_capacity_bytes::HUGEINT * elapsed_ms"),
    "unused_byte_hours": (UNUSED,),
    "slow_beside_room_byte_hours": ("slow_beside_room_bytes::HUGEINT * elapsed_ms",),
    "package_j": ("package_uj",),
    "memory_j": ("memory_uj",),
    "mean_w": ("metered_uj", "counted_us"),
    "package_w": ("package_uj", "counted_us"),
    "peak_w": ("peak_uw",),
    "joules_per_gb": ("metered_uj", "moved_bytes"),
    "estimated_static_j": ("estimated_static_uj",),
    "estimated_dynamic_j": ("estimated_dynamic_uj",),
    "slow_write_bytes": ("slow_write_bytes",),
    "slow_read_bytes": ("slow_read_bytes",),
    "life_share": ("slow_write_bytes",),
}


def in_part(part, parts):
    """SQL: is a run of this one of so many parts? Its number may be below 0."""
    return f"(run & {(1 << 30) - 1}) % {parts} = {part}"


def ratio(upper, lower):
    both = f"({upper}) IS NOT NULL AND ({lower}) IS NOT NULL"
    return (
        *(f"coalesce(sum({part}) FILTER ({both}), 0)" for part in (upper, lower)),
        f"count(*) FILTER (NOT ({both}))",
    )


# The cells of a fold, as SQL over its figures, and what makes those of all rows together out of them. The node of a
# peak is found later.
CELLS = {
    Count: (lambda figure: (f"sum({figure})",), ("sum",)),
    Sum: (lambda figure: (f"sum({figure})", f"count(*) - count({figure})"), ("sum", "sum")),
    Unknown: (lambda figure: ("NULL::BIGINT", "count(*)"), ("max", "sum")),
    Ratio: (ratio, ("sum", "sum", "sum")),
    Peak: (lambda figure: (f"max({figure})", "NULL", f"count(*) - count({figure})"), ("max", "max", "sum")),
}


def is_of_columns(view):
    """Has a history's table what the view's figures are made of?"""
    known = {**FIGURES, **dict.fromkeys(JOBS)}
    return (
        not view.is_of_jobs
        and all(key.name in KEYS for key in view.keys)
        and all(column.name in known for column in view.columns)
    )


def words_of(view):
    """The columns of the view's tables that it wants."""
    text = " ".join(part for column in view.columns for part in FIGURES.get(column.name, ()))
    return set(layout.NAMES).intersection(re.findall(r"\w+", text))


class Query:
    """One view over the tables' rows that a condition holds for."""

    def __init__(self, connection, paths, where, values, view):
        self.connection, self.view = connection, view
        self.keys = [KEYS[key.name] for key in view.keys]
        self.place = f"hash({', '.join(self.keys)})"  # one number is grouped by faster than words
        self.rows, self.values = f"{engine.parquet(paths)} WHERE {where}", values

    def run(self, statement, *values):
        return self.connection.execute(statement, values).fetchall()

    def columns(self):
        """(number of its first cell, column)"""
        at = 0
        for column in self.view.columns:
            yield at, column
            at += len(column.fold.start)

    def cells(self):
        """(SQL of a cell of a row, of all rows together) in the order of a row's cells."""
        for column in self.view.columns:
            if column.name in JOBS:
                yield "0", "sum"
            else:
                of_row, of_all = CELLS[type(column.fold)]
                yield from zip(of_row(*FIGURES[column.name]), of_all)

    def add_up(self):
        """Makes the table of sums; returns how many rows the view has."""
        cells = ", ".join(f"{sql} AS cell_{number}" for number, (sql, _) in enumerate(self.cells()))
        keys = ", ".join(f"{sql} AS key_{number}" for number, sql in enumerate(self.keys))
        self.run(
            f"CREATE OR REPLACE TEMP TABLE sums AS SELECT {self.place} AS place, {keys}, {cells} FROM {self.rows} "
            "GROUP BY ALL",
            *self.values,
        )
        return self.run("SELECT count(*) FROM sums")[0][0]

    def fill(self, sums):
        found = {
            place: (key[: len(self.keys)], key[len(self.keys) :]) for place, *key in self.run("SELECT * FROM sums")
        }
        rows = {place: list(cells) for place, (_, cells) in found.items()}
        total = None
        if self.view.has_total:
            alls = ", ".join(f"{fold}(cell_{number})" for number, (_, fold) in enumerate(self.cells()))
            total = list(self.run(f"SELECT {alls} FROM sums")[0]) if rows else self.view.new_row()
        peaks = {at: FIGURES[column.name][0] for at, column in self.columns() if isinstance(column.fold, Peak)}
        self.name_nodes(peaks, rows, total)
        self.count_runs(rows, total)
        sums.rows = {tuple(key): rows[place] for place, (key, _) in found.items()}
        sums.total, sums.has_records = total, bool(rows)

    def name_nodes(self, peaks, rows, total):
        """Of each peak the node that had it first, in the order in which records are read. `peaks`: by the number of a
        cell its figure."""
        if not peaks:
            return
        figures = ", ".join(f"{figure} AS figure_{at}" for at, figure in peaks.items())
        firsts = ", ".join(f"min(met) FILTER (figure_{at} = cell_{at})" for at in peaks)
        found = self.run(
            f"SELECT place, {firsts} FROM (SELECT {self.place} AS place, {figures}, "
            f"{{day: filename, file: file, line: line, node: node}} AS met FROM {self.rows}) JOIN sums USING (place) "
            f"WHERE {' OR '.join(f'figure_{at} = cell_{at}' for at in peaks)} GROUP BY place",
            *self.values,
        )
        for number, at in enumerate(peaks, 1):
            firsts = {row[0]: row[number] for row in found if row[number]}
            for place, first in firsts.items():
                rows[place][at + 1] = first["node"]
            if total and firsts:
                most = [first for place, first in firsts.items() if rows[place][at] == total[at]]
                total[at + 1] = min(most, key=lambda first: (first["day"], first["file"], first["line"]))["node"]

    def count_runs(self, rows, total):
        """Runs, and those that failed: each once in a row and once in all, though every node wrote a record."""
        of_run = f"FROM (SELECT run, exit_code, {self.place} AS place FROM {self.rows})"
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
        for at, column in self.columns():
            if column.name in JOBS:
                for place, cells in (*rows.items(), *([((), total)] if total else ())):
                    cells[at] = counts[place][JOBS.index(column.name)]

    def count_runs_of_several(self, of_run, parts):
        """The same where runs have records in several rows. There are more of those pairs than fit into memory at once:
        the runs are taken in so many parts."""
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
    """The cells of a view's sums, by the engine; False where its records have to be read."""
    view = sums.view
    if not is_of_columns(view) or not engine.have_columns(connection, paths, words_of(view)):
        return False
    query = Query(connection, paths, where, values, view)
    if query.add_up() > groups.Groups.LIMIT:  # which of them are told apart depends on the order of the records
        return False
    query.fill(sums)
    return True
