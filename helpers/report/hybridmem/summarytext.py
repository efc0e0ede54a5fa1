# SPDX-License-Identifier: Apache-2.0
"""Shows a summary of a job's nodes (merge.py) as text."""

from . import draw, forms, moments, showtext

COLUMNS = ("JobID", "JobIDRaw", "User", "Account", "Partition", "Cluster")  # of sacct


def extremes(value, unit):
    """The largest value and the least, each with its node, and the sum, as far as known; of a single node only the
    largest, or else the sum. Watts are not summed, as each node had its peak at another time."""
    form = forms.UNITS[unit]
    parts = [
        f"{word} {form(value[key][0])} on {value[key][1]}"
        for word, key in (("largest", "most"), ("least", "least"))
        if key in value and (key == "most" or value["nodes"] > 1)
    ]
    if unit != "watts" and (value["nodes"] > 1 or not parts):
        parts.append(f"sum of {draw.counted(value['nodes'], 'node')} {form(value['sum'])}")
    return ", ".join(parts) or "left out"


ENERGY = (  # group, key, title, unit
    ("energy", "package_j", "package", "joules"),
    ("energy", "memory_j", "memory", "joules"),
    ("energy_more", "platform_j", "node", "joules"),
    ("energy_more", "mean_w", "mean", "watts"),
    ("energy_more", "peak_w", "peak", "watts"),
)
OWN_TRAFFIC = (("total_bytes", "all tiers"), ("local_bytes", "to memory of the same socket"))


MIGRATION = (
    ("migration", "promoted_bytes", "promoted", "bytes"),
    ("migration", "demoted_bytes", "demoted", "bytes"),
    ("migration", "cpu_s", "CPU time", "seconds"),
    ("migration_more", "kernel_cpu_s", "additional CPU time in the kernel", "seconds"),
)


def no_request(summary):
    """What to say if the summary has no request: the job had none, nodes differ, or no node has a record."""
    if not summary["reported"]:
        return "not known: no node has a record"
    return "nothing (no --hybrid-mem)" + (", or its nodes differ" if summary["reported"] > 1 else "")


class Printer:
    """Prints a summary. `write` takes a line; `most` and `verbose` as in showtext.py."""

    def __init__(self, write, most, verbose):
        self.write, self.most, self.verbose = write, most, verbose

    def line(self, label, words):
        for line in draw.labelled(label, words, self.most):
            self.write(line)

    def job(self, job, summary):
        raw = "" if job["JobID"] == job["JobIDRaw"] else f" ({job['JobIDRaw']})"
        said = [f"{key.lower()} {job[key]}" for key in COLUMNS[2:] if job[key]]
        for line in draw.sentence(", ".join([f"Job {job['JobID']}{raw}", *said]), self.most):
            self.write(line)
        self.line("summary", f"of {summary['field']} in Slurm's database: no records are in reach here")
        self.line("asked for", summary["request"] or no_request(summary))
        self.figures(summary)
        if summary["left_out"]:
            self.line("left out", f"{', '.join(summary['left_out'])}: did not fit into the summary")

    def figures(self, summary):
        if summary["mode"] and summary["policy"]:
            self.line("plan", f"{summary['mode']}, policy {summary['policy']}")
        self.nodes(summary)
        self.memory(summary)
        self.others(summary)
        self.warnings(summary["warnings"])

    def nodes(self, summary):
        total, reported = summary["nodes"], summary["reported"]
        self.line("nodes", f"{total}" if reported == total else f"{total}, of which {reported} reported")
        if summary["missing"]:
            more = ", ..." if "missing" in summary["left_out"] else ""
            self.line("missing", f"{summary['missing']}{more}")
        if summary["start"] or summary["end"]:
            self.line("time", f"{moments.plain(summary['start'])} to {moments.plain(summary['end'])} UTC")

    def group(self, summary, label, figures):
        """Prints lines about `figures`, each (title, figure, unit): what was measured, on how many of the nodes, and by
        which source; or why nothing was."""
        source, lines = summary.get("sources", {}).get(label), []
        for title, value, unit in figures:
            if value:
                some = f"; measured on {value['nodes']} of {summary['nodes']} nodes"
                lines.append(f"{title}: {extremes(value, unit)}{some if value['nodes'] < summary['nodes'] else ''}")
        if not lines:
            why = f": {showtext.reason(source, self.verbose)}" if source else ""
            lines, source = [f"not measured on any node{why}"], None
        for line in lines:
            self.line(label, showtext.sourced(line, source) if source and line is lines[-1] else line)

    def memory(self, summary):
        memory, by_node = summary["memory"], summary["by_node"]
        self.group(summary, "memory", [("peak", memory["peak_bytes"], "bytes")])
        if not memory["peak_bytes"]:
            return
        for tier in memory["tiers"]:
            for title, key in (("peak", "peak_bytes"), ("mean", "mean_bytes")):
                if tier[key]:
                    self.line("", f"{tier['name']} {title}: {extremes(tier[key], 'bytes')}")
        if len(by_node) > 1:
            names = [tier["name"] for tier in memory["tiers"]]
            head = ("NODE", *(f"{name} {title}".upper() for title in ("peak", "mean") for name in names))
            cells = [
                (node, *map(draw.size, [*peaks, *means]))
                for node, peaks, means in by_node
                if len(peaks) == len(means) == len(names)
            ]
            for text in draw.table([head, *cells], left=1, columns=self.most and self.most - 4):
                self.write(f"    {draw.plain(text)}")

    def others(self, summary):
        energy = [(title, summary.get(group, {}).get(key), unit) for group, key, title, unit in ENERGY]
        self.group(summary, "energy", energy)
        if "tiers" not in summary["left_out"]:
            keys = (("read_bytes", "read"), ("write_bytes", "written"))
            tiers = [(tier, *pair) for tier in summary["traffic"] for pair in keys]
            traffic = [(f"{tier['name']} {title}", tier[key], "bytes") for tier, key, title in tiers]
            self.group(summary, "traffic", traffic)
        own = summary.get("job_traffic", {})
        if any(own.values()):
            self.group(summary, "own traffic", [(title, own[key], "bytes") for key, title in OWN_TRAFFIC])
        for group, key, title, unit in MIGRATION:
            value = summary.get(group, {}).get(key)
            if value:
                self.line("migration", f"{title}: {extremes(value, unit)}; self-reported")

    def warnings(self, warnings):
        if warnings["count"]:
            self.line("warnings", f"{warnings['count']}; nodes that have any: {warnings['nodes']}")
        for text, count in warnings["texts"]:
            self.line("warning", text if count == 1 else f"{text} ({count} times)")
