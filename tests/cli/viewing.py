# SPDX-License-Identifier: Apache-2.0
"""Runs hybridmem report, and its code in this process, for tests; makes the memory of records for them."""

import json
import subprocess
import sys

from installed import DATA, LIBEXEC, helper
from makerecords import tier

sys.path.insert(0, str(DATA / "python"))
from hybridmem import groups, temporary

# A program that runs another one, and prints the peak of that one's resident memory. A child's peak begins with what
# its parent has in memory, so this parent is small.
SMALL = """\
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)"""


def filled(views, records, top=None):
    """The report of these records, which are of one day, made in this process."""
    report, rows = groups.Report(views, top), temporary.Rows(views)
    rows.next_day("2025-03-01")
    for made in records:
        rows.add(made)
    rows.fill(report.sums)
    return report


def figure(view, row, name):
    return next(value for column, value, _ in view.read(row) if column.name == name)


def report(folder, *words, **options):
    return helper("hybridmem-report", "--records", folder, *words, **options)


def report_json(folder, *words):
    return json.loads(report(folder, "--json", *words).stdout)


def report_view(folder, name, *words):
    return report(folder, "--view", name, *words)


def view_json(folder, name, *words):
    return report_json(folder, "--view", name, *words)


def rows_by(found, *keys):
    return {tuple(row[key] for key in keys): row for row in found["rows"]}


def memory(fast, slow=(0, 0), capacity=None):
    """A record's memory, from (peak, mean) of the fast and the slow tier."""
    return {
        "peak_bytes": fast[0] + slow[0],
        "tiers": [tier("dram", [0], *fast, capacity=capacity), tier("pmem", [1], *slow, capacity=capacity)],
    }


def peak_kib(folder, *words, program="hybridmem-report"):
    """Runs a report, or hybridmem-show. Returns its peak resident size and its result."""
    command = [LIBEXEC / program, "--records", folder, "--json", *words]
    done = subprocess.run([sys.executable, "-IS", "-c", SMALL, *command], capture_output=True, check=True)
    return int(done.stderr), json.loads(done.stdout)
