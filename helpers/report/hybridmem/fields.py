# SPDX-License-Identifier: Apache-2.0
"""Reads figures and words of a record, by type. A value that is missing, null or of another type becomes None (or
empty), never 0."""

import json
import re

# The modes as `hybridmem plan --modes` lists them (tests/cli/test_modes.py compares both).
OPTION_MODES = (
    *("off", "fast", "slow", "dram", "pmem", "cxl", "hbm"),
    *("interleave", "spill", "isolate", "migrate", "profile", "guided", "fsdax", "memory"),
)
NONE = "none"  # the mode of a job without the option
INVALID = "invalid"  # the mode of a job whose option names no mode: its text can be anything
MODES = (*OPTION_MODES, NONE, INVALID)
MIGRATED = frozenset(("isolate", "migrate"))  # modes with a migrator
MAXIMUM = 1 << 64  # also refuses the infinity that Python's json makes of 1e999
# Limits that no node's memory and no job's time reach: 64 PiB, 557 years. With these limits, an SQL engine can add up
# products of both, in any order: the sums fit into 127 bits.
MOST_BYTES = 1 << 56
MOST_MILLISECONDS = 1 << 44
BIGINT = 1 << 63  # whole numbers in an engine's tables are smaller
MOST_MILLIONTHS = 1 << 62  # no job uses as many microjoules: 10 kW for 14 years


def parse(text):
    """The value of a JSON text. Raises ValueError (for NaN and Infinity, too, which are not JSON) or RecursionError."""

    def refuse(word):
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def number(value, key):
    """A number in an object of a record; None if it was not measured, is not a number or is too large (MAXIMUM)."""
    found = value.get(key) if isinstance(value, dict) else None
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        return None
    return found if abs(found) < MAXIMUM else None


def whole(value, key):
    found = number(value, key)
    return found if isinstance(found, int) else None


def memory(value, key):
    """An amount of a node's memory, in bytes."""
    found = whole(value, key)
    return found if found is not None and 0 <= found < MOST_BYTES else None


def milliseconds(value, key):
    """Seconds as a whole number of milliseconds, the precision of records: so sums are exact. Negative seconds, from a
    clock that was set back, count as not measured."""
    found = number(value, key)
    thousandths = None if found is None else round(found * 1000)
    return thousandths if thousandths is not None and 0 <= thousandths < MOST_MILLISECONDS else None


def amount(value, key):
    """A figure that cannot be negative: a negative one, from a clock that was set back, counts as not measured."""
    found = number(value, key)
    return None if found is None or found < 0 else found


def seconds(value, key):
    """Seconds, rounded to milliseconds."""
    found = milliseconds(value, key)
    return None if found is None else found / 1000


# Readers for keys whose values have limits or a precision of their own. All other keys are read by amount().
READERS = {
    **dict.fromkeys((f"{part}_bytes" for part in ("peak", "mean", "capacity")), memory),
    **dict.fromkeys((f"{part}_bytes" for part in ("anon", "file", "shmem", "kernel", "hugetlb")), memory),
    "elapsed_s": seconds,
}


def figure(value, key):
    """A figure of an object of a record; None if it was not measured or has an impossible value."""
    return READERS.get(key, amount)(value, key)


def millionths(value, key):
    """An amount of joules, watts or seconds as a whole number of millionths: sums are exact, in any order."""
    found = figure(value, key)
    made = None if found is None else round(found * 1_000_000)
    return made if made is not None and made < MOST_MILLIONTHS else None


def total(amounts, below=BIGINT):
    """The sum of amounts. None if there are none, one is not known, or the sum is too large."""
    found = sum(amounts) if amounts and None not in amounts else None
    return found if found is not None and found < below else None


def text(value, key):
    word = value.get(key) if isinstance(value, dict) else None
    return word if isinstance(word, str) else None


def part(value, key):
    """An object within an object; None if there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else None


def members(value, key):
    """A list in an object of a record; empty if there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def numbers(value, key):
    """A list of numbers; other values become None."""
    return [number({"": each}, "") for each in members(value, key)]


def series(tier):
    """A tier's use over time, in bytes; a sample that was not taken, or has an impossible value, is None."""
    return [memory({"": each}, "") for each in members(tier, "series")]


def exit_words(code):
    """An exit code for people, with the signal that it stands for."""
    return f"{code} (signal {code - 128})" if 128 < code < 193 else f"{code}"


REFUSED = re.compile(r"(?:(a task|step \S+) was )?refused: ")


def refusal(warning):
    """(who, what) of a warning about a refusal; `who` is None for the whole job. None for other warnings."""
    found = REFUSED.match(warning)
    return (found[1], warning[found.end() :]) if found else None


def warnings(record):
    """The record's warnings as texts. A refusal of the whole job is not repeated for its steps and tasks."""
    texts = [str(warning) for warning in members(record, "warnings")]
    refused = [refusal(text) for text in texts]
    of_job = {found[1] for found in refused if found and found[0] is None}
    return [text for text, found in zip(texts, refused) if not (found and found[0] and found[1] in of_job)]


def tiers(record):
    """The record's memory by tier, fastest first; empty if it was not measured."""
    return [tier for tier in members(record.get("memory"), "tiers") if isinstance(tier, dict)]


def mode(record):
    """The mode of the plan, or else of the request, or else NONE or INVALID."""
    planned = text(record.get("plan"), "mode")
    if planned:
        return planned
    asked = text(record, "request")
    if not asked:
        return NONE
    word = asked.split(",", 1)[0]
    return word if word in OPTION_MODES else INVALID


def clean(word):
    """Text without halves of surrogate pairs, which JSON allows and text files do not; None stays None."""
    return word if word is None else word.encode("utf-8", "replace").decode()


def name(record, key):
    """A user or an account, "?" where there is none."""
    return clean(text(record, key)) or "?"


def integer(value, key):
    """A whole number that fits into a table."""
    found = whole(value, key)
    return found if found is None or -BIGINT <= found < BIGINT else None


def count(value, key):
    """A figure that is a whole number and fits into a table."""
    found = figure(value, key)
    return found if isinstance(found, int) and found < BIGINT else None


def run(record):
    """Identifies a run of a job: a job that is requeued keeps its number."""
    return clean(text(record, "cluster")), integer(record, "job_id"), integer(record, "restart_count")


def key(record):
    """Identifies a record among those of a day: a record that is in several files counts once."""
    return *run(record), clean(record["node"])


def job_name(record):
    """The job as users name it: 12, 12_3 (array task) or 12+1 (component of a heterogeneous job)."""
    job, array, leader = (whole(record, key) for key in ("job_id", "array_job_id", "het_job_id"))
    if array is not None:
        return f"{array}_{whole(record, 'array_task_id')}"
    return f"{job}" if leader is None else f"{leader}+{job - leader}"
