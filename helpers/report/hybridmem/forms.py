# SPDX-License-Identifier: Apache-2.0
"""Formats a view's sums: as a table for people, as CSV and as JSON."""

import csv

from . import draw, moments


def hours(figure):
    return draw.UNMEASURED if figure is None else f"{figure:.3f}"


def in_unit(unit):
    """Formats a figure with the unit's prefix that leaves at most three digits before the point."""

    def shown(figure):
        if figure is None:
            return draw.UNMEASURED
        prefixes = ["", "k", "M", "G", "T", "P"]
        while figure >= 999.95 and len(prefixes) > 1:
            figure /= 1000
            prefixes.pop(0)
        return f"{figure:.1f} {prefixes[0]}{unit}"

    return shown


def fine_share(share):
    return draw.UNMEASURED if share is None else f"{share * 100:.4f} %"


def text(word):
    return UNKNOWN if word is None else str(word)


def time(word):
    return draw.UNMEASURED if word is None else moments.plain(word)


# How a figure is shown to people, by its column's unit.
UNITS = {
    "count": draw.count,
    "bytes": draw.size,
    "byte_hours": lambda figure: draw.UNMEASURED if figure is None else f"{draw.size(figure)} h",
    "hours": hours,
    "seconds": draw.duration,
    "share": draw.percent,
    "fine_share": fine_share,
    "joules": in_unit("J"),
    "watts": in_unit("W"),
    "joules_per_gb": in_unit("J/GB"),
    "text": text,
    "prose": text,
    "time": time,
}
UNKNOWN = "?"  # shown in the names of rows for a word that a record does not have
ESTIMATED = "estimated "  # how the titles of estimates begin
TEXTS = frozenset(("text", "prose", "time"))  # units that are aligned left
FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")  # what begins a formula in a spreadsheet, also in full width


def cell(column, value, others, names_node):
    """Formats a figure for people. With `names_node`, a peak in bytes has the name of its node beside it."""
    shown = UNITS[column.unit](value)
    node = others.get("node")
    return f"{shown} {node}" if names_node and node and column.unit == "bytes" else shown


def shown_columns(view, rows):
    """(columns to show, columns that are left out, as no row has a figure in them). Without rows, and in a view with
    is_whole, none is left out."""
    known = {column.name for _, row in rows for column, value, _ in view.read(row) if value is not None}
    titled = [column for column in view.columns if column.title]
    if not rows or view.is_whole:
        return titled, []
    return [c for c in titled if c.name in known], [c for c in titled if c.name not in known]


def count_of(view, row):
    """The number of records that a row is made of."""
    return next((value for column, value, _ in view.read(row) if column.name in ("records", "nodes")), 0)


def people_rows(view, rows, columns):
    """(key cells, [(value, shown)]) for each row."""
    names = {column.name for column in columns}
    for key, row in rows:
        names_node = view.is_of_jobs and count_of(view, row) > 1
        yield (
            [str(part) for part, one in zip(key, view.keys) if one.title],
            [
                (value, cell(column, value, others, names_node))
                for column, value, others in view.read(row)
                if column.name in names
            ],
        )


def unmeasured(missing, records, counted="records"):
    """Notes on figures that were not measured. `missing` maps a title to the number of records without that figure.
    Estimates have notes with other words, as nobody measures them. `counted` names what is counted, where a record can
    be in several rows."""
    for number in sorted(set(missing.values()) - {0}):
        titles = [title for title in missing if missing[title] == number]
        measured = [title for title in titles if not title.startswith(ESTIMATED)]
        estimated = [title.removeprefix(ESTIMATED) for title in titles if title.startswith(ESTIMATED)]
        for said, names in (("not measured", measured), ("no estimate", estimated)):
            if names:
                yield f"{said} in {number} of {records} {counted}: {', '.join(names)}"


def notes(sums, rows, is_page=False):
    """Sentences that a reader of the table should know. On a page they name no options, as its reader did not give
    any."""
    view = sums.view
    columns, empty = shown_columns(view, rows)
    if empty:
        yield f"left out, as no record has it: {', '.join(column.title.lower() for column in empty)}"
    counted = [((), sums.total)] if sums.total else rows
    records = sum(count_of(view, row) for _, row in counted)
    missing = {}
    for _, row in counted:
        for column, _, others in view.read(row):
            if column in columns and others.get("missing"):
                missing[column.title.lower()] = missing.get(column.title.lower(), 0) + others["missing"]
    yield from unmeasured(missing, records, "records" if sums.total else "rows' records")
    note = view.note if not is_page or view.page_note is None else view.page_note
    if note:
        yield note
    if sums.dropped:
        yield f"rows that are not shown: {sums.dropped}{'' if is_page else ' (see --top)'}"


def table(sums, most=None):
    """Lines of text, broken if they are longer than `most`."""
    view, rows = sums.view, sums.sorted_rows()
    if not rows and not sums.total:
        yield from draw.sentence(sums.why_no_rows(), most)
        return
    columns, _ = shown_columns(view, rows)
    titles = [key.title for key in view.keys if key.title]
    lines = [[*titles, *(column.title for column in columns)]]
    lines += [[*key, *(shown for _, shown in cells)] for key, cells in people_rows(view, rows, columns)]
    if sums.total:
        _, cells = next(people_rows(view, [((), sums.total)], columns))
        lines.append(["total", *[""] * (len(titles) - 1), *(shown for _, shown in cells)])
    left = len(titles)
    texts = [left + i for i, column in enumerate(columns) if column.unit in TEXTS]
    prose = [left + i for i, column in enumerate(columns) if column.unit == "prose"]
    yield from draw.table([[draw.plain(part) for part in line] for line in lines], left, texts, prose, most)
    for note in notes(sums, rows):
        yield from draw.sentence(note, most)


def as_object(view, key, row):
    """A row with all its figures, for JSON and CSV."""
    made = {one.name: part for one, part in zip(view.keys, key)}
    for column, value, others in view.read(row):
        made[column.name] = value if None in (value, column.digits) else round(value, column.digits)
        made.update((f"{column.name}_{suffix}", other) for suffix, other in others.items())
    return made


def as_json(sums):
    rows = [as_object(sums.view, key, row) for key, row in sums.sorted_rows()]
    total = as_object(sums.view, (), sums.total) if sums.total else None
    if sums.view.is_whole:
        return {"rows": rows, "total": total}
    return {"view": sums.view.name, "rows": rows, "rows_left_out": sums.dropped, "total": total}


def harmless(value):
    """A cell for CSV. In a text, control characters are shown as escapes. A text that a spreadsheet would take for a
    formula gets an apostrophe in front."""
    if not isinstance(value, str):
        return value
    shown = draw.plain(value)
    return f"'{shown}" if shown.lstrip().startswith(FORMULA) else shown


def write_csv(sums, stream):
    view = sums.view
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*(key.name for key in view.keys), *as_object(view, (), view.new_row())])
    for key, row in sums.sorted_rows():
        writer.writerow(map(harmless, as_object(view, key, row).values()))
