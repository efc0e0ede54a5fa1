# SPDX-License-Identifier: Apache-2.0
"""Puts the rows of records into a temporary database of Python's own sqlite3. Where there is no history, the statements
of viewquery.py and runquery.py make views of these rows. The database is in memory up to the size of its cache, and
beyond that in a file without a name, in the folder that SQLITE_TMPDIR or TMPDIR names, or in /var/tmp."""

import contextlib
import importlib
import itertools
import sys
from datetime import date
from operator import attrgetter

from . import fields, interrupt, moments, runquery, viewquery
from .columns import ITEMS, Columns
from .failure import Failure
from .terms import quoted

CACHE_KIB = 4096
AT_ONCE = 200  # records whose rows are written at one time
ALWAYS = ("exit_code",)  # the column that each view needs, besides its own ones and the run
# How sqlite's errors begin where the folder has no room or cannot be used. (Python tells their numbers only from 3.11.)
OF_FOLDER = ("database or disk is full", "disk I/O error", "unable to open")


class ExactSum:
    """The sum of whole numbers, however large: sqlite's own fails if it does not fit into 64 bits."""

    def __init__(self):
        self.sum = None

    def step(self, figure):
        if figure is not None:
            self.sum = figure + (self.sum or 0)

    def finalize(self):
        return self.sum if self.sum is None or abs(self.sum) < fields.BIGINT else str(self.sum)


class SumOfProducts(ExactSum):
    def step(self, one, other):
        if one is not None and other is not None:
            self.sum = one * other + (self.sum or 0)


class FirstWord:
    def __init__(self):
        self.word = self.met = None

    def step(self, word, met):
        if word is not None and (self.met is None or met < self.met):
            self.word, self.met = word, met

    def finalize(self):
        return self.word


class LastWord(FirstWord):
    def step(self, word, met):
        if self.met is None or met > self.met:
            self.word, self.met = word, met


def quotient(upper, lower):
    """Both may be texts, as large sums are. It is not rounded, and the same as DuckDB's (engine.FUNCTIONS)."""
    return float(int(upper)) / float(int(lower)) if upper is not None and int(lower or 0) else None


def number_of(key):
    """A number for a key, the same during one run of the program. It is the hash of the key's text, as -1 and -2
    have the same hash."""
    return hash(repr(key))


AGGREGATES = (
    ("exact_sum", 1, ExactSum),
    ("sum_of_products", 2, SumOfProducts),
    ("first_word", 2, FirstWord),
    ("last_word", 2, LastWord),
)
FUNCTIONS = (("quotient", 2, quotient), ("hash", -1, lambda *words: hash(words)))


def load():
    try:
        return importlib.import_module("sqlite3")
    except ImportError as error:  # some sites build a Python without it
        raise Failure(f"this Python, {sys.executable}, lacks sqlite3 of its standard library: {error}") from error


def connect(sqlite3):
    connection = sqlite3.connect("", isolation_level=None)
    for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{CACHE_KIB}"):
        connection.execute(f"PRAGMA {setting}")
    for made in AGGREGATES:
        connection.create_aggregate(*made)
    for made in FUNCTIONS:
        connection.create_function(*made, deterministic=True)
    connection.execute("BEGIN")  # one transaction, which never ends: nothing is kept
    return connection


@contextlib.contextmanager
def told():
    """Gives sqlite, and makes its errors Failures where the folder of its file is the cause. Its other errors
    are mistakes of ours, and are raised as they are."""
    sqlite3 = load()
    try:
        yield sqlite3
    except sqlite3.OperationalError as error:
        if not str(error).startswith(OF_FOLDER):
            raise
        raise Failure(f"cannot keep the figures of records in SQLITE_TMPDIR, TMPDIR or /var/tmp: {error}") from error


class Rows(viewquery.Asking):
    """The rows of records. They have the columns that some views need. The caller adds each record once, and calls
    next_day() before the records of each day."""

    values = ()

    def __init__(self, views, is_dated=False):
        """`is_dated`: `last` is wanted."""
        needed = set(ALWAYS).union(*(view.names() for view in views))
        self.lists = sorted(needed.intersection(ITEMS))
        self.names = sorted(needed.difference(ITEMS))
        self.of_record = attrgetter("run_key", *self.names)
        self.count, self.day = 0, None
        self.is_dated, self.last = is_dated, None  # `last`: when the last job ended
        self.new = {name: [] for name in ("records", *self.lists)}  # rows that are not yet written
        with told() as sqlite3:
            self.connection = connect(sqlite3)
            names = ", ".join(map(quoted, self.names))
            self.run(f"CREATE TABLE records (number INTEGER PRIMARY KEY, day, run, {names})")
            for name in self.lists:
                items = ", ".join(f"item_{field}" for field in ITEMS[name]._fields)
                self.run(f"CREATE TABLE {name} (item_number INTEGER PRIMARY KEY, record, {items})")

    def next_day(self, day):
        self.day = date.fromisoformat(day).toordinal()

    def add(self, record):
        if self.is_dated:
            end = moments.parse_time(fields.text(record, "end") or "")
            self.last = max(self.last or end, end) if end else self.last
        columns, self.count = Columns(record), self.count + 1
        key, *values = self.of_record(columns)
        self.new["records"].append((self.count, self.day, number_of(key), *values))
        for name in self.lists:
            self.new[name] += [(None, self.count, *item) for item in getattr(columns, name)]
        if len(self.new["records"]) >= AT_ONCE:
            self.write()

    def write(self):
        with told():
            for name, rows in self.new.items():
                if rows:
                    marks = ", ".join("?" * len(rows[0]))
                    self.connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
                    rows.clear()

    def part_runs(self):
        """A run goes on from day to day, over any number of midnights. Where a day without it comes between, the later
        records are of another run, with another number."""
        self.store("again", "SELECT run FROM records GROUP BY run HAVING max(day) - min(day) > 1")
        found = self.connection.execute(
            "SELECT DISTINCT run, day FROM records WHERE run IN (SELECT run FROM again) ORDER BY run, day"
        )
        self.run("CREATE TABLE later (run, day, number, PRIMARY KEY (run, day)) WITHOUT ROWID")
        for run, days in itertools.groupby(found, lambda row: row[0]):
            number, before = run, None
            for _, day in days:
                if before is not None and day > before + 1:
                    number = number_of((run, day))
                if number != run:
                    self.run("INSERT INTO later VALUES (?, ?, ?)", run, day, number)
                before = day
        if self.run("SELECT count(*) FROM later")[0][0]:
            same = "FROM later WHERE later.run = records.run AND later.day = records.day"
            self.run(f"UPDATE records SET run = (SELECT number {same}) WHERE EXISTS (SELECT 1 {same})")

    def source(self, items=None):
        """SQL for the rows of the records, or of the items in a list of theirs."""
        if items is None:
            return "(SELECT records.*, number AS met FROM records)"
        both = f"{items} AS items CROSS JOIN records ON number = record"  # in this order, by number
        return f"(SELECT records.*, items.*, item_number AS met FROM {both})"

    def fill(self, all_sums):
        """Fills the rows of views, after the last record. Meanwhile ^C ends the program at once, and not by an
        exception, which would not get out of a function that sqlite calls. Nothing has to be removed then."""
        interrupt.at_once()
        try:
            with told():
                self.write()
                self.part_runs()
                for sums in all_sums:
                    sums.has_records = self.count > 0
                    (runquery if sums.view.is_of_jobs else viewquery).fill(self, sums)
                self.connection.close()
        finally:
            interrupt.as_exception()
