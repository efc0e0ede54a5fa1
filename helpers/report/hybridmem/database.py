# SPDX-License-Identifier: Apache-2.0
"""A job in Slurm's database: which of its rows is the run that ended, and the field that gets its summary.

A job that was requeued has a row for each run, and sacctmgr changes the newest alone. A plain number would mean all
tasks of an array, and all components of a heterogeneous job: these are named by task or component.
"""

import re
from typing import NamedTuple, Optional

from . import commands, nodenames

EXACT_S = 2  # most seconds between the end of a run in the spool and in the database
ROUGH_S = 60  # the same if slurmctld did not tell the end (before 23.02)
MOST_NODES = 1 << 17
_ROW = re.compile(r"(\d{1,10})\|(\d{1,12}|[A-Za-z]+)\|(\d{1,12}|[A-Za-z]+)\|(.*)")


class Row(NamedTuple):
    job_id: int
    submit: Optional[int]
    end: Optional[int]  # None: it has not ended
    text: str


def named(entry):
    """The job as sacct and sacctmgr take it."""
    if entry["array_job_id"] is not None:
        return f"{entry['array_job_id']}_{entry['array_task_id']}"
    if entry["het_job_id"] is not None:
        return f"{entry['het_job_id']}+{entry['het_job_offset']}"
    return f"{entry['job_id']}"


def parse_rows(output):
    """Parses lines of JobIDRaw|Submit|End|FIELD. A line of another form continues the FIELD of the line before."""
    rows = []
    for line in output.splitlines():
        found = _ROW.fullmatch(line)
        if found:
            job, submit, end, text = found.groups()
            submit, end = (int(moment) if moment.isdigit() else None for moment in (submit, end))
            rows.append(Row(int(job), submit, end, text))
        elif rows:
            rows[-1] = rows[-1]._replace(text=f"{rows[-1].text}\n{line}")
    return rows


class NotYet(commands.Failed):
    """The database has not heard of the run's end."""


def choose(entry, rows):
    """The run's row; None where a later run of the job took its place. Raises NotYet."""
    rows = [row for row in rows if row.job_id == entry["job_id"] and row.submit is not None]
    if not rows:
        raise NotYet(f"Slurm's database does not know job {named(entry)}")
    newest = max(rows, key=lambda row: row.submit)
    skew = ROUGH_S if entry["start_s"] is None else EXACT_S
    ours = [row for row in rows if row.end is not None and abs(row.end - entry["end_s"]) <= skew]
    if newest in ours:
        return newest
    if ours or newest.submit > entry["end_s"]:
        return None
    raise NotYet(f"in Slurm's database job {named(entry)} has not ended")


class Database:
    """Asks the database by Slurm's commands. `folder`: the folder that has them; None: the usual ones."""

    def __init__(self, field, folder=None):
        self.field, self.folder = field, folder

    def check(self):
        """Raises Failed if one of Slurm's commands is missing."""
        for name in ("scontrol", "sacct", "sacctmgr"):
            commands.find(name, self.folder)

    def nodes(self, text):
        """The names of the nodes in a list such as "n[1-3,7]". Raises Failed."""
        if nodenames.NAME.fullmatch(text):
            return [text]
        names = commands.run([commands.find("scontrol", self.folder), "show", "hostnames", text]).split()
        if not 0 < len(names) <= MOST_NODES or not all(map(nodenames.NAME.fullmatch, names)):
            raise commands.Failed(f'scontrol does not turn "{text[:80]}" into names of nodes')
        return names

    def rows(self, entry):
        """All rows of the job. Raises Failed."""
        words = [commands.find("sacct", self.folder), "--allocations", "--duplicates", "--noheader", "--parsable2"]
        words += [f"--clusters={entry['cluster']}"] if entry["cluster"] else []
        words += [f"--format=JobIDRaw,Submit,End,{self.field}", f"--jobs={named(entry)}"]
        return parse_rows(commands.run(words, SLURM_TIME_FORMAT="%s"))

    def write(self, entry, text):
        """Set the field of the job's newest row. Raises Failed."""
        words = [commands.find("sacctmgr", self.folder), "--immediate", "update", "job", "where"]
        words += [f"jobid={named(entry)}", *([f"cluster={entry['cluster']}"] if entry["cluster"] else [])]
        commands.run([*words, "set", f"{self.field}={text}"])
