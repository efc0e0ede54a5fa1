# SPDX-License-Identifier: Apache-2.0
"""Makes a page of HTML that needs nothing else: no network, no other file. Text is escaped in one place, tag()."""

import argparse
import base64
import hashlib
import html
import os
import sys
from pathlib import Path

from . import draw, whole

HERE = Path(__file__).parent
SHORT = 24  # letters of a name that is never broken
TAIL = 8  # last letters that a cut name keeps, as similar names often differ there
NUMBER, NAME, PROSE = "number", "name", "prose"  # kinds of columns of a table
EMPTY = frozenset(("meta", "rect", "line", "path", "circle"))  # elements without content


class Markup(str):
    """Text that is not escaped: HTML that is made already, a style, or a script."""


def escape(content):
    return content if isinstance(content, Markup) else html.escape(draw.plain(str(content)))


def tag(element, /, *content, **attributes):
    """Returns <element>content</element>. Content that is not Markup is escaped, and so are attributes' values. class_
    stands for class, aria_label for aria-label. An attribute of None or False is left out; True gives an attribute
    without a value."""
    words = [element]
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(key)
        elif value is not None and value is not False:
            words.append(f'{key}="{escape(value)}"')
    if element in EMPTY:
        return Markup(f"<{' '.join(words)}/>")
    return Markup(f"<{' '.join(words)}>{''.join(map(escape, content))}</{element}>")


def part(kind):
    """The page's style or script, and its hash for the page's policy."""
    text = (HERE / f"page.{kind}").read_text(encoding="utf-8")
    mark = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(text), f"'sha256-{mark}'"


def document(title, about, *content):
    """The whole page. Its content security policy allows only its own style and script."""
    style, style_mark = part("css")
    script, script_mark = part("js")
    policy = (
        f"default-src 'none'; style-src {style_mark}; script-src {script_mark}; base-uri 'none'; form-action 'none'"
    )
    head = (
        tag("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", style),
    )
    body = (
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag("header", tag("h1", title), tag("p", about)),
        tag("main", *content, id="content"),
        tag("script", script),
    )
    return f"<!DOCTYPE html>\n{tag('html', tag('head', *head), tag('body', *body), lang='en')}\n"


def file_name(text):
    """Type of the argument of --html, and of hybridmem-picture's FILE; "-" is standard output."""
    if not text or text.endswith("/"):
        raise argparse.ArgumentTypeError(f'"{text}" is no file: name the page to write, as in report.html')
    return text


def is_stdout(path):
    """Does the path name standard output, also by another name such as /dev/stdout? Standard output may be a file that
    is being appended to, which must not be replaced."""
    try:
        return path == "-" or os.path.samestat(Path(path).stat(), os.fstat(sys.stdout.fileno()))
    except OSError:
        return False  # a problem is reported when the page is written


def write(path, text, option="--html"):
    """Writes the page or picture that the option names, with the permissions of any new file of the user's."""
    content = text.encode("utf-8", "backslashreplace")
    if is_stdout(path):
        sys.stdout.buffer.write(content)
        return
    mask = os.umask(0)
    os.umask(mask)
    whole.write(path, content, 0o666 & ~mask, what=f"{option} {path}: it cannot be written")


def whole_name(word):
    """A name in a table. If it is long and does not fit, it is broken, as names may differ anywhere."""
    return word if len(word) <= SHORT else tag("span", word, class_="whole")


def name(word, short):
    """A name in one line. If it has more than `short` letters and does not fit, its middle is cut; its title shows all
    of it."""
    if len(word) <= short:
        return word
    return tag("span", tag("span", word[:-TAIL]), tag("span", word[-TAIL:]), class_="long", title=word)


def table(caption, heads, rows, foot=None):
    """A table that the script makes sortable and filterable. `heads` are (title, kind). A cell is (value, shown). Rows
    are sorted by the values of a column of numbers, with None last, and by what other columns show. If a column is
    prose, phones break each row into several lines."""
    has_prose = any(kind == PROSE for _, kind in heads)

    def cells(row):
        for (title, kind), (value, shown) in zip(heads, row):
            attributes = {"class_": kind, "data_head": title if has_prose else None}
            if kind == NUMBER:
                attributes["data_v"] = value
            yield tag("td", whole_name(shown) if kind == NAME else shown, **attributes)

    head = (tag("th", title, scope="col", class_=kind) for title, kind in heads)
    parts = [
        tag("caption", caption),
        tag("thead", tag("tr", *head)),
        tag("tbody", *(tag("tr", *cells(row)) for row in rows)),
    ]
    if foot:
        parts.append(tag("tfoot", tag("tr", *cells(foot))))
    made = tag("table", *parts, class_="data told" if has_prose else "data")
    return tag("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption)


def tiles(pairs):
    """Large figures in a row. Each is (name, shown)."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", shown)) for name, shown in pairs), class_="tiles")


def section(name, title, *content, about=None):
    said = [tag("p", about, class_="about")] if about else []
    return tag("section", tag("h2", title), *said, *content, id=name)


def sentences(lines):
    return tag("ul", *(tag("li", line[:1].upper() + line[1:]) for line in lines), class_="said")


def links(names):
    return tag("nav", *(tag("a", title, href=f"#{name}") for name, title in names), aria_label="Sections")
