# SPDX-License-Identifier: Apache-2.0
"""Shows the records of a job as text: the request, the plan, and the figures of each node."""

import re

from . import draw, fields, figures, forms, guidance, held, migrated, moments, rules, tiertable


class Printer:
    """Prints records. `write` takes a line. `blocks`: Unicode's block characters may be used for bars. `columns` is the
    terminal's width. `most` is the width at which lines of words are broken; None: they are not. `verbose`: also says
    why each source measured nothing."""

    def __init__(self, write, blocks, columns, most, verbose=False):
        self.write, self.blocks, self.most, self.verbose = write, blocks, most, verbose
        self.plot_width = max(10, min(columns, 160) - 48)

    def print_all(self, runs):
        """Prints all runs; `runs` has for each run the records of its nodes."""
        for place, run in enumerate(runs):
            if place:
                self.write("")
            self.head(run[0])
            self.nodes(run)
            self.advice(run)

    def nodes(self, run):
        for record in run:
            self.write("")
            self.node(held.whole(record))

    def advice(self, run):
        """Prints how the job could do better next time."""
        said = rules.advise_run(run)
        if said:
            self.write("")
            self.line("advice", rules.sentence(*said, len(run) == 1))

    def head(self, record):
        restarts = fields.whole(record, "restart_count") or 0
        said = [f"Job {self.job_name(record)}", *([f"run {restarts + 1}"] if restarts > 0 else [])]
        said += [
            f"{key} {fields.text(record, key)}"
            for key in ("user", "account", "partition", "cluster")
            if fields.text(record, key)
        ]
        for line in draw.sentence(", ".join(said), self.most):
            self.write(line)
        if restarts > 0:
            self.line("requeued", draw.counted(restarts, "time"))
        self.line("asked for", fields.text(record, "request") or "nothing (no --hybrid-mem)")

    @staticmethod
    def job_name(record):
        name, number = fields.job_name(record), f"{record['job_id']}"
        return name if name == number else f"{name} ({number})"

    def line(self, label, words):
        for line in draw.labelled(label, words, self.most):
            self.write(line)

    def node(self, record):
        self.write(draw.plain(f"Node {record['node']}"))
        self.node_facts(record)
        self.memory(record)
        self.other_figures(record)
        for warning in fields.warnings(record):
            self.line("warning", warning)

    def node_facts(self, record):
        start, end = (fields.text(record, key) for key in ("start", "end"))
        code = fields.whole(record, "exit_code")
        steps = " ".join(str(step) for step in fields.members(record, "step_ids"))
        elapsed = draw.duration(fields.figure(record, "elapsed_s"))
        self.line("ran", f"{moments.plain(start)} to {moments.plain(end)} UTC, {elapsed}")
        ended = draw.UNMEASURED if code is None else fields.exit_words(code)
        self.line("steps", f"{steps or 'none on this node'}; exit code {ended}")
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
        peak, has_tiers = fields.figure(memory, "peak_bytes"), bool(tiertable.measured(tiertable.SIZES[:1], tiers))
        if not has_tiers and peak is None:
            self.line("memory", unmeasured(memory))
            return
        self.memory_peak(memory)
        self.cache(record, peak)
        if not has_tiers:  # no monitor ran, or it took no sample: the kernel has the peak of all tiers together
            self.line("", f"by tier {unmeasured(memory)}")
            return
        columns = tiertable.measured((*tiertable.SIZES, *tiertable.PARTS), tiers)
        lines = [[title.upper() for title in (*tiertable.NAMES, *(title for title, _ in columns))]]
        for tier in tiers:
            lines.append([*tiertable.names(tier), *(shown for _, shown in tiertable.figures(tier, columns))])
        for row in draw.table(lines, left=len(tiertable.NAMES), columns=self.most and self.most - 4):
            self.write(f"    {draw.plain(row)}")
        self.plots(tiers, fields.figure(memory, "interval_s"))

    def memory_peak(self, memory):
        """Prints the most memory that the job had, in all tiers together."""
        peak = draw.size(fields.figure(memory, "peak_bytes"))
        self.line("memory", sourced(f"peak {peak}", fields.text(memory, "peak_source") or "source unknown"))

    def cache(self, record, peak):
        """For a job of the mode memory: prints the cache beside the most memory that the job had."""
        cache = fields.figure(record.get("plan"), "side_cache_bytes")
        if not cache:
            return
        beside = ""
        if peak is not None:
            beside = "; the peak fits into it" if peak <= cache else f"; the peak is {peak / cache:.1f} times that"
        self.line("cache", f"{draw.size(cache)} of fast memory in front of the rest{beside}")

    def plots(self, tiers, interval):
        """Prints for each tier whose mean is known its share of the mean use as a bar, and its use over time. All plots
        have the same scale."""
        means = [fields.figure(tier, "mean_bytes") for tier in tiers]
        series = [fields.series(tier) for tier in tiers]
        total = sum(mean or 0 for mean in means)
        top = max((point for points in series for point in points if point is not None), default=0)
        longest = max(map(len, series))
        if longest and interval is not None:
            span = draw.duration(longest * interval)
            said = f"share of the mean, and use over {span}; full height is {draw.size(top)}"
            if any(None in points for points in series):
                said += f"; {draw.UNMEASURED_CELL} was not measured"
            for line in draw.hung(" " * 17, said, self.most):
                self.write(line)
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
        self.guided(record)
        self.profile(record)
        self.namespaces(record)

    def energy(self, energy, joules_per_gb):
        """Prints the job's energy, or the node's if the job shared the node."""
        of_job, of_node = energy_parts(energy), energy_parts(fields.part(energy, "node"))
        if joules_per_gb is not None:
            of_job.append(f"{forms.UNITS['joules'](joules_per_gb)} for each GB of traffic")
        if not of_job and not of_node:
            self.line("energy", unmeasured(energy, self.verbose))
        else:
            whose = "" if of_job else "the node's: "
            self.line("energy", sourced(f"{whose}{', '.join(of_job or of_node)}", fields.text(energy, "source")))
        self.estimate("energy", fields.part(energy, "estimate"), modelled_words)

    def traffic(self, traffic):
        of_job, of_node = traffic_lines(traffic), traffic_lines(fields.part(traffic, "node"))
        texts = of_job or [f"the node's: {text}" for text in of_node]
        if not texts:
            self.line("traffic", unmeasured(traffic, self.verbose))
        for text in texts:
            self.line("traffic", sourced(text, fields.text(traffic, "source")) if text is texts[-1] else text)
        self.own_traffic(fields.part(traffic, "job"))
        self.estimate("traffic", fields.part(traffic, "estimate"), served_words)

    def own_traffic(self, group):
        """Prints what the job's own tasks moved, in all tiers together. Most nodes do not count it."""
        total, local = (fields.figure(group, key) for key in ("total_bytes", "local_bytes"))
        if total is None and local is None:
            if group:
                self.line("own traffic", unmeasured(group, self.verbose))
            return
        words = [] if total is None else [f"{draw.size(total)} between caches and memory of all tiers"]
        words += [] if local is None else [f"{draw.size(local)} to memory of the same socket"]
        self.line("own traffic", sourced(", ".join(words), fields.text(group, "source")))

    def estimate(self, label, estimate, words):
        """Prints an estimate with its source; nothing if there is none."""
        said = words(estimate)
        if said:
            source = fields.text(estimate, "source") or "source unknown"
            self.line(label, sourced(f"estimate: {said}", source.removeprefix("estimate ")))

    def namespaces(self, record):
        """Prints the job's DAX file systems."""
        for one in fields.members(record, "namespaces"):
            size = draw.size(fields.figure(one, "bytes"))
            until = fields.text(one, "kept_until")
            made = "made or found" if until else "made"
            times = [
                f"{word} in {draw.duration(fields.figure(one, key))}"
                for word, key in ((made, "create_s"), ("wiped and removed", "destroy_s"))
                if fields.figure(one, key) is not None
            ]
            if until:
                times.append(f"kept until {moments.plain(until)} UTC")
            words = [f"{fields.text(one, 'fs')} of {size} on socket {fields.whole(one, 'socket')}", *times]
            self.line("file system", ", ".join(words))

    def guided(self, record):
        """Prints which allocation sites have the fast memory. A job that was not guided has no such line."""
        guided = record.get("guided")
        count, share = fields.whole(guided, "site_count"), fields.figure(guided, "expected_share")
        reason = fields.text(guided, "reason")
        if reason:
            fallback = fields.text(guided, "fallback")
            self.line("guided", f"not, but as with {fallback}: {reason}" if fallback else f"not: {reason}")
        elif count is not None and share is not None:
            size, packer = draw.size(fields.figure(guided, "fast_bytes")), fields.text(guided, "packer")
            limit = fields.figure(guided, "limit_bytes")  # records of an earlier version have none
            most = "" if limit is None else f", at most {draw.size(limit)}"
            seen = fields.figure(guided, "seen_share")
            who = "recorder" if guided.get("online") else "migrator"
            by = "counted, of the whole job's bytes" if guidance.is_counted(guided) else f"seen by the {who}'s samples"
            seen = "seen share not measured" if seen is None else f"{100 * seen:.0f} % {by}"
            expected = f"{100 * share:.0f} % of the accesses expected there; {seen}"
            sites = draw.counted(count, "site")
            self.line("guided", f"{sites} of {size} in the fast tier{most}, by {packer}; {expected}")
            if profile := fields.text(guided, "profile"):
                kind = fields.text(guided, "input")
                self.line("", f"profile {profile}" + (f" of the input {kind}" if kind else ""))
            stale = guided.get("stale")
            sites, found = fields.whole(stale, "sites"), fields.whole(stale, "found")
            if sites is not None and found is not None:
                verb = "was" if found == 1 else "were"
                self.line("", f"of other builds: {found} of its {draw.counted(sites, 'site')} {verb} found in these")

    def profile(self, record):
        """Prints where the profile is that the job has left. A job of another mode has no such line."""
        file, reason, why = (fields.text(record.get("profile"), key) for key in ("file", "reason", "unsampled"))
        unsampled = f"without accesses, so it guides no job: {why}" if why else None
        for words in (file, f"{'of a part' if file else 'none'}: {reason}" if reason else None, unsampled):
            if words:
                self.line("profile", words)

    def migration(self, record):
        """Prints what the migrators report. A job that asked for none has no such lines."""
        migration = record.get("migration")
        if fields.figure(migration, "promoted_bytes") is None:
            if fields.mode(record) in fields.MIGRATED:
                self.line("migration", unmeasured(migration))
            return
        for label, words in zip(("migration", *[""] * 6), migrated.lines(migration)):
            self.line(label, words)


