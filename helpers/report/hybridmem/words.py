# SPDX-License-Identifier: Apache-2.0
"""The words after a command's name: those that are wrong are named in one line, as the commands in C do it."""

import argparse
import re

from . import draw

# What argparse says (its words differ between versions of Python), and how it is said here. The last row fits all.
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


class Parser(argparse.ArgumentParser):
    """`epilog` keeps its lines."""

    def __init__(self, prog, description, epilog):
        super().__init__(
            prog=prog, description=description, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        # What argparse takes for a value though it begins with a dash: also "-7d", of which then is said what is right.
        self._negative_number_matcher = re.compile(r"-\d")

    def error(self, message):
        said = next(
            found.expand(form) for words, form in _SAID if (found := re.fullmatch(words, message, flags=re.DOTALL))
        )
        hint = f" Try '{self.prog} --help'." if said.endswith(".") else ""
        self.exit(2, f"{self.prog}: {draw.plain(said)}{hint}\n")


def folder(text):
    """A type of argument: a folder's name. An empty one, of a variable that is not set, is not "not given"."""
    if not text:
        raise argparse.ArgumentTypeError('"" is no folder')
    return text


def either(names):
    """What may be chosen: "use a, b or c"."""
    *most, last = names
    return f"use {', '.join(most)} or {last}" if most else f"use {last}"


def choice(what, names):
    """A type of argument: one of the names."""

    def convert(text):
        if text not in names:
            raise argparse.ArgumentTypeError(f'"{text}" is no {what}: {either(names)}')
        return text

    return convert
