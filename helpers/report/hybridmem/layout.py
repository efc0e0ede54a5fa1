# SPDX-License-Identifier: Apache-2.0
"""The layout of a history, the folder that hybridmem ingest makes of records.

<history>/records/day=<YYYY-MM-DD>/records.parquet   the records of a day, one in a row; folders in Hive's layout
<history>/left-out/<YYYY-MM-DD>/<node>.jsonl         what was left out of a node's file: place, reason, line
<history>/taken/<YYYY-MM-DD>.json                    files taken: name -> [bytes, mtime in ns], or null if unreadable
<history>/sums/<YYYY-MM-DD>.parquet                  sums of the day's table by user, account and mode (daysums.py)
<history>/runs/<YYYY-MM-DD>.parquet                  records of runs that are counted in more than one row of sums
<history>/sums/<YYYY-MM-DD>.json                     the seal of both: the tables they were made of, and digests"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

from . import columns, engine, records, whole

# The columns of a row, besides its day: name and DuckDB type. New columns may only be added at the end; old tables lack
# them until ingest makes these tables anew.
COLUMNS = (
    ("cluster", "VARCHAR"),
    ("job_id", "BIGINT"),
    ("restart_count", "BIGINT"),
    ("node", "VARCHAR"),
    ("array_job_id", "BIGINT"),
    ("array_task_id", "BIGINT"),
    ("het_job_id", "BIGINT"),
    ("user", "VARCHAR"),
    ("account", "VARCHAR"),
    ("partition", "VARCHAR"),
    ("request", "VARCHAR"),
    ("mode", "VARCHAR"),
    ("start_time", "TIMESTAMPTZ"),
    ("end_time", "TIMESTAMPTZ"),
    ("elapsed_ms", "BIGINT"),
    ("exit_code", "BIGINT"),
    ("fast_peak_bytes", "BIGINT"),
    ("slow_peak_bytes", "BIGINT"),
    ("fast_mean_bytes", "BIGINT"),
    ("all_mean_bytes", "BIGINT"),
    ("package_joules", "DOUBLE"),
    ("memory_joules", "DOUBLE"),
    ("promoted_bytes", "BIGINT"),
    ("demoted_bytes", "BIGINT"),
    ("warnings", "BIGINT"),
    ("run", "BIGINT"),
    ("file", "VARCHAR"),
    ("line", "BIGINT"),
    ("record", "VARCHAR"),
    ("job_traffic_bytes", "BIGINT"),
    ("job_local_bytes", "BIGINT"),
    ("fast_capacity_bytes", "BIGINT"),
    ("shared", "BOOLEAN"),
    ("unused_bytes", "BIGINT"),
    ("slow_beside_room_bytes", "BIGINT"),
    ("package_uj", "BIGINT"),
    ("memory_uj", "BIGINT"),
    ("metered_uj", "BIGINT"),
    ("peak_uw", "BIGINT"),
    ("counted_us", "BIGINT"),
    ("moved_bytes", "BIGINT"),
    ("estimated_static_uj", "BIGINT"),
    ("estimated_dynamic_uj", "BIGINT"),
    ("slow_read_bytes", "BIGINT"),
    ("slow_write_bytes", "BIGINT"),
    ("job", "VARCHAR"),
    ("end_text", "VARCHAR"),
    ("tiers", "STRUCT(name VARCHAR, peak_bytes BIGINT, mean_bytes BIGINT)[]"),
    ("failures", "STRUCT(kind VARCHAR, pattern VARCHAR, text VARCHAR)[]"),
    ("advice_rule", "VARCHAR"),
    ("advice_wanted", "VARCHAR"),
    ("advice_why", "VARCHAR"),
    ("can_be_fast", "BOOLEAN"),
    ("form", "BIGINT"),
)
NAMES = tuple(name for name, _ in COLUMNS)
LISTS = tuple(name for name, kind in COLUMNS if kind.endswith("[]"))
# The version of what row() makes of a record. Count it up when a change of fields.py, figures.py, columns.py or
# rules.py gives a column other values: rows of another version are then made again.
FORM = 6
MAGIC = b"PAR1"  # the first and the last bytes of a Parquet file


def mark(*key):
    """64 bits that identify a key, the same on every machine and in every version."""
    digest = hashlib.blake2b(json.dumps(key).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def row(record, day, file, line, text):
    """Makes a row of a record; `text` is its line. Values that the record lacks or has in another type are left out:
    the table then has null."""
    made = columns.Columns(record)
    place = {"run": mark(day, *made.run_key), "file": file, "line": line, "record": text, "form": FORM}
    lists = {name: [item._asdict() for item in getattr(made, name)] for name in LISTS}
    given = {**place, **lists}
    values = ((name, given[name] if name in given else getattr(made, name)) for name in NAMES)
    return {name: value for name, value in values if value is not None}


def columns_of(connection, tables):
    """Returns the columns that all rows of the tables have, or none if a row has values of another FORM."""
    names = engine.columns(connection, tables)
    return names if "form" in names and engine.has_only(connection, tables, "form", FORM) else frozenset()


def are_new(connection, tables, names):
    """Do all rows of the tables have these columns, with the values that row() would give them today?"""
    return columns_of(connection, tables).issuperset(names)


def state_of(path):
    """The state of a file, which changes when it is written to; None if there is no file, or it cannot be looked at."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]


