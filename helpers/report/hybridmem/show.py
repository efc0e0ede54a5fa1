# SPDX-License-Identifier: Apache-2.0
"""hybridmem show: the records of one job, for people or as JSON."""

import argparse
import itertools
import json
import os
import re
import shutil
import sys

from . import fields, page, program, records, running, showpage, showtext, words

EPILOG = """\
JOBID is a job (12), a task of an array (12_3) or a component of a heterogeneous job (12+1); 12 alone also shows all
tasks or components. Root and the members of the record group see every job, others their own. A job's record is written
when it ends. Exit status: 0, 1 when there is no such job, it still runs, or the records cannot be read, 2 for wrong
arguments."""


class JobId:
    """What the user named, and whether a record belongs to it."""

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
        if self.kind == "+":  # Slurm numbers the components one after the other, from the leader
            return leader == self.number and job == self.number + self.part
        return self.number in (job, array, leader)

    def runs_here(self):
        """As far as can be seen: a task's or a component's own number is not known before there is a record."""
        return self.kind is None and running.has_job(self.number, os.geteuid())


def find(folder, job_id, skipped):
    """The job's records by job, run and node. Lines without the job's number are not even parsed."""
    found = {}
    for day in records.days(folder):
        for path in records.files(folder, day, skipped):
            for number, line in records.lines(path, skipped):
                record = records.parse(line, path, number, skipped) if job_id.needle in line else None
                if record and job_id.names(record):
                    found.setdefault((day, fields.key(record)), record)  # written twice, it is shown once
    return sorted(found.values(), key=place)


def place(record):
    """By what records are put in the order in which they are shown."""
    return (
        fields.text(record, "cluster") or "",
        record["job_id"],
        fields.whole(record, "restart_count") or 0,
        record["node"],
        fields.text(record, "end") or "",
    )


def runs_of(found):
    """The records of each run of a job together."""
    return [list(run) for _, run in itertools.groupby(found, lambda record: place(record)[:3])]


def arguments():
    parser = words.Parser(
        prog="hybridmem show",
        description="Show what a job asked for, what was planned, and what memory it used.",
        epilog=EPILOG,
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="the records themselves, as an array")
    form.add_argument("--html", metavar="FILE", type=page.file_name, help="write a page with the memory over time")
    parser.add_argument("--records", metavar="DIR", help="folder of the records (record_dir of hybridmem.conf)")
    parser.add_argument("job", metavar="JOBID", type=JobId)
    return parser


def main(config_program):
    options = arguments().parse_args()
    skipped = records.Skipped()
    running_here = f"job {options.job.text} runs on this node: what is recorded of it is written at its end"
    try:
        folder = records.chosen_folder(options.records, config_program)
    except (records.NoFolder, records.Shut) as failure:  # the first record makes the folder: it may be of this job
        if options.job.runs_here():
            raise records.Failure(running_here) from failure
        raise
    found = find(folder, options.job, skipped)
    program.tell_skipped("hybridmem show", skipped)
    if options.job.runs_here():
        if not found:
            raise records.Failure(running_here)
        program.tell("hybridmem show", f"{running_here}; below is what was recorded before")
    if not found:
        raise records.NoSuchJob(f"no such job: {options.job.text}")
    if options.json:
        json.dump(found, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return 0
    runs = runs_of(found)
    if options.html:
        page.write(options.html, showpage.make(options.job.text, runs, showtext.of_node))
        return 0
    blocks = program.prepare_terminal()
    showtext.Printer(lambda line: print(line.rstrip()), blocks, shutil.get_terminal_size().columns).print_all(runs)
    return 0
