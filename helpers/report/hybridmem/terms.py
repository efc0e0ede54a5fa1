# SPDX-License-Identifier: Apache-2.0
"""Terms, of which the keys and columns of views are made: SQL over the columns of a record (columns.py), and over the
values of a list's items ("item_name"). Both engines, DuckDB (engine.py) and sqlite (temporary.py), have the functions
that this SQL calls. Pure."""

ITEM = "item_"  # the names of such values begin with it


def quoted(name):
    return f'"{name}"'


class Value:
    """A figure or a word; null if there is none. `total`: SQL for the sum of all rows; null if none has a figure."""

    def __init__(self, name):
        self.names, self.sql = (name,), quoted(name)

    def total(self, condition=None):
        return f"exact_sum({only(condition, self.sql)})"

    def is_known(self):
        return f"{self.sql} IS NOT NULL"


class Product:
    """The product of two figures, which may be too large for a whole number of 64 bits. So it only appears in sums."""

    def __init__(self, *names):
        self.names, self.parts = names, tuple(map(quoted, names))

    def total(self, condition=None):
        one, other = self.parts
        return f"sum_of_products({only(condition, one)}, {other})"

    def is_known(self):
        return " AND ".join(f"{part} IS NOT NULL" for part in self.parts)


def only(condition, sql):
    """SQL for a value, or null where a condition does not hold."""
    return f"CASE WHEN {condition} THEN {sql} END" if condition else sql


class Or:
    """A value, or the default if there is none, or if it is an empty word or 0."""

    def __init__(self, name, default):
        self.names = (name,)
        self.sql = f"coalesce(nullif({quoted(name)}, {type(default)()!r}), {default!r})"


IS = {True: "{}", False: "NOT {}", None: "{} IS NULL"}


class Are:
    """1 if all values are the named one (true, false, null), else 0."""

    def __init__(self, value, *names):
        self.names = names
        same = " AND ".join(IS[value].format(quoted(name)) for name in names)
        self.sql = f"CASE WHEN {same} THEN 1 ELSE 0 END"


class One:
    names, sql = (), "1"


class Unknown:
    """A figure that is null for each record, as something that it needs is not known."""

    names = ()

    def total(self, condition=None):
        return "CAST(NULL AS BIGINT)"

    def is_known(self):
        return "1 = 0"


class Day:
    """The day on which the job ended; "?" if that is not known."""

    names = ("end_text",)
    sql = (
        "CASE WHEN substr(end_text, 1, 10) GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]' "
        "THEN substr(end_text, 1, 10) ELSE '?' END"
    )
