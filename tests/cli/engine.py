# SPDX-License-Identifier: Apache-2.0
"""Runs DuckDB for the tests of the history, from the folder that tests/setup made."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

from installed import helper


@cache
def folder():
    setup = Path(__file__).resolve().parents[1] / "setup"
    return subprocess.run([setup, "--print-engine"], capture_output=True, text=True, check=True).stdout.strip()


def ingest(records, history, **options):
    return helper("hybridmem-ingest", "--engine", folder(), "--records", records, "--history", history, **options)


def report(history, *words, **options):
    return helper("hybridmem-report", "--engine", folder(), "--history", history, *words, **options)


def queries(statements):
    """The rows of each statement, from DuckDB in another process."""
    program = (
        "import duckdb, json, sys; "
        "print(json.dumps([duckdb.sql(words).fetchall() for words in sys.argv[1:]], default=str))"
    )
    words = [sys.executable, "-c", program, *statements]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={"PYTHONPATH": folder()})
    return json.loads(done.stdout)


def query(statement, *paths):
    """The rows of a statement. Each {} in it becomes the next path."""
    return queries([statement.format(*paths)])[0]
