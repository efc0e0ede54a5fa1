# SPDX-License-Identifier: Apache-2.0
"""Draws the picture of `hybridmem replay`: heat by addresses and phases, beside it what the fast tier held, and below
it the share of accesses that the fast tier served. Heat is a colour scale with steadily changing lightness, and the
fast tier is a shape: both can be told apart without colours. Pure."""

import itertools
import math
import re

from . import charts, draw
from .page import tag

PAGE = 4096
LEVELS = 16  # levels of heat; the hottest cell is in the last, unless its heat is well below 1
PER_DECADE = 4  # levels for a factor of ten
LEFT, TOP, RIGHT, BOTTOM = 132, 138, 112, 40
MOST_WIDTH, MOST_HEIGHT = 840, 672
LEAST_WIDTH = 480  # so that the title and the legend fit
GAP = 7  # between segments; a segment is a range of addresses without a large hole
SHARE_TOP, SHARE_HEIGHT = 34, 72  # of the plot of shares, below the map
LINE = 12  # least pixels between labels
TITLE = TOP - 8  # where the titles of addresses and sizes stand
LABEL_STEP = 84  # least pixels between addresses inside a segment
LONGEST_NAME = 79

# From pale yellow over red to nearly black; on a dark page from dark violet over red to pale yellow.
ON_LIGHT = (
    *("#fbf996", "#f7e05c", "#f8c42f", "#fca50a", "#f68913", "#ee6f21", "#e05735", "#ce4546"),
    *("#b93656", "#9f2b61", "#862169", "#6d186e", "#54106b", "#3b0a60", "#200b43", "#0d0724"),
)
ON_DARK = (
    *("#420a68", "#57116b", "#6c186e", "#81206a", "#972865", "#ac305b", "#c13b50", "#d24843"),
    *("#e15834", "#ed6d23", "#f58315", "#fa9a0e", "#fab31b", "#f7cd3a", "#f8e465", "#fbf996"),
)


def style(colours):
    return "".join(f".h{level}{{fill:{colour}}}" for level, colour in enumerate(colours))


