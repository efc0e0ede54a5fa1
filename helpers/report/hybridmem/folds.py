# SPDX-License-Identifier: Apache-2.0
"""How a column adds up cases (terms.Case: records, or items of them): one by one in Python, or by an
engine (DuckDB over a history's tables, engine.py), for which each fold gives SQL. A row is a plain list, as there are
many rows. Each column has a few of its cells.

A fold is made of terms (terms.py), and has `start`, its cells before the first case; add(cells, at, case), which adds a
case to the cells from `at` on; cells(), SQL for its cells over all cases of a row; and `alls`, the SQL functions that
combine the cells of all rows (for a word any function will do, as words have no total). value(cells, at) returns the
figure, or None if nothing was measured; others(cells, at) returns what belongs to the figure, by the suffix of its
name: how many records have no figure ("missing"), and which node had the peak ("node"). `names` are the columns that it
needs.
"""

from .terms import Value


def met(name, value):
    """SQL for a value and the place of its record. The least of these belongs to the record that is read first."""
    return f"{{day: filename, file: file, line: line, {name}: {value}}}"


def placed(columns):
    """Yields (number of the column's first cell, column) for each column."""
    at = 0
    for column in columns:
        yield at, column
        at += len(column.fold.start)


class Fold:
    def __init__(self, *terms):
        self.figure = terms[0]
        self.of = self.figure.of
        self.names = tuple(name for term in terms for name in term.names)

    def value(self, cells, at):
        return cells[at]

    def others(self, cells, at):
        return {}


class Count(Fold):
    """The sum of a figure that is always known."""

    start, alls = (0,), ("sum",)

    def add(self, cells, at, case):
        cells[at] += self.of(case)

    def cells(self):
        return (f"sum({self.figure.sql})",)


class Runs(Fold):
    """The number of runs of jobs, or of those that failed. A run counts once, however many records it has. An engine
    does not count runs in cells, but beside them, as that takes less memory."""

    start, alls = (0,), ("sum",)

    def __init__(self, failed=False):
        super().__init__(Value("exit_code"))
        self.failed = failed

    def add(self, cells, at, case):
        cells[at] += case.is_new_failure if self.failed else case.is_new

    def cells(self):
        return ("0",)

    def counted(self):
        """SQL for the number of runs, for an engine that counts them in a cell after all (daysums.py)."""
        return f"count(DISTINCT run){' FILTER (exit_code <> 0)' if self.failed else ''}"


def is_of_runs(column):
    return isinstance(column.fold, Runs)


class Sum(Fold):
    """The sum of a figure that may not have been measured, divided by `per`, and the number of records without it."""

    start, alls = (None, 0), ("sum", "sum")

    def __init__(self, figure, digits=None, per=None):
        super().__init__(figure)
        self.digits, self.per = digits, per

    def add(self, cells, at, case):
        figure = self.of(case)
        if figure is None:
            cells[at + 1] += 1
        else:
            cells[at] = figure + (cells[at] or 0)

    def cells(self):
        return f"sum({self.figure.sql})", f"count(*) - count({self.figure.sql})"

    def value(self, cells, at):
        if cells[at] is None or self.per is None:
            return cells[at]
        found = cells[at] / self.per
        return found if self.digits is None else round(found, self.digits)

    def others(self, cells, at):
        return {"missing": cells[at + 1]}


class Ratio(Fold):
    """The sum of `upper` divided by the sum of `lower`, times `factor`. Both are of the records that have both; the
    others are counted."""

    start, alls = (0, 0, 0), ("sum", "sum", "sum")

    def __init__(self, upper, lower, digits=None, factor=1):
        super().__init__(upper, lower)
        self.lower, self.digits, self.factor = lower, digits, factor

    def add(self, cells, at, case):
        upper, lower = self.of(case), self.lower.of(case)
        if upper is None or lower is None:
            cells[at + 2] += 1
        else:
            cells[at] += upper
            cells[at + 1] += lower

    def cells(self):
        parts = self.figure.sql, self.lower.sql
        both = " AND ".join(f"({part}) IS NOT NULL" for part in parts)
        sums = (f"coalesce(sum({part}) FILTER ({both}), 0)" for part in parts)
        return *sums, f"count(*) FILTER (NOT ({both}))"

    def value(self, cells, at):
        return round(cells[at] * self.factor / cells[at + 1], self.digits) if cells[at + 1] else None

    def others(self, cells, at):
        return {"missing": cells[at + 2]}


