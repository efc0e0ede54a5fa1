# SPDX-License-Identifier: Apache-2.0
"""Makes one page of HTML of a job: memory by tier over time for each node, and advice. Pure, except that
page.py reads the style and the script."""

from . import charts, draw, fields, held, moments, page, rules, tiertable
from .page import tag

NODES = 64  # of the page that have a section of their own; the tables have all: an array has thousands of runs
COLUMNS = (*tiertable.SIZES, tiertable.CAPACITY, *tiertable.PARTS)


def facts(pairs):
    return tag("dl", *(part for name, words in pairs for part in (tag("dt", name), tag("dd", words))), class_="facts")


def over_time(record):
    """The tiers' use over time, stacked; None if there are no points, or it is not known how far apart they are."""
    memory, tiers = record.get("memory"), fields.tiers(record)
    series = [fields.series(tier) for tier in tiers]
    interval = fields.figure(memory, "interval_s")
    longest = max(map(len, series), default=0)
    if not longest or interval is None:
        return None
    columns = []
    for point in range(longest):
        values = [points[point] if point < len(points) else None for points in series]
        columns.append((f"after {draw.duration(point * interval)}", values))
    names = [fields.text(tier, "name") or "?" for tier in tiers]
    ends = ("0", draw.duration(longest * interval))
    return charts.stacked("Memory by tier over time", names, columns, draw.size, ends, unknown="not measured")


def tier_table(record):
    tiers = fields.tiers(record)
    columns = tiertable.measured(COLUMNS, tiers)
    heads = [
        *((title, page.NAME) for title in tiertable.NAMES),
        *((title, page.NUMBER) for title, _ in columns),
    ]
    rows = [[*((None, word) for word in tiertable.names(tier)), *tiertable.figures(tier, columns)] for tier in tiers]
    return page.table(f"Memory of node {record['node']} by tier", heads, rows)


def node_section(record, place, text_of):
    chart = over_time(record)
    source = fields.text(record.get("memory"), "source") or "the record does not say why"
    parts = [chart] if chart else [tag("p", f"Memory by tier was not measured: {source}", class_="note")]
    if fields.tiers(record):
        parts.append(tier_table(record))
    warnings = [("warning", warning) for warning in fields.warnings(record)]
    return page.section(f"node-{place}", f"Node {record['node']}", *parts, facts([*text_of(record), *warnings]))


def nodes_table(run, first):
    heads = [("Node", page.NAME), *((title, page.NUMBER) for title in ("Elapsed", "Exit", "Fast peak", "Slow peak"))]
    rows = []
    for record in run:
        peaks = [fields.figure(tier, "peak_bytes") for tier in fields.tiers(record)]
        elapsed, code = fields.figure(record, "elapsed_s"), fields.whole(record, "exit_code")
        fast, slow = peaks[0] if peaks else None, peaks[-1] if len(peaks) > 1 else None
        figures = (
            (elapsed, draw.duration(elapsed)),
            (code, draw.UNMEASURED if code is None else fields.exit_words(code)),
            *((p, draw.size(p)) for p in (fast, slow)),
        )
        rows.append([(None, record["node"]), *figures])
    return page.section(f"nodes-{first}", "Nodes", page.table("The job's nodes", heads, rows))


def advice_section(run, first):
    said = rules.advise_run(run)
    if not said:
        return page.section(
            f"advice-{first}",
            "Advice",
            tag("p", "None: no rule found a better mode by this run's records.", class_="note"),
        )
    return page.section(f"advice-{first}", "Advice", page.sentences([rules.sentence(*said, len(run) == 1)]))


def run_parts(run, first, text_of):
    """The sections of one run. `first` is the number of its first node on the page."""
    head = run[0]
    who = [(key.capitalize(), fields.text(head, key)) for key in ("user", "account", "partition", "cluster")]
    asked = ("Asked for", fields.text(head, "request") or "nothing (no --hybrid-mem)")
    restarts = fields.whole(head, "restart_count") or 0
    ended = ("Ended", f"{moments.plain(fields.text(head, 'end'))} UTC")
    title = f"Job {fields.job_name(head)}{f', run {restarts + 1}' if restarts else ''}"
    yield page.section(f"run-{first}", title, facts([(name, word) for name, word in (*who, asked, ended) if word]))
    shown = run[: max(NODES + 1 - first, 0)]
    if len(run) > 1 or not shown:
        yield nodes_table(run, first)
    for place, record in enumerate(shown):
        yield node_section(held.whole(record), first + place, text_of)
    if len(shown) < len(run):
        more = draw.counted(len(run) - len(shown), "node")
        yield tag("p", f"In the table alone: {more}. A page shows {NODES} nodes.", class_="note")
    yield advice_section(run, first)


def make(name, runs, text_of):
    """`runs` are the records of each run; text_of(record) returns (label, words) for everything but the memory by
    tier and the warnings."""
    parts, first = [], 1
    for run in runs:
        parts += run_parts(run, first, text_of)
        first += len(run)
    return page.document(
        f"hybridmem job {name}", "What it asked for, what was planned, and what memory it used", *parts
    )
