# SPDX-License-Identifier: Apache-2.0
"""hybridmem export: gives the records of a node to other monitoring systems."""

import argparse
import os
import re
import socket
import sys
from datetime import datetime, timezone
from pathlib import Path

from . import fields, metrics, moments, program, records, seen, whole, words

NAME = "hybridmem export"
WINDOW = "24h"
MOST_JOBS = 200_000  # on one node and day; duplicate records of further jobs are not recognized
NODE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
EPILOG = """\
The figures are sums, peaks and means over the records of jobs that ended on the node in the window: gauges, not
counters. Records are the only source: running jobs are not counted. A file is replaced as a whole, so that the textfile
collector of node_exporter never reads half of it. Exit status: 0, 1 when records cannot be read or the file cannot be
written, 2 for wrong arguments."""


class Skipped(records.Skipped):
    """Also counts records of jobs that have not ended yet by our clock: they would stay in each window."""

    CAUSES = (*records.Skipped.CAUSES, "ahead_of_clock")


def node_name(text):
    if not NODE.fullmatch(text):
        raise argparse.ArgumentTypeError(f'"{text}" is no name of a node: letters, digits, ".", "_" and "-"')
    return text


def output(text):
    if not text.endswith(".prom") or Path(text).name == ".prom":
        raise argparse.ArgumentTypeError(f'"{text}" does not end in .prom: node_exporter would not read it')
    return text


def arguments():
    parser = words.Parser(
        prog=NAME,
        description="Metrics of a node's jobs in Prometheus' text format.",
        epilog=EPILOG,
    )
    system = words.choice("system to export to", ["prometheus"])
    parser.add_argument("system", metavar="prometheus", type=system, help="the system to export to")
    parser.add_argument("--output", metavar="FILE.prom", type=output, help="write there; default: standard output")
    parser.add_argument(
        "--since", metavar="TIME", type=words.bound(False), default=WINDOW, help=f"the window; default: {WINDOW}"
    )
    parser.add_argument("--node", metavar="NAME", type=node_name, help="Slurm's name of the node; default: this host's")
    parser.add_argument(
        "--records", metavar="DIR", type=words.folder, help="folder of the records (record_dir of hybridmem.conf)"
    )
    return parser


def add_up(folder, node, period, now, skipped):
    """Sums up the node's metrics. Duplicate lines, from repeated epilogs, count once; records of other nodes do not
    count, nor do those that are later than `now` can be."""
    window = metrics.Window()
    for day in filter(period.has_day, records.days(folder) if folder else []):
        path = f"{folder}/{day}/{node}.jsonl"
        if is_absent(path):
            continue
        written = seen.Keys(MOST_JOBS)
        for number, line in records.lines(path, skipped):
            record = records.parse(line, path, number, skipped)
            if not record or not period.has(fields.text(record, "end")):
                continue
            if moments.is_ahead(fields.text(record, "end"), now):
                skipped.add("ahead_of_clock", path, number)
            elif record["node"] != node:
                skipped.add("foreign", path, number)
            elif written.is_new(
                fields.text(record, "cluster"), record["job_id"], fields.whole(record, "restart_count")
            ):
                window.add(record)
            else:
                skipped.add("duplicate", path, number)
    return window


def is_absent(path):
    """Is there nothing at this path? False also if that cannot be told: whoever reads the path then says why."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def folder_of(options, config_program):
    """The records' folder. None if no job was recorded yet and the user did not name the folder: a timer on a new node
    must not fail for that. Raises Failure also if the caller may read only their own part of the records, as that is
    not all of the node's. If they named that part themselves, it is taken."""
    try:
        folder = records.chosen_folder(options.records, config_program)
    except records.NoFolder as nothing:
        if options.records:
            raise
        program.tell(NAME, str(nothing))
        return None
    if folder != options.records and records.is_own(folder):
        raise records.Failure("a node's figures need all of its records, which only root and the record group may read")
    return folder


def has_records(folder, node):
    """Does the node have a record of any day? It is normal that no record is of the window: no job ended then."""
    return not all(is_absent(f"{folder}/{day}/{node}.jsonl") for day in records.days(folder))


def main(config_program):
    options = arguments().parse_args()
    node = options.node or socket.gethostname().split(".")[0]
    skipped = Skipped()
    now = datetime.now(timezone.utc)
    if options.since >= now:
        raise records.Failure(f"the window would begin in the future: {moments.plain(options.since.isoformat())} UTC")
    folder = folder_of(options, config_program)
    if folder and not has_records(folder, node):
        program.tell(
            NAME,
            f"no record of node {node} in {folder}: no job ended there yet, or Slurm has another name for it (--node)",
        )
    window = add_up(folder, node, moments.Period(options.since), now, skipped)
    program.tell_skipped(NAME, skipped)
    seconds = round((now - options.since).total_seconds())
    made = metrics.text(node, window.families(seconds, skipped.counts))
    if options.output:
        whole.write(options.output, made)
    else:
        sys.stdout.buffer.write(made)
    return 0
