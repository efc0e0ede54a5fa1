# SPDX-License-Identifier: Apache-2.0
"""Runs DuckDB for the tests of the history, from the folder that tests/setup made."""

import json
import subprocess
from functools import cache
from pathlib import Path

import forked


@cache
def folder():
    setup = Path(__file__).resolve().parents[1] / "setup"
    return subprocess.run([setup, "--print-engine"], capture_output=True, text=True, check=True).stdout.strip()


def ingest(records, history, **options):
    return forked.run("ingest", "--records", records, "--history", history, engine=folder(), **options)


def report(history, *words, **options):
    return forked.run("report", "--history", history, *words, engine=folder(), **options)


def queries(statements):
    """The rows of each statement, from DuckDB in another process."""
    forked.loaded("engine", folder())
    import duckdb

    def tell():
        print(json.dumps([duckdb.sql(words).fetchall() for words in statements], default=str))

    status, out, err = forked.call(tell)
    assert status == 0, err
    return json.loads(out)


def query(statement, *paths):
    """The rows of a statement. Each {} in it becomes the next path."""
    return queries([statement.format(*paths)])[0]
