# SPDX-License-Identifier: Apache-2.0
"""A terminal of any width, for what programs draw there otherwise than in a pipe."""

import contextlib
import fcntl
import os
import struct
import subprocess
import termios


def on_terminal(columns, *words, status=0):
    """What a program writes to a terminal of so many columns, as lines."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {"LC_ALL": "C.UTF-8", "TERM": "dumb"}
    with subprocess.Popen([*map(str, words)], stdout=theirs, env=environment) as process:
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # EIO: the last one who had it has ended
            while part := os.read(ours, 4096):
                said += part
    os.close(ours)
    assert process.returncode == status
    return said.decode().splitlines()
