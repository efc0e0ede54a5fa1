# SPDX-License-Identifier: Apache-2.0
"""DuckDB, which writes and queries a history. It is optional, and only this file looks for it."""

import contextlib
import importlib
import os
import sys
import tempfile
from importlib.machinery import PathFinder
from pathlib import Path

from . import records

INTERRUPTED = "Query interrupted"  # the error of a statement that ^C ends
MEMORY = "1GiB"  # for one query; what does not fit goes to a temporary folder
MOST_THREADS = 4  # each has buffers of its own
# The functions in the SQL of terms.py and folds.py that are not DuckDB's own. sqlite has them by temporary.py. When one
# of them is changed, the sums of all days are made anew (daysums.FORM).
FUNCTIONS = (
    "exact_sum(figure) AS sum(figure)",
    "sum_of_products(one, other) AS sum(one::HUGEINT * other)",
    "first_word(word, met) AS arg_min(word, met)",  # ignores rows without a word
    "last_word(word, met) AS arg_max_null(word, met)",
    # By way of its digits, a number of 128 bits is rounded once, to the nearest DOUBLE, as Python does; a cast rounds
    # twice.
    "quotient(upper, lower) AS CASE WHEN lower <> 0 THEN upper::VARCHAR::DOUBLE / lower::VARCHAR::DOUBLE END",
)
REQUIREMENTS = Path(__file__).with_name("requirements.txt")


def why_not_there(given):
    """Says what is wrong with the folder that the caller named, if something is."""
    try:
        if given:
            os.scandir(given).close()
    except FileNotFoundError:
        return f", there is no folder {given}"
    except OSError as error:
        raise records.Failure(f"cannot read {given}: {error.strerror}") from error
    return ""


def load(folder, given):
    """Loads the module: from the folder that the caller named, else the site's, else where Python finds it."""
    if not PathFinder.find_spec("duckdb", [str(given)] if given else [folder, *sys.path]):
        raise records.Failure(
            f"DuckDB is missing{why_not_there(given)}: {sys.executable} -m pip install --no-index --find-links WHEELS "
            f"--require-hashes -r {REQUIREMENTS} --target {given or folder} "
            "(how to fill WHEELS: man 8 hybridmem-ingest)"
        )
    sys.path.insert(0, str(given or folder))
    try:
        return importlib.import_module("duckdb")
    except ImportError as error:  # such as a DuckDB for another Python or another libc
        raise records.Failure(f"DuckDB cannot be loaded: {error}") from error
    finally:
        sys.path.pop(0)


@contextlib.contextmanager
def session(duckdb, work=None):
    """A connection to an empty database. It loads no extension and uses no network; its errors become Failures. `work`:
    a folder for what does not fit into memory; without it the session has one of its own."""
    with contextlib.ExitStack() as stack:
        folder = work or stack.enter_context(tempfile.TemporaryDirectory(prefix="hybridmem-"))
        try:
            connection = duckdb.connect(
                config={
                    "autoinstall_known_extensions": False,
                    "autoload_known_extensions": False,
                    "memory_limit": MEMORY,
                    "preserve_insertion_order": False,  # rows know their files and lines
                    "temp_directory": str(folder),
                }
            )
            stack.callback(connection.close)
            connection.execute("SET enable_progress_bar = false")  # it would be in the report
            connection.execute(f"SET threads = least({MOST_THREADS}, current_setting('threads'))")
            for function in FUNCTIONS:
                connection.execute(f"CREATE TEMP MACRO {function}")
            yield connection
        except RuntimeError as error:
            if str(error) != INTERRUPTED:
                raise
            raise KeyboardInterrupt from error
        except duckdb.Error as error:
            said = str(error).strip().splitlines() or ["it failed"]  # the next lines show our own SQL
            raise records.Failure(f"DuckDB: {said[0]}") from error


def error():
    """The class of the engine's errors. The engine must be loaded."""
    return sys.modules["duckdb"].Error


def can_read(connection, paths, columns="COLUMNS(*)"):
    """Can these columns of the files be read, from the first row to the last?"""
    try:
        connection.execute(f"SELECT bit_xor(hash({columns})) FROM {parquet(paths)}").fetchall()
    except error():
        return False
    return True


def literal(path):
    """Quotes a path to write to, for a statement. It is absolute, as the engine takes "~" for a home folder."""
    return "'" + str(Path(path).absolute()).replace("'", "''") + "'"


def quoted(path):
    """Quotes a path to read from, for a statement. None of its characters is a pattern."""
    return literal("".join(f"[{c}]" if c in "*?[" else c for c in str(path)))


def parquet(paths):
    """SQL for the rows of these files."""
    return f"read_parquet([{', '.join(map(quoted, paths))}], hive_partitioning = false)"


def has_only(connection, paths, column, value):
    """Does a column have this value in all rows of the tables? That is quick: the files' footers have the least and the
    largest value of each column."""
    [(same,)] = connection.execute(
        f"SELECT coalesce(bool_and({column} IS NOT DISTINCT FROM ?), true) FROM {parquet(paths)}", [value]
    ).fetchall()
    return same


def columns(connection, paths):
    """Returns the names of the columns that each of the tables has."""
    found = connection.execute(
        f"SELECT list(name) FROM parquet_schema([{', '.join(map(quoted, paths))}]) GROUP BY file_name"
    )
    return frozenset.intersection(*(frozenset(names) for (names,) in found.fetchall()))
