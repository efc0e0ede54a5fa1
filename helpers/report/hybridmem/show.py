# SPDX-License-Identifier: Apache-2.0
"""hybridmem show: the records of one job, for people or as JSON."""

import argparse
import itertools
import json
import os
import re
import shutil
import sys

from . import draw, fields, figures, migrated, moments, page, program, records, rules, running, showpage

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
                    found.setdefault(identity(record), record)
    return [found[key] for key in sorted(found)]


def identity(record):
    """What tells records apart, in the order in which they are shown; one that was written twice is shown once."""
    return (
        fields.text(record, "cluster") or "",
        record["job_id"],
        fields.whole(record, "restart_count") or 0,
        record["node"],
        fields.text(record, "end") or "",
    )


def runs_of(found):
    """The records of each run of a job together."""
    return [list(run) for _, run in itertools.groupby(found, lambda record: identity(record)[:3])]


class Printer:
    """Records as text. `write` takes a line; `blocks`: may use block elements; `columns`: the terminal's width."""

    def __init__(self, write, blocks, columns):
        self.write, self.blocks = write, blocks
        self.plot_width = max(20, min(columns, 160) - 48)

    def print_all(self, found):
        for place, run in enumerate(runs_of(found)):
            if place:
                self.write("")
            self.head(run[0])
            for record in run:
                self.write("")
                self.node(record)
            self.advice(run)

    def advice(self, run):
        """What the job may do better next time."""
        said = rules.advise_run(run)
        if said:
            self.write("")
        for advice, nodes in said:
            self.line("advice", rules.sentence(advice, nodes, len(run) == 1))

    def head(self, record):
        said = [f"Job {self.job_name(record)}"]
        said += [
            f"{key} {fields.text(record, key)}"
            for key in ("user", "account", "partition", "cluster")
            if fields.text(record, key)
        ]
        self.write(draw.plain(", ".join(said)))
        restarts = fields.whole(record, "restart_count")
        if restarts:
            self.write(f"  run {restarts + 1}: requeued {restarts} time{'s' if restarts > 1 else ''}")
        self.line("asked for", fields.text(record, "request") or "nothing (no --hybrid-mem)")

    @staticmethod
    def job_name(record):
        name, number = fields.job_name(record), f"{record['job_id']}"
        return name if name == number else f"{name} ({number})"

    def line(self, label, words):
        self.write(f"  {label:<12} {draw.plain(words)}")

    def node(self, record):
        self.write(draw.plain(f"Node {record['node']}"))
        self.node_facts(record)
        self.memory(record)
        self.other_figures(record)
        for warning in fields.members(record, "warnings"):
            self.line("warning", str(warning))

    def node_facts(self, record):
        start, end = (fields.text(record, key) for key in ("start", "end"))
        code = fields.whole(record, "exit_code")
        steps = " ".join(str(step) for step in fields.members(record, "step_ids"))
        elapsed = draw.duration(fields.number(record, "elapsed_s"))
        self.line("ran", f"{moments.plain(start)} to {moments.plain(end)} UTC, {elapsed}")
        self.line("steps", f"{steps or 'none on this node'}; exit code {draw.UNMEASURED if code is None else code}")
        self.plan(record.get("plan"))

    def plan(self, plan):
        if not isinstance(plan, dict):
            self.line("plan", "none: the job's memory was not placed")
            return
        self.line("plan", f"{fields.text(plan, 'mode')}, policy {fields.text(plan, 'policy')}")
        if fields.text(plan, "reason"):
            self.line("because", plan["reason"])

    def memory(self, record):
        memory, tiers = record.get("memory"), fields.tiers(record)
        if not any(fields.number(tier, "peak_bytes") is not None for tier in tiers):
            self.line("memory", unmeasured(memory))
            return
        peak = draw.size(fields.number(memory, "peak_bytes"))
        self.line("memory", f"peak {peak} ({fields.text(memory, 'peak_source') or 'source unknown'})")
        columns = [column for column in COLUMNS if any(fields.number(tier, column[1]) is not None for tier in tiers)]
        head = ("TIER", "KIND", "NODES", *(name for name, _ in columns))
        for row in draw.table([head, *(tier_row(tier, columns) for tier in tiers)], left=3):
            self.write(f"    {draw.plain(row)}")
        self.plots(tiers, fields.number(memory, "interval_s"))

    def plots(self, tiers, interval):
        """Each tier's share of the mean use as a bar, and its use over time; all plots have the same scale."""
        means = [fields.number(tier, "mean_bytes") for tier in tiers]
        series = [fields.numbers(tier, "series") for tier in tiers]
        total = sum(mean or 0 for mean in means)
        top = max((point for points in series for point in points if point is not None), default=0)
        longest = max(map(len, series))
        if longest and interval is not None:
            span = draw.duration(longest * interval)
            self.write(f"    {'':<12} share of the mean, and use over {span}; full height is {draw.size(top)}")
        for tier, mean, points in zip(tiers, means, series):
            if mean is None or not total:
                continue
            bar = draw.bar(mean / total, 20, self.blocks)
            plot = draw.plot(points, top, self.plot_width, self.blocks)
            name = draw.plain(fields.text(tier, "name") or "?")
            self.write(f"    {name:<12} {bar} {draw.percent(mean / total):>5}  {plot}".rstrip())

    def other_figures(self, record):
        self.energy(record.get("energy"), figures.Figures(record).joules_per_gb)
        self.traffic(record.get("traffic"))
        self.migration(record)
        self.namespaces(record)

    def energy(self, energy, joules_per_gb):
        """The job's own; the node's where the job shared it."""
        of_job, of_node = energy_parts(energy), energy_parts(fields.part(energy, "node"))
        if joules_per_gb is not None:
            of_job.append(f"{joules_per_gb:.3g} J for each GB of traffic")
        if not of_job and not of_node:
            self.line("energy", unmeasured(energy))
        else:
            whose = "" if of_job else "the node's: "
            self.line("energy", f"{whose}{', '.join(of_job or of_node)} ({fields.text(energy, 'source')})")

    def traffic(self, traffic):
        of_job, of_node = traffic_lines(traffic), traffic_lines(fields.part(traffic, "node"))
        if not of_job and not of_node:
            self.line("traffic", unmeasured(traffic))
        for text in of_job or [f"the node's: {text}" for text in of_node]:
            self.line("traffic", text)

    def namespaces(self, record):
        """The job's DAX file systems."""
        for one in fields.members(record, "namespaces"):
            size = draw.size(fields.number(one, "bytes"))
            until = fields.text(one, "kept_until")
            made = "made or found" if until else "made"
            times = [
                f"{word} in {draw.duration(fields.number(one, key))}"
                for word, key in ((made, "create_s"), ("wiped and removed", "destroy_s"))
                if fields.number(one, key) is not None
            ]
            if until:
                times.append(f"kept until {moments.plain(until)} UTC")
            words = [f"{fields.text(one, 'fs')} of {size} on socket {fields.whole(one, 'socket')}", *times]
            self.line("file system", ", ".join(words))

    def migration(self, record):
        """What the migrators say that they did; a job that asked for none has no such lines."""
        migration = record.get("migration")
        if fields.number(migration, "promoted_bytes") is None:
            if fields.mode(record) in ("isolate", "migrate"):
                self.line("migration", unmeasured(migration))
            return
        for label, words in zip(("migration", *[""] * 4), migrated.lines(migration)):
            self.line(label, words)


