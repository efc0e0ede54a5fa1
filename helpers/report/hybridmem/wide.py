# SPDX-License-Identifier: Apache-2.0
"""Shows the records of a job on many nodes as text: what the nodes have together, and the nodes that stand out."""

from collections import Counter

from . import draw, fields, merge, records, showtext, summarytext

MOST_NODES = 8  # of a run that is shown node by node
MOST_APART = 4
KEYS = ("job_id", "array_job_id", "array_task_id", "het_job_id", "restart_count")
ALL = "all"


def peak(record):
    return fields.figure(record.get("memory"), "peak_bytes")


def manner(record):
    """What nodes of a job most often have in common."""
    return fields.mode(record), fields.whole(record, "exit_code"), tuple(fields.warnings(record))


def apart(run):
    """The nodes that stand out: those with the most and the least memory, then those that ended or were warned
    otherwise than most, the rarest first."""
    known = [record for record in run if peak(record) is not None]
    found = [max(known, key=peak), min(known, key=peak)] if known else []
    often = Counter(map(manner, run))
    [(usual, _)] = often.most_common(1)
    others = [record for record in run if manner(record) != usual and all(record is not one for one in found)]
    others.sort(key=lambda record: often[manner(record)])
    chosen = {id(record) for record in [*found, *others][:MOST_APART]}
    return [record for record in run if id(record) in chosen]


def chosen(runs, names):
    """The runs that have a record of one of these nodes."""
    known = {record["node"] for run in runs for record in run}
    for name in sorted(names - known):
        raise records.Failure(f"the job has no record of node {name}")
    return [run for run in runs if any(record["node"] in names for record in run)]


class Printer(showtext.Printer):
    """`names`: the nodes that are shown, {ALL} for all of them; None: all of a few, and of many those that stand out.
    Advice is on the whole run in any case."""

    names = None

    def nodes(self, run):
        if self.names == {ALL} or (not self.names and len(run) <= MOST_NODES):
            super().nodes(run)
            return
        if self.names:
            super().nodes([record for record in run if record["node"] in self.names])
            return
        entry = {key: fields.whole(run[0], key) for key in KEYS}
        summary = merge.summary(entry, [record["node"] for record in run], run)
        summarytext.Printer(self.write, self.most, self.verbose).figures({**summary, "by_node": []})
        shown = apart(run)
        super().nodes(shown)
        self.write("")
        more = draw.counted(len(run) - len(shown), "node")
        said = f"{more} more; above: those with most and least memory, or unlike most."
        for line in draw.sentence(f"{said} --nodes all shows all, --nodes NAME,... some.", self.most):
            self.write(line)
