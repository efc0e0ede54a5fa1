# SPDX-License-Identifier: Apache-2.0
"""Draws charts and pictures. A chart is part of a page: its words are HTML, so that they are readable at any width, and
only its shapes are SVG, which is scaled. A picture is an SVG file with its words in it. Pure."""

from .page import Markup, name, tag

SHORT = 10  # a bar's name of so many letters or fewer is never cut: the longest name of a mode has as many
COLOURS = 8  # number of colours in the style: .c0 to .c7

# The styles of all pictures: for a light page, and the changes for a dark one.
ON_LIGHT = """\
text{font:11px system-ui,'DejaVu Sans',sans-serif;fill:#30343b}
.title{font-size:17px;font-weight:600}.sub{font-size:13px}
.mono{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:10.5px}
.page{fill:#ffffff}.empty{fill:#eceef2}.fast{fill:#008c9e}.grid{stroke:#c5cad2}
"""
ON_DARK = "text{fill:#d6dae1}.page{fill:#14161a}.empty{fill:#23262c}.fast{fill:#3fd9ea}.grid{stroke:#4a505b}\n"


def colour(place):
    return f"c{place % COLOURS}"


def bars(caption, rows, are_sentences=False):
    """Draws horizontal bars. A row is (words of its name, value, shown value); a value of None has no bar. A name is
    beside its bar, cut if there is no room; a sentence is above it, and is never cut."""
    top = max((value for _, value, _ in rows if value is not None), default=0) or 1
    lines = []
    for words, value, shown in rows:
        width = 0 if value is None else round(100 * value / top, 2)
        shape = tag(
            "svg",
            tag("rect", class_="track", width=100, height=10),
            tag("rect", class_="c0", width=width, height=10),
            viewBox="0 0 100 10",
            preserveAspectRatio="none",
            aria_hidden="true",
        )
        parts = (tag("span", word if are_sentences else name(word, SHORT)) for word in words)
        named = tag("span", *parts, class_="names", title=" ".join(words))
        lines.append(tag("li", named, shape, tag("span", shown, class_="value")))
    return tag(
        "figure", tag("figcaption", caption), tag("ul", *lines, class_="bars above" if are_sentences else "bars")
    )


def stacked(caption, names, columns, shown, ends, gap=0.0, unknown=""):
    """Draws stacked columns. Each column is (title, values in the order of `names`). `shown` formats a value. `ends`
    are the words at both ends of the time axis. `gap` is the share of a column's width that stays empty. A value of
    None is empty, as 0 is; if `unknown` has words for it, it is a grey band above the column's other values."""
    top = max((sum(v or 0 for v in values) for _, values in columns), default=0) or 1
    shapes = []

    def shape(place, floor, height, colour_class, tip):
        return tag(
            "rect",
            x=f"{place + gap / 2:.3f}",
            y=f"{100 - floor - height:.3f}",
            width=f"{1 - gap:.3f}",
            height=f"{height:.3f}",
            class_=colour_class,
            data_tip=tip,
        )

    for place, (title, values) in enumerate(columns):
        floor = 0.0
        for series, value in enumerate(values):
            if not value:
                continue
            height = 100 * value / top
            shapes.append(shape(place, floor, height, colour(series), f"{title}: {names[series]} {shown(value)}"))
            floor += height
        missing = [name for name, value in zip(names, values) if value is None]
        if unknown and missing:
            shapes.append(shape(place, floor, 100 - floor, "gap", f"{title}: {', '.join(missing)} {unknown}"))
    rules = [tag("line", x1=0, x2=len(columns), y1=y, y2=y, class_="rule") for y in (0, 50, 100)]
    plot = tag(
        "svg",
        *rules,
        *shapes,
        viewBox=f"0 0 {max(len(columns), 1)} 100",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"{caption}: {', '.join(names)}; at most {shown(top)}",
    )
    scale = tag("div", *(tag("span", shown(v)) for v in (top, top / 2)), tag("span", "0"), class_="scale")
    axis = tag("div", *(tag("span", word) for word in ends), class_="axis")
    legend = [tag("li", tag("i", class_=colour(i)), name) for i, name in enumerate(names)]
    if unknown and any(None in values for _, values in columns):
        legend.append(tag("li", tag("i", class_="gap"), unknown))
    return tag(
        "figure",
        tag("figcaption", caption),
        tag("ul", *legend, class_="legend"),
        tag("div", scale, plot, axis, class_="plot"),
    )


def picture(size, styles, *content):
    """Makes an SVG file of `size` (width, height) with a light and a dark theme. `styles` are the picture's own styles
    for both themes."""
    width, height = size
    on_light, on_dark = styles
    style = f"\n{ON_LIGHT}{on_light}\n@media(prefers-color-scheme:dark){{{ON_DARK}{on_dark}}}\n"
    return tag(
        "svg",
        tag("style", Markup(style)),
        tag("rect", class_="page", width=width, height=height),
        *content,
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        role="img",
    )


def text(x, y, words, anchor=None, class_=None):
    """Words of a picture at x, y. `anchor` says which part of them is at x (text-anchor; None: their beginning)."""
    return tag("text", words, class_=class_, x=x, y=y, text_anchor=anchor)
