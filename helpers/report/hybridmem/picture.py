# SPDX-License-Identifier: Apache-2.0
"""hybridmem-picture: draws the pictures and pages of the commands in C (--plot, --html). When a command has done its
work, it becomes this program. Standard input then has the object that the command prints with --json."""

import json
import sys

from . import bandwidth, heatmap, page, records, sitespage, words

MAKERS = {"replay": heatmap.make, "bench": bandwidth.make, "sites": sitespage.make}
OPTIONS = {"sites": "--html"}  # of the command that names the file; --plot in others
# What a maker raises if its input is JSON, but not the figures of its command.
NOT_FIGURES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
EPILOG = """\
`hybridmem replay --plot FILE`, `hybridmem bench --plot FILE` and `hybridmem sites show --html FILE` start
it. Exit status: 0, 1 when the picture cannot be written or there are no figures to draw, 2 for wrong arguments."""


def command(arguments):
    """The command that messages name."""
    return f"hybridmem {arguments[0]}" if arguments and arguments[0] in MAKERS else "hybridmem-picture"


def options():
    parser = words.Parser(
        prog="hybridmem-picture",
        description="Draw the JSON output of a command, read from standard input, as SVG; that of sites as HTML.",
        epilog=EPILOG,
    )
    parser.add_argument("command", metavar="COMMAND", type=words.choice("command with a picture", list(MAKERS)))
    parser.add_argument("file", metavar="FILE", type=page.file_name)
    return parser.parse_args()


def main():
    chosen = options()
    try:
        figures = json.load(sys.stdin)
    except ValueError as error:
        raise records.Failure(f"the figures of the picture cannot be read: {error}") from error
    try:
        picture = MAKERS[chosen.command](figures)
    except NOT_FIGURES as error:
        raise records.Failure(f"standard input has no figures to draw: {error!r}") from error
    page.write(chosen.file, f"{picture}\n", option=OPTIONS.get(chosen.command, "--plot"))
    return 0
