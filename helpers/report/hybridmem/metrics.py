# SPDX-License-Identifier: Apache-2.0
"""Makes Prometheus metrics of a node's records: gauges over a window of time.

They are not counters. A counter must never decrease, but old records are removed; Prometheus would take a smaller value
for a restart of the counter, and add all of that value again. A gauge over a window may decrease."""

from typing import Callable, NamedTuple

from . import fields, moments

MOST_TIERS = 16  # most tier names that become labels; a node has a few, but a site may rename them within the window
OTHER = "other"


class Sum:
    """The sum of what was measured."""

    def __init__(self):
        self.value = 0

    def add(self, value):
        self.value += value


class Largest:
    def __init__(self):
        self.value = None

    def add(self, value):
        self.value = value if self.value is None else max(self.value, value)


class Mean:
    """A mean weighted by time: takes (amount, seconds)."""

    def __init__(self):
        self.amount = self.seconds = 0

    def add(self, value):
        amount, seconds = value
        self.amount += amount * seconds
        self.seconds += seconds

    @property
    def value(self):
        return self.amount / self.seconds if self.seconds > 0 else None


class Metric(NamedTuple):
    name: str
    help: str
    labels: tuple
    fold: type
    samples: Callable  # of a record: yields (label values, value); a value of None was not measured


def of_mode(figure):
    def samples(record):
        mode = fields.mode(record)
        yield (mode if mode in fields.MODES else OTHER,), figure(record)

    return samples


def failed(record):
    code = fields.whole(record, "exit_code")
    return None if code is None else int(code != 0)


def name_of(tier):
    return fields.text(tier, "name") or "?"


def peaks(record):
    for tier in fields.tiers(record):
        yield (name_of(tier),), fields.figure(tier, "peak_bytes")


def means(record):
    seconds = fields.figure(record, "elapsed_s")
    for tier in fields.tiers(record):
        mean = fields.figure(tier, "mean_bytes")
        yield (name_of(tier),), None if None in (mean, seconds) else (mean, seconds)


def traffic(record):
    for tier in fields.members(record.get("traffic"), "tiers"):
        for direction in ("read", "write"):
            yield (name_of(tier), direction), fields.figure(tier, f"{direction}_bytes")


def own(key):
    """Memory traffic of the jobs' own tasks, by their resctrl groups."""
    return lambda record: [((), fields.figure(fields.part(record.get("traffic"), "job"), key))]


def energy(record):
    for domain in ("package", "memory"):
        yield (domain,), fields.figure(record.get("energy"), f"{domain}_j")


def migrated(record):
    for direction in ("promoted", "demoted"):
        yield (direction,), fields.figure(record.get("migration"), f"{direction}_bytes")


def migrator(record):
    for part, key in (("migrator", "cpu_s"), ("kernel", "kernel_cpu_s")):
        yield (part,), fields.figure(record.get("migration"), key)


def unmeasured(record):
    """Yields memory, energy and traffic, each with 1 if the record has no such figure, else 0."""
    for kind, samples in (("memory", peaks), ("energy", energy), ("traffic", traffic)):
        yield (kind,), int(all(value is None for _, value in samples(record)))


def end(record):
    moment = moments.parse_time(fields.text(record, "end") or "")
    yield (), moment.timestamp() if moment else None


