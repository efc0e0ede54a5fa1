# SPDX-License-Identifier: Apache-2.0
"""Reads what Slurm's database has on jobs, through sacct, and writes comments to it, through sacctmgr. Runs the
collector, which writes jobs' summaries there."""

import sys
from pathlib import Path

import slurm

sys.path.insert(0, "/usr/share/hybridmem/python")
from hybridmem import summaries

SPOOL = Path("/var/lib/hybridmem/spool")
LIBEXEC = Path("/usr/libexec/hybridmem")
# The accounts that the testbed registers (testbed-accounting).
ACCOUNTS = {"alice": "physics", "bob": "physics", "carol": "chemistry"}
COLUMNS = (
    "JobID",  # ARRAY_TASK for a task of an array
    "JobIDRaw",  # the number that the node knows the job by
    "User",
    "UID",
    "Account",
    "Partition",
    "State",
    "ExitCode",
    "ElapsedRaw",
    "Start",
    "End",
    "NodeList",
    "Restarts",
    "Comment",
    "Extra",
    "AdminComment",
)


def rows(ids, *options, user=None):
    """sacct's lines for these jobs, without their steps, as dictionaries. An array's id stands for its tasks."""
    words = ["sacct", "-XPn", "-o", ",".join(COLUMNS), "-j", ",".join(map(str, ids)), *options]
    text = slurm.run(" ".join(words), user=user, env={"SLURM_TIME_FORMAT": "%s"}).stdout
    return [dict(zip(COLUMNS, line.split("|"), strict=True)) for line in text.splitlines()]


def row(job_id):
    """The only line of a job. ARRAY_TASK as `job_id` means one task of an array."""
    (found,) = rows([job_id])
    return found


def wait_stored(ids, count=None):
    """Waits until the database has the end of all these jobs, which slurmctld sends only some time after they ended.
    Returns their lines. `count` is the number of lines, where an array's id stands for several."""
    wanted = count or len(ids)

    def ended():
        found = rows(ids)
        return len(found) == wanted and all(line["End"] != "Unknown" for line in found) and found

    return slurm.wait_for(ended, f"the end of {wanted} jobs in Slurm's database", every=0.5)


def wait_runs(job_id, count):
    """Waits until the database has the end of the last of `count` runs of a requeued job. Returns its line. Until that
    run has a line, sacct shows the run before, which has ended."""
    slurm.wait_for(lambda: len(rows([job_id], "--duplicates")) == count, f"{count} runs in Slurm's database", every=0.5)
    (line,) = wait_stored([job_id])
    return line


def set_comment(job_id, text, user=None, check=True):
    """Writes the AdminComment of a job. ARRAY_TASK as `job_id` means one task of an array."""
    words = f"sacctmgr -i update job where jobid={job_id} set AdminComment={text}"
    return slurm.run(words, user=user, check=check)


def collect():
    """Run the collector, as SlurmUser with the group of the records, until the spool is empty."""
    slurm.wait_no_jobs()  # a job is in the queue until EpilogSlurmctld has ended
    words = f"setpriv --reuid=slurm --regid=slurm --groups=hybridmem {LIBEXEC}/hybridmem-collect --once"

    def is_done():
        slurm.run(words)
        return not list(SPOOL.glob("*.json"))

    slurm.wait_for(is_done, "an empty spool", every=1)
    assert not list((SPOOL / "aside").iterdir())


def collect_at_once():
    """As collect(), but waits for records 1 s instead of 60 s: all records that come are there already."""
    with slurm.configured(slurm.CONFIG.read_text().replace("collect_wait = 60s", "collect_wait = 1s")):
        collect()


def summary(line):
    return summaries.decode(line["AdminComment"])
