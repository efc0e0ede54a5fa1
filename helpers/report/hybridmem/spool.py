# SPDX-License-Identifier: Apache-2.0
"""The spool folder: hybridmem-spool leaves a file in it for each job that ended. Entries that cannot be handled are set
aside in a folder below it."""

import errno
import fcntl
import json
import os
import pwd
import re
import stat
from pathlib import Path

from . import fields
from .failure import Failure

SCHEMA = 1
MOST_BYTES = 1 << 17
MOST_ASIDE = 10_000  # most entries that are set aside
KEEP_ASIDE_S = 90 * 24 * 3600  # how long they are kept
MOST_TIME = 253_000_000_000  # in the year 9987: Python's datetime cannot hold much later times
FOR_GOOD = frozenset((errno.ELOOP, errno.EACCES, errno.EPERM))  # errors of open() that do not go away by trying again
DRAFT_S = 3600  # an older draft belongs to a process that was killed
# Longest time between two failures that counts as failing. In a longer gap nobody tried, or the database was down.
GAP_S = 6 * 3600
_FAILED = re.compile(r"(\d{1,12}) (\d{1,12})\n")
_ENTRY = re.compile(r"(\d{1,10})\.(\d{1,12})\.json")
_NODES = re.compile(r"[A-Za-z0-9][A-Za-z0-9._\[\],-]*")
_NAME = re.compile(r"[A-Za-z0-9._@+-]{1,63}")


def user_name(uid):
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


class Gone(Exception):
    """An administrator has removed the entry."""


class Unreadable(Exception):
    """The entry cannot be used, for this reason."""


