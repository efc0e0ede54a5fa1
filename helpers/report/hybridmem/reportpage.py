# SPDX-License-Identifier: Apache-2.0
"""Makes one page of HTML of a report: a table for each view, and for most a chart. Pure, except that
page.py reads the style and the script."""

from datetime import date, timedelta

from . import charts, draw, forms, groups, page
from .page import tag

BARS = 12  # bars in a chart; the table has all rows
KINDS = {"text": page.NAME, "time": page.NAME, "prose": page.PROSE}  # kinds of columns, by their unit
DAYS = 400  # days in a chart: the latest


def tiles_of(report):
    """What all jobs used together, from the views that have a total."""
    wanted = {"jobs": "Jobs", "failed_jobs": "Failed", "node_hours": "Node-hours", "fast_share": "In the fast tier"}
    wanted.update({"package_j": "Package energy", "slow_write_bytes": "Written to the slow tier"})
    found = {}
    for sums in report.sums:
        for column, value, others in sums.view.read(sums.total or []) if sums.total else ():
            if column.name in wanted and column.name not in found and value is not None:
                found[column.name] = forms.cell(column, value, others, False)
    return page.tiles((title, found[name]) for name, title in wanted.items() if name in found)


def figure_of(view, row, name):
    return next((column, value, others) for column, value, others in view.read(row) if column.name == name)


def bars_of(sums, rows):
    """Bars of the largest rows, by the figure that rows are ranked by."""
    lines = []
    for key, row in rows[:BARS]:
        column, value, others = figure_of(sums.view, row, sums.by)
        lines.append(([str(part) for part in key], value, forms.cell(column, value, others, False)))
    column = next(column for column in sums.view.columns if column.name == sums.by)
    more = f", the first {BARS} of {len(rows)}" if len(rows) > BARS else ""
    caption = f"{column.title.capitalize()} by {', '.join(key.name for key in sums.view.keys)}{more}"
    return charts.bars(caption, lines, are_sentences=sums.view.items == "failures")


def days_of(sums, rows):
    """What each tier held by day; days without jobs are empty."""
    uses = {key: figure_of(sums.view, row, "byte_hours") for key, row in rows}
    days = sorted({day for day, _ in uses if day != "?"})
    names = list(dict.fromkeys(tier for _, tier in sums.rows))  # records list the fastest tier first
    try:
        first, last = (date.fromisoformat(day) for day in (days[0], days[-1]))
    except (ValueError, IndexError):
        return None
    first = max(first, last - timedelta(days=DAYS - 1))
    before = sum(day < first.isoformat() for day in days)
    earlier = f"{draw.counted(before, 'earlier day')} with jobs {'is' if before == 1 else 'are'} in the table alone"
    more = f", the last {DAYS} days: {earlier}" if before else ""
    columns = []
    for number in range((last - first).days + 1):
        day = (first + timedelta(days=number)).isoformat()
        columns.append((day, [uses[day, name][1] if (day, name) in uses else None for name in names]))
    shown = forms.UNITS["byte_hours"]
    ends = (first.isoformat(), last.isoformat()) if first != last else (first.isoformat(),)
    return charts.stacked(
        f"Memory in use times hours, by the day on which jobs ended{more}", names, columns, shown, ends, 0.15
    )


def title_of(view):
    return view.name.capitalize()


def title_in_page(column):
    return column.title.capitalize().replace("(utc)", "(UTC)")


def chart_of(sums, rows):
    if sums.view.name == "tiers":
        return days_of(sums, rows)
    if sums.view.is_of_jobs or not any(figure_of(sums.view, row, sums.by)[1] for _, row in rows):
        return None
    return bars_of(sums, rows)


def section_of(sums):
    view, rows = sums.view, sums.sorted_rows()
    if not rows:
        return page.section(view.name, title_of(view), tag("p", sums.why_no_rows(), class_="note"), about=view.about)
    columns, _ = forms.shown_columns(view, rows)
    heads = [(key.title.capitalize(), page.NAME) for key in view.keys if key.title]
    heads += [(title_in_page(column), KINDS.get(column.unit, page.NUMBER)) for column in columns]

    def cells(key, figures):
        return [*((None, part) for part in key), *figures]

    made = [cells(key, figures) for key, figures in forms.people_rows(view, rows, columns)]
    foot = None
    if sums.total:
        width = sum(bool(key.title) for key in view.keys)
        [(_, figures)] = forms.people_rows(view, [((), sums.total)], columns)
        foot = cells(("Total", *[""] * (width - 1)), figures)
    chart = chart_of(sums, rows)
    return page.section(
        view.name,
        title_of(view),
        *([chart] if chart else []),
        page.table(view.about, heads, made, foot),
        *(tag("p", note, class_="note") for note in forms.notes(sums, rows, is_page=True)),
        about=view.about,
    )


# The order on a page of all views: each helps to understand the next.
ORDER = ("tiers", "modes", "users", "accounts", "jobs", "advice", "waste", "failures", "energy", "writes", "nodes")


def make(report, about, left_out):
    """`about` describes the period and the filters; `left_out` are lines about what was not read."""
    ordered = sorted(report.sums, key=lambda sums: ORDER.index(sums.view.name))
    names = [(sums.view.name, title_of(sums.view)) for sums in ordered]
    notes = [*left_out]
    if not report.is_exact:
        notes.append(groups.INEXACT)
    return page.document(
        "hybridmem report",
        about,
        tiles_of(report),
        *([page.links(names)] if len(names) > 1 else []),
        *(section_of(sums) for sums in ordered),
        *(tag("p", note, class_="note") for note in notes),
    )
