# SPDX-License-Identifier: Apache-2.0
"""The cache folder: things that are made once. Their names change when their sources change."""

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
COMPILE = ("gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror")


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
    """Return a new open file in the cache folder, without a name: it is gone once nobody has it open."""
    return tempfile.TemporaryFile(dir=folder())


def as_root_contained(*words, **options):
    """Run a command as root, in namespaces of its own, so that its mounts and processes end with it."""
    return as_root("unshare", "--mount", "--pid", "--fork", "--kill-child", *words, **options)


def _lock_file(name):
    path = folder() / "locks" / name
    path.parent.mkdir(exist_ok=True)
    return path


@contextlib.contextmanager
def lock(name, waiting):
    """Hold the lock NAME; print WAITING where another process holds it."""
    with _lock_file(name).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            command.say(waiting)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def digest(*parts):
    """Return a short digest of files' contents (paths) and of words (strings)."""
    state = hashlib.sha256()
    for part in parts:
        state.update(part.read_bytes() if isinstance(part, Path) else part.encode())
        state.update(b"\0")
    return state.hexdigest()[:12]


def make(path, build):
    """Return the folder PATH. Where it does not exist, build(new) fills a new one, which gets its name at the end."""
    with lock(path.name, f"waiting for another run that makes {path.name}"):
        if not path.exists():
            new = path.with_name(path.name + ".new")
            path.parent.mkdir(parents=True, exist_ok=True)
            remove(new)
            new.mkdir()
            build(new)
            new.rename(path)
        _lock_file(path.name).touch()  # its time records the last use; the folder itself may be root's
        drop_unused(path.parent.glob(path.name.rpartition("-")[0] + "-*"))  # other versions of "NAME-DIGEST"
    return path


def compiled(name, source, *options):
    """Return the path of the file NAME, compiled from the C file SOURCE with OPTIONS when needed."""
    words = (*COMPILE, *options)

    def build(new):
        subprocess.run([*words, "-o", new / name, source], check=True)

    return make(folder() / source.stem / f"{name}-{digest(source, *words)}", build) / name


def drop_unused(others, prefix=""):
    """Remove those of the folders OTHERS that were not used for a while. The lock of each is PREFIX and its name."""
    for other in others:
        used = _lock_file(prefix + other.name)
        if not used.exists():
            used.touch()
        elif used.stat().st_mtime < time.time() - KEEP_SECONDS:
            remove(other)


def remove(path):
    """Remove a folder, which may have root's files in it."""
    if path.exists():
        as_root("rm", "-rf", "--one-file-system", path)