def _is_id(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < fields.MAXIMUM


def _is_id_or_null(value):
    return value is None or _is_id(value)


def _is_time(value):
    return _is_id(value) and 0 < value <= MOST_TIME


def _is_name_or_null(value):
    return value is None or (isinstance(value, str) and bool(_NAME.fullmatch(value)))


_FORM = {
    **dict.fromkeys(("spool", "job_id", "restart_count", "uid"), _is_id),
    **dict.fromkeys(("array_job_id", "array_task_id", "het_job_id", "het_job_offset"), _is_id_or_null),
    "start_s": lambda value: value is None or _is_time(value),
    "end_s": _is_time,
    "cluster": _is_name_or_null,
    "nodes": lambda value: isinstance(value, str) and bool(_NODES.fullmatch(value)),
    "asked": lambda value: isinstance(value, bool),
}


def parse(text, name):
    """Parses the entry of this name. Raises Unreadable."""
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable("it is torn") from error
    if not isinstance(entry, dict) or entry.get("spool") != SCHEMA:
        raise Unreadable("it is of another version")
    for key, is_right in _FORM.items():
        if key not in entry or not is_right(entry[key]):
            raise Unreadable(f"{key} is missing or wrong")
    for half, other in (("array_job_id", "array_task_id"), ("het_job_id", "het_job_offset")):
        if (entry[half] is None) != (entry[other] is None):
            raise Unreadable(f"{half} and {other} do not go together")
    if name != f"{entry['job_id']}.{entry['end_s']}.json":
        raise Unreadable("it is not of the job and the end that its name says")
    return entry


class Sweep:
    """Removes old files one by one. `failed` has the errors of those that stay."""

    def __init__(self, now):
        self.now, self.failed = now, []

    def is_old(self, path, seconds):
        try:
            return self.now - path.lstat().st_mtime > seconds
        except FileNotFoundError:
            return False  # a draft that was put in its place meanwhile, or a file that somebody removed
        except OSError as error:
            self.failed.append(error)
            return False

    def remove(self, path):
        """Returns whether the file is gone (also if it was not there)."""
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            self.failed.append(error)
            return False
        return True


class Spool:
    """The folder. One process has it at a time, from open() until its end."""

    def __init__(self, folder):
        self.folder, self.aside, self.holder = Path(folder), Path(folder, "aside"), None

    def open(self):
        """Takes the lock (the kernel frees a dead process's lock). Raises Failure."""
        try:
            self.check(self.folder.lstat())
            self.holder = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            fcntl.flock(self.holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.aside.mkdir(mode=0o700, exist_ok=True)
        except BlockingIOError as error:
            raise Failure(f"another hybridmem-collect has {self.folder}") from error
        except OSError as error:
            raise Failure(f"spool_dir {self.folder}: {error.strerror}") from error

    def check(self, status):
        """Checks that the entries can be trusted and that we may write in the folder. hybridmem-spool writes them as
        the folder's owner. Raises Failure."""
        if not stat.S_ISDIR(status.st_mode):
            raise Failure(f"spool_dir {self.folder} is no folder")
        if status.st_uid != os.geteuid():
            owner = user_name(status.st_uid)
            raise Failure(f"spool_dir {self.folder} belongs to {owner}: run this as {owner}")
        if status.st_mode & 0o022:
            raise Failure(f"others than its owner may write in spool_dir {self.folder}: chmod go-w {self.folder}")

    def names(self):
        """The names of the entries, in the order of the jobs' ends."""
        found = [match for path in self.folder.iterdir() if (match := _ENTRY.fullmatch(path.name))]
        return [match[0] for match in sorted(found, key=lambda match: (int(match[2]), int(match[1])))]

    def read(self, name):
        """Reads an entry. Raises Unreadable, Gone, or OSError if it may be readable later."""
        try:
            descriptor = os.open(self.folder / name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError as error:
            raise Gone from error
        except OSError as error:
            if error.errno not in FOR_GOOD:
                raise
            raise Unreadable(error.strerror) from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise Unreadable("it is no file")
        with os.fdopen(descriptor, "rb") as stream:
            text = stream.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise Unreadable(f"it is larger than {MOST_BYTES} bytes")
        return parse(text, name)

    def remove(self, name):
        (self.folder / name).unlink(missing_ok=True)
        self._note(name).unlink(missing_ok=True)

    def _note(self, name):
        return self.folder / f"{name}.failed"

    def failed(self, name, now):
        """Notes a failure of the entry itself. Returns for how many seconds it has been failing. A file beside the
        entry has these seconds and the time of the last failure ("SECONDS LAST"), so that later processes go on
        counting."""
        seconds, now = 0, int(now)
        try:
            found = _FAILED.fullmatch(self._note(name).read_text(encoding="ascii", errors="replace"))
        except FileNotFoundError:
            found = None
        if found:
            seconds, passed = int(found[1]), now - int(found[2])
            seconds += passed if 0 <= passed <= GAP_S else 0
        draft = self.folder / f".{name}.draft"
        draft.write_text(f"{seconds} {now}\n", encoding="ascii")
        draft.replace(self._note(name))
        return seconds

    def set_aside(self, name, reason):
        """Moves the entry aside, with its reason beside it. The reason is written first, so that no entry is there
        without one."""
        draft = self.aside / f".{name}.draft"
        draft.write_text(f"{reason}\n", encoding="utf-8")
        draft.replace(self.aside / f"{name}.why")
        (self.folder / name).rename(self.aside / name)
        self._note(name).unlink(missing_ok=True)

    def tidy(self, now):
        """Removes drafts of killed processes, notes of entries that are gone, and the oldest entries that were set
        aside. Returns how many such entries were removed, and the OSErrors of files that stay."""
        sweep = Sweep(now)
        for folder in (self.folder, self.aside):
            for draft in folder.glob(".*.draft"):
                if sweep.is_old(draft, DRAFT_S):
                    sweep.remove(draft)
        for note in self.folder.glob("*.failed"):
            if not (self.folder / note.stem).exists():
                sweep.remove(note)
        return self._tidy_aside(sweep), sweep.failed

    def _tidy_aside(self, sweep):
        reasons = [path for path in self.aside.glob("*.why") if _ENTRY.fullmatch(path.stem)]
        old = {path.stem for path in reasons if sweep.is_old(path, KEEP_ASIDE_S)}
        kept = [match for path in self.aside.glob("*.json") if (match := _ENTRY.fullmatch(path.name))]
        young = sorted((match for match in kept if match[0] not in old), key=lambda match: int(match[2]))
        many = {match[0] for match in young[: max(0, len(young) - MOST_ASIDE)]}
        # Each entry has a reason beside it. If there is only a reason, an administrator has moved its entry back.
        gone = {name for name in old | many if sweep.remove(self.aside / name)}
        for name in gone:
            sweep.remove(self.aside / f"{name}.why")
        return sum(match[0] in gone for match in kept)
