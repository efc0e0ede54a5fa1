# SPDX-License-Identifier: Apache-2.0
"""Remembers the records that were met, in memory that has a limit, however many they are."""

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
        """Returns the place that has this hash, or the free place where it belongs."""
        places, last = self.places, len(self.places) - 1
        at = mark & last
        while places[at] != self.FREE and places[at] != mark:
            at = (at + 1) & last
        return at

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
    """The hash of a key, as it stands in a place."""
    return hash(key) & 0xFFFFFFFFFFFFFFFF or 1  # 0 is a free place


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
