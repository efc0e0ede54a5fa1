# SPDX-License-Identifier: Apache-2.0
"""hybridmem report: tables over the records of a folder or of a history."""

import argparse
import json
import re
import sys

from . import fields, forms, groups, history, moments, page, program, records, reportpage, seen, temporary, views, words
from .wanted import Wanted

NAME = "hybridmem report"
SCHEMA = 1
EPILOG = f"""\
A bound of the period is {moments.FORMS};
a record belongs to the period in which its job ended on the node (UTC). Lines that are no record are left out, counted
and named on standard error. Exit status: 0, 1 when the records cannot be read or the output cannot be written, 2 for
wrong arguments.

Views:
"""
EPILOG += "".join(f"  {name:<9} {views.named(name).about}\n" for name in views.NAMES)


def names(text):
    chosen = frozenset(text.split(","))
    if "" in chosen:
        raise argparse.ArgumentTypeError(f'"{text}" is no list of names: alice or alice,bob')
    return chosen


def modes(text):
    chosen = names(text)
    for word in sorted(chosen.difference(fields.MODES)):
        raise argparse.ArgumentTypeError(f'"{word}" is no mode: {words.either(fields.MODES)}')
    return chosen


def positive(text):
    if not re.fullmatch(r"[1-9]\d{0,6}", text):
        raise argparse.ArgumentTypeError(f'"{text}" is no number of rows: 1 to 9999999')
    return int(text)


def size(text):
    found = re.fullmatch(r"([1-9]\d{0,14})([KMGTP]?)", text)
    if not found:
        raise argparse.ArgumentTypeError(f'"{text}" is no size: digits and K, M, G, T or P (of 1024), as in 292P')
    return int(found[1]) << 10 * " KMGTP".index(found[2] or " ")


