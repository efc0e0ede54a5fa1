# SPDX-License-Identifier: Apache-2.0
"""Parses command lines. Errors are one line that names the wrong word, as in the commands in C."""

import argparse
import re
import textwrap
from datetime import datetime

from . import draw, moments

# argparse's messages, which differ between versions of Python, and how they are said here. The last row fits all.
_SAID = (
    (r"unrecognized arguments: (-\S+).*", r"unrecognized option '\1'."),
    (r"unrecognized arguments: (\S+).*", r"unexpected word '\1'."),
    (r"the following arguments are required: (.+)", r"\1 is missing."),
    (r"(ambiguous option: .+)", r"\1."),
    (r"argument (\S+): expected .*", r"option '\1' requires an argument."),
    (r"argument (\S+): ignored explicit argument .*", r"option '\1' takes no argument."),
    (r"argument (\S+): not allowed with argument (\S+)", r"\1 does not go with \2."),
    (r"argument (-\S+): (.+)", r"\1: \2"),
    (r"argument \S+: (.+)", r"\1"),
    (r"(.*)", r"\1"),
)


COLUMNS = 80  # width of help texts


def filled(text):
    """Breaks the text into lines of at most COLUMNS."""
    made = []
    for paragraph in text.split("\n\n"):
        lines = []
        for line in paragraph.splitlines():
            if lines and not line.startswith(" ") and not lines[-1].startswith(" "):
                lines[-1] += f" {line}"
            else:
                lines.append(line)
        for line in lines:
            found = re.match(r" +\S+ +", line)
            made += textwrap.wrap(line, COLUMNS, subsequent_indent=" " * len(found[0]) if found else "")
        made.append("")
    return "\n".join(made[:-1])


class Parser(argparse.ArgumentParser):
    """`epilog` has paragraphs of any length. Indented lines are kept; if they are broken, what follows is aligned with
    the text after their first gap."""

    def __init__(self, prog, description, epilog):
        super().__init__(
            prog=prog,
            description=filled(description),
            epilog=filled(epilog),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        # argparse takes a word of this form for the value of an option, not for an option. So the error about
        # "--since -7d" says which values are right.
        self._negative_number_matcher = re.compile(r"-\d")

    def error(self, message):
        said = next(
            found.expand(form) for words, form in _SAID if (found := re.fullmatch(words, message, flags=re.DOTALL))
        )
        hint = f" Try '{self.prog} --help'." if said.endswith(".") else ""
        self.exit(2, f"{self.prog}: {draw.plain(said)}{hint}\n")


def folder(text):
    """Type of an argument: a folder's name. An empty name, perhaps from a variable that is not set, is an error."""
    if not text:
        raise argparse.ArgumentTypeError('"" is no folder')
    return text


def either(names):
    """Returns "use a, b or c"."""
    *most, last = names
    return f"use {', '.join(most)} or {last}" if most else f"use {last}"


def choice(what, names):
    """Type of an argument: one of the names."""

    def convert(text):
        if text not in names:
            raise argparse.ArgumentTypeError(f'"{text}" is no {what}: {either(names)}')
        return text

    return convert


class Bound(datetime):
    """A moment, with the words that the user gave for it."""

    words = ""


def bound(end_of_day):
    def convert(text):
        try:
            moment = moments.parse_bound(text, end_of_day)
            made = Bound.combine(moment.date(), moment.timetz())
            made.words = text
            return made
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return convert


def add_period(parser):
    parser.add_argument("--since", metavar="TIME", type=bound(False), help="jobs that ended at this time or later")
    parser.add_argument(
        "--until",
        metavar="TIME",
        type=bound(True),
        help="jobs that ended before this time; if it is a date, that day is included",
    )


def add_source(parser):
    """The options on where records are read."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--records", metavar="DIR", type=folder, help="folder of the records (record_dir of hybridmem.conf)"
    )
    source.add_argument(
        "--history",
        metavar="DIR",
        type=folder,
        help="folder of a history that hybridmem ingest made, instead of records",
    )
    parser.add_argument(
        "--engine", metavar="DIR", type=folder, help="folder of DuckDB, for --history; default: the site's"
    )


def check_period(parser, options):
    if options.since and options.until and options.since >= options.until:
        parser.error(f"--since {options.since.words} is not before --until {options.until.words}")
    if options.engine and not options.history:
        parser.error("--engine wants --history")
