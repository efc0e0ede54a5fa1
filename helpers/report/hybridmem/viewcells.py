# SPDX-License-Identifier: Apache-2.0
"""SQL for the keys and columns of a view, over the columns of a history.

figures.py calculates the same from a record. layout.py fills the columns by it. They are whole numbers: their sums are
exact in any order. Pure."""

import re

from . import layout
from .folds import Common, Count, Elected, First, Last, Peak, Ratio, Sum, Unknown


def named(column):
    return f"coalesce(nullif({column}, ''), '?')"


KEYS = {
    "user": named('"user"'),
    "account": named("account"),
    "node": "node",
    "mode": "mode",
    "cluster": "coalesce(cluster, '')",
    "job_id": "job_id",
    "restart_count": "coalesce(restart_count, 0)",
    "day": "CASE WHEN left(end_text, 10) GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]' THEN left(end_text, 10) "
    "ELSE '?' END",
    "tier": named("item.name"),
    "kind": "item.kind",
    "pattern": "item.pattern",
}
# Views with a row for each item of a list, and the column of that list.
LISTS = {"tiers": "tiers", "failures": "failures"}
JOBS = ("jobs", "failed_jobs")  # counted separately: a run counts once, however many records it has
UNUSED = "unused_bytes::HUGEINT * elapsed_ms"
TIER_BYTE_MS = "item.mean_bytes::HUGEINT * elapsed_ms"
# The figures of a record that a column's fold takes, by the column's name: so columns with the same name must have the
# same figures in all views.
FIGURES = {
    "records": ("1",),
    "nodes": ("1",),
    "warnings": ("warnings",),
    "node_hours": ("elapsed_ms",),
    "elapsed_s": ("elapsed_ms",),
    "exit_code": ("exit_code",),
    "fast_peak_bytes": ("fast_peak_bytes",),
    "slow_peak_bytes": ("slow_peak_bytes",),
    "fast_mean_bytes": (layout.FAST_BYTE_MS, "elapsed_ms"),
    "fast_share": (layout.FAST_BYTE_MS, "all_mean_bytes::HUGEINT * elapsed_ms"),
    "alone_records": ("(shared IS NOT DISTINCT FROM false)::BIGINT",),
    "shared_records": ("(shared IS NOT DISTINCT FROM true)::BIGINT",),
    "unused_share": (UNUSED, "fast_capacity_bytes::HUGEINT * elapsed_ms"),
    "unused_byte_hours": (UNUSED,),
    "slow_beside_room_byte_hours": ("slow_beside_room_bytes::HUGEINT * elapsed_ms",),
    "package_j": ("package_uj",),
    "memory_j": ("memory_uj",),
    "mean_w": ("metered_uj", "counted_us"),
    "package_w": ("package_uj", "counted_us"),
    "peak_w": ("peak_uw",),
    "joules_per_gb": ("metered_uj", "moved_bytes"),
    "estimated_static_j": ("estimated_static_uj",),
    "estimated_dynamic_j": ("estimated_dynamic_uj",),
    "slow_write_bytes": ("slow_write_bytes",),
    "slow_read_bytes": ("slow_read_bytes",),
    "life_share": ("slow_write_bytes",),
    "peak_bytes": ("item.peak_bytes",),
    "mean_bytes": (TIER_BYTE_MS, "elapsed_ms"),
    "byte_hours": (TIER_BYTE_MS,),
    "text": ("item.text", "item.pattern"),
    "last_job": ("job",),
    "job": ("job",),
    "user": ('"user"',),
    "account": ("account",),
    "mode": ("mode",),
    "end": ("end_text",),
    "rule": ("advice_rule",),
    "wanted": ("advice_wanted",),
    "why": ("advice_why",),
}


def met(name, value):
    """A value and the place of its record. The least of these belongs to the record that is read first."""
    return f"{{day: filename, file: file, line: line, {name}: {value}}}"


def ratio(upper, lower):
    both = f"({upper}) IS NOT NULL AND ({lower}) IS NOT NULL"
    return (
        *(f"coalesce(sum({part}) FILTER ({both}), 0)" for part in (upper, lower)),
        f"count(*) FILTER (NOT ({both}))",
    )


def common(word, pattern):
    return f"CASE WHEN min({word}) = max({word}) THEN min({word}) ELSE min({pattern}) END", f"min({pattern})"


# For each fold: SQL for its cells, over its figures, and the functions that put the cells of all rows together (any,
# for words: they have no total). The node of a peak is found later.
CELLS = {
    Count: (lambda figure: (f"sum({figure})",), ("sum",)),
    Sum: (lambda figure: (f"sum({figure})", f"count(*) - count({figure})"), ("sum", "sum")),
    Unknown: (lambda figure: ("NULL::BIGINT", "count(*)"), ("max", "sum")),
    Ratio: (ratio, ("sum", "sum", "sum")),
    Peak: (lambda figure: (f"max({figure})", "NULL", f"count(*) - count({figure})"), ("max", "max", "sum")),
    First: (lambda word: (f"(min({met('word', word)}) FILTER ({word} IS NOT NULL)).word",), ("min",)),
    Last: (lambda word: (f"max({met('word', word)}).word",), ("max",)),
    Common: (common, ("min", "min")),
}


def rank(column):
    """SQL for the figure by which a column ranks the rows of a view."""
    fold = column.fold
    first, *others = CELLS[type(fold)][0](*FIGURES[column.name])
    if isinstance(fold, Ratio):
        quotient = f"({first})::DOUBLE * {fold.factor} / {others[0]}"
        return f"CASE WHEN {others[0]} <> 0 THEN round_even({quotient}, {fold.digits or 0}) END"
    return f"round_even({first} / {fold.per:.1f}, {fold.digits})" if getattr(fold, "digits", None) else first


def elected(column):
    """The column with its fold over all records, if it has one over elected nodes."""
    return column._replace(fold=column.fold.fold) if isinstance(column.fold, Elected) else column


def knows(view):
    """Are all keys and columns of the view in the tables above?"""
    return KEYS.keys() >= {key.name for key in view.keys} and {*FIGURES, *JOBS} >= {one.name for one in view.columns}


def words_of(view):
    """The columns of a history that the view needs."""
    texts = [KEYS[key.name] for key in view.keys]
    texts += [part for column in view.columns if column.name not in JOBS for part in FIGURES[column.name]]
    texts += [LISTS.get(view.name, "")]
    found = set(layout.NAMES).intersection(re.findall(r"\w+", " ".join(texts)))
    return found | {"can_be_fast"} if "advice_rule" in found else found
