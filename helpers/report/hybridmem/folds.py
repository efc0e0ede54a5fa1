# SPDX-License-Identifier: Apache-2.0
"""How a column adds up the records (or items of them) that share a row of a view. A row is a plain list of cells, as
there are many rows; each column has a few of the cells. An engine makes them: DuckDB (engine.py) of a history's tables,
sqlite (temporary.py) of records. Both run the same SQL.

A fold is made of terms (terms.py), and has cells(), SQL for its cells over all records of a row; `start`, its cells
where there is no record; and `alls`, the functions that combine the cells of all rows for the total. First and Common
have "min", which is not in views.TOGETHER: a view with a column of these has no total. value(cells, at) returns
the figure, or None if nothing was measured; others(cells, at) returns what belongs to the figure, by the suffix of its
name: how many records have no figure ("missing"), and which node had the peak ("node"). `names` are the columns that it
needs.

Rows are ranked by the figure before it is rounded: unrounded(cells, at). Where an engine ranks them, rank() is SQL for
something that has the same order.
"""

from .terms import Value


def placed(columns):
    """Yields (number of the column's first cell, column) for each column."""
    at = 0
    for column in columns:
        yield at, column
        at += len(column.fold.start)


def missing(known):
    """SQL for the number of records for which a condition does not hold."""
    return f"count(CASE WHEN NOT ({known}) THEN 1 END)"


class Fold:
    per = None  # what the figure is divided by

    def __init__(self, *terms):
        self.figure = terms[0]
        self.names = tuple(name for term in terms for name in term.names)

    def rank(self):
        return self.cells()[0]

    def unrounded(self, cells, at):
        return cells[at] if cells[at] is None or self.per is None else cells[at] / self.per

    def value(self, cells, at):
        return self.unrounded(cells, at)

    def others(self, cells, at):
        return {}


class Count(Fold):
    """The sum of a figure that is always known."""

    start, alls = (0,), ("sum",)

    def cells(self):
        return (f"sum({self.figure.sql})",)


class Runs(Fold):
    """The number of runs of jobs, or of those that failed. A run counts once, however many records it has. An engine
    does not count runs in cells, but beside them, as that takes less memory."""

    start, alls = (0,), ("sum",)

    def __init__(self, failed=False):
        super().__init__(Value("exit_code"))
        self.failed = failed

    def cells(self):
        return ("0",)

    def counted(self):
        """SQL for the number of runs, for an engine that counts them in a cell after all (daysums.py)."""
        return f"count(DISTINCT {'CASE WHEN exit_code <> 0 THEN run END' if self.failed else 'run'})"


def is_of_runs(column):
    return isinstance(column.fold, Runs)


class Sum(Fold):
    """The sum of a figure that may not have been measured, divided by `per`, and the number of records without it."""

    start, alls = (None, 0), ("sum", "sum")

    def __init__(self, figure, digits=None, per=None):
        super().__init__(figure)
        self.digits, self.per = digits, per

    def cells(self):
        return self.figure.total(), missing(self.figure.is_known())

    def rank(self):
        return f"quotient({self.figure.total()}, 1)"  # sqlite has the sum as a text

    def value(self, cells, at):
        found = self.unrounded(cells, at)
        return found if found is None or self.digits is None else round(found, self.digits)

    def others(self, cells, at):
        return {"missing": cells[at + 1]}


class Ratio(Fold):
    """The sum of `upper` divided by the sum of `lower`, times `factor`. Both are of the records that have both; the
    others are counted."""

    start, alls = (0, 0, 0), ("sum", "sum", "sum")

    def __init__(self, upper, lower, digits=None, factor=1):
        super().__init__(upper, lower)
        self.lower, self.digits, self.factor = lower, digits, factor

    def cells(self):
        upper, lower = self.figure.is_known(), self.lower.is_known()
        sums = (f"coalesce({sql}, 0)" for sql in (self.figure.total(lower), self.lower.total(upper)))
        return *sums, missing(f"{upper} AND {lower}")

    def rank(self):
        upper, lower, _ = self.cells()
        return f"quotient({upper}, {lower})"

    def unrounded(self, cells, at):
        return cells[at] * self.factor / cells[at + 1] if cells[at + 1] else None

    def value(self, cells, at):
        found = self.unrounded(cells, at)
        return None if found is None else round(found, self.digits)

    def others(self, cells, at):
        return {"missing": cells[at + 2]}


class Most(Fold):
    """The largest figure, divided by `per`, and the number of records without a figure."""

    start, alls = (None, 0), ("max", "sum")

    def __init__(self, figure, per=None):
        super().__init__(figure)
        self.per = per

    def cells(self):
        return f"max({self.figure.sql})", f"count(*) - count({self.figure.sql})"

    def others(self, cells, at):
        return {"missing": cells[at + 1]}


class Peak(Most):
    """What Most has, and the first node that had the largest figure: it is found when the largest figure is known."""

    start, alls = (None, 0, None), ("max", "sum", "max")

    def __init__(self, figure, per=None):
        super().__init__(figure, per)
        self.names += ("node",)

    def cells(self):
        return *super().cells(), "NULL"

    def others(self, cells, at):
        return {"node": cells[at + 2], **super().others(cells, at)}


class First(Fold):
    """The word of the first record that has one. In most columns all records of a row have the same."""

    start, alls = (None,), ("min",)

    def cells(self):
        return (f"first_word({self.figure.sql}, met)",)


class Last(Fold):
    """The word of the record that was read last."""

    start, alls = (None,), ("max",)

    def cells(self):
        return (f"last_word({self.figure.sql}, met)",)


class Common(Fold):
    """The word of all records if it is the same, else their pattern (the text with N for each number); an empty text if
    the patterns differ, too. They can differ only in the row of all keys beyond a limit (viewquery.MOST_ROWS)."""

    start, alls = (None, None), ("min", "min")

    def __init__(self, figure, pattern):
        super().__init__(figure, pattern)
        self.pattern = pattern

    def cells(self):
        word, pattern = self.figure.sql, self.pattern.sql
        same = (f"min({sql}) = max({sql}) THEN min({sql})" for sql in (word, pattern))
        return f"CASE WHEN {' WHEN '.join(same)} ELSE '' END", f"min({pattern})"
