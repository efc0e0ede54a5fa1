# SPDX-License-Identifier: Apache-2.0
"""Runs programs on a terminal of any width, where they print in another way than in a pipe."""

import contextlib
import fcntl
import os
import struct
import subprocess
import termios

from installed import LEAKS


def on_terminal(columns, *words, status=0):
    """The lines that a program writes to a terminal with these columns."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {"LC_ALL": "C.UTF-8", "TERM": "dumb", **LEAKS}
    with subprocess.Popen([*map(str, words)], stdout=theirs, env=environment) as process:
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # EIO: the last process that had the terminal has ended
            while part := os.read(ours, 4096):
                said += part
    os.close(ours)
    assert process.returncode == status
    return said.decode().splitlines()
