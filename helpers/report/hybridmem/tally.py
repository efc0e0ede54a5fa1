# SPDX-License-Identifier: Apache-2.0
"""Adds up records by user and mode, in memory that does not grow with the number of records."""

from array import array

from . import fields
from .figures import product


class Seen:
    """The keys met so far, at most `limit`. Keys beyond it are not remembered, and `full` says that counts may be too
    high. The keys are 64-bit hashes in an open table, which takes 12 to 24 bytes for each: a set takes 70 and more."""

    FREE = 0
    FIRST = 64  # places, a power of two; at most two thirds of them are taken

    def __init__(self, limit):
        self.limit, self.full, self.count = limit, False, 0
        self.places = array("Q", [self.FREE]) * self.FIRST

    def find(self, mark):
        """Returns the place that has the mark, or the free place where it belongs."""
        places, last = self.places, len(self.places) - 1
        at = mark & last
        while places[at] != self.FREE and places[at] != mark:
            at = (at + 1) & last
        return at

    def has(self, *key):
        return self.places[self.find(mark_of(key))] != self.FREE

    def is_new(self, *key):
        """Returns False if the key was met before."""
        mark = mark_of(key)
        at = self.find(mark)
        if self.places[at] != self.FREE:
            return False
        self.full = self.full or self.count >= self.limit
        if not self.full:
            self.places[at] = mark
            self.count += 1
            if 3 * self.count > 2 * len(self.places):
                self.grow()
        return True

    def grow(self):
        old = self.places
        self.places = array("Q", [self.FREE]) * (2 * len(old))
        for mark in old:
            if mark != self.FREE:
                self.places[self.find(mark)] = mark


def mark_of(key):
    return hash(key) & 0xFFFFFFFFFFFFFFFF or 1  # 0 is a free place


class Jobs:
    """The runs of jobs. Each counts once, although every node wrote a record. The nodes of a run end together, but
    midnight may fall between them: the runs of this day and of the day before are remembered."""

    LIMIT = 400_000  # a day; 8 MiB

    def __init__(self):
        self.today, self.before, self.exact = Seen(self.LIMIT), Seen(self.LIMIT), True

    def next_day(self):
        self.before, self.today = self.today, Seen(self.LIMIT)

    def is_new(self, *key):
        """Returns False also if the run was met on the day before: a run over any number of midnights is one, as in a
        history."""
        new = self.today.is_new(*key) and not self.before.has(*key)
        self.exact = self.exact and not self.today.full
        return new


def memory_figures(record):
    """Returns four figures of a record: the peaks of the fast and the slow tier, and the means of the fast tier and of
    all tiers. Each is in bytes, or None. The mean of all tiers is known only if that of the fast tier is."""
    tiers = fields.tiers(record)
    fast, slow = (fields.memory(tier, "peak_bytes") for tier in (*tiers[:1], *tiers[1:][-1:], *[{}] * 2)[:2])
    means = [fields.memory(tier, "mean_bytes") for tier in tiers]
    return fast, slow, next(iter(means), None), fields.total(means, fields.MOST_BYTES)


class Written:
    """The records of one day, in all of its files. Some are there twice: a node writes a record again if its epilog is
    repeated after a crash, and people copy files."""

    LIMIT = 4_000_000  # a day; 64 MiB

    def __init__(self):
        self.seen, self.exact = Seen(self.LIMIT), True

    def next_day(self):
        self.seen = Seen(self.LIMIT)

    def is_new(self, record):
        new = self.seen.is_new(*fields.key(record))
        self.exact = self.exact and not self.seen.full
        return new


def added(sums, amounts):
    return [a + b for a, b in zip(sums, amounts)]


# Figures that a record may lack, with their titles in tables.
MEASURED = {
    "node_hours": "node-hours",
    "fast_peak_bytes": "fast peak",
    "slow_peak_bytes": "slow peak",
    "fast_mean_bytes": "fast mean",
    "fast_share": "fast share",
}


