# SPDX-License-Identifier: Apache-2.0
"""Formats figures as text: sizes, durations, tables, bars and plots. Bars and plots are drawn with block elements, or
in ASCII if the terminal has none."""

import itertools
import locale
import sys
import textwrap

UNMEASURED = "-"
UNMEASURED_CELL = "?"  # in a plot, where a dash is a height
GAP = 2  # between the columns of a table
MOST_CELL = 64  # characters of a cell that is not broken
INDENT = 4  # indent of a row's further lines
LEAST = 20  # least columns for words, however narrow the terminal is
LEAST_PROSE = 30  # least columns for sentences beside other columns; with fewer they get lines of their own
_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:-=+*#@"


def has_unicode():
    """Did the user choose a UTF-8 locale? In the C locale Python uses UTF-8 by itself, which is no choice."""
    return not sys.flags.utf8_mode and locale.nl_langinfo(locale.CODESET).lower().replace("-", "") == "utf8"


def plain(word):
    """Makes text of a record safe for a terminal: control and other unprintable characters are shown as escapes."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in word)


def labelled(label, words, columns):
    """A label and words as lines, see hung()."""
    return hung(f"  {label:<12} ", words, columns)


def hung(head, words, columns):
    """A head and words as one line; if that is longer than `columns` (None: no limit), as several, of which each
    further line begins below the first word."""
    if columns is None:
        return [head + plain(words)]
    room = max(columns - len(head), LEAST)
    lines = textwrap.wrap(plain(words), room, break_long_words=False, break_on_hyphens=False)
    return [f"{head if place == 0 else ' ' * len(head)}{line}" for place, line in enumerate(lines or [""])]


def size(count):
    """Bytes in binary units: 3.1 GiB."""
    if count is None:
        return UNMEASURED
    value, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while value >= 1023.95 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:.0f} B" if units[0] == "B" else f"{value:.1f} {units[0]}"


def count(number):
    return UNMEASURED if number is None else f"{number}"


def counted(number, noun):
    """A number with its noun: 1 record, 2 records."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def duration(seconds):
    if seconds is None:
        return UNMEASURED
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours} h {minute} min" if hours else f"{minute} min {second} s"


def percent(share):
    return UNMEASURED if share is None else f"{share * 100:.0f} %"


def ranges(members, width=1):
    """A set of numbers as the kernel writes it: 0-2,4. Each has at least `width` digits."""
    parts = []
    for member in sorted({m for m in members if isinstance(m, int)}):
        if parts and parts[-1][1] == member - 1:
            parts[-1][1] = member
        else:
            parts.append([member, member])
    return ",".join(f"{a:0{width}}" if a == b else f"{a:0{width}}-{b:0{width}}" for a, b in parts) or UNMEASURED


def bar(share, width, blocks):
    """A share (0..1) as a bar of `width` cells."""
    filled = round(min(max(share, 0.0), 1.0) * width)
    full, empty = ("█", "·") if blocks else ("#", ".")
    return full * filled + empty * (width - filled)


def plot(points, top, width, blocks):
    """Draws values over time in one line of at most `width` cells. A cell shows the largest of its measured points, or
    UNMEASURED_CELL if there is none."""
    levels = _BLOCKS if blocks else _ASCII
    cells = min(width, len(points))
    drawn = ""
    for cell in range(cells):
        first, end = cell * len(points) // cells, (cell + 1) * len(points) // cells
        known = [point for point in points[first:end] if point is not None]
        if not known:
            drawn += UNMEASURED_CELL
            continue
        value = max(known)
        level = round(value / top * (len(levels) - 1)) if top > 0 else 0
        drawn += levels[max(level, 1 if value > 0 else 0)]
    return drawn


def table(rows, left, texts=(), prose=(), columns=None):
    """Makes a table as lines of text. The first row is the head. The first `left` columns and those in `texts` are
    aligned left, the others right. If the terminal lacks characters, columns are as wide as the escapes that replace
    them. If a row is longer than `columns` (None: no limit), cells of `prose` are broken, and the row continues in
    indented lines. Other cells are cut at MOST_CELL: a name can have any length."""
    rows = [[cell if i in prose else cut(cell) for i, cell in enumerate(row)] for row in rows]
    if not has_unicode():
        rows = [[cell.encode("ascii", "backslashreplace").decode() for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for place in prose if columns is not None else ():
        free = columns - sum(widths) - GAP * (len(widths) - 1) + widths[place]
        widths[place] = min(widths[place], free if free >= LEAST_PROSE else max(columns - INDENT, LEAST))
    parts = list(folded(widths, columns))
    for row in rows:
        for part in parts:
            indent = " " * INDENT if part[0] else ""
            cells = [broken(row[i], widths[i]) if i in prose else [row[i]] for i in part]
            for line in itertools.zip_longest(*cells, fillvalue=""):
                shown = [
                    c.ljust(widths[i]) if i < left or i in texts else c.rjust(widths[i]) for i, c in zip(part, line)
                ]
                yield (indent + (" " * GAP).join(shown)).rstrip()


def cut(cell):
    return cell if len(cell) <= MOST_CELL else f"{cell[: MOST_CELL - 3]}..."


def broken(cell, width):
    """Breaks the words of a cell into lines."""
    return textwrap.wrap(cell, width, break_on_hyphens=False) if len(cell) > width else [cell]


def folded(widths, columns):
    """Divides the columns among the lines of a row: yields the columns of each line."""
    part, used = [], 0
    for place, width in enumerate(widths):
        if part and columns is not None and used + GAP + width > columns:
            yield part
            part, used = [], INDENT
        used += width + (GAP if part else 0)
        part.append(place)
    yield part


def sentence(words, columns):
    """Breaks a sentence into lines; all but the first are indented."""
    if columns is None:
        return [plain(words)]
    room, hanging = max(columns, LEAST), " " * GAP
    return textwrap.wrap(plain(words), room, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)