def arguments():
    parser = words.Parser(
        prog="hybridmem report",
        description="Add up the records of jobs by user and mode, or as one of the views below.",
        epilog=EPILOG,
    )
    words.add_period(parser)
    parser.add_argument("--user", metavar="NAME,...", type=names, help="jobs of these users")
    parser.add_argument("--account", metavar="NAME,...", type=names, help="jobs under these accounts")
    parser.add_argument(
        "--mode",
        metavar="MODE,...",
        type=modes,
        help="jobs under these modes; none: jobs that asked for no mode; invalid: jobs whose option was not valid",
    )
    parser.add_argument(
        "--view", metavar="VIEW", type=words.choice("view", views.NAMES), help="another table: one of the views below"
    )
    parser.add_argument("--top", metavar="N", type=positive, help="how many rows a view has at most (jobs, advice: 50)")
    parser.add_argument("--by", metavar="FIGURE", help="the figure that ranks a view's rows, by its name in JSON")
    parser.add_argument(
        "--endurance",
        metavar="SIZE",
        type=size,
        help="for the view writes: bytes that can be written to a node's slow tier in its life",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object")
    form.add_argument("--csv", action="store_true", help="comma separated values with a head line, without the total")
    form.add_argument(
        "--html",
        metavar="FILE",
        type=page.file_name,
        help="write a page of the view, or else of all views; -: to standard output",
    )
    words.add_source(parser)
    return parser


def feed(folder, wanted, skipped, report, is_dated=False):
    """Adds each wanted record to the views, once. Of duplicates only the first can count, as in a history: if only the
    second is wanted, none counts."""
    written, rows = seen.Written(), temporary.Rows(report.views, is_dated)
    for day in filter(wanted.period.has_day, records.days(folder)):
        rows.next_day(day)
        written.next_day()
        for path, number, record in of_day(folder, day, skipped):
            is_new = written.is_new(record)
            if not wanted.meet(record):
                continue
            if is_new:
                rows.add(record)
            else:
                skipped.add("duplicate", path, number)
    rows.fill(report.sums)
    report.last, report.is_exact = rows.last, written.exact


def of_day(folder, day, skipped):
    """Yields (path, line number, record) for each record of a day."""
    for path in records.files(folder, day, skipped):
        for number, line in records.lines(path, skipped):
            record = records.parse(line, path, number, skipped)
            if record:
                yield path, number, record


def print_json(report, options, skipped):
    def moment(value):
        return value.isoformat().replace("+00:00", "Z") if value else None

    head = {"schema": SCHEMA, "since": moment(options.since), "until": moment(options.until)}
    answer = {**forms.as_json(report.sums[0]), "exact": report.is_exact, "left_out": skipped.counts}
    json.dump({**head, **answer}, sys.stdout, indent=2)
    sys.stdout.write("\n")


def print_view(report, options, skipped):
    [sums] = report.sums
    if options.json:
        print_json(report, options, skipped)
    elif options.csv:
        forms.write_csv(sums, sys.stdout)
    else:
        program.prepare_terminal()
        for line in forms.table(sums, program.columns()):
            print(line)


def about(options, last):
    """Says what the records of a page have in common, and which period they cover."""
    bounds = (("that ended from", options.since), ("that ended before", options.until))
    said = [f"{word} {moments.plain(moment.isoformat())} UTC" for word, moment in bounds if moment]
    chosen = (("of user", options.user), ("under account", options.account), ("with mode", options.mode))
    said += [f"{name} {' or '.join(sorted(values))}" for name, values in chosen if values]
    until = f"; the last ended {moments.plain(last.isoformat())} UTC" if last else ""
    return (f"Jobs {', '.join(said)}" if said else "All jobs on record") + until


def why_no_view(figure):
    """Says what --by wants, if there is no --view."""
    having = [name for name in views.NAMES if figure in views.named(name).ranks()]
    wanted = (
        f"the view {having[0]} has {figure}: add --view {having[0]}" if having else f'no view has a figure "{figure}"'
    )
    return f"--by orders the rows of a view; {wanted}"


def check(parser, options):
    """Checks that the options go together. Returns the views that are wanted."""
    words.check_period(parser, options)
    chosen = [options.view] if options.view else views.NAMES if options.html else []
    if options.top and not chosen:
        parser.error("--top wants a --view or --html")
    if options.endurance and "writes" not in chosen:
        parser.error("--endurance wants --view writes or --html")
    wanted = [views.named(name, options.endurance) for name in chosen]
    if options.by and not options.view:
        parser.error(why_no_view(options.by))
    if options.by and options.by not in wanted[0].ranks():
        ranks = words.either(wanted[0].ranks())
        parser.error(f'--by: "{options.by}" is no figure of the view {options.view}: {ranks}')
    return wanted


def read(options, config_program, engine_folder, chosen, wanted, skipped):
    """The sums of the chosen views, from records or from a history. If no view is chosen, they are the table by user
    and mode, which the engine calculates for a history."""
    sums = groups.Report(chosen or [views.TOTALS], options.top, options.by)
    if not options.history:
        folder = records.chosen_folder(options.records, config_program)
        records.check_days(folder, options.records)
        if not records.days(folder):
            program.tell(NAME, records.why_no_days(folder))
        feed(folder, wanted, skipped, sums, bool(options.html))
        return sums
    source = history.Source(options, engine_folder, wanted)
    source.tell_left_out(skipped)
    (source.feed if chosen else source.add_up)(sums)
    for line in source.notes():
        program.tell(NAME, line)
    if any(wanted.chosen):
        source.meet_names()
    elif sums.has_records():
        wanted.met.add(("",) * len(wanted.chosen))  # names do not matter if none were asked for
    return sums


def main(config_program, engine_folder):
    parser = arguments()
    options = parser.parse_args()
    chosen, wanted, skipped = check(parser, options), Wanted(options), records.Skipped()
    sums = read(options, config_program, engine_folder, chosen, wanted, skipped)
    program.tell_skipped(NAME, skipped)
    for line in wanted.notes():
        program.tell(NAME, line)
    if not sums.is_exact:
        program.tell(NAME, groups.INEXACT)
    if options.html:
        page.write(options.html, reportpage.make(sums, about(options, sums.last), skipped.lines()))
    else:
        print_view(sums, options, skipped)
    return 0
