# SPDX-License-Identifier: Apache-2.0
"""hybridmem show without access to the records: shows the summary in Slurm's database, from sacct.

Slurm decides whose jobs a user may see there (PrivateData): jobs that sacct does not list do not exist for us."""

import json
import sys

from . import commands, program, records, settings, show, summaries, summarytext

PATIENCE_S = 30


def main(config_program, engine_folder):
    """Shows the records, or else the summary. If the user named a folder or a period, only records are shown."""
    try:
        return show.main(config_program, engine_folder)
    except (records.NoFolder, records.NoSuchJob, records.Shut) as failure:
        options = show.arguments().parse_args()
        if options.records or options.history or options.since or options.until:
            raise
        field = settings.read(config_program).text("summary_field")
        if field == "none":
            raise
        found = find(options.job.text, field, failure)
        if not found and isinstance(failure, records.NoSuchJob):
            raise
        if not found:
            here = "no records here" if isinstance(failure, records.NoFolder) else failure
            raise records.Failure(f"{here}, and no summary of job {options.job.text} in Slurm's database") from failure
        if options.html:
            raise records.Failure("--html needs the job's records: here is only its summary") from failure
    if options.json:
        json.dump([summary for _, summary in found], sys.stdout, indent=2)
        sys.stdout.write("\n")
        return 0
    program.prepare_terminal()
    for number, (job, summary) in enumerate(found):
        print("\n" * min(number, 1), end="")
        summarytext.Printer(lambda line: print(line.rstrip()), program.columns(), options.verbose).job(job, summary)
    return 0


def find(name, field, failure):
    """(job, summary) for each job, task or component with a summary that sacct lists under the name. If sacct
    cannot be asked, raises Failure, which begins with `failure`: why there are no records."""
    try:
        words = [commands.find("sacct"), "--allocations", "--noheader", "--parsable2", f"--jobs={name}"]
        output = commands.run([*words, f"--format={','.join(summarytext.COLUMNS)},{field}"], patience=PATIENCE_S)
    except commands.Failed as error:
        raise records.Failure(f"{failure}; and its summary is not known: {error}") from error
    return [(job, decode(job, text, field)) for job, text in rows(output) if text.startswith(summaries.MARK)]


def rows(output):
    """Yields (job, text of the summary's field). The field may hold another tool's text, with any characters and line
    feeds."""
    for line in output.splitlines():
        words = line.split("|", len(summarytext.COLUMNS))
        if len(words) > len(summarytext.COLUMNS) and words[1].isdigit():
            yield dict(zip(summarytext.COLUMNS, words)), words[-1]


def decode(job, text, field):
    try:
        summary = summaries.decode(text)
        if summary["job_id"] != int(job["JobIDRaw"]):
            raise summaries.Wrong("it is of another job")
    except summaries.Wrong as error:
        raise records.Failure(f"the summary in {field} of job {job['JobID']} is not readable: {error}") from error
    return {**summary, "field": field}