class PageLines(Printer):
    """Collects the labels and words of a record's lines, for an HTML page, instead of printing them."""

    def __init__(self):
        self.lines, self.verbose = [], True

    def line(self, label, words):
        self.lines.append((label, words))


def of_node(record):
    """The lines of an HTML page about a node, except its memory by tier and its warnings."""
    page = PageLines()
    page.node_facts(record)
    if fields.figure(record.get("memory"), "peak_bytes") is not None:
        page.memory_peak(record["memory"])
    page.other_figures(record)
    return page.lines


ENERGY = (("package_j", "package", "joules"), ("memory_j", "memory", "joules"), ("platform_j", "node", "joules"))
POWER = (("mean_w", "mean", "watts"), ("peak_w", "peak", "watts"))


def energy_parts(energy):
    found = ((name, fields.figure(energy, key), unit) for key, name, unit in (*ENERGY, *POWER))
    return [f"{name} {forms.UNITS[unit](number)}" for name, number, unit in found if number is not None]


def traffic_lines(traffic):
    return [
        f"{fields.text(tier, 'name')}: {draw.size(fields.figure(tier, 'read_bytes'))} read, "
        f"{draw.size(fields.figure(tier, 'write_bytes'))} written"
        for tier in fields.members(traffic, "tiers")
        if isinstance(tier, dict)
    ]