def has_both_ends(path):
    """Is it a Parquet file with both its ends? Raises OSError; EINVAL if the file is too short."""
    with path.open("rb") as stream:
        head = stream.read(len(MAGIC))
        between = stream.seek(-len(MAGIC), os.SEEK_END) - len(MAGIC)
        return between > 0 and head == stream.read() == MAGIC


def is_parquet(path):
    """Is there a complete and readable Parquet file?"""
    try:
        return has_both_ends(path)
    except OSError:
        return False


class History:
    def __init__(self, folder):
        self.folder = Path(folder)

    @contextlib.contextmanager
    def locked(self):
        """Locks the history for one writer, and yields a folder for drafts. Removes the drafts that a killed
        writer has left."""
        try:
            self.folder.mkdir(mode=0o750, exist_ok=True)
            lock = os.fdopen(os.open(self.folder / ".lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), "w")
        except OSError as error:
            raise records.Failure(f"cannot write in {self.folder}: {error.strerror}") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as busy:
                raise records.Failure(f"another ingest is at work in {self.folder}") from busy
            for left in self.folder.glob(".ingest.*"):
                shutil.rmtree(left)
            for name in ("records", "left-out", "taken", "sums", "runs"):
                self.make_folder(self.folder / name)
            with tempfile.TemporaryDirectory(prefix=".ingest.", dir=self.folder) as work:
                yield Path(work)

    def make_folder(self, folder):
        """Makes a folder with the group and permissions of the history's folder. They are also set on an existing
        folder, which a killed ingest may have made without them."""
        above = self.folder.stat()
        folder.mkdir(mode=0o700, exist_ok=True)
        os.chown(folder, -1, above.st_gid)
        folder.chmod(above.st_mode & 0o777)

    def settle(self, draft, target):
        """Moves a draft to its place, readable for those who may read the history's folder."""
        above = self.folder.stat()
        for part in reversed(target.relative_to(self.folder).parents[:-1]):
            self.make_folder(self.folder / part)
        whole.settle(draft, target, above.st_mode & 0o666, above.st_gid)

    def parquet(self, day):
        return self.folder / "records" / f"day={day}" / "records.parquet"

    def has_table(self, day):
        try:
            self.parquet(day).stat()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise records.Failure(f"cannot read {self.parquet(day)}: {error.strerror}") from error
        return True

    def is_whole(self, day):
        """Is the day's table complete? True also if it does not exist or cannot be read, which others report."""
        try:
            return has_both_ends(self.parquet(day))
        except OSError as error:
            return error.errno != errno.EINVAL

    def damaged(self, day):
        """Says what to do about a damaged table."""
        return f"{self.parquet(day)} is damaged: {self.remedy(day)}"

    def remedy(self, day):
        return f"remove it and {self.taken(day)}, and run hybridmem ingest, which makes the day anew from its records"

    def left_out(self, day, file):
        return self.folder / "left-out" / day / file

    def taken(self, day):
        return self.folder / "taken" / f"{day}.json"

    def noted(self, day):
        """The files of a day that were taken, with their states then; empty if the note is missing or damaged."""
        try:
            found = json.loads(self.taken(day).read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def sums(self, day):
        return self.folder / "sums" / f"{day}.parquet"

    def seal(self, day):
        return self.folder / "sums" / f"{day}.json"

    def runs(self, day):
        return self.folder / "runs" / f"{day}.parquet"

    def states(self, days):
        return [state_of(self.parquet(day)) for day in days]

    def days(self):
        """The days of which there is something, oldest first."""
        found = set()
        for name, prefix in (("records", "day="), ("left-out", "")):
            try:
                names = [path.name for path in (self.folder / name).iterdir()]
            except FileNotFoundError as error:
                if name == "records":
                    why = f"there is no history in {self.folder} that you may read ({error.strerror})"
                    raise records.Failure(f"{why}: hybridmem ingest makes one") from error
                names = []  # a copy may lack an empty folder
            except OSError as error:
                raise records.Failure(f"cannot read {self.folder / name}: {error.strerror}") from error
            found.update(name[len(prefix) :] for name in names if name.startswith(prefix))
        return sorted(filter(records.DAY.fullmatch, found))

    def left_out_lines(self, day):
        """The lines left out of a day, in the order of reading: objects with path, line, cause and text."""
        folder = self.folder / "left-out" / day
        for path in sorted(folder.glob("*.jsonl")):
            with path.open(encoding="ascii", errors="replace") as stream:
                for line in stream:
                    yield self.left_out_line(path, line)

    def left_out_line(self, path, line):
        try:
            found = json.loads(line)
            if found["cause"] in records.Skipped.CAUSES:
                return found
        except (ValueError, TypeError, KeyError):
            pass
        raise records.Failure(f"{path} is damaged: {self.remedy(path.parent.name)}")
