# SPDX-License-Identifier: Apache-2.0
"""Files that others read at any time: what they find is the old file or the new one, never a part."""

import contextlib
import os
import tempfile
from pathlib import Path

from . import records


@contextlib.contextmanager
def replacing(target, mode=0o644):
    """A path beside `target` to write to; it takes its place at the end, or is removed where that failed. The name
    begins with a dot and ends in .new: nobody takes it for one of the folder's files."""
    target = Path(target)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".new", dir=target.parent)
    except OSError as error:
        raise records.Failure(f"cannot write in {target.parent}: {error.strerror}") from error
    os.close(descriptor)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(mode)
        draft.replace(target)
    except OSError as error:
        raise records.Failure(f"cannot write {target}: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)


def write(target, content, mode=0o644):
    """`content` (bytes) as the whole of a file; on the disk before its name is: no crash leaves an empty one."""
    with replacing(target, mode) as draft, draft.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
