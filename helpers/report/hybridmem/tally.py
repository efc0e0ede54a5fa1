# SPDX-License-Identifier: Apache-2.0
"""Adding up records by user and mode, in memory that does not grow with their number."""

from array import array

from . import fields


class Seen:
    """Keys met so far, at most `limit`: past it nothing is remembered, and `full` says that counts may be too high.
    Kept are 64-bit hashes in an open table, at 12 to 24 bytes each: a set has 70 and more."""

    FREE = 0
    FIRST = 64  # places, a power of two; at most two thirds of them are taken

    def __init__(self, limit):
        self.limit, self.full, self.count = limit, False, 0
        self.places = array("Q", [self.FREE]) * self.FIRST

    def find(self, mark):
        """The place that has the mark, or the free one where it belongs."""
        places, last = self.places, len(self.places) - 1
        at = mark & last
        while places[at] != self.FREE and places[at] != mark:
            at = (at + 1) & last
        return at

    def has(self, *key):
        return self.places[self.find(mark_of(key))] != self.FREE

    def is_new(self, *key):
        """False where the key was met."""
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
    """Runs of jobs, each counted once though every node wrote a record. The nodes of a run end together, but midnight
    may fall between them: this day's runs and those of the day before are remembered."""

    LIMIT = 400_000  # a day; 8 MiB

    def __init__(self):
        self.today, self.before, self.exact = Seen(self.LIMIT), Seen(self.LIMIT), True

    def next_day(self):
        self.before, self.today = self.today, Seen(self.LIMIT)

    def is_new(self, *key):
        if self.before.has(*key):
            return False
        new = self.today.is_new(*key)
        self.exact = self.exact and not self.today.full
        return new


def memory_figures(record):
    """Of a record: peaks of the fast and the slow tier, means of the fast tier and of all tiers; bytes, or None."""
    tiers = fields.tiers(record)
    fast, slow = (fields.memory(tier, "peak_bytes") for tier in (*tiers[:1], *tiers[1:][-1:], *[{}] * 2)[:2])
    means = [fields.memory(tier, "mean_bytes") for tier in tiers]
    if not means or None in means:
        return fast, slow, None, None
    return fast, slow, means[0], sum(means)


class Written:
    """The records of one day, in all of its files: a node writes a record again where its epilog was repeated after a
    crash, and files are copied."""

    LIMIT = 4_000_000  # a day; 64 MiB

    def __init__(self):
        self.seen, self.exact = Seen(self.LIMIT), True

    def next_day(self):
        self.seen = Seen(self.LIMIT)

    def is_new(self, record):
        new = self.seen.is_new(*fields.key(record))
        self.exact = self.exact and not self.seen.full
        return new


class Row:
    """Sums over the records of one user and mode. They are whole numbers: the order of the records does not matter."""

    def __init__(self):
        self.jobs = self.failed = self.records = self.unmeasured = self.warnings = 0
        self.milliseconds = 0
        self.peaks = [None, None]  # of the fast and the slow tier, bytes on one node
        self.weighted = [0, 0, 0]  # mean bytes x milliseconds: in the fast tier, in all tiers; the milliseconds

    def add(self, record, new_job, new_failure):
        self.jobs += new_job
        self.failed += new_failure
        self.records += 1
        self.warnings += len(fields.members(record, "warnings"))
        elapsed = fields.milliseconds(record, "elapsed_s") or 0
        self.milliseconds += elapsed
        *peaks, fast_mean, all_mean = memory_figures(record)
        self.unmeasured += not any(peak is not None for peak in peaks)
        self.add_peaks(peaks)
        if fast_mean is not None:
            for i, amount in enumerate((fast_mean, all_mean, 1)):
                self.weighted[i] += amount * elapsed

    def add_peaks(self, peaks):
        for place, peak in enumerate(peaks):
            if peak is not None:
                self.peaks[place] = max(self.peaks[place] or 0, peak)

    def merge(self, other):
        for name in ("jobs", "failed", "records", "unmeasured", "warnings", "milliseconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.add_peaks(other.peaks)
        self.weighted = [a + b for a, b in zip(self.weighted, other.weighted)]

    def figures(self):
        """As they are reported; null where nothing was measured."""
        fast, all_tiers, elapsed = self.weighted
        return {
            "jobs": self.jobs,
            "failed_jobs": self.failed,
            "records": self.records,
            "node_hours": round(self.milliseconds / 3_600_000, 4),
            "fast_peak_bytes": self.peaks[0],
            "slow_peak_bytes": self.peaks[1],
            "fast_mean_bytes": round(fast / elapsed) if elapsed else None,
            "fast_share": round(fast / all_tiers, 6) if all_tiers else None,
            "warnings": self.warnings,
            "unmeasured_records": self.unmeasured,
        }


class Tally:
    """Rows by (user, mode), of records that are there once. next_day() says where their stream is; `once`: False where
    it could not be told of all of them that they are."""

    def __init__(self):
        self.rows, self.jobs, self.failures, self.once = {}, Jobs(), Jobs(), True

    def next_day(self):
        self.jobs.next_day()
        self.failures.next_day()

    @property
    def users(self):
        return {user for user, _ in self.rows}

    def is_exact(self):
        """Does each record and each job count once?"""
        return self.once and self.jobs.exact and self.failures.exact

    def add(self, record):
        run = fields.run(record)
        failed = bool(fields.whole(record, "exit_code")) and self.failures.is_new(*run)
        key = (fields.text(record, "user") or "?", fields.mode(record))
        self.rows.setdefault(key, Row()).add(record, self.jobs.is_new(*run), failed)

    def total(self):
        row = Row()
        for part in self.rows.values():
            row.merge(part)
        return row

    def sorted_rows(self):
        """What used most comes first."""
        return sorted(self.rows.items(), key=lambda item: (-item[1].milliseconds, item[0]))
