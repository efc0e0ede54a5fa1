# SPDX-License-Identifier: Apache-2.0
"""Runs programs on a terminal of any width, where they print in another way than in a pipe."""

import contextlib
import fcntl
import os
import struct
import subprocess
import termios

from installed import LEAKS


def read_all(terminal):
    """Returns what is written to a terminal until no program has it open any more. Closes our end."""
    said = b""
    with contextlib.suppress(OSError):  # EIO: nobody has it any more
        while part := os.read(terminal, 4096):
            said += part
    os.close(terminal)
    return said.decode()


def on_terminal(columns, *words, status=0):
    """The lines that a program writes to a terminal with these columns."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {"LC_ALL": "C.UTF-8", "TERM": "dumb", **LEAKS}
    with subprocess.Popen([*map(str, words)], stdout=theirs, env=environment) as process:
        os.close(theirs)
        said = read_all(ours)
    assert process.returncode == status
    return said.splitlines()


def with_errors_on_terminal(*words):
    """A program's standard output, and what a terminal got as its standard error."""
    ours, theirs = os.openpty()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        os.close(theirs)
        said = read_all(ours)
        output = process.stdout.read()
    assert process.returncode == 0
    return output, said
