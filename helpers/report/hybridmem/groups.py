# SPDX-License-Identifier: Apache-2.0
"""The views of a report: their rows, which an engine makes (viewquery.py, runquery.py), and in which order they are
shown."""

NO_RECORD = "No record."
INEXACT = "so many records were written on one day that some may be counted more than once"


class Report:
    """The sums of all views."""

    def __init__(self, views, top, by=None):
        """`top`: how many rows to keep of each view; None: the view's own number. `by`: the figure that ranks them."""
        self.views, self.top, self.by = views, top, by
        self.is_exact = True  # False: some records may have been counted more than once
        self.begin()

    def begin(self):
        """Makes all sums empty."""
        self.sums = [(Jobs if view.is_of_jobs else Groups)(view, self.top, self.by) for view in self.views]
        self.last = None  # when the last job ended

    def has_records(self):
        return self.sums[0].has_records


class Sums:
    """What both kinds of views share."""

    def __init__(self, view, top, by):
        self.view, self.top, self.by = view, top or view.top, by or view.by
        self.total = view.new_row() if view.has_total else None
        self.dropped = 0  # number of rows that are not among the top
        self.has_records = False  # whether there was a record; it need not have a row

    def why_no_rows(self):
        return self.view.no_rows if self.has_records else NO_RECORD


class Groups(Sums):
    """Rows of users, nodes, days: all of them are made, in no order."""

    def __init__(self, view, top, by):
        super().__init__(view, top, by)
        self.rows = {}

    def rank(self, row):
        """The key that sorts rows by the figure before it is rounded: the largest comes last, and rows without a
        figure come first (in a view with is_whole they count as 0)."""
        figure = self.view.unrounded(row, self.by)
        return (figure is not None or self.view.is_whole, figure or 0)

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
    """A row for each run of a job. The engine makes only those that are shown, in their order. Two of them may have the
    same key."""

    def __init__(self, view, top, by):
        super().__init__(view, top, by)
        self.rows = []

    def sorted_rows(self):
        return self.rows
