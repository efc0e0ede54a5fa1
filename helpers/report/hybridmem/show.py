# SPDX-License-Identifier: Apache-2.0
"""hybridmem show: shows the records of one job, for people or as JSON."""

import argparse
import itertools
import json
import os
import re
import shutil
import sys
from types import SimpleNamespace

from . import fields, held, lookup, moments, page, program, records, running, showpage, showtext, wide, words

EPILOG = """\
JOBID is a job (12), a task of an array (12_3) or a component of a heterogeneous job (12+1); 12 alone also shows all
tasks or components. Root and the members of the record group see every job, others their own. A job's record is written
at the end of its epilog. Exit status: 0, 1 when the job has neither a record nor a summary in Slurm's database (as
while its first run still runs) or they cannot be read, 2 for wrong arguments."""


class JobId:
    """The job that the user named, and whether a record belongs to it."""

    def __init__(self, text):
        found = re.fullmatch(r"(\d{1,10})(?:([_+])(\d{1,10}))?", text)
        if not found:
            raise argparse.ArgumentTypeError(f'"{text}" is no job id: 12, 12_3 (array task) or 12+1 (component)')
        self.text, self.number = text, int(found[1])
        self.kind, self.part = found[2], int(found[3]) if found[3] else None
        self.needle = str(self.number).encode()

    def names(self, record):
        job, array, leader = (fields.whole(record, key) for key in ("job_id", "array_job_id", "het_job_id"))
        if self.kind == "_":
            return array == self.number and fields.whole(record, "array_task_id") == self.part
        if self.kind == "+":  # Slurm numbers the components one after the other, beginning with the leader
            return leader == self.number and job == self.number + self.part
        return self.number in (job, array, leader)

    def runs_here(self):
        """Does the job run on this node? False for a task or component, whose own number only its record has."""
        return self.kind is None and running.has_job(self.number, os.geteuid())

    def is_in_ledger(self, config_program):
        return self.kind is None and running.is_in_ledger(self.number, config_program)


def place(record):
    """What records are sorted by: the first three values name the run, the others the record's place in that run."""
    return (
        fields.text(record, "cluster") or "",
        record["job_id"],
        fields.whole(record, "restart_count") or 0,
        record["node"],
        fields.text(record, "end") or "",
    )


def order(record):
    """The order in which records are shown: array tasks by their index, as the last task has the array's own number."""
    array, leader = (fields.whole(record, key) for key in ("array_job_id", "het_job_id"))
    family = next((number for number in (array, leader) if number is not None), record["job_id"])
    task = -1 if array is None else fields.whole(record, "array_task_id")
    cluster, *rest = place(record)
    return (cluster, family, -1 if task is None else task, *rest)


def runs_of(found):
    """Lists of the records of each run of a job."""
    return [list(run) for _, run in itertools.groupby(found, lambda record: place(record)[:3])]


def arguments():
    parser = words.Parser(
        prog="hybridmem show",
        description="Show what a job asked for, what was planned, and what memory it used.",
        epilog=EPILOG,
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="the records themselves, as an array")
    form.add_argument(
        "--html",
        metavar="FILE",
        type=page.file_name,
        help="write a page with the memory over time; -: to standard output",
    )
    parser.add_argument(
        "--nodes",
        metavar="all|NAME,...",
        type=lambda text: frozenset(text.split(",")),
        help="all nodes, or these; default: of more than 8 their sums and those that stand out",
    )
    parser.add_argument("--verbose", action="store_true", help="also say why each source of counters measured nothing")
    words.add_period(parser)
    words.add_source(parser)
    parser.add_argument("job", metavar="JOBID", type=JobId)
    return parser


def running_here(job):
    return f"job {job.text} runs on this node: what is recorded of it is written at its end"


def why_not_yet(job, config_program, named):
    """Why a job that has not ended has no record; None for a job that has ended, as far as the caller can see. `named`
    is the folder of --records or --history; if it is given, Slurm's queue is not asked."""
    if job.runs_here():
        return running_here(job)
    if job.is_in_ledger(config_program):
        return f"job {job.text} is on this node, with no step that runs: its record is written at the end of its epilog"
    found = None if named else running.in_queue(job.text)
    if not found:
        return None
    state, nodes = found
    where = f" on {nodes}" if nodes else ""
    return f"job {job.text} is {state.lower()}{where}, by squeue: its record is written at the end of its epilog"


def why_none(options, folder):
    """The exception for a job without a record. It cannot say whether the job belongs to another user, runs on another
    node, or does not exist. Raises Failure if --records names a wrong folder."""
    job = options.job.text
    if not options.history:
        records.check_days(folder, options.records)
    period = " of this period" if options.since or options.until else ""
    where = f" in {options.history}" if options.history else ""
    return records.NoSuchJob(
        f"no record of job {job}{where}{period} that you may read: a job with --hybrid-mem gets one at the end of its "
        "epilog, and one without it where the site records all jobs"
    )


def find(options, config_program, engine_folder):
    """The job's records, sorted by order(). Raises an exception if there are none."""
    period, named = moments.Period(options.since, options.until), options.history or options.records
    skipped, folder, job = records.Skipped(), options.history, options.job
    try:
        if options.history:
            found = lookup.in_history(options, engine_folder, SimpleNamespace(period=period))
        else:
            folder = records.chosen_folder(options.records, config_program)
            found = lookup.in_folder(folder, job, period, skipped)
    # the folder is made with the first record, which may be this job's
    except (records.NoFolder, records.Shut) as failure:
        not_yet = why_not_yet(job, config_program, named)
        if not_yet:
            raise records.Failure(not_yet) from failure
        raise
    program.tell_skipped("hybridmem show", skipped)
    if not found:
        not_yet = why_not_yet(job, config_program, named)
        raise records.Failure(not_yet) if not_yet else why_none(options, folder)
    return sorted(found, key=order)


def write_json(found):
    """Writes the records as json.dump(indent=2) writes a list, one at a time."""
    between = "[\n  "
    for record in found:
        text = json.dumps(held.whole(record), indent=2)
        sys.stdout.write(between + text.replace("\n", "\n  "))  # a line feed within a word is escaped
        between = ",\n  "
    sys.stdout.write("\n]\n")


def main(config_program, engine_folder):
    parser = arguments()
    options = parser.parse_args()
    words.check_period(parser, options)
    if options.nodes and (options.json or options.html):
        parser.error("--nodes is for the text: --json and --html have all nodes")
    found = find(options, config_program, engine_folder)
    if options.job.runs_here():
        program.tell("hybridmem show", f"{running_here(options.job)}; below is what was recorded before")
    if options.json:
        write_json(found)
        return 0
    runs = runs_of(found)
    if options.nodes and options.nodes != {wide.ALL}:
        runs = wide.chosen(runs, options.nodes)
    if options.html:
        page.write(options.html, showpage.make(options.job.text, runs, showtext.of_node))
        return 0
    blocks = program.prepare_terminal()
    columns = shutil.get_terminal_size().columns
    write, most = lambda line: print(line.rstrip()), program.columns()
    printer = wide.Printer(write, blocks, columns, most, options.verbose)
    printer.names = options.nodes
    printer.print_all(runs)
    return 0
