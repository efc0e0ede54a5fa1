# SPDX-License-Identifier: Apache-2.0
"""What all programs in this folder have in common: signals, errors, the terminal. Lines on standard error begin with
the command's name."""

import io
import os
import shutil
import signal
import sys

from . import draw, interrupt, records


class Output(io.FileIO):
    """Standard output. If something cannot be written, a Failure is raised, at the end at the latest."""

    def write(self, data):
        try:
            return super().write(data)
        except OSError as error:
            # so that later writes do not fail again
            os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), self.fileno())
            raise records.Failure(f"standard output: {error.strerror}") from error


def run(name, main, *arguments):
    """Calls main() as the program `name` and returns its status. A Failure becomes one line on standard error and
    status 1."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # end silently, as other filters do, when the reader has gone
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
        except (Exception, SystemExit):  # not on ^C, which must not wait for a reader
            sys.stdout.flush()
            raise
        sys.stdout.flush()
        return status
    except records.Failure as failure:
        tell(name, str(failure))
        return 1


def open_output():
    """Opens standard output so that it accepts half surrogate pairs, which JSON allows and no encoding has."""
    old = sys.stdout
    if old is None:
        raise records.Failure("standard output: it is not open")
    buffer = io.BufferedWriter(Output(old.fileno(), "wb", closefd=False))
    sys.stdout = io.TextIOWrapper(
        buffer, encoding=old.encoding, errors="backslashreplace", line_buffering=old.line_buffering
    )


def prepare_terminal():
    """Prepares standard output for any text. Returns whether block elements may be used."""
    blocks = draw.has_unicode()
    sys.stdout.reconfigure(encoding="utf-8" if blocks else "ascii", errors="backslashreplace")
    return blocks


def columns():
    """Columns of the terminal. None if standard output is none: a program that reads it gets a line for each thing."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def tell(name, line):
    """Writes a line to standard error: why there is no result, or what should be known besides it."""
    print(f"{name}: {draw.plain(line)}", file=sys.stderr, flush=True)


def tell_skipped(name, skipped):
    for line in skipped.lines():
        tell(name, line)