def modelled_words(estimate):
    """The joules of the configuration's energy model, by tier; empty if it has none."""
    said = []
    for tier in fields.members(estimate, "tiers"):
        parts = [fields.figure(tier, key) for key in ("static_j", "dynamic_j")]
        if parts != [None, None]:
            static, dynamic = map(forms.UNITS["joules"], parts)
            said.append(f"{fields.text(tier, 'name') or '?'} {static} static, {dynamic} dynamic")
    return "; ".join(said)


def served_words(estimate):
    """The share of sampled accesses by tier; empty if none is known."""
    tiers = [tier for tier in fields.members(estimate, "tiers") if fields.figure(tier, "share") is not None]
    said = [f"{fields.text(tier, 'name') or '?'} {draw.percent(tier['share'])}" for tier in tiers]
    return f"{', '.join(said)} of {fields.text(estimate, 'of') or 'accesses'}" if said else ""


def sourced(said, source):
    """The words with their source: in brackets, or after a semicolon if the source has brackets itself."""
    return f"{said}; {source}" if "(" in (source or "") else f"{said} ({source})"


SEVERAL = re.compile(r"[\w-]+: .+; ")  # matches a text with reasons of several sources of counters
NO_COUNTERS = "no counters here; hybridmem meter --list says why"


def reason(source, verbose):
    """Why nothing was measured: what `source` says. If it lists several sources of counters, a short sentence
    instead, unless `verbose`."""
    return source if verbose or not SEVERAL.match(source) else NO_COUNTERS


def unmeasured(value, verbose=True):
    """Says that a figure is null, and why: its object's `source` tells."""
    return f"not measured: {reason(fields.text(value, 'source') or 'the record does not say why', verbose)}"
