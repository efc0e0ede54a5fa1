# SPDX-License-Identifier: Apache-2.0
"""Figures and words of a record, by type: what is not there, null or of another type is None (or empty), never 0."""

import re

# As `hybridmem plan --modes` has them (tests/cli/test_modes.py compares), and "none": a job without the option.
MODES = (
    *("off", "fast", "slow", "dram", "pmem", "cxl", "hbm", "interleave", "spill", "isolate", "migrate", "fsdax"),
    "none",
)
MIGRATED = frozenset(("isolate", "migrate"))  # with a migrator
MAXIMUM = 1 << 64  # also keeps out the infinities that 1e999 makes
# No node has as much memory and no job runs as long: 64 PiB, 557 years. Products of both add up in 127 bits, which is
# what an engine has for sums, whatever the order.
MOST_BYTES = 1 << 56
MOST_MILLISECONDS = 1 << 44
BIGINT = 1 << 63  # what tables of an engine have for whole numbers is below
MOST_MILLIONTHS = 1 << 62  # no job takes as many microjoules: 10 kW for 14 years


def number(value, key):
    """A figure of an object of a record, or None where it was not measured or is not a number."""
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
    """Seconds as a whole number of milliseconds, which is what records are written with: sums of them are exact. Less
    than none, as of a clock that was set back, were not measured."""
    found = number(value, key)
    thousandths = None if found is None else round(found * 1000)
    return thousandths if thousandths is not None and 0 <= thousandths < MOST_MILLISECONDS else None


def amount(value, key):
    """A figure that cannot be below 0: one that is was not measured, but made by a clock that was set back."""
    found = number(value, key)
    return None if found is None or found < 0 else found


def seconds(value, key):
    """Milliseconds as seconds."""
    found = milliseconds(value, key)
    return None if found is None else found / 1000


# What a key's figure has to be, for all who read one; of those that are not here an amount.
READERS = {
    **dict.fromkeys((f"{part}_bytes" for part in ("peak", "mean", "capacity")), memory),
    **dict.fromkeys((f"{part}_bytes" for part in ("anon", "file", "shmem", "kernel", "hugetlb")), memory),
    "elapsed_s": seconds,
}


def figure(value, key):
    """A figure of an object of a record, None where it was not measured, or cannot have been."""
    return READERS.get(key, amount)(value, key)


def millionths(value, key):
    """An amount of joules, watts or seconds in whole millionths: sums of them are exact, whatever the order."""
    found = figure(value, key)
    made = None if found is None else round(found * 1_000_000)
    return made if made is not None and made < MOST_MILLIONTHS else None


def total(amounts, below=BIGINT):
    """The sum of amounts where all are known, there are any, and it is one that there can be."""
    found = sum(amounts) if amounts and None not in amounts else None
    return found if found is not None and found < below else None


def text(value, key):
    word = value.get(key) if isinstance(value, dict) else None
    return word if isinstance(word, str) else None


def part(value, key):
    """An object of an object; None where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else None


def members(value, key):
    """A list of an object of a record; empty where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def numbers(value, key):
    """A list of figures; what is no figure is None in it."""
    return [number({"": each}, "") for each in members(value, key)]


REFUSED = re.compile(r"(?:(a task|step \S+) was )?refused: ")


def refusal(warning):
    """(who, what) of a warning that is a refusal; who is None where it is of the whole job. None for others."""
    found = REFUSED.match(warning)
    return (found[1], warning[found.end() :]) if found else None


def warnings(record):
    """The record's warnings as text. What the job was refused is not said again of its steps and tasks."""
    texts = [str(warning) for warning in members(record, "warnings")]
    refused = [refusal(text) for text in texts]
    of_job = {found[1] for found in refused if found and found[0] is None}
    return [text for text, found in zip(texts, refused) if not (found and found[0] and found[1] in of_job)]


def tiers(record):
    """The record's memory by tier, fastest first; empty where it was not measured."""
    return [tier for tier in members(record.get("memory"), "tiers") if isinstance(tier, dict)]


def mode(record):
    """The mode that was planned, else the one that was asked for, else none."""
    planned = text(record.get("plan"), "mode")
    if planned:
        return planned
    asked = text(record, "request")
    return asked.split(",", 1)[0] if asked else "none"


def clean(word):
    """Text without halves of surrogate pairs, which JSON may have and no file of text."""
    return word if word is None else word.encode("utf-8", "replace").decode()


def name(record, key):
    """A user or an account, "?" where there is none."""
    return clean(text(record, key)) or "?"


def integer(value, key):
    """A whole number that a table can have."""
    found = whole(value, key)
    return found if found is None or -BIGINT <= found < BIGINT else None


def count(value, key):
    """A figure that is a whole number, and one that a table can have."""
    found = figure(value, key)
    return found if isinstance(found, int) and found < BIGINT else None


def run(record):
    """What tells a job's run apart: a job that is requeued keeps its number."""
    return clean(text(record, "cluster")), integer(record, "job_id"), integer(record, "restart_count")


def key(record):
    """What a record is told by: on a day it counts once, in whatever files it is."""
    return *run(record), clean(record["node"])


def job_name(record):
    """As users name the job: 12, 12_3 (array task) or 12+1 (component of a heterogeneous job)."""
    job, array, leader = (whole(record, key) for key in ("job_id", "array_job_id", "het_job_id"))
    if array is not None:
        return f"{array}_{whole(record, 'array_task_id')}"
    return f"{job}" if leader is None else f"{leader}+{job - leader}"
