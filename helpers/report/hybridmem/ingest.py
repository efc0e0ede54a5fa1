# SPDX-License-Identifier: Apache-2.0
"""hybridmem ingest: records into a history of Parquet files.

A day whose files changed is read again; what its table lacks is added, in a new file that takes the old one's place. So
records stay in a history when their files are gone, and taking a file twice, or again after a crash, changes nothing.
"""

from . import day, engine, layout, moments, program, records, words

EPILOG = """\
Takes what is new since the last time: run it by a timer, as often as you like. Lines that are no record are kept aside,
in left-out of the history. Exit status: 0, 1 when records cannot be read or the history cannot be written, 2 for wrong
arguments."""


def arguments():
    parser = words.Parser(
        prog="hybridmem ingest",
        description="Take records into a history of Parquet files, for hybridmem report --history and other engines.",
        epilog=EPILOG,
    )
    parser.add_argument("--history", metavar="DIR", required=True, help="folder of the history; made if it is missing")
    parser.add_argument("--records", metavar="DIR", help="folder of the records (record_dir of hybridmem.conf)")
    parser.add_argument("--engine", metavar="DIR", help="folder of DuckDB; default: the site's, else Python's own")
    return parser


def take(folder, history, duckdb, skipped):
    """Every day of the folder that has something new; returns how many rows were added, and to how many days."""
    added, days = 0, 0
    with history.locked() as work, engine.session(duckdb, work) as connection:
        for name in filter(moments.Period().has_day, records.days(folder)):
            taking = day.Day(history, name, work, skipped)
            paths = taking.changed(records.files(folder, name, skipped))
            if paths:
                taking.take(connection, paths)
                added, days = added + taking.added, days + bool(taking.added)
    return added, days


def main(config_program, engine_folder):
    options = arguments().parse_args()
    skipped = records.Skipped()
    duckdb = engine.load(engine_folder, options.engine)
    folder = records.chosen_folder(options.records, config_program)
    try:
        added, days = take(folder, layout.History(options.history), duckdb, skipped)
    except OSError as error:
        raise records.Failure(f"cannot write {error.filename or options.history}: {error.strerror}") from error
    program.tell_skipped("hybridmem ingest", skipped)
    print(f"{added} records taken, in {days} days")
    return 0