class Most(Fold):
    """The largest figure, divided by `per`, and the number of records without a figure."""

    start, alls = (None, 0), ("max", "sum")

    def __init__(self, figure, per=None):
        super().__init__(figure)
        self.per = per

    def add(self, cells, at, case):
        figure = self.of(case)
        if figure is None:
            cells[at + 1] += 1
        elif cells[at] is None or figure > cells[at]:
            cells[at] = figure
            self.found(cells, at, case)

    def found(self, cells, at, case):
        """Is called if a case has a larger figure than those before."""

    def cells(self):
        return f"max({self.figure.sql})", f"count(*) - count({self.figure.sql})"

    def value(self, cells, at):
        return cells[at] if cells[at] is None or self.per is None else cells[at] / self.per

    def others(self, cells, at):
        return {"missing": cells[at + 1]}


class Peak(Most):
    """What Most has, and the first node that had the largest figure. An engine finds the nodes later."""

    start, alls = (None, 0, None), ("max", "sum", "max")

    def found(self, cells, at, case):
        cells[at + 2] = case.figures.node

    def cells(self):
        return *super().cells(), "NULL"

    def others(self, cells, at):
        return {"node": cells[at + 2], **super().others(cells, at)}


class First(Fold):
    """The word of the first case that has one. In most columns all cases of a row have the same."""

    start, alls = (None,), ("min",)

    def add(self, cells, at, case):
        if cells[at] is None:
            cells[at] = self.of(case)

    def cells(self):
        return (f"(min({met('word', self.figure.sql)}) FILTER ({self.figure.sql} IS NOT NULL)).word",)


class Last(Fold):
    """The word of the case that was read last."""

    start, alls = (None,), ("max",)

    def add(self, cells, at, case):
        cells[at] = self.of(case)

    def cells(self):
        return (f"max({met('word', self.figure.sql)}).word",)


class Common(Fold):
    """The word of all cases if it is the same, else their pattern (the text with N for each number); an empty text if
    the patterns differ, too. They can differ only in the row of all keys beyond a limit (groups.Groups.LIMIT), which an
    engine never makes."""

    start, alls = (None, None), ("min", "min")

    def __init__(self, figure, pattern):
        super().__init__(figure, pattern)
        self.pattern = pattern

    def add(self, cells, at, case):
        word, pattern = self.of(case), self.pattern.of(case)
        if cells[at] is None:
            cells[at : at + 2] = word, pattern
        elif cells[at + 1] != pattern:
            cells[at : at + 2] = "", ""
        elif cells[at] != word:
            cells[at] = pattern

    def cells(self):
        word, pattern = self.figure.sql, self.pattern.sql
        return f"CASE WHEN min({word}) = max({word}) THEN min({word}) ELSE min({pattern}) END", f"min({pattern})"


class Elected(Fold):
    """Another fold, over only the cases for whose advice the row stands. The nodes of a run may get different advice:
    they vote. `vote`: the rule (rules.py) that advises this node, or None. `consent`: 1 if the node could be fast,
    counted over all cases. elect(votes by rule, cases, consents) returns the rule that decides for the run, or None
    (rules.elect). An engine elects first, and then makes the other fold's cells."""

    start = (0, 0, None)

    def __init__(self, vote, consent, elect, fold):
        super().__init__(vote, consent)
        self.consent, self.elect, self.fold = consent, elect, fold
        self.names += fold.names

    def add(self, cells, at, case):
        cells[at] += 1
        cells[at + 1] += self.consent.of(case)
        candidate = self.of(case)
        if candidate is not None:
            cells[at + 2] = cells[at + 2] or {}
            own = cells[at + 2].setdefault(candidate, [0, *self.fold.start])
            own[0] += 1
            self.fold.add(own, 1, case)

    def elected(self, cells, at):
        """The cells of the candidate's fold, from 1 on; empty ones if nobody is elected."""
        cases, consents, found = cells[at : at + 3]
        candidate = self.elect({name: own[0] for name, own in found.items()}, cases, consents) if found else None
        return [0, *self.fold.start] if candidate is None else found[candidate]

    def value(self, cells, at):
        return self.fold.value(self.elected(cells, at), 1)

    def others(self, cells, at):
        return self.fold.others(self.elected(cells, at), 1)
