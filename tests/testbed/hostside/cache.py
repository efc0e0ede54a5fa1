# SPDX-License-Identifier: Apache-2.0
"""The cache folder: what is made once, under names that change when what went into them changes."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KEEP_SECONDS = 7 * 86400


def folder():
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(base) / "hybridmem"
    path.mkdir(parents=True, exist_ok=True)
    return path


def say(text):
    """A message for people: standard output belongs to what was asked for."""
    print(f"{Path(sys.argv[0]).name}: {text}", file=sys.stderr, flush=True)


def as_root(*command, **options):
    """Run a command that only root may run; its output goes to stderr."""
    prefix = [] if os.geteuid() == 0 else ["sudo"]
    return subprocess.run([*prefix, *map(str, command)], **{"check": True, "stdout": sys.stderr, **options})


def nameless_file():
    """Return a new open file in the cache folder that is gone when nobody has it open any more."""
    return tempfile.TemporaryFile(dir=folder())


@contextlib.contextmanager
def lock(name, waiting):
    """Hold the lock NAME; say WAITING where someone else holds it first."""
    with (folder() / f"{name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(waiting)
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
        path.touch()
        _drop_old(path)
    return path


def _drop_old(path):
    """Remove the siblings of PATH, "NAME-DIGEST", that nobody has asked for in a while."""
    for other in path.parent.glob(path.name.rpartition("-")[0] + "-*"):
        if other.stat().st_mtime < time.time() - KEEP_SECONDS:
            remove(other)


def remove(path):
    """Remove a folder, which may have root's files in it."""
    if path.exists():
        if os.geteuid() == 0:
            shutil.rmtree(path)
        else:
            as_root("rm", "-rf", "--one-file-system", path)
