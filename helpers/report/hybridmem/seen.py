# SPDX-License-Identifier: Apache-2.0
"""Remembers the records and the runs of jobs that were met, in memory that has a limit, however many they are."""

from array import array

from . import fields


class Keys:
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


class Runs:
    """The runs of jobs. Each counts once, although every node wrote a record. The nodes of a run end together, but
    midnight may fall between them: the runs of this day and of the day before are remembered."""

    LIMIT = 400_000  # runs of a day; 8 MiB

    def __init__(self):
        self.today, self.before, self.exact = Keys(self.LIMIT), Keys(self.LIMIT), True

    def next_day(self):
        self.before, self.today = self.today, Keys(self.LIMIT)

    def is_new(self, *key):
        """Returns False also if the run was met on the day before: a run over any number of midnights is one, as in a
        history."""
        new = self.today.is_new(*key) and not self.before.has(*key)
        self.exact = self.exact and not self.today.full
        return new


class Written:
    """The records of one day, in all of its files. Some may be there twice, as people copy files."""

    LIMIT = 4_000_000  # records of a day; 64 MiB

    def __init__(self):
        self.seen, self.exact = Keys(self.LIMIT), True

    def next_day(self):
        self.seen = Keys(self.LIMIT)

    def is_new(self, record):
        new = self.seen.is_new(*fields.key(record))
        self.exact = self.exact and not self.seen.full
        return new


class Counted:
    """The runs of jobs, and those that failed. Each is new once in each place (a row of a view)."""

    def __init__(self):
        self.jobs, self.failures = Runs(), Runs()

    def next_day(self):
        self.jobs.next_day()
        self.failures.next_day()

    def look_at(self, case, place):
        """Sets the case's is_new, whether its run is new in this place, and is_new_failure, whether its failure is."""
        run = place, *case.figures.run_key
        case.is_new = self.jobs.is_new(*run)
        case.is_new_failure = bool(case.figures.exit_code) and self.failures.is_new(*run)

    def is_exact(self):
        return self.jobs.exact and self.failures.exact
