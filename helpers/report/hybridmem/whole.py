# SPDX-License-Identifier: Apache-2.0
"""Files that others read at any time: what they find is the old file or the new one, never a part."""

import contextlib
import errno
import os
import stat
import tempfile
from pathlib import Path

from . import records


def settle(draft, target, mode=0o644, group=-1):
    """Put a file that was written (of the same file system) in the target's place; on the disk before its new name is:
    no crash leaves an empty one."""
    with draft.open("rb") as stream:
        os.fsync(stream.fileno())
        os.fchown(stream.fileno(), -1, group)
        os.fchmod(stream.fileno(), mode)
    draft.replace(target)


def is_special(target):
    """Is there something that no file may take the place of: a device, a pipe, a folder? stat() follows links as open()
    would: the kernel's word on those of others in a folder for all, as /tmp, holds. Raises OSError."""
    try:
        return not stat.S_ISREG(Path(target).stat().st_mode)
    except FileNotFoundError:
        return False


def write(target, content, mode=0o644, group=-1, what=None):
    """`content` (bytes) as the whole of a file. Until then it is in one beside it whose name begins with a dot and ends
    in .new: nobody takes it for one of the folder's files. A link stays, and what it names is replaced; what is no file
    is written into. Raises Failure; `what` is what is said before the reason."""
    try:
        if is_special(target):
            with os.fdopen(os.open(target, os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY), "wb") as stream:
                stream.write(content)
            return
        target = Path(target).resolve()
    except (OSError, RuntimeError) as error:  # the latter: links in a circle, before Python 3.13
        reason = getattr(error, "strerror", None) or os.strerror(errno.ELOOP)
        raise records.Failure(f"{what or f'cannot write {target}'}: {reason}") from error
    replace(target, content, mode, group, what)


def replace(target, content, mode, group, what):
    """The same of a file, or of a name that is free."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".new", dir=target.parent)
    except OSError as error:
        raise records.Failure(f"{what or f'cannot write in {target.parent}'}: {error.strerror}") from error
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        settle(draft, target, mode, group)
    except OSError as error:
        raise records.Failure(f"{what or f'cannot write {target}'}: {error.strerror}") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            draft.unlink()
