# SPDX-License-Identifier: Apache-2.0
"""What both programs do at their edges: signals, errors, the terminal."""

import shutil
import signal
import sys

from . import draw, records


def run(name, main, *arguments):
    """Call main() as the program `name` and return its status; a Failure is one line on standard error and status 1."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # end quietly, as other filters do, when the reader has gone
    sys.stdout.reconfigure(errors="backslashreplace")  # JSON may have halves of characters, which no encoding has
    try:
        return main(*arguments)
    except records.Failure as failure:
        print(f"{name}: {draw.plain(str(failure))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def prepare_terminal():
    """Make standard output fit for any text; returns whether it may have block elements."""
    blocks = draw.has_unicode()
    sys.stdout.reconfigure(encoding="utf-8" if blocks else "ascii", errors="backslashreplace")
    return blocks


def columns():
    """Of the terminal that standard output is, None where it is none: what others read has a line for each thing."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def tell(name, line):
    """A line on standard error beside the program's result."""
    print(f"{name}: {draw.plain(line)}", file=sys.stderr)


def tell_skipped(name, skipped):
    for line in skipped.lines():
        tell(name, line)
