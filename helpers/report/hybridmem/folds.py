# SPDX-License-Identifier: Apache-2.0
"""How a column adds up cases, one by one. A row is a plain list, as there are many rows. Each column has a few of its
cells.

A fold has `start`, its cells before the first case; add(cells, at, case), which adds a case to the cells from `at` on;
value(cells, at), which returns the figure, or None if nothing was measured; and others(cells, at), which returns what
has to be said with the figure, by suffix. A `figure` is a function that returns the number of a case, or None if it was
not measured.
"""

from . import fields


class Count:
    """The sum of a figure that is always known."""

    start = (0,)

    def __init__(self, figure):
        self.figure = figure

    def add(self, cells, at, case):
        cells[at] += self.figure(case)

    def value(self, cells, at):
        return cells[at]

    def others(self, cells, at):
        return {}


class Sum:
    """The sum of a figure that may not have been measured, divided by `per`, and the number of records without it."""

    start = (None, 0)

    def __init__(self, figure, digits=None, per=None):
        self.figure, self.digits, self.per = figure, digits, per

    def add(self, cells, at, case):
        figure = self.figure(case)
        if figure is None:
            cells[at + 1] += 1
        else:
            cells[at] = figure + (cells[at] or 0)

    def value(self, cells, at):
        if cells[at] is None or self.per is None:
            return cells[at]
        found = cells[at] / self.per
        return found if self.digits is None else round(found, self.digits)

    def others(self, cells, at):
        return {"missing": cells[at + 1]}


class Unknown(Sum):
    """A figure that no record has, as something else is not known."""

    def __init__(self):
        super().__init__(lambda case: None)


class Ratio:
    """The sum of `upper` divided by the sum of `lower`, times `factor`. Both are of the records that have both; the
    others are counted."""

    start = (0, 0, 0)

    def __init__(self, upper, lower, digits=None, factor=1):
        self.upper, self.lower, self.digits, self.factor = upper, lower, digits, factor

    def add(self, cells, at, case):
        upper, lower = self.upper(case), self.lower(case)
        if upper is None or lower is None:
            cells[at + 2] += 1
        else:
            cells[at] += upper
            cells[at + 1] += lower

    def value(self, cells, at):
        return round(cells[at] * self.factor / cells[at + 1], self.digits) if cells[at + 1] else None

    def others(self, cells, at):
        return {"missing": cells[at + 2]}


class Peak:
    """The largest figure, divided by `per`, the first node that had it, and the number of records without a figure."""

    start = (None, None, 0)

    def __init__(self, figure, per=None):
        self.figure, self.per = figure, per

    def add(self, cells, at, case):
        figure = self.figure(case)
        if figure is None:
            cells[at + 2] += 1
        elif cells[at] is None or figure > cells[at]:
            cells[at : at + 2] = figure, fields.clean(case.record["node"])

    def value(self, cells, at):
        return cells[at] if cells[at] is None or self.per is None else cells[at] / self.per

    def others(self, cells, at):
        return {"node": cells[at + 1], "missing": cells[at + 2]}


class First:
    """The word of the first case that has one. In most columns all cases of a row have the same."""

    start = (None,)

    def __init__(self, word):
        self.word = word

    def add(self, cells, at, case):
        if cells[at] is None:
            cells[at] = self.word(case)

    def value(self, cells, at):
        return cells[at]

    def others(self, cells, at):
        return {}


class Last(First):
    """The word of the case that was read last."""

    def add(self, cells, at, case):
        cells[at] = self.word(case)


class Common:
    """The word of all cases if it is the same, else what they have in common; an empty text if that differs, too."""

    start = (None, None)

    def __init__(self, word, common):
        self.word, self.common = word, common

    def add(self, cells, at, case):
        word, common = self.word(case), self.common(case)
        if cells[at] is None:
            cells[at : at + 2] = word, common
        elif cells[at + 1] != common:
            cells[at : at + 2] = "", ""
        elif cells[at] != word:
            cells[at] = common

    def value(self, cells, at):
        return cells[at]

    def others(self, cells, at):
        return {}


class Elected:
    """Another fold, over only the cases that voted for the candidate who is elected in the row. vote(case) returns a
    case's candidate, or None. consent(case) is counted over all cases. elect(votes by candidate, cases, consents)
    returns a candidate, or None."""

    start = (0, 0, None)

    def __init__(self, vote, consent, elect, fold):
        self.vote, self.consent, self.elect, self.fold = vote, consent, elect, fold

    def add(self, cells, at, case):
        cells[at] += 1
        cells[at + 1] += self.consent(case)
        candidate = self.vote(case)
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