class Row:
    """Sums over the records of one user and mode. They are whole numbers: the order of the records does not matter."""

    def __init__(self):
        self.jobs = self.failed = self.records = self.unmeasured = self.warnings = 0
        self.milliseconds = None  # of the records that have a time
        self.peaks = [None, None]  # of the fast and the slow tier, bytes on one node
        self.mean = [0, 0]  # mean bytes x milliseconds in the fast tier; the milliseconds
        self.share = [0, 0]  # mean bytes x milliseconds in the fast tier and in all, of records with all means
        self.missing = [0] * len(MEASURED)

    def add(self, record, new_job, new_failure):
        self.jobs += new_job
        self.failed += new_failure
        self.records += 1
        self.warnings += len(fields.members(record, "warnings"))
        elapsed = fields.milliseconds(record, "elapsed_s")
        *peaks, fast_mean, all_mean = memory_figures(record)
        self.unmeasured += not any(peak is not None for peak in peaks)
        self.add_time(elapsed)
        self.add_peaks(peaks)
        fast, all_tiers = (product(mean, elapsed) for mean in (fast_mean, all_mean))
        if fast is not None:
            self.mean = added(self.mean, (fast, elapsed))
        if all_tiers is not None:
            self.share = added(self.share, (fast, all_tiers))
        self.missing = added(self.missing, [figure is None for figure in (elapsed, *peaks, fast, all_tiers)])

    def add_time(self, milliseconds):
        if milliseconds is not None:
            self.milliseconds = (self.milliseconds or 0) + milliseconds

    def add_peaks(self, peaks):
        for place, peak in enumerate(peaks):
            if peak is not None:
                self.peaks[place] = max(self.peaks[place] or 0, peak)

    def merge(self, other):
        for name in ("jobs", "failed", "records", "unmeasured", "warnings"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.add_time(other.milliseconds)
        self.add_peaks(other.peaks)
        for name in ("mean", "share", "missing"):
            setattr(self, name, added(getattr(self, name), getattr(other, name)))

    @property
    def hours(self):
        return None if self.milliseconds is None else self.milliseconds / 3_600_000

    def figures(self):
        """Returns the figures as they are reported; None if nothing was measured."""
        measured = (
            None if self.hours is None else round(self.hours, 4),
            *self.peaks,
            round(self.mean[0] / self.mean[1]) if self.mean[1] else None,
            round(self.share[0] / self.share[1], 6) if self.share[1] else None,
        )
        made = {"jobs": self.jobs, "failed_jobs": self.failed, "records": self.records}
        for name, figure, missing in zip(MEASURED, measured, self.missing):
            made.update({name: figure, f"{name}_missing": missing})
        return {**made, "warnings": self.warnings, "unmeasured_records": self.unmeasured}


class Counted:
    """The runs of jobs, and those that failed. Each is new once for a key."""

    def __init__(self):
        self.jobs, self.failures = Jobs(), Jobs()

    def next_day(self):
        self.jobs.next_day()
        self.failures.next_day()

    def are_new(self, run, failed, *key):
        """Returns (is the run new, is its failure new)."""
        return self.jobs.is_new(*key, *run), failed and self.failures.is_new(*key, *run)

    def is_exact(self):
        return self.jobs.exact and self.failures.exact


class Tally:
    """Rows by (user, mode). Each record comes once; next_day() is called before those of each day. A run counts once in
    each row that has a record of it, and once in the total. `once`: False if some records may have come twice."""

    def __init__(self):
        self.rows, self.counted, self.all, self.once = {}, Counted(), Counted(), True
        self.runs = [0, 0]  # the number of runs in all rows together, and of those that failed

    def next_day(self):
        self.counted.next_day()
        self.all.next_day()

    def has_records(self):
        return bool(self.rows)

    def is_exact(self):
        """Does each record and each job count once?"""
        return self.once and self.counted.is_exact() and self.all.is_exact()

    def add(self, record):
        run, failed = fields.run(record), bool(fields.integer(record, "exit_code"))
        key = (fields.name(record, "user"), fields.clean(fields.mode(record)))
        self.rows.setdefault(key, Row()).add(record, *self.counted.are_new(run, failed, *key))
        self.runs = added(self.runs, self.all.are_new(run, failed))

    def total(self):
        row = Row()
        for part in self.rows.values():
            row.merge(part)
        row.jobs, row.failed = self.runs
        return row

    def sorted_rows(self):
        """The row with the most node-hours comes first."""
        return sorted(self.rows.items(), key=lambda item: (-(item[1].milliseconds or 0), item[0]))
