# SPDX-License-Identifier: Apache-2.0
"""hybridmem show: the records of one job, for people or as JSON."""

import argparse
import json
import os
import re
import shutil
import sys

from . import draw, fields, moments, program, records, running

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


class Printer:
    """Records as text. `write` takes a line; `blocks`: may use block elements; `columns`: the terminal's width."""

    def __init__(self, write, blocks, columns):
        self.write, self.blocks = write, blocks
        self.plot_width = max(20, min(columns, 160) - 48)

    def print_all(self, found):
        last = None
        for record in found:
            if identity(record)[:3] != last:
                if last:
                    self.write("")
                self.head(record)
                last = identity(record)[:3]
            self.write("")
            self.node(record)

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
        job, array, leader = (fields.whole(record, key) for key in ("job_id", "array_job_id", "het_job_id"))
        if array is not None:
            return f"{array}_{fields.whole(record, 'array_task_id')} ({job})"
        return f"{job}" if leader is None else f"{leader}+{job - leader} ({job})"

    def line(self, label, words):
        self.write(f"  {label:<12} {draw.plain(words)}")

    def node(self, record):
        start, end = (fields.text(record, key) for key in ("start", "end"))
        code = fields.whole(record, "exit_code")
        steps = " ".join(str(step) for step in fields.members(record, "step_ids"))
        self.write(draw.plain(f"Node {record['node']}"))
        elapsed = draw.duration(fields.number(record, "elapsed_s"))
        self.line("ran", f"{moments.plain(start)} to {moments.plain(end)} UTC, {elapsed}")
        self.line("steps", f"{steps or 'none on this node'}; exit code {draw.UNMEASURED if code is None else code}")
        self.plan(record.get("plan"))
        self.memory(record)
        self.other_figures(record)
        for warning in fields.members(record, "warnings"):
            self.line("warning", str(warning))

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
        energy = record.get("energy")
        package, memory = (fields.number(energy, key) for key in ("package_j", "memory_j"))
        if package is None and memory is None:
            self.line("energy", unmeasured(energy))
        else:
            parts = [
                f"{name} {joules:.0f} J"
                for name, joules in (("package", package), ("memory", memory))
                if joules is not None
            ]
            self.line("energy", f"{', '.join(parts)} ({fields.text(energy, 'source')})")
        self.traffic(record.get("traffic"))
        self.migration(record)
        self.namespaces(record)

    def traffic(self, traffic):
        tiers = [tier for tier in fields.members(traffic, "tiers") if isinstance(tier, dict)]
        if not tiers:
            self.line("traffic", unmeasured(traffic))
        for tier in tiers:
            read, written = (draw.size(fields.number(tier, key)) for key in ("read_bytes", "write_bytes"))
            self.line("traffic", f"{fields.text(tier, 'name')}: {read} read, {written} written")

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
        for label, words in zip(("migration", *[""] * 4), migration_lines(migration)):
            self.line(label, words)


def migration_lines(migration):
    """Method, moves, result, cap and cost; what was not measured is left out. At most five."""
    sizes = {key: fields.number(migration, key) for key in ("promoted_bytes", "demoted_bytes", "cap_bytes")}
    moved = f"{draw.size(sizes['promoted_bytes'])} promoted, {draw.size(sizes['demoted_bytes'])} demoted"
    yield f"{moved}; self-reported by the migrators of {plural(fields.whole(migration, 'step_count') or 0, 'step')}"
    yield method(migration)
    unmoved = migration.get("unmoved") if isinstance(migration.get("unmoved"), dict) else {}
    stuck = [f"{reason} {draw.size(fields.number(unmoved, reason))}" for reason in unmoved if unmoved[reason]]
    if stuck:
        yield f"not moved: {', '.join(stuck)}"
    fast, best, regret = (fields.number(migration, key) for key in ("fast_share", "best_share", "regret"))
    if fast is not None:
        what = "writes" if fields.text(migration, "hot_by") == "writes" else "accesses"
        yield (
            f"estimate: {draw.percent(fast)} of {what} served by the fast tier; best known placement "
            f"{draw.percent(best)}, regret {draw.percent(regret)}"
        )
    cost = f"cost {draw.duration(fields.number(migration, 'cpu_s'))} of CPU time"
    kernel = fields.number(migration, "kernel_cpu_s")
    cost += "" if kernel is None else f", {draw.duration(kernel)} more in the kernel"
    if sizes["cap_bytes"] is not None:
        above = fields.number(migration, "above_cap_bytes")
        kept = "not known what was above it" if above is None else f"at most {draw.size(above)} above it"
        cost = f"cap {draw.size(sizes['cap_bytes'])}, {kept}; {cost}"
    yield cost


NO_SOURCE = "none yet"  # of a step that had nothing to move


def method(migration):
    source, why = fields.text(migration, "sample_source"), fields.text(migration, "sample_source_why")
    samples = f"{draw.count(fields.whole(migration, 'samples'))} samples"
    samples += "" if source == NO_SOURCE else f" of {source or 'several sources'}"
    interval = fields.number(migration, "interval_s")
    every = "" if interval is None else f", at most one every {interval:g} s"
    phases = plural(fields.whole(migration, "phases") or 0, "decision")
    return (
        f"{fields.text(migration, 'algorithm') or 'several algorithms'}: {phases}{every}, on {samples}"
        f"{f' ({why})' if why else ''}"
    )


def plural(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


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
    parser.add_argument("--json", action="store_true", help="the records themselves, as an array")
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
    blocks = program.prepare_terminal()
    Printer(lambda line: print(line.rstrip()), blocks, shutil.get_terminal_size().columns).print_all(found)
    return 0
