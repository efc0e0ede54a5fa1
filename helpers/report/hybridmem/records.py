# SPDX-License-Identifier: Apache-2.0
"""Reads the records folder as a stream, one line at a time. No line is trusted, and a bad line is not fatal.

<record_dir>/<YYYY-MM-DD>/<node>.jsonl                  all records, for root and the record group
<record_dir>/by-user/<uid>/<YYYY-MM-DD>/<node>.jsonl    one user's own records"""

import errno
import os
import re
import stat
from pathlib import Path

from . import fields, settings
from .failure import Failure

SCHEMA = 1
LINE_MAX = 1 << 20  # a record has at most some 40 KiB: 256 points for each of 8 tiers
DAY = re.compile(r"\d{4}-\d\d-\d\d")
SAID = {  # a cause: the words for one, for several, and what to know or do
    "torn": ("line", "lines", "not JSON, as after a crash or on a full disk"),
    "foreign": ("line", "lines", "JSON, but no record of a job"),
    "unknown_schema": (
        "record",
        "records",
        f"of another version of hybridmem (this one reads schema {SCHEMA}): update hybridmem on this host",
    ),
    "too_long": ("line", "lines", "longer than 1 MiB, which no record is"),
    "unreadable_file": ("file or folder", "files or folders", "that cannot be read: look at its permissions"),
    "duplicate": ("record", "records", "that another line has, too, as in a copied file: it counts once"),
    "ahead_of_clock": ("record", "records", "that ended more than a day from now: set the clock of its node"),
}


class NoFolder(Failure):
    """As far as the caller can see, there is no record yet."""


class Shut(Failure):
    """There may be records, but the caller may not see them."""


class NoSuchJob(Failure):
    """No record that the caller may read is of this job."""


class Skipped:
    """Counts the lines and files that were left out, and keeps the first positions of each cause."""

    CAUSES = ("torn", "foreign", "unknown_schema", "too_long", "unreadable_file", "duplicate")
    PLACES = 3

    def __init__(self):
        self.counts = dict.fromkeys(self.CAUSES, 0)
        self.places = {cause: [] for cause in self.CAUSES}

    def add(self, cause, path, number=None):
        self.counts[cause] += 1
        if len(self.places[cause]) < self.PLACES:
            self.places[cause].append(str(path) if number is None else f"{path}:{number}")

    def lines(self):
        """One line of text for each cause that has occurred."""
        for cause, count in self.counts.items():
            if count:
                named = ", ".join(self.places[cause])
                more = ", ..." if count > len(self.places[cause]) else ""
                one, several, why = SAID[cause]
                yield f"left out: {count} {one if count == 1 else several} ({named}{more}) {why}"


def configured_folder(config_program):
    """record_dir of hybridmem.conf, from the program that reads that file."""
    return settings.read(config_program, instead="; name the folder with --records").text("record_dir")


def chosen_folder(named, config_program):
    """The part that the caller may read, of the folder that they named or else of the configured one."""
    if named:
        return readable_folder(named)
    try:
        return readable_folder(configured_folder(config_program))
    except NoFolder as failure:
        raise NoFolder(f"{failure}: no job was recorded yet, or record_dir is wrong") from failure


def readable_folder(record_dir):
    """The part that the caller may read: all records, or else their own. The kernel's permissions decide. Raises Shut
    if a folder cannot be entered, NoFolder if there is no record_dir, Failure if it cannot be read for another reason.
    """
    try:
        with os.scandir(record_dir):
            folder = record_dir
    except PermissionError:
        folder = f"{record_dir}/by-user/{os.geteuid()}"
    except FileNotFoundError as error:
        raise NoFolder(f"there is no folder {record_dir}") from error
    except OSError as error:
        raise Failure(f"cannot read {record_dir}: {error.strerror}") from error
    for path in (record_dir, folder):  # a folder that can be listed may still not be entered
        if not os.access(path, os.X_OK) and (path == record_dir or os.path.lexists(path)):
            raise Shut(f"cannot enter {path}: {os.strerror(errno.EACCES)}")
    return folder


def is_own(folder):
    """Is the folder the caller's own part of records that they may not read as a whole?"""
    return str(folder).endswith(f"/by-user/{os.geteuid()}")


def days(folder):
    """The names of the day folders, oldest first. Empty if the folder does not exist, as for a user without records."""
    try:
        with os.scandir(folder) as entries:
            return sorted(e.name for e in entries if DAY.fullmatch(e.name) and e.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Shut(f"cannot enter {folder}: {error.strerror}") from error


def why_no_days(folder):
    """Says why a folder without day folders has no record."""
    if DAY.fullmatch(Path(folder).resolve().name):
        return f"there are no folders of days in {folder}: it is the folder of a day; name the one above it"
    return f"there are no folders of days (YYYY-MM-DD) in {folder}: no job was recorded there"


def check_days(folder, named):
    """Raises Failure if the folder is the one that the user named, and has files, but no folders of days: it is a wrong
    one. An empty one may wait for its first record."""
    if folder == named and not days(folder) and any(Path(folder).iterdir()):
        raise Failure(why_no_days(folder))


def files(folder, day, skipped):
    """The record files of a day, by node name."""
    path = f"{folder}/{day}"
    try:
        with os.scandir(path) as entries:
            names = sorted(e.name for e in entries if e.name.endswith(".jsonl"))
    except OSError:
        skipped.add("unreadable_file", path)
        return
    for name in names:
        yield f"{path}/{name}"


def open_file(path):
    """Opens a regular file; the caller closes the descriptor. None if it cannot be read or is no regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def lines(path, skipped):
    """Yields (number, bytes) of each line of a regular file, without empty lines. A line longer than LINE_MAX is only
    counted."""
    descriptor = open_file(path)
    if descriptor is None:
        skipped.add("unreadable_file", path)
        return
    with os.fdopen(descriptor, "rb") as stream:
        number = 0
        while line := stream.readline(LINE_MAX):
            number += 1
            if line.endswith(b"\n") or len(line) < LINE_MAX:
                if not line.isspace():  # an empty line is not counted as left out
                    yield number, line
                continue
            skipped.add("too_long", path, number)
            while (rest := stream.readline(LINE_MAX)) and not rest.endswith(b"\n"):
                pass


def parse(line, path, number, skipped):
    """The record on a line. None if it is left out and counted: torn if it is not JSON, foreign if it is no record,
    unknown_schema if another version of hybridmem wrote it."""
    try:
        record = fields.parse(line)
    except (ValueError, RecursionError):
        skipped.add("torn", path, number)
        return None
    if not isinstance(record, dict) or "schema" not in record:
        skipped.add("foreign", path, number)
        return None
    if record["schema"] != SCHEMA or isinstance(record["schema"], bool):
        skipped.add("unknown_schema", path, number)
        return None
    if fields.whole(record, "job_id") is None or not fields.text(record, "node"):
        skipped.add("foreign", path, number)
        return None
    return record
