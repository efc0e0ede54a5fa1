# SPDX-License-Identifier: Apache-2.0
"""Makes views of a stream of records: all in one pass, in memory that does not grow with the number of records."""

import heapq
import itertools

from . import fields, moments
from .columns import Columns
from .folds import is_of_runs, placed
from .seen import Counted
from .terms import Case

OTHERS = "(others)"
NO_RECORD = "No record."


class Report:
    """Feeds each record to the sums of all views. The caller adds each record once, and calls next_day() before the
    records of each day. If it may have added some twice, it sets `once` to False, and the report is not exact."""

    def __init__(self, views, top, by=None, is_dated=False):
        """`top`: how many rows to keep of each view; None: the view's own number. `by`: the figure that ranks them.
        `is_dated`: `last` is wanted."""
        self.views, self.top, self.by, self.is_dated = views, top, by, is_dated
        self.once = True
        self.begin()

    def begin(self):
        """Makes all sums empty."""
        top, by = self.top, self.by
        self.sums = [
            Jobs(view, top or view.top, by or view.by) if view.is_of_jobs else Groups(view, top, by)
            for view in self.views
        ]
        self.fed = self.sums  # those that records are added to
        self.last = None  # when the last job ended

    def next_day(self):
        for sums in self.fed:
            sums.next_day()

    def add(self, record):
        if self.is_dated:
            end = moments.parse_time(fields.text(record, "end") or "")
            self.last = max(self.last or end, end) if end else self.last
        columns = Columns(record)
        for sums in self.fed:
            sums.add(columns)

    def end(self):
        """Is called after the last record."""
        for sums in self.fed:
            sums.end()

    def has_records(self):
        return self.sums[0].has_records

    def is_exact(self):
        return self.once and all(sums.is_exact() for sums in self.sums)


class Sums:
    """What both kinds of views share: the total, and how records are added to rows."""

    def __init__(self, view, top, by):
        self.view, self.top, self.by = view, top, by
        self.counted, self.all = Counted(), Counted()
        self.total = self.view.new_row() if view.has_total else None
        self.adders = [(column.fold.add, at) for at, column in placed(view.columns)]
        # The total of a view with is_whole is made of its rows at the end, except numbers of runs: a run may be in
        # several rows.
        of_total = ((at, column) for at, column in placed(view.columns) if not view.is_whole or is_of_runs(column))
        self.total_adders = [(column.fold.add, at) for at, column in of_total]
        self.dropped = 0  # number of rows that are not among the top
        self.has_records = False  # whether a record was added; it need not have a row

    def next_day(self):
        self.counted.next_day()
        self.all.next_day()

    def add(self, columns):
        self.has_records = True
        if self.total:
            self.add_case(self.total, Case(columns), self.total_adders, self.all, ())
        for item in getattr(columns, self.view.items) if self.view.items else (None,):
            case = Case(columns, item)
            place = self.place(case)
            self.add_case(self.row(place, case), case, self.adders, self.counted, place)

    def add_case(self, row, case, adders, counted, place):
        counted.look_at(case, place)
        for add, at in adders:
            add(row, at, case)

    def rank(self, row):
        """The key that sorts rows by the figure: the largest comes last, and rows without a figure come first (in a
        view with is_whole they count as 0)."""
        figure = self.view.figure(row, self.by)
        return (figure is not None or self.view.is_whole, figure or 0)

    def end(self):
        """Is called after the last record."""

    def why_no_rows(self):
        return self.view.no_rows if self.has_records else NO_RECORD

    def is_exact(self):
        return self.counted.is_exact() and self.all.is_exact()


class Groups(Sums):
    """Rows that may grow until the last record: users, nodes, days."""

    LIMIT = 50_000  # rows; all keys that come later share one more row, except in a view with is_whole

    def __init__(self, view, top, by):
        super().__init__(view, top, by or view.by)
        self.rows = {}

    def place(self, case):
        return self.view.key(case)

    def row(self, key, _):
        row = self.rows.get(key)
        if row is None:
            if len(self.rows) >= self.LIMIT and not self.view.is_whole:
                key = (OTHERS, *[""] * (len(key) - 1))
            row = self.rows.setdefault(key, self.view.new_row())
        return row

    def end(self):
        if self.view.is_whole:
            runs = [(at, self.total[at]) for at, column in placed(self.view.columns) if is_of_runs(column)]
            self.total = self.view.total(self.rows.values())
            for at, count in runs:
                self.total[at] = count

    def sorted_rows(self):
        """Returns (key, row) in the order in which they are shown: by the figure, or by the key if no figure is
        given."""
        rows = sorted(self.rows.items())
        if self.by:
            rows.sort(key=lambda item: self.rank(item[1]), reverse=True)
        shown = rows[: self.top]
        self.dropped = len(rows) - len(shown)
        return shown


class Jobs(Sums):
    """A row for each run of a job. The nodes of a run end together, so a row is complete after two days. Only the
    largest of the complete rows are kept."""

    LIMIT = 100_000  # runs a day, about a KiB each; if there are more, rows are taken for complete too early

    def __init__(self, view, top, by):
        super().__init__(view, top, by)
        self.today, self.before, self.heap, self.order, self.is_within_limit = {}, {}, [], itertools.count(), True

    def next_day(self):
        super().next_day()
        self.retire(self.before)
        self.before, self.today = self.today, {}

    def place(self, case):
        return case.figures.run_key

    def row(self, run, case):
        """Returns the run's row. The run goes on from day to day, over any number of midnights."""
        found = self.today.get(run) or self.before.pop(run, None)
        if found is None:
            if len(self.today) >= self.LIMIT:
                self.retire(self.today)
                self.today, self.is_within_limit = {}, False
            found = next(self.order), self.view.key(case), self.view.new_row()
        self.today[run] = found
        return found[-1]

    def retire(self, rows):
        """Keeps the largest of these rows, which are taken for complete."""
        for found in rows.values():
            if self.view.has(found[-1]):
                self.keep(*found)

    def keep(self, order, key, row):
        """Keeps a row if it is among the largest. No two orders are equal, so keys, which may contain None, are not
        compared."""
        heapq.heappush(self.heap, (self.rank(row), -order, key, row))
        if len(self.heap) > self.top:
            heapq.heappop(self.heap)
            self.dropped += 1

    def sorted_rows(self):
        self.retire(self.before)
        self.retire(self.today)
        self.before, self.today = {}, {}
        return [(key, row) for _, _, key, row in sorted(self.heap, reverse=True)]

    def is_exact(self):
        return super().is_exact() and self.is_within_limit