class Map:
    """The grid's cells as numbers, and their coordinates in the picture."""

    def __init__(self, grid):
        self.rows, self.columns = grid["rows"], grid["columns"]
        self.segments = self.segment(-1) + 1
        self.row_height = min(max(MOST_HEIGHT // len(self.rows), 2), 28)
        self.column_width = min(max(MOST_WIDTH // len(self.columns), 7), 60)
        self.height = self.row_height * len(self.rows) + GAP * (self.segments - 1)
        self.right = self.x(len(self.columns))
        self.bar_width = min(self.column_width // 4, 12)
        self.cell_width = self.column_width - self.bar_width - 2
        hottest = max(self.heat(column, row) for column in self.columns for row in range(len(self.rows)))
        self.top_level = math.ceil(PER_DECADE * math.log10(max(hottest, 1)) - 1e-9)

    def x(self, column):
        return LEFT + self.column_width * column

    def y(self, row):
        return TOP + self.row_height * row + GAP * self.segment(row)

    def heat(self, column, row):
        """Accesses per page and phase."""
        return column["row_accesses"][row] / self.rows[row]["pages"] / column["phases"]

    def level(self, column, row):
        """The level of the cell's heat; None without any access."""
        heat = self.heat(column, row)
        if heat <= 0:
            return None
        below = math.floor(self.top_level - PER_DECADE * math.log10(heat) + 1e-9)
        return max(LEVELS - 1 - below, 0)

    def fast(self, column, row):
        """Percent of the cell's pages that the fast tier held; None if it held none."""
        share = column["row_fast_pages"][row] / self.rows[row]["pages"] / column["phases"]
        return math.ceil(100 * share - 1e-9) or None

    def segment(self, row):
        return self.rows[row]["segment"]

    def runs(self, read):
        """Yields (column, first row, number of rows, value) for each run of cells with the same value."""
        for place, column in enumerate(self.columns):
            cells = ((self.segment(row), read(column, row), row) for row in range(len(self.rows)))
            for (_, value), run in itertools.groupby(cells, key=lambda cell: cell[:2]):
                rows = [row for *_, row in run]
                yield place, rows[0], len(rows), value

    def rectangle(self, x, row, n_rows, width):
        """A rectangle as part of a path."""
        return f"M{x} {self.y(row)}h{width:.4g}v{self.row_height * n_rows}H{x}z"


def name_of(figures):
    """The program's name: from the trace's header, or else from the trace's file name."""
    named = figures["app"] or figures["trace"].rpartition("/")[2].partition(".")[0]
    return re.sub(r"[^ -~]", "?", named)[:LONGEST_NAME]


def title(figures):
    ours, first = figures["amat"], figures["first_touch"]["amat"]
    words = "no accesses to memory"
    if first is not None:
        words = f"AMAT {ours:.2f} with {figures['algorithm']}; first touch {first:.2f}"
        words += f", static oracle {figures['static_oracle']['amat']:.2f}"
    yield charts.text(LEFT, 30, f"{name_of(figures)}, fast tier {100 * figures['fast']:.6g} %", class_="title")
    yield charts.text(LEFT, 51, words, class_="sub")


def power(exponent):
    """A power of ten in short: 1, 10, 100, 1k, ..."""
    return ("1", "10", "100")[exponent % 3] + ("", "k", "M", "G", "T")[exponent // 3 % 5]


def legend(top_level):
    box, first, second = 20, 68, 102
    for level in range(LEVELS):
        bound = top_level - LEVELS + level  # the level's lower end is 10 ** (bound / PER_DECADE)
        yield tag("rect", class_=f"h{level}", x=LEFT + box * level, y=first, width=box, height=11)
        if bound >= 0 and bound % PER_DECADE == 0:
            yield charts.text(LEFT + box * level, first + 23, power(bound // PER_DECADE), anchor="middle")
    yield charts.text(LEFT + box * LEVELS + 10, first + 10, "accesses to memory per page and phase")
    yield tag("rect", class_="empty", x=LEFT, y=second, width=20, height=11)
    yield charts.text(LEFT + 27, second + 10, "none")
    yield tag("rect", class_="fast", x=LEFT + 80, y=second, width=7, height=11)
    yield charts.text(LEFT + 94, second + 10, "in the fast tier, as wide as its share of the row's pages")


def heat(shown):
    """Draws the heat: one path for each level."""
    paths = {level: [] for level in (None, *range(LEVELS))}
    for place, row, n_rows, level in shown.runs(shown.level):
        paths[level].append(shown.rectangle(shown.x(place), row, n_rows, shown.cell_width))
    for level, parts in paths.items():
        yield tag("path", class_="empty" if level is None else f"h{level}", d="".join(parts))


def placement(shown):
    parts = [
        shown.rectangle(shown.x(place) + shown.cell_width, row, n_rows, shown.bar_width * percent / 100)
        for place, row, n_rows, percent in shown.runs(shown.fast)
        if percent is not None
    ]
    return tag("path", id="placement", class_="fast", d="".join(parts))


def segments(shown):
    """Yields the rows of each segment."""
    for _, rows in itertools.groupby(range(len(shown.rows)), key=shown.segment):
        yield list(rows)


def addresses(shown):
    yield charts.text(LEFT - 8, TITLE, "address", anchor="end")
    step = 1 + (LABEL_STEP - 1) // shown.row_height
    last = -LINE
    for rows in segments(shown):
        for row in rows[::step]:
            y = shown.y(row)
            if y < last + LINE:
                continue
            last = y
            yield charts.text(LEFT - 8, y + 8, shown.rows[row]["start"], anchor="end", class_="mono")


def sizes(shown):
    """How much memory of each segment the trace touches."""
    yield charts.text(shown.right + 8, TITLE, "memory touched")
    for rows in segments(shown):
        height = shown.row_height * len(rows)
        if height >= LINE:
            size = draw.size(PAGE * sum(shown.rows[row]["pages"] for row in rows))
            yield charts.text(shown.right + 8, shown.y(rows[0]) + height // 2 + 4, size)


def shares(shown):
    """Draws the share of memory accesses that the fast tier served in each phase."""
    top = TOP + shown.height + SHARE_TOP
    for percent in (0, 50, 100):
        y = top + SHARE_HEIGHT - SHARE_HEIGHT * percent // 100
        yield tag("line", class_="grid", x1=LEFT, y1=y, x2=shown.right, y2=y)
        yield charts.text(LEFT - 8, y + 4, f"{percent} %", anchor="end")
    for place, column in enumerate(shown.columns):
        share = column["fast_accesses"] / column["accesses"] if column["accesses"] else 0
        y, height = f"{top + SHARE_HEIGHT * (1 - share):.2f}", f"{SHARE_HEIGHT * share:.2f}"
        yield tag("rect", class_="fast", x=shown.x(place), y=y, width=shown.column_width - 1, height=height)


def share_title(shown, share):
    words = "accesses to memory that the fast tier served"
    words += "" if share is None else f": {100 * share:.1f} % in all"
    return charts.text(LEFT, TOP + shown.height + SHARE_TOP - 9, words)


def phases(shown, length):
    """Numbers the phases, and says how long one is: `length` loads and stores; None if the trace does not say."""
    y = TOP + shown.height + SHARE_TOP + SHARE_HEIGHT + 15
    for place in range(0, len(shown.columns), 1 + 27 // shown.column_width):
        phase = shown.columns[place]["phase"]
        yield charts.text(shown.x(place) + shown.column_width // 2, y, phase, anchor="middle")
    yield charts.text(LEFT - 8, y, "phase", anchor="end")
    if length is not None:
        yield charts.text(LEFT, y + 16, f"a phase has {length:,} accesses (loads and stores)")


def make(figures):
    shown = Map(figures["grid"])
    width = LEFT + max(shown.right - LEFT, LEAST_WIDTH) + RIGHT
    height = TOP + shown.height + SHARE_TOP + SHARE_HEIGHT + BOTTOM
    return charts.picture(
        (width, height),
        (style(ON_LIGHT), style(ON_DARK)),
        *title(figures),
        tag("g", *legend(shown.top_level), id="legend"),
        tag("g", *heat(shown), id="heat", shape_rendering="crispEdges"),
        placement(shown),
        tag("g", *addresses(shown), id="addresses"),
        tag("g", *sizes(shown), id="sizes"),
        tag("g", *shares(shown), id="shares", shape_rendering="crispEdges"),
        share_title(shown, figures["share_mem"]),
        tag("g", *phases(shown, figures["phase_accesses"]), id="phases"),
    )
