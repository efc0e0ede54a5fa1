# SPDX-License-Identifier: Apache-2.0
"""hybridmem report: a table over all records of a folder."""

import argparse
import csv
import json
import sys

from . import draw, fields, history, moments, program, records, tally

SCHEMA = 1
EPILOG = f"""\
A bound of the period is {moments.FORMS};
a record belongs to the period in which its job ended on the node (UTC). Lines that are no record are left out, counted
and named on standard error. Exit status: 0, 1 when the records cannot be read, 2 for wrong arguments."""


def words(text):
    chosen = frozenset(text.split(","))
    if "" in chosen:
        raise argparse.ArgumentTypeError(f'"{text}" is no list of names: alice or alice,bob')
    return chosen


def modes(text):
    chosen = words(text)
    for word in sorted(chosen.difference(fields.MODES)):
        raise argparse.ArgumentTypeError(f'"{word}" is no mode: {", ".join(fields.MODES[:-1])} or {fields.MODES[-1]}')
    return chosen


def bound(end_of_day):
    def convert(text):
        try:
            return moments.parse_bound(text, end_of_day)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return convert


def arguments():
    parser = argparse.ArgumentParser(
        prog="hybridmem report",
        description="Add up the records of jobs by user and mode.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--since", metavar="TIME", type=bound(False), help="jobs that ended at or after")
    parser.add_argument("--until", metavar="TIME", type=bound(True), help="jobs that ended before; a date is included")
    parser.add_argument("--user", metavar="NAME,...", type=words, help="jobs of these users")
    parser.add_argument("--account", metavar="NAME,...", type=words, help="jobs under these accounts")
    parser.add_argument(
        "--mode", metavar="MODE,...", type=modes, help="jobs under these modes; none: without the option"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object")
    form.add_argument("--csv", action="store_true", help="comma separated values with a head line, without the total")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--records", metavar="DIR", help="folder of the records (record_dir of hybridmem.conf)")
    source.add_argument("--history", metavar="DIR", help="folder of a history, by hybridmem ingest, instead of records")
    parser.add_argument("--engine", metavar="DIR", help="folder of DuckDB, for --history; default: the site's")
    return parser


def is_wanted(record, options, period):
    return (
        (not options.user or fields.text(record, "user") in options.user)
        and (not options.account or fields.text(record, "account") in options.account)
        and (not options.mode or fields.mode(record) in options.mode)
        and period.has(fields.text(record, "end"))
    )


def add_up(folder, options, period, skipped):
    sums = tally.Tally()
    for day in filter(period.has_day, records.days(folder)):
        sums.next_day()
        for path in records.files(folder, day, skipped):
            sums.next_file()
            for number, line in records.lines(path, skipped):
                record = records.parse(line, path, number, skipped)
                if record and is_wanted(record, options, period) and not sums.add(record):
                    skipped.add("duplicate", path, number)
    return sums


def tell_absent(users, sums):
    """Name those who were asked for and have no row."""
    absent = (users or frozenset()).difference(user for user, _ in sums.rows)
    if absent:
        print(f"no matching records of {draw.plain(', '.join(sorted(absent)))} that you may read", file=sys.stderr)


def print_json(sums, options, skipped):
    def moment(value):
        return value.isoformat().replace("+00:00", "Z") if value else None

    json.dump(
        {
            "schema": SCHEMA,
            "since": moment(options.since),
            "until": moment(options.until),
            "rows": [{"user": user, "mode": mode, **row.figures()} for (user, mode), row in sums.sorted_rows()],
            "total": sums.total().figures(),
            "exact": sums.is_exact(),
            "left_out": skipped.counts,
        },
        sys.stdout,
        indent=2,
    )
    sys.stdout.write("\n")


def print_csv(sums):
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["user", "mode", *tally.Row().figures()])
    for key, row in sums.sorted_rows():
        writer.writerow([*key, *row.figures().values()])


HEAD = ("USER", "MODE", "JOBS", "FAILED", "NODE-HOURS", "FAST PEAK", "SLOW PEAK", "FAST MEAN", "FAST SHARE", "WARNINGS")


def cells(user, mode, row):
    f = row.figures()
    sizes = (draw.size(f[key]) for key in ("fast_peak_bytes", "slow_peak_bytes", "fast_mean_bytes"))
    counts = (str(f["jobs"]), str(f["failed_jobs"]), f"{f['node_hours']:.{1 if f['node_hours'] >= 10 else 3}f}")
    return (draw.plain(user), draw.plain(mode), *counts, *sizes, draw.percent(f["fast_share"]), str(f["warnings"]))


def print_table(sums):
    program.prepare_terminal()
    total = sums.total()
    rows = [cells(*key, row) for key, row in sums.sorted_rows()]
    for line in draw.table([HEAD, *rows, cells("total", "", total)], left=2):
        print(line)
    if total.unmeasured:
        print(f"memory was not measured in {total.unmeasured} of {total.records} records")


def main(config_program, engine_folder):
    options = arguments().parse_args()
    skipped, period = records.Skipped(), moments.Period(options.since, options.until)
    if options.history:
        sums = history.add_up(options, engine_folder, lambda record: is_wanted(record, options, period), skipped)
    else:
        folder = records.readable_folder(options.records or records.configured_folder(config_program))
        sums = add_up(folder, options, period, skipped)
    program.tell_skipped(skipped)
    tell_absent(options.user, sums)
    if not sums.is_exact():
        print("so many jobs ended on one day that some may be counted more than once", file=sys.stderr)
    if options.json:
        print_json(sums, options, skipped)
    elif options.csv:
        print_csv(sums)
    else:
        print_table(sums)
    return 0
