# SPDX-License-Identifier: Apache-2.0
"""Sums of a day's table of records by user, account and mode. hybridmem ingest stores them in the history (layout.py),
and hybridmem report makes its rows of them, so that it need not read all records.

In a day's sums, a run of a job counts once in each row that has a record of it. A run that is in several rows, or
also on the day before or after, would count more than once in the total: the records of such runs are stored in a
second file. A seal names the tables that both files were made of, the day's and its neighbours', and has the digests
of both files. If the tables or the files have changed, the files are not used. The seal also has the digest of the
day's table, from before the table was moved to its place (if the seal was lost: from when the two files were made).
No report compares this digest, as it would have to read the whole table. ingest compares it before it makes anything
of the table again, be it for this day or for one beside it."""

import hashlib
import json

from . import engine, layout, moments, views
from .folds import is_of_runs

BYTES_AT_ONCE = 1 << 20  # of a file that is read
KEYS = '"user", account, mode'
# For each function that combines the cells of several rows: MADE is the SQL for a cell as the table stores it, FOLDED
# the SQL that combines such cells. Parquet has no whole numbers of 128 bits, so a sum is stored as a decimal. fields.py
# limits the figures of a record: sums of 75 million records have at most 38 digits.
MADE = {"sum": "({})::DECIMAL(38, 0)", "max": "{}"}
FOLDED = {"sum": "sum({})::HUGEINT", "max": "max({})"}
ENDS = "min(end_time) AS first_end, max(end_time) AS last_end, count(*) - count(end_time) AS endless"


def cells():
    """Yields (name, SQL over records, function that combines this cell of several rows) of each cell of a row."""
    for column in views.TOTALS.columns:
        found = (column.fold.counted(),) if is_of_runs(column) else column.fold.cells()
        for number, (sql, fold) in enumerate(zip(found, column.fold.alls)):
            yield f"{column.name}_{number}", sql, fold


def select(tables, where="true"):
    """SQL for the sums of the records in these tables that meet a condition."""
    made = ", ".join(f"{MADE[fold].format(sql)} AS {name}" for name, sql, fold in cells())
    return f"SELECT {KEYS}, {ENDS}, {made} FROM {engine.parquet(tables)} WHERE {where} GROUP BY ALL"


def folded():
    """SQL for the cells of several rows, combined."""
    return ", ".join(FOLDED[fold].format(name) for name, _, fold in cells())


def select_runs(tables, beside):
    """SQL for the records of runs that are in several rows of the sums of `tables`, or also in a table of `beside`."""
    these = engine.parquet(tables)
    runs = f"SELECT run FROM (SELECT DISTINCT run, {KEYS} FROM {these}) GROUP BY run HAVING count(*) > 1"
    if beside:
        runs += f" UNION SELECT run FROM {these} WHERE run IN (SELECT run FROM {engine.parquet(beside)})"
    day = "regexp_extract(filename, 'day=([^/]*)/[^/]*$', 1) AS day"
    return f"SELECT {day}, run, {KEYS}, exit_code, end_time FROM {these} WHERE run IN ({runs})"


def form():
    """The digest of all that says how sums are made: the statements, and the functions in them."""
    said = (engine.FUNCTIONS, select([]), select_runs([], [""]))
    return hashlib.blake2b(repr(said).encode(), digest_size=8).hexdigest()


FORM = form()


def state_text(path):
    """The state of a file as one word; "-" if there is none."""
    return "x".join(map(str, layout.state_of(path) or ["-"]))


def stamp(history, day):
    """Names what the files of a day are made of: this program's statements, and the tables of the day and beside it."""
    tables = map(history.parquet, (day, *moments.neighbours(day)))
    # a table that is not Parquet counts as none, as make() does not read it
    return " ".join([FORM, *(state_text(one) if layout.is_parquet(one) else "-" for one in tables)])


def files(history, day):
    return {"sums": history.sums(day), "runs": history.runs(day)}


def digest(path):
    """The digest of a file; None if it cannot be read."""
    made = hashlib.blake2b(digest_size=16)
    try:
        with path.open("rb") as stream:
            while part := stream.read(BYTES_AT_ONCE):
                made.update(part)
    except OSError:
        return None
    return made.hexdigest()


def seal_of(history, day):
    """The content of the day's seal; empty if it is missing or damaged."""
    try:
        seal = json.loads(history.seal(day).read_bytes())
    except (OSError, ValueError):
        return {}
    return seal if isinstance(seal, dict) else {}


