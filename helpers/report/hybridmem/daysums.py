# SPDX-License-Identifier: Apache-2.0
"""The sums of a day's table by user, account and mode, which ingest leaves beside it: the table of hybridmem report is
made of these, however many records there are.

In a day's sums a run counts once in each row that has a record of it. Runs that are in several rows, or on the day
before or after too, would so count more than once in all: the records that they have on these days are kept apart. Of
two neighbouring days the sums of that whose table was written last were made with the other's table in sight: the lists
of both together have all records of a run that both have."""

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
    ("mean", "coalesce(sum(fast_mean_bytes::HUGEINT * elapsed_ms), 0)", "sum"),
    ("mean_of", "coalesce(sum(elapsed_ms) FILTER (fast_mean_bytes IS NOT NULL), 0)", "sum"),
    ("share", "coalesce(sum(fast_mean_bytes::HUGEINT * elapsed_ms) FILTER (all_mean_bytes IS NOT NULL), 0)", "sum"),
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
# bounds for what a record may have: sums of 80 million records of a day have less than 38 digits.
MADE = {"count": "({})::BIGINT", "sum": "({})::DECIMAL(38, 0)", "max": "{}"}
FOLDED = {"count": "sum({})", "sum": "sum({})::HUGEINT", "max": "max({})"}
ENDS = "min(end_time) AS first_end, max(end_time) AS last_end, count(*) - count(end_time) AS endless"
OF_RUNS = f"run, {KEYS}, exit_code, end_time, file, line"
TABLE = "sums_of"  # the word under which a file of sums says which table they are of


def select(tables, where="true"):
    """The sums of the records of these tables that a condition holds for."""
    cells = ", ".join(f"{MADE[kind].format(sql)} AS {name}" for name, sql, kind in CELLS)
    return f"SELECT {KEYS}, {ENDS}, {cells} FROM {engine.parquet(tables)} WHERE {where} GROUP BY ALL"


def folded():
    """The cells of several rows as one, as SQL."""
    return ", ".join(FOLDED[kind].format(name) for name, _, kind in CELLS)


def select_runs(tables, beside):
    """The records, in all these tables, of the runs that are in several rows of `tables`, or in one of `beside` too."""
    these = engine.parquet(tables)
    runs = f"SELECT run FROM (SELECT DISTINCT run, {KEYS} FROM {these}) GROUP BY run HAVING count(*) > 1"
    if beside:
        runs += f" UNION SELECT run FROM {these} WHERE run IN (SELECT run FROM {engine.parquet(beside)})"
    day = "regexp_extract(filename, 'day=([^/]*)/[^/]*$', 1) AS day"
    return f"SELECT {day}, {OF_RUNS} FROM {engine.parquet(sorted({*tables, *beside}))} WHERE run IN ({runs})"


def state(history, day):
    return " ".join(map(str, layout.state_of(history.parquet(day)) or ()))


def made(connection, history, days):
    """Those of the days whose sums are of their tables as these are now."""
    whole = [day for day in days if all(map(layout.is_parquet, (history.sums(day), history.runs(day))))]
    paths = {str(history.sums(day)): day for day in whole}
    if not paths:
        return []
    found = connection.execute(
        f"SELECT file_name, decode(value) FROM parquet_kv_metadata([{', '.join(map(engine.quoted, paths))}]) "
        f"WHERE decode(key) = '{TABLE}'"
    ).fetchall()
    of = {paths[name]: value for name, value in found}
    return [day for day in days if of.get(day) == state(history, day)]


def near(day, days):
    return [one for one in moments.neighbours(day) if one in days]


def make(connection, history, work):
    """What is missing or old. The sums come last: they say of which table both are."""
    days = [day for day in history.days() if layout.is_parquet(history.parquet(day))]
    for day in sorted(set(days) - set(made(connection, history, days))):
        tables, beside = ([history.parquet(one) for one in found] for found in ([day], near(day, days)))
        more = f", KV_METADATA {{{TABLE}: '{state(history, day)}'}}"
        for statement, target, options in (
            (select_runs(tables, beside), history.runs(day), ""),
            (select(tables), history.sums(day), more),
        ):
            draft = work / "sums.parquet"
            connection.execute(
                f"COPY ({statement}) TO {engine.literal(draft)} (FORMAT parquet, COMPRESSION zstd{options})"
            )
            history.settle(draft, target)
