# SPDX-License-Identifier: Apache-2.0
"""The sums of a day's table by user, account and mode, which ingest leaves beside it: the table of hybridmem report is
made of these, however many records there are.

In a day's sums a run counts once in each row that has a record of it. Runs that are in several rows, or on the day
before or after too, would so count more than once in all: what counts them is kept apart. Both files say of which
tables they are, of that day and of its neighbours; where these are others now, or the files cannot be read, they are
not used."""

import hashlib

from . import engine, layout, moments

KEYS = '"user", account, mode'
# name, SQL over records, what it is
CELLS = (
    ("records", "count(*)", "count"),
    ("unmeasured", "count(*) FILTER (fast_peak_bytes IS NULL AND slow_peak_bytes IS NULL)", "count"),
    ("warnings", "sum(warnings)", "count"),
    ("elapsed_ms", "sum(elapsed_ms)", "sum"),
    ("fast_peak_bytes", "max(fast_peak_bytes)", "max"),
    ("slow_peak_bytes", "max(slow_peak_bytes)", "max"),
    ("mean", f"coalesce(sum({layout.FAST_BYTE_MS}), 0)", "sum"),
    ("mean_of", "coalesce(sum(elapsed_ms) FILTER (fast_mean_bytes IS NOT NULL), 0)", "sum"),
    ("share", f"coalesce(sum({layout.FAST_BYTE_MS}) FILTER (all_mean_bytes IS NOT NULL), 0)", "sum"),
    ("share_of", "coalesce(sum(all_mean_bytes::HUGEINT * elapsed_ms), 0)", "sum"),
    # Records that lack a figure, in the order of tally.MEASURED.
    ("no_hours", "count(*) FILTER (elapsed_ms IS NULL)", "count"),
    ("no_fast_peak", "count(*) FILTER (fast_peak_bytes IS NULL)", "count"),
    ("no_slow_peak", "count(*) FILTER (slow_peak_bytes IS NULL)", "count"),
    ("no_mean", "count(*) FILTER (fast_mean_bytes IS NULL OR elapsed_ms IS NULL)", "count"),
    ("no_share", "count(*) FILTER (all_mean_bytes IS NULL OR elapsed_ms IS NULL)", "count"),
    ("jobs", "count(DISTINCT run)", "count"),
    ("failed", "count(DISTINCT run) FILTER (exit_code <> 0)", "count"),
)
# As a table has them, for which there are no whole numbers of 128 bits, and those of several rows as one. fields.py has
# bounds for what a record may have: sums of 75 million records have less than 38 digits.
MADE = {"count": "({})::BIGINT", "sum": "({})::DECIMAL(38, 0)", "max": "{}"}
FOLDED = {"count": "sum({})", "sum": "sum({})::HUGEINT", "max": "max({})"}
ENDS = "min(end_time) AS first_end, max(end_time) AS last_end, count(*) - count(end_time) AS endless"
STAMP = "sums_of"  # the word under which a file says which tables it is of


def select(tables, where="true"):
    """The sums of the records of these tables that a condition holds for."""
    cells = ", ".join(f"{MADE[kind].format(sql)} AS {name}" for name, sql, kind in CELLS)
    return f"SELECT {KEYS}, {ENDS}, {cells} FROM {engine.parquet(tables)} WHERE {where} GROUP BY ALL"


def folded():
    """The cells of several rows as one, as SQL."""
    return ", ".join(FOLDED[kind].format(name) for name, _, kind in CELLS)


def select_runs(tables, beside):
    """The records of the runs that are in several rows of `tables`, or in a table of `beside` too."""
    these = engine.parquet(tables)
    runs = f"SELECT run FROM (SELECT DISTINCT run, {KEYS} FROM {these}) GROUP BY run HAVING count(*) > 1"
    if beside:
        runs += f" UNION SELECT run FROM {these} WHERE run IN (SELECT run FROM {engine.parquet(beside)})"
    day = "regexp_extract(filename, 'day=([^/]*)/[^/]*$', 1) AS day"
    return f"SELECT {day}, run, {KEYS}, exit_code, end_time FROM {these} WHERE run IN ({runs})"


FORM = hashlib.blake2b(repr((select([]), select_runs([], [""]))).encode(), digest_size=8).hexdigest()


def stamp(history, day):
    """Of what the files of a day are made: of this program's statements, and of the tables of the day and beside it."""
    tables = map(history.parquet, (day, *moments.neighbours(day)))
    of = (layout.state_of(table) if layout.is_parquet(table) else None for table in tables)  # as make() takes them
    return " ".join([FORM, *("x".join(map(str, state)) if state else "-" for state in of)])


def stamps(connection, paths):
    """{path: its stamp} of those that have one."""
    files = ", ".join(map(engine.quoted, paths))
    said = engine.attempt(
        connection, f"SELECT file_name, decode(value) FROM parquet_kv_metadata([{files}]) WHERE decode(key) = '{STAMP}'"
    )
    return dict(said) if said is not None else by_halves(stamps, connection, paths)


def whole_stamps(connection, paths):
    """The same of those that can be read to their ends."""
    return (
        stamps(connection, paths) if engine.can_read(connection, paths) else by_halves(whole_stamps, connection, paths)
    )


def by_halves(work, connection, paths):
    """Of files of which one is damaged."""
    middle = len(paths) // 2
    return {**work(connection, paths[:middle]), **work(connection, paths[middle:])} if middle else {}


def made(connection, history, days, look=stamps):
    """Those of the days whose sums are of the tables as these are now."""
    found = {}
    for name in (history.sums, history.runs):
        paths = [path for path in map(name, days) if layout.is_parquet(path)]
        found.update(look(connection, paths) if paths else {})

    def is_made(day):
        return {found.get(str(name(day).absolute())) for name in (history.sums, history.runs)} == {stamp(history, day)}

    return list(filter(is_made, days))


def lost(history):
    """Days that have sums of a table that is gone."""
    names = {path.stem for path in (history.folder / "sums").glob("*.parquet")}
    return [day for day in filter(moments.Period().has_day, names) if not history.has_table(day)]


def make(connection, history, work):
    """What is missing or old; files of days without a table go. Returns the days whose tables cannot be read."""
    days = [day for day in filter(moments.Period().has_day, history.days()) if layout.is_parquet(history.parquet(day))]
    for path in (path for name in ("sums", "runs") for path in (history.folder / name).glob("*.parquet")):
        if path.stem not in days:
            path.unlink()
    damaged = set()
    for day in sorted(set(days) - set(made(connection, history, days, whole_stamps))):
        beside = [one for one in moments.neighbours(day) if one in days]
        try:
            make_day(connection, history, work, day, beside)
        except engine.error():
            found = [one for one in (day, *beside) if not engine.can_read(connection, [history.parquet(one)])]
            if not found:  # there is no room, or no memory
                raise
            damaged.update(found)
    return sorted(damaged)


def make_day(connection, history, work, day, beside):
    tables, draft = [history.parquet(day)], work / "sums.parquet"
    said = f"KV_METADATA {{{STAMP}: '{stamp(history, day)}'}}"
    of_neighbours = select_runs(tables, list(map(history.parquet, beside)))
    for statement, target in ((select(tables), history.sums(day)), (of_neighbours, history.runs(day))):
        connection.execute(f"COPY ({statement}) TO {engine.literal(draft)} (FORMAT parquet, COMPRESSION zstd, {said})")
        history.settle(draft, target)
