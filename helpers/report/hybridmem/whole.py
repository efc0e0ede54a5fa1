# SPDX-License-Identifier: Apache-2.0
"""Writes files that others may read at any time: they find the old file or the new one, never a part."""

import contextlib
import errno
import os
import stat
import tempfile
from pathlib import Path

from . import records

MOST_LINKS = 40  # as the kernel follows


def finish(descriptor, mode, group, owner=-1):
    """Gives an open draft its mode, group and owner, and writes its data to the disk."""
    os.fchown(descriptor, owner, group)
    os.fchmod(descriptor, mode)
    os.fsync(descriptor)


def settle(draft, target, mode=0o644, group=-1):
    """Moves a draft (on the same file system) to the target's place. Its data is on the disk before its name changes: a
    crash does not leave an empty file."""
    descriptor = os.open(draft, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        finish(descriptor, mode, group)
    finally:
        os.close(descriptor)
    draft.replace(target)


def is_special(target):
    """Is the target something that must not be replaced: a device, a pipe, a folder? stat() follows links as open()
    does, so the kernel's protection against links of others in shared folders such as /tmp applies. (Its protection
    against pipes of others applies in write(), as it needs O_CREAT.) Raises OSError."""
    try:
        return not stat.S_ISREG(Path(target).stat().st_mode)
    except FileNotFoundError:
        return False


def is_trap(path, status):
    """May what is at the path's end, a link or a file, be somebody's trap? In a sticky folder that others can write to,
    such as /tmp, it may unless it is the caller's or the folder owner's (as in helpers/base/newfile.c)."""
    folder = path.parent.stat()
    is_shared = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
    return is_shared and status.st_uid not in (os.geteuid(), folder.st_uid)


def follow(target):
    """Follows the links at the path's end, also to a file that is missing. Each is opened before it is looked at, so
    that nobody can exchange it in between. Returns the path and the file's status (None: it is missing). Raises
    OSError."""
    path = Path(target)
    for _ in range(MOST_LINKS):
        try:
            descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return path, None
        try:
            status = os.fstat(descriptor)
            if is_trap(path, status):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            if not stat.S_ISLNK(status.st_mode):
                return path, status
            path = path.parent / os.readlink("", dir_fd=descriptor)
        finally:
            os.close(descriptor)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def write(target, content, mode=0o644, group=-1, what=None):
    """Makes the target a file with `content` (bytes). A draft is written beside the target, under a name that begins
    with a dot and ends in .new, so that nobody takes it for one of the folder's files; then it replaces the target. If
    the target is a link, the file that it names is replaced. A device or a pipe is not replaced, but written into. A
    file that root replaces stays its owner's. Raises Failure; its text is `what` (default: what cannot be written) and
    the reason."""
    try:
        if is_special(target):
            with os.fdopen(
                os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY, mode), "wb"
            ) as stream:
                stream.write(content)
            return
        target, status = follow(target)
    except OSError as error:
        raise records.Failure(f"{what or f'cannot write {target}'}: {error.strerror}") from error
    owner = -1
    if status and os.geteuid() == 0:
        owner, group = status.st_uid, status.st_gid if group == -1 else group
    replace(target, content, mode, group, owner, what)


def replace(target, content, mode, group, owner, what):
    """Writes a draft and puts it in the place of `target`, a regular file or none. The arguments are those of write."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".new", dir=target.parent)
    except OSError as error:
        raise records.Failure(f"{what or f'cannot write in {target.parent}'}: {error.strerror}") from error
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            # by the descriptor: in another user's folder, another file may have got the draft's name
            finish(stream.fileno(), mode, group, owner)
        draft.replace(target)
    except OSError as error:
        raise records.Failure(f"{what or f'cannot write {target}'}: {error.strerror}") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            draft.unlink()