class Collector(Printer):
    """Labels and words of a record, for a page."""

    def __init__(self):
        self.lines = []

    def line(self, label, words):
        self.lines.append((label, words))


def text_of(record):
    """What is said of a node besides its memory."""
    collector = Collector()
    collector.node_facts(record)
    collector.other_figures(record)
    return collector.lines


# All but the peak and the mean are of the moment of the job's largest total.
COLUMNS = (
    ("PEAK", "peak_bytes"),
    ("MEAN", "mean_bytes"),
    ("ANONYMOUS", "anon_bytes"),
    ("PAGE CACHE", "file_bytes"),
    ("SHARED", "shmem_bytes"),
    ("KERNEL", "kernel_bytes"),
    ("HUGETLB", "hugetlb_bytes"),
)


def tier_row(tier, columns):
    return (
        fields.text(tier, "name") or "?",
        fields.text(tier, "kind") or "unknown",
        draw.ranges(fields.numbers(tier, "nodes")),
        *(draw.size(fields.number(tier, key)) for _, key in columns),
    )


ENERGY = (("package_j", "package", "J"), ("memory_j", "memory", "J"), ("platform_j", "node", "J"))
POWER = (("mean_w", "mean", "W"), ("peak_w", "peak", "W"))


def energy_parts(energy):
    found = ((name, fields.number(energy, key), unit) for key, name, unit in (*ENERGY, *POWER))
    return [f"{name} {number:.0f} {unit}" for name, number, unit in found if number is not None]


def traffic_lines(traffic):
    return [
        f"{fields.text(tier, 'name')}: {draw.size(fields.number(tier, 'read_bytes'))} read, "
        f"{draw.size(fields.number(tier, 'write_bytes'))} written"
        for tier in fields.members(traffic, "tiers")
        if isinstance(tier, dict)
    ]


def unmeasured(value):
    """A figure that is null says why in its source."""
    return f"not measured: {fields.text(value, 'source') or 'the record does not say why'}"


def arguments():
    parser = argparse.ArgumentParser(
        prog="hybridmem show",
        description="Show what a job asked for, what was planned, and what memory it used.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
    runs = f"job {options.job.text} runs on this node: what is recorded of it is written at its end"
    try:
        folder = records.readable_folder(options.records or records.configured_folder(config_program))
    except records.NoFolder as failure:  # the first record makes the folder: this may be the node's first job
        if options.job.runs_here():
            raise records.Failure(runs) from failure
        raise
    found = find(folder, options.job, skipped)
    program.tell_skipped(skipped)
    if not found and options.job.runs_here():
        raise records.Failure(runs)
    if not found:
        raise records.NoSuchJob(f"no such job: {options.job.text}")
    if options.json:
        json.dump(found, sys.stdout, indent=2)
        sys.stdout.write("\n")
        return 0
    if options.html:
        page.write(options.html, showpage.make(options.job.text, runs_of(found), text_of))
        return 0
    blocks = program.prepare_terminal()
    Printer(lambda line: print(line.rstrip()), blocks, shutil.get_terminal_size().columns).print_all(found)
    return 0
