# SPDX-License-Identifier: Apache-2.0
"""The cache folder: what is made once, under names that change when what went into them changes."""

import contextlib
import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import command

KEEP_SECONDS = 7 * 86400


def folder():
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(base) / "hybridmem"
    path.mkdir(parents=True, exist_ok=True)
    return path


def as_root(*words, **options):
    """Run a command that only root may run; its output goes to stderr."""
    prefix = [] if os.geteuid() == 0 else ["sudo"]
    return subprocess.run([*prefix, *map(str, words)], **{"check": True, "stdout": sys.stderr, **options})


def nameless_file():
    """Return a new open file in the cache folder that is gone when nobody has it open any more."""
    return tempfile.TemporaryFile(dir=folder())


def as_root_contained(*words, **options):
    """Run a command as as_root does, in namespaces that leave none of its mounts and processes behind."""
    return as_root("unshare", "--mount", "--pid", "--fork", "--kill-child", *words, **options)


def _lock_file(name):
    path = folder() / "locks" / name
    path.parent.mkdir(exist_ok=True)
    return path


@contextlib.contextmanager
def lock(name, waiting):
    """Hold the lock NAME; say WAITING where someone else holds it first."""
    with _lock_file(name).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            command.say(waiting)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def digest(*parts):
    """A short name for the contents of files (paths) and for words (strings)."""
    state = hashlib.sha256()
    for part in parts:
        state.update(part.read_bytes() if isinstance(part, Path) else part.encode())
        state.update(b"\0")
    return state.hexdigest()[:12]


def make(path, build):
    """Return PATH, a folder; if it is not there let build(new) fill a new one, which takes its name when complete."""
    with lock(path.name, f"waiting for another run that makes {path.name}"):
        if not path.exists():
            new = path.with_name(path.name + ".new")
            path.parent.mkdir(parents=True, exist_ok=True)
            remove(new)
            new.mkdir()
            build(new)
            new.rename(path)
        _lock_file(path.name).touch()  # its time is the last use: what it guards may be root's
        _drop_old(path)
    return path


def _drop_old(path):
    """Remove the siblings of PATH, "NAME-DIGEST", that nobody has asked for in a while."""
    for other in path.parent.glob(path.name.rpartition("-")[0] + "-*"):
        used = _lock_file(other.name)
        if not used.exists():
            used.touch()
        elif used.stat().st_mtime < time.time() - KEEP_SECONDS:
            remove(other)


def remove(path):
    """Remove a folder, which may have root's files in it."""
    if path.exists():
        as_root("rm", "-rf", "--one-file-system", path)
