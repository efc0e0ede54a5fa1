# SPDX-License-Identifier: Apache-2.0
"""hybridmem ingest: takes records into a history of Parquet files.

A file of records that changed is read again; what its day's table lacks is added, in a new table that takes the old
one's place. So records stay in a history when their files are gone, and taking a file twice, or again after a crash,
changes nothing. A table of another version, with fewer columns or other values in them, is made anew, of the records
in it. Last, the days' sums that are missing, old or damaged are made (daysums.py).
"""

from pathlib import Path

from . import day, daysums, draw, engine, layout, moments, program, records, words

NAME = "hybridmem ingest"
EPILOG = """\
Takes what is new since the last time: run it by a timer, as often as you like. Lines that are no record are kept in
the history's folder left-out. Exit status: 0, 1 when records cannot be read or the history cannot be written, 2 for
wrong arguments."""


def arguments():
    parser = words.Parser(
        prog=NAME,
        description="Take records into a history of Parquet files, for hybridmem report --history and other engines.",
        epilog=EPILOG,
    )
    parser.add_argument(
        "--history",
        metavar="DIR",
        type=words.folder,
        required=True,
        help="folder of the history; made if it is missing",
    )
    parser.add_argument(
        "--records", metavar="DIR", type=words.folder, help="folder of the records (record_dir of hybridmem.conf)"
    )
    parser.add_argument(
        "--engine",
        metavar="DIR",
        type=words.folder,
        help="folder of DuckDB; default: the site's, else where Python finds it",
    )
    return parser


def take(folder, history, duckdb, skipped):
    """Takes every day of the folder that has something new. Returns how many rows were added, to how many days, and the
    days whose tables are damaged: they are left as they are."""
    added, days = 0, 0
    with history.locked() as work, engine.session(duckdb, work) as connection:
        for name in daysums.lost(history):
            history.taken(name).unlink(missing_ok=True)  # its files are read again, as far as they are there
        damaged = {name for name in history.days() if not history.is_whole(name)}
        for name in filter(moments.Period().has_day, records.days(folder)):
            taking = day.Day(history, name, work, skipped)
            paths = [] if name in damaged else taking.changed(records.files(folder, name, skipped))
            if paths and history.has_table(name) and not is_sound(connection, history, name):
                damaged.add(name)
            elif paths:
                taking.take(connection, paths)
                added, days = added + taking.added, days + bool(taking.added)
        for name in history.days():
            if name not in damaged and not renew(connection, history, day.Day(history, name, work, skipped)):
                damaged.add(name)
        unread, spoilt = daysums.make(connection, history, work)
        for path in spoilt:
            program.tell(NAME, f"{path} was damaged: it is made anew from the day's table")
    return added, days, sorted(damaged.union(unread))


def is_sound(connection, history, name):
    """Can the day's table be read, and is it as it was written?"""
    return not daysums.is_spoilt(history, name) and engine.can_read(connection, [history.parquet(name)])


def renew(connection, history, one):
    """Makes the day's table anew if it is of another version. Returns False if it is damaged."""
    try:
        if not one.is_older(connection):
            return True
        if daysums.is_spoilt(history, one.day):
            return False
        one.renew(connection)
    except engine.error():
        if engine.can_read(connection, [one.table]):
            raise
        return False
    return True


def check_apart(parser, history, folder):
    """Checks that neither folder is in the other: records of the one would be found in the other."""
    one, other = (Path(path).resolve() for path in (history, folder))
    if one == other or one in other.parents or other in one.parents:
        parser.error(f"--history {history} and the records in {folder}: name two folders, neither inside the other")


def main(config_program, engine_folder):
    parser = arguments()
    options = parser.parse_args()
    skipped, history = records.Skipped(), layout.History(options.history)
    duckdb = engine.load(engine_folder, options.engine)
    folder = records.chosen_folder(options.records, config_program)
    check_apart(parser, options.history, folder)
    records.check_days(folder, options.records)
    try:
        added, days, damaged = take(folder, history, duckdb, skipped)
    except OSError as error:
        raise records.Failure(
            f"cannot write {error.filename2 or error.filename or options.history}: {error.strerror}"
        ) from error
    program.tell_skipped(NAME, skipped)
    print(f"{draw.counted(added, 'record')} taken, in {draw.counted(days, 'day')}")
    if damaged:
        more = f" (and {len(damaged) - 1} more)" if len(damaged) > 1 else ""
        raise records.Failure(f"{history.damaged(damaged[0])}{more}")
    return 0
