# SPDX-License-Identifier: Apache-2.0
"""What all programs do at their edges: signals, errors, the terminal. What goes to standard error has the command's
name in front, once."""

import io
import os
import shutil
import signal
import sys

from . import draw, interrupt, records


class Output(io.FileIO):
    """Standard output. What finds no room in it is a Failure, whenever that is met: at the end at the latest."""

    def write(self, data):
        try:
            return super().write(data)
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), self.fileno())  # the rest need not fail again
            raise records.Failure(f"standard output: {error.strerror}") from error


def run(name, main, *arguments):
    """Call main() as the program `name` and return its status; a Failure is one line on standard error and status 1."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # end quietly, as other filters do, when the reader has gone
    try:
        interrupt.as_exception()
        try:
            return call(name, main, arguments)
        finally:
            interrupt.at_once()
    except KeyboardInterrupt:
        interrupt.end()


def call(name, main, arguments):
    try:
        open_output()
        try:
            status = main(*arguments)
        except (Exception, SystemExit):  # not on ^C: it does not wait for a reader
            sys.stdout.flush()
            raise
        sys.stdout.flush()
        return status
    except records.Failure as failure:
        tell(name, str(failure))
        return 1


def open_output():
    """JSON may have halves of characters, which no encoding has."""
    old = sys.stdout
    if old is None:
        raise records.Failure("standard output: it is not open")
    buffer = io.BufferedWriter(Output(old.fileno(), "wb", closefd=False))
    sys.stdout = io.TextIOWrapper(
        buffer, encoding=old.encoding, errors="backslashreplace", line_buffering=old.line_buffering
    )


def prepare_terminal():
    """Make standard output fit for any text; returns whether it may have block elements."""
    blocks = draw.has_unicode()
    sys.stdout.reconfigure(encoding="utf-8" if blocks else "ascii", errors="backslashreplace")
    return blocks


def columns():
    """Of the terminal that standard output is, None where it is none: what others read has a line for each thing."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def tell(name, line):
    """A line on standard error: why there is no result, or what is to be said beside it."""
    print(f"{name}: {draw.plain(line)}", file=sys.stderr, flush=True)


def tell_skipped(name, skipped):
    for line in skipped.lines():
        tell(name, line)