def written(history, day):
    """{state: digest} of the day's table as it was written. While a new table is moved to its place there are two: the
    old one's and the new one's."""
    found = seal_of(history, day).get("tables")
    return found if isinstance(found, dict) else {}


def is_spoilt(history, day):
    """Has the day's table other bytes than were written, though nobody wrote to it since?"""
    table = history.parquet(day)
    right = written(history, day).get(state_text(table))
    return right is not None and digest(table) != right


def settle(history, day, draft, work):
    """Moves a draft to the place of the day's table. Before that, the seal gets the digests of the old table and of the
    draft. So whichever of them a kill leaves in place, later damage to it is noticed."""
    table, seal = history.parquet(day), seal_of(history, day)
    now = state_text(table)
    known = {state: right for state, right in written(history, day).items() if state == now}
    write_seal(history, day, {**seal, "tables": {**known, state_text(draft): digest(draft)}}, work)
    history.settle(draft, table)


def write_seal(history, day, seal, work):
    draft = work / "seal"
    draft.write_text(json.dumps(seal))
    history.settle(draft, history.seal(day))


def made(history, days):
    """Returns the days whose sums are undamaged and were made of the present tables, and the damaged files of sums. A
    missing file is not damaged: copies may leave it out."""
    found, damaged = [], []
    for day in days:
        seal = seal_of(history, day)
        if seal.get("of") != stamp(history, day):
            continue
        digests = {path: (digest(path), seal.get(name)) for name, path in files(history, day).items()}
        if all(now == then for now, then in digests.values()):
            found.append(day)
        damaged += [path for path, (now, then) in digests.items() if now not in (None, then)]
    return found, damaged


def lost(history):
    """Returns the days that have no table, but sums, or a file of which records were taken."""
    names = {path.stem for path in (history.folder / "sums").glob("*.parquet")}
    names.update(path.stem for path in (history.folder / "taken").glob("*.json") if has_given(history, path.stem))
    return [day for day in filter(moments.Period().has_day, names) if not history.has_table(day)]


def has_given(history, day):
    """Is there a file of which records were taken, as it is not empty, and no line of it was left out? (Of a file with
    lines that were left out nobody can tell.)"""
    given = (name for name, state in history.noted(day).items() if isinstance(state, list) and state[:1] != [0])
    return any(not history.left_out(day, name).exists() for name in given)


def make(connection, history, work):
    """Makes sums that are missing, old or damaged, and removes those of days without a table. Those of a damaged table
    stay: if it is removed, they tell that the day is lost. Returns the days whose tables are damaged, and the files of
    sums that were damaged."""
    days = [day for day in filter(moments.Period().has_day, history.days()) if layout.is_parquet(history.parquet(day))]
    for path in (path for name in ("sums", "runs") for path in (history.folder / name).iterdir()):
        if path.stem not in days and not history.has_table(path.stem):
            path.unlink()
    whole, spoilt = made(history, days)
    near = {day: [one for one in (day, *moments.neighbours(day)) if one in days] for day in days if day not in whole}
    damaged = {day for day in set().union(*near.values()) if is_spoilt(history, day)}
    for day, read in near.items():
        if not damaged.isdisjoint(read):
            continue
        try:
            make_day(connection, history, work, day, read[1:])
        except engine.error():
            found = [one for one in read if not engine.can_read(connection, [history.parquet(one)])]
            if not found:  # there is no room, or no memory
                raise
            damaged.update(found)
    return sorted(damaged), spoilt


def make_day(connection, history, work, day, beside):
    """Makes the files of a day. Their digests are removed from the day's seal first, and written again when the new
    files are there. So a seal never describes other files."""
    table, draft = history.parquet(day), work / "draft"
    now = state_text(table)
    seal = {"tables": {now: written(history, day).get(now) or digest(table)}}
    write_seal(history, day, seal, work)
    seal["of"] = stamp(history, day)
    statements = {"sums": select([table]), "runs": select_runs([table], list(map(history.parquet, beside)))}
    for name, target in files(history, day).items():
        connection.execute(f"COPY ({statements[name]}) TO {engine.literal(draft)} (FORMAT parquet, COMPRESSION zstd)")
        seal[name] = digest(draft)
        history.settle(draft, target)
    write_seal(history, day, seal, work)
