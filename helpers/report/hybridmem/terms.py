# SPDX-License-Identifier: Apache-2.0
"""Terms, of which the keys and columns of views are made. A term is given once, by names of columns, or of values of a
list's items ("item.name"): its `of` calculates it for a case, its `sql` is the same for an engine's tables. Pure."""

import re
from operator import attrgetter


class Case:
    """A record in one of a view's rows. `is_new`: it is the row's first record of this run of the job;
    `is_new_failure`: the first whose exit code is not 0. seen.Counted sets both."""

    __slots__ = ("figures", "is_new", "is_new_failure", "item")

    def __init__(self, figures, item=None):
        self.figures = figures  # the record's Columns
        self.item = item  # the part of the record that the row is about: a tier, a failure


def reader(name):
    return attrgetter(name if name.startswith("item.") else f"figures.{name}")


def quoted(name):
    return ".".join(f'"{part}"' for part in name.split("."))


class Value:
    """A figure or a word; None if there is none."""

    def __init__(self, name):
        self.names, self.sql, self.of = (name,), quoted(name), reader(name)


class Product:
    def __init__(self, *names):
        self.names = names
        self.sql = "::HUGEINT * ".join(map(quoted, names))
        self.of = self.multiplied(*map(reader, names))

    @staticmethod
    def multiplied(left, right):
        def of(case):
            one, other = left(case), right(case)
            return None if one is None or other is None else one * other

        return of


class Or:
    """A value, or the default if there is none, or if it is an empty word or 0."""

    def __init__(self, name, default):
        read, empty = reader(name), type(default)()
        self.names = (name,)
        self.sql = f"coalesce(nullif({quoted(name)}, {empty!r}), {default!r})"
        self.of = lambda case: read(case) or default


SQL = {True: "true", False: "false", None: "null"}


class Are:
    """1 if all values are the named one (true, false, null), else 0."""

    def __init__(self, value, *names):
        read = list(map(reader, names))
        self.names = names
        same = " AND ".join(f"{quoted(name)} IS NOT DISTINCT FROM {SQL[value]}" for name in names)
        self.sql = f"({same})::BIGINT"

        def of(case):
            for one in read:
                if one(case) is not value:
                    return 0
            return 1

        self.of = of


class One:
    names, sql = (), "1"

    @staticmethod
    def of(case):
        return 1


class Unknown:
    """A figure that is None for each record, as something that it needs is not known."""

    names, sql = (), "NULL::BIGINT"

    @staticmethod
    def of(case):
        return None


class Day:
    """The day on which the job ended; "?" if that is not known."""

    names = ("end_text",)
    sql = (
        "CASE WHEN left(end_text, 10) GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]' THEN left(end_text, 10) "
        "ELSE '?' END"
    )

    @staticmethod
    def of(case):
        day = (case.figures.end_text or "")[:10]
        return day if re.fullmatch(r"[0-9]{4}-[0-9][0-9]-[0-9][0-9]", day) else "?"
