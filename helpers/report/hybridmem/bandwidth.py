# SPDX-License-Identifier: Apache-2.0
"""Draws the picture of `hybridmem bench`: bandwidth by size. Each kernel (a loop that the benchmark measures) has a
line with marks of its own shape, so that lines can be told apart without colours. Predictions are dashed. A vertical
line shows where the fast tier ends. Pure."""

import math

from . import charts, draw
from .page import tag

LEFT, TOP, RIGHT, BOTTOM = 76, 92, 40, 60
WIDTH, HEIGHT = 640, 320
MARK = 4
MOST_STEPS = 8
LABEL_STEP = 64  # least pixels between two sizes on the axis
LEGEND_STEP = 110
ROLES = ("read", "written")
ON_LIGHT = (
    ".line{fill:none;stroke-width:1.5}.dashed{stroke-dasharray:5 4}.edge{stroke:#8a909a;stroke-dasharray:2 3}"
    ".k0{stroke:#008c9e}.k1{stroke:#b5460f}.k2{stroke:#5b3fa8}.mark{fill:#ffffff}"
)
ON_DARK = ".k0{stroke:#3fd9ea}.k1{stroke:#ff9d5c}.k2{stroke:#b9a5ff}.mark{fill:#14161a}"


def circle(x, y, kind):
    return tag("circle", class_=kind, cx=f"{x:.1f}", cy=f"{y:.1f}", r=MARK)


def square(x, y, kind):
    return tag("rect", class_=kind, x=f"{x - MARK:.1f}", y=f"{y - MARK:.1f}", width=2 * MARK, height=2 * MARK)


def triangle(x, y, kind):
    side = MARK + 1
    return tag("path", class_=kind, d=f"M{x:.1f} {y - side:.1f}l{side} {2 * MARK + 1}h{-2 * side}z")


MARKS = {"accumulate": circle, "copy": square, "nt-write": triangle}  # in the order of the styles k0, k1, k2


def colour(kernel):
    return f"k{list(MARKS).index(kernel)}"


class Plane:
    """The coordinates of sizes and bandwidths in the picture."""

    def __init__(self, results):
        bandwidths = (row[key] for row in results for key in ("best_mbs", "predicted_mbs"))
        self.top_mbs = 1.05 * max((mbs for mbs in bandwidths if mbs is not None), default=1)
        self.last_bytes = 1.05 * max(row["bytes"] for row in results)

    def x(self, size):
        return LEFT + WIDTH * size / self.last_bytes

    def y(self, mbs):
        return TOP + HEIGHT * (1 - mbs / self.top_mbs)


def step_of(value):
    """The step of an axis: 1, 2 or 5 times a power of ten, so that at most MOST_STEPS of them reach the value."""
    power = 10 ** math.floor(math.log10(value / MOST_STEPS))
    return next(power * factor for factor in (1, 2, 5, 10) if value / (power * factor) <= MOST_STEPS)


def title(figures):
    arrays = (row[role] for role in ROLES for row in figures["results"])
    policies = " and ".join(dict.fromkeys(array["policy"] for array in arrays if array))
    return charts.text(LEFT, 30, f"Bandwidth by size, {policies}, {figures['threads']} threads", class_="title")


def legend(kernels):
    x = LEFT
    for kernel in kernels:
        yield MARKS[kernel](x + MARK, 54, f"mark {colour(kernel)}")
        yield charts.text(x + 14, 58, kernel)
        x += LEGEND_STEP
    yield tag("path", class_="line k0 dashed", d=f"M{x} 54h28")
    yield charts.text(x + 36, 58, "predicted")


def axes(plane, figures):
    step = step_of(plane.top_mbs)
    for place in range(math.floor(plane.top_mbs / step) + 1):
        y = plane.y(place * step)
        yield tag("line", class_="grid", x1=LEFT, y1=f"{y:.1f}", x2=LEFT + WIDTH, y2=f"{y:.1f}")
        yield charts.text(LEFT - 8, f"{y + 4:.1f}", f"{place * step / 1000:g}", anchor="end")
    yield charts.text(LEFT, TOP - 12, f"GB/s, the best of {figures['repetitions']}")
    last_x = -LABEL_STEP
    for size in dict.fromkeys(row["bytes"] for row in figures["results"]):
        x = plane.x(size)
        if x >= last_x + LABEL_STEP:
            last_x = x
            yield charts.text(f"{x:.1f}", TOP + HEIGHT + 18, draw.size(size), anchor="middle")


def edge(plane, figures):
    """The vertical line where the fast tier ends, if there is another tier and the picture reaches that size."""
    if figures["tiers"] < 2 or figures["fast_bytes"] > plane.last_bytes:
        return
    x = f"{plane.x(figures['fast_bytes']):.1f}"
    yield tag("line", class_="edge", x1=x, y1=TOP, x2=x, y2=TOP + HEIGHT)
    yield charts.text(x, TOP + HEIGHT + 36, "all of the fast tier", anchor="middle")


def lines(plane, kernel, results):
    rows = [row for row in results if row["kernel"] == kernel]
    for key, word, more in (("predicted_mbs", "predicted", " dashed"), ("best_mbs", "measured", "")):
        points = [f"{plane.x(row['bytes']):.1f} {plane.y(row[key]):.1f}" for row in rows if row[key] is not None]
        path = f"M{'L'.join(points)}" if points else ""
        yield tag("path", id=f"{kernel}-{word}", class_=f"line {colour(kernel)}{more}", d=path)
    for row in rows:
        if row["best_mbs"] is not None:
            yield MARKS[kernel](plane.x(row["bytes"]), plane.y(row["best_mbs"]), f"mark {colour(kernel)}")


def make(figures):
    results = figures["results"]
    plane = Plane(results)
    kernels = list(dict.fromkeys(row["kernel"] for row in results))
    return charts.picture(
        (LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM),
        (ON_LIGHT, ON_DARK),
        title(figures),
        *legend(kernels),
        *axes(plane, figures),
        *edge(plane, figures),
        *(line for kernel in kernels for line in lines(plane, kernel, results)),
    )
