# SPDX-License-Identifier: Apache-2.0
"""What is drawn. Charts of a page are HTML and SVG: words are HTML, so that they are readable at any width, and only
shapes are scaled. A picture is a file of SVG with its words in it. Pure."""

from .page import Markup, name, tag

SHORT = 10  # letters of a bar's word that is never cut: as long is the longest mode
COLOURS = 8  # of the style: .c0 to .c7

# The styles of all pictures: on a light page, and what is different on a dark one.
ON_LIGHT = """\
text{font:11px system-ui,'DejaVu Sans',sans-serif;fill:#30343b}
.title{font-size:17px;font-weight:600}.sub{font-size:13px}
.mono{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:10.5px}
.page{fill:#ffffff}.empty{fill:#eceef2}.fast{fill:#008c9e}.grid{stroke:#c5cad2}
"""
ON_DARK = "text{fill:#d6dae1}.page{fill:#14161a}.empty{fill:#23262c}.fast{fill:#3fd9ea}.grid{stroke:#4a505b}\n"


def colour(place):
    return f"c{place % COLOURS}"


def bars(caption, rows):
    """One bar a row: (the words of its name, value, shown); a value of None has none."""
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
        parts = (tag("span", name(word, SHORT)) for word in words)
        named = tag("span", *parts, class_="names", title=" ".join(words))
        lines.append(tag("li", named, shape, tag("span", shown, class_="value")))
    return tag("figure", tag("figcaption", caption), tag("ul", *lines, class_="bars"))


def stacked(caption, names, columns, shown, ends, gap=0.0):
    """Columns side by side, each a (title, values in the order of the names); a value of None is a gap. `shown` makes a
    value a word, `ends` are the words at both ends of the time axis, `gap` is the part of a column that stays empty."""
    top = max((sum(v or 0 for v in values) for _, values in columns), default=0) or 1
    shapes = []
    for place, (title, values) in enumerate(columns):
        floor = 0.0
        for series, value in enumerate(values):
            if not value:
                continue
            height = 100 * value / top
            shapes.append(
                tag(
                    "rect",
                    x=f"{place + gap / 2:.3f}",
                    y=f"{100 - floor - height:.3f}",
                    width=f"{1 - gap:.3f}",
                    height=f"{height:.3f}",
                    class_=colour(series),
                    data_tip=f"{title}: {names[series]} {shown(value)}",
                )
            )
            floor += height
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
    legend = (tag("li", tag("i", class_=colour(i)), name) for i, name in enumerate(names))
    return tag(
        "figure",
        tag("figcaption", caption),
        tag("ul", *legend, class_="legend"),
        tag("div", scale, plot, axis, class_="plot"),
    )


def picture(size, styles, *content):
    """A file of SVG, (width, height) large, with both the light and the dark theme; `styles` are what it wants of each
    besides those of all pictures."""
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
    """Words of a picture: they begin at x, or what `anchor` says of them is there."""
    return tag("text", words, class_=class_, x=x, y=y, text_anchor=anchor)
