# SPDX-License-Identifier: Apache-2.0
"""The records folder, read as a stream: one line at a time, nothing trusted, nothing fatal.

<record_dir>/<YYYY-MM-DD>/<node>.jsonl                  root and the record group
<record_dir>/by-user/<uid>/<YYYY-MM-DD>/<node>.jsonl    one user's own
"""

import errno
import json
import os
import re
import stat
from pathlib import Path

from . import fields, settings
from .failure import Failure

SCHEMA = 1
LINE_MAX = 1 << 20  # a record is at most some 40 KiB: 256 points for each of 8 tiers
DAY = re.compile(r"\d{4}-\d\d-\d\d")


class NoFolder(Failure):
    """There is no record yet, as far as can be seen."""


class Shut(Failure):
    """There may be records: the caller may not see."""


class NoSuchJob(Failure):
    """None of the records that the caller may read is of the job."""


class Skipped:
    """Counts the lines that were left out, and remembers the first places of each cause."""

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
        """One line of text for each cause that there was."""
        for cause, count in self.counts.items():
            if count:
                named = ", ".join(self.places[cause])
                more = ", ..." if count > len(self.places[cause]) else ""
                yield f"left out: {count} {cause.replace('_', ' ')} ({named}{more})"


def configured_folder(config_program):
    """record_dir as hybridmem.conf has it, by asking the program that reads that file."""
    return settings.read(config_program, instead="; name the folder with --records").text("record_dir")


def chosen_folder(named, config_program):
    """What the caller may read of the folder that he named, else of the configured one."""
    if named:
        return readable_folder(named)
    try:
        return readable_folder(configured_folder(config_program))
    except NoFolder as failure:
        raise NoFolder(f"{failure}: no job was recorded yet, or record_dir is wrong") from failure


def readable_folder(record_dir):
    """What the caller may read, as the kernel's permissions decide: all records, else the caller's own. Raises Shut
    where it is neither."""
    try:
        with os.scandir(record_dir):
            folder = record_dir
    except PermissionError:
        folder = f"{record_dir}/by-user/{os.geteuid()}"
    except FileNotFoundError as error:
        raise NoFolder(f"there is no folder {record_dir}") from error
    except OSError as error:
        raise Failure(f"cannot read {record_dir}: {error.strerror}") from error
    for path in (record_dir, folder):  # also one that may be listed: its days could not be entered
        if not os.access(path, os.X_OK) and (path == record_dir or os.path.lexists(path)):
            raise Shut(f"cannot enter {path}: {os.strerror(errno.EACCES)}")
    return folder


def is_own(folder):
    """Is this the caller's own part of a folder whose other records are not his to read?"""
    return str(folder).endswith(f"/by-user/{os.geteuid()}")


def days(folder):
    """The names of the day folders, oldest first; none where there is no folder, as of a user without any record."""
    try:
        with os.scandir(folder) as entries:
            return sorted(e.name for e in entries if DAY.fullmatch(e.name) and e.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Shut(f"cannot enter {folder}: {error.strerror}") from error


def why_no_days(folder):
    """Why a folder without any folder of a day has no record."""
    if DAY.fullmatch(Path(folder).resolve().name):
        return f"there are no folders of days in {folder}: it is one of a day itself, name the one that it is in"
    return f"there are no folders of days (YYYY-MM-DD) in {folder}: no job was recorded there"


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
    """A descriptor of a regular file, to be closed by the caller; None where it cannot be read or is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def lines(path, skipped):
    """(number, bytes) of each line of a regular file; of a longer line than a record can be only the count is kept."""
    descriptor = open_file(path)
    if descriptor is None:
        skipped.add("unreadable_file", path)
        return
    with os.fdopen(descriptor, "rb") as stream:
        number = 0
        while line := stream.readline(LINE_MAX):
            number += 1
            if line.endswith(b"\n") or len(line) < LINE_MAX:
                if not line.isspace():  # an empty one lacks nothing
                    yield number, line
                continue
            skipped.add("too_long", path, number)
            while (rest := stream.readline(LINE_MAX)) and not rest.endswith(b"\n"):
                pass


def _no_constant(word):
    raise ValueError(f"{word} is not JSON")


def parse(line, path, number, skipped):
    """The record on a line, or None, counted: torn where it is not JSON, foreign where it is no record."""
    try:
        record = json.loads(line, parse_constant=_no_constant)
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
