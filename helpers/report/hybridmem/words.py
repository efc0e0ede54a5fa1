# SPDX-License-Identifier: Apache-2.0
"""The words after a command's name: those that are wrong are named in one line, as the commands in C do it."""

import argparse
import re
import textwrap

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


COLUMNS = 80  # of help texts


def filled(text):
    """The text in lines of at most so many columns."""
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
    """`epilog`: paragraphs of any length; lines that are indented stay, and what comes after their first gap hangs."""

    def __init__(self, prog, description, epilog):
        super().__init__(
            prog=prog,
            description=filled(description),
            epilog=filled(epilog),
            formatter_class=argparse.RawDescriptionHelpFormatter,
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
