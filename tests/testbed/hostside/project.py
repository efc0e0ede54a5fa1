# SPDX-License-Identifier: Apache-2.0
"""Builds the project of this working tree in the root tree of a Debian release, which image.py makes."""

import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path

from . import cache, command, image

CHECKOUT = Path(__file__).resolve().parents[3]
LOG_TAIL = 6000  # characters of the log that are shown when a build fails


def _files():
    """List the files of the working tree as git sees them, with uncommitted ones and without ignored ones."""
    listing = ["git", "-C", CHECKOUT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    output = subprocess.run(listing, check=True, capture_output=True).stdout
    names = {os.fsdecode(name) for name in output.split(b"\0") if name}
    return {name for name in names if os.path.lexists(CHECKOUT / name)}


def _same(source, copy):
    """Are the files the same, whatever their times? Another clone of the repository has other times."""
    if copy.is_symlink() or not copy.exists():
        return False
    ours, theirs = source.lstat(), copy.stat()
    return (ours.st_size, ours.st_mode) == (theirs.st_size, theirs.st_mode) and filecmp.cmp(source, copy, shallow=False)


def _copy(target):
    """Copy the working tree to TARGET; unchanged files keep their time, so that make stays quick. Return a digest of
    the copy's files: their names, modes and contents, and the times of Python files."""
    listing = target.with_name("files")
    names = _files()
    for name in set(listing.read_text().splitlines() if listing.exists() else ()) - names:
        (target / name).unlink(missing_ok=True)
    facts = []
    for name in sorted(names):
        source, copy = CHECKOUT / name, target / name
        if not _same(source, copy):
            copy.parent.mkdir(parents=True, exist_ok=True)
            if copy.is_dir() and not copy.is_symlink():  # of files that are gone, but for what autoreconf has made
                cache.remove(copy)
            copy.unlink(missing_ok=True)
            shutil.copy(source, copy, follow_symlinks=False)
        # What Python compiles is bound to its source's time, which has to be that of the checkout.
        if name.endswith(".py"):
            shutil.copystat(source, copy)
            facts.append(str(copy.stat().st_mtime_ns))
        facts += [name, str(copy.stat().st_mode), copy]
    listing.write_text("".join(f"{name}\n" for name in sorted(names)))
    recipe = [name for name in sorted(names) if name.endswith((".ac", ".am", ".m4"))]
    target.with_name("wanted").write_text(cache.digest(*recipe, *(target / name for name in recipe)))
    return cache.digest(*facts)


LOCK = "build-"  # begins the name of a build folder's lock


def held(stage):
    """A context manager that holds a staging folder: nobody else builds or installs there meanwhile."""
    return cache.lock(f"{LOCK}{stage.parent.name}", f"waiting for another build in {stage.parent}")


def _begin(work, root):
    """Make the folder WORK, as a copy of another clone's where there is one: only what differs is then built."""
    new = work.with_name(f"new-{work.name}")
    cache.remove(new)
    new.mkdir(parents=True)
    others = list(work.parent.glob(f"{root.name}-*/built"))
    if others:
        other = max(others, key=lambda file: file.stat().st_mtime).parent
        with held(other / "stage"):
            cache.as_root("cp", "--archive", "--no-target-directory", other, new)
    new.rename(work)


def stage(release, targets=()):
    """Build the working tree, with TARGETS, and install it. Return the staging folder, or None without a project.
    Without TARGETS nothing is done where nothing changed since the last build, as even to install takes seconds."""
    if not (CHECKOUT / "configure.ac").exists():
        command.say("there is no configure.ac: going on without the project")
        return None
    root = image.root_tree(release)
    work = cache.folder() / "build" / f"{root.name}-{cache.digest(str(CHECKOUT))}"
    ccache = cache.folder() / "ccache"
    ccache.mkdir(exist_ok=True)
    log, built_file = work / "log", work / "built"
    with held(work / "stage"):
        if not work.exists():
            _begin(work, root)
            cache.drop_unused(work.parent.iterdir(), LOCK)  # such as those of working trees that are gone
        state = cache.digest(image.RECIPE / "build-in-root", _copy(work / "src"))
        if not targets and built_file.exists() and built_file.read_text() == state:
            return work / "stage"
        built_file.unlink(missing_ok=True)
        command.say(f"building the project for {release}")
        with log.open("w") as output:
            words = [image.RECIPE / "build-in-root", root, work, ccache, *targets]
            quiet = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output}
            built = cache.as_root_contained(*words, check=False, **quiet)
        if built.returncode:
            sys.stderr.write(log.read_text(errors="replace")[-LOG_TAIL:])
        else:
            built_file.write_text(state)
    if built.returncode:
        raise command.Failure(f"the project does not build for {release}: see {log}")
    return work / "stage"