METRICS = (
    Metric(
        "hybridmem_window_jobs",
        "Jobs that ended on the node; each run of a requeued job counts.",
        ("mode",),
        Sum,
        of_mode(lambda record: 1),
    ),
    Metric(
        "hybridmem_window_failed_jobs",
        "Jobs whose exit code on the node is not 0.",
        ("mode",),
        Sum,
        of_mode(failed),
    ),
    Metric(
        "hybridmem_window_job_seconds",
        "Time that the jobs were on the node, summed.",
        ("mode",),
        Sum,
        of_mode(lambda record: fields.figure(record, "elapsed_s")),
    ),
    Metric(
        "hybridmem_window_warnings",
        "Warnings in the records.",
        ("mode",),
        Sum,
        of_mode(lambda record: len(fields.members(record, "warnings"))),
    ),
    Metric(
        "hybridmem_window_tier_peak_bytes",
        "Largest use of a tier by one job.",
        ("tier",),
        Largest,
        peaks,
    ),
    Metric(
        "hybridmem_window_tier_mean_bytes",
        "Mean use of a tier by a job, weighted by the jobs' time.",
        ("tier",),
        Mean,
        means,
    ),
    Metric(
        "hybridmem_window_traffic_bytes",
        "Traffic of jobs to a tier, where it was measured.",
        ("tier", "direction"),
        Sum,
        traffic,
    ),
    Metric(
        "hybridmem_window_own_traffic_bytes",
        "What the tasks of jobs moved between caches and memory of all tiers, where it was measured.",
        (),
        Sum,
        own("total_bytes"),
    ),
    Metric(
        "hybridmem_window_own_local_traffic_bytes",
        "What the tasks of jobs moved between caches and memory of their own socket, where it was measured.",
        (),
        Sum,
        own("local_bytes"),
    ),
    Metric(
        "hybridmem_window_energy_joules",
        "Energy of jobs, where it was measured.",
        ("domain",),
        Sum,
        energy,
    ),
    Metric(
        "hybridmem_window_migrated_bytes",
        "Memory that the jobs' migrators moved between the tiers; self-reported.",
        ("direction",),
        Sum,
        migrated,
    ),
    Metric(
        "hybridmem_window_migrator_cpu_seconds",
        "Processor time of the jobs' migrators, and in the kernel for them where it was measured; self-reported.",
        ("part",),
        Sum,
        migrator,
    ),
    Metric(
        "hybridmem_window_unmeasured_jobs",
        "Jobs in whose record a kind of figure is missing.",
        ("figure",),
        Sum,
        unmeasured,
    ),
    Metric(
        "hybridmem_last_job_end_timestamp_seconds",
        "End of the job that ended last within the window.",
        (),
        Largest,
        end,
    ),
)
LENGTH = ("hybridmem_window_seconds", "The window: jobs that ended so many seconds ago, or less, are in these metrics.")
LEFT_OUT = ("hybridmem_window_left_out_lines", "Lines and files of the window's days that are no record.")


class Window:
    """Sums up the metrics of one node's records."""

    def __init__(self):
        self.folds = {metric.name: {} for metric in METRICS}
        self.tiers = set()

    def bounded(self, name, value):
        """The value of a label. The number of tier names is limited; further ones are replaced."""
        if name != "tier" or value in self.tiers:
            return value
        if len(self.tiers) >= MOST_TIERS:
            return OTHER
        self.tiers.add(value)
        return value

    def add(self, record):
        for metric in METRICS:
            folds = self.folds[metric.name]
            for values, value in metric.samples(record):
                if value is not None:
                    key = tuple(map(self.bounded, metric.labels, values))
                    folds.setdefault(key, metric.fold()).add(value)

    def families(self, seconds, left_out):
        """Yields (name, help, samples). A sample is ((label, value) pairs, figure). Metrics without samples are left
        out."""
        yield (*LENGTH, [((), seconds)])
        for metric in METRICS:
            found = sorted(self.folds[metric.name].items())
            samples = [(tuple(zip(metric.labels, key)), fold.value) for key, fold in found if fold.value is not None]
            if samples:
                yield metric.name, metric.help, samples
        yield (*LEFT_OUT, [((("cause", cause),), count) for cause, count in left_out.items()])


def escaped(value):
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def shown(figure):
    """The shortest text of a sum, without the last digits, which only come from adding."""
    return repr(float(f"{figure:.15g}")) if isinstance(figure, float) else repr(figure)


def text(node, families):
    """The text exposition format, version 0.0.4, as bytes. Half a surrogate pair, which JSON allows, becomes "?"."""
    lines = []
    for name, explanation, samples in families:
        lines += [f"# HELP {name} {explanation}", f"# TYPE {name} gauge"]
        for labels, figure in samples:
            pairs = ",".join(f'{label}="{escaped(value)}"' for label, value in (("node", node), *labels))
            lines.append(f"{name}{{{pairs}}} {shown(figure)}")
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
