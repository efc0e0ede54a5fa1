# SPDX-License-Identifier: Apache-2.0
"""Tests texts that users choose, in hybridmem report: none is a formula to a spreadsheet, moves a terminal's cursor, or
counts as a mode of its own."""

import csv
import io
import sys

import pytest
from installed import DATA
from makerecords import record, write
from viewing import report, report_json

sys.path.insert(0, str(DATA / "python"))
from hybridmem import views

FORMULAS = ("=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(1)", " =1", "\t=1", "\uff1d1")
ODD = (*FORMULAS, "\x1b[2Jslow", "a\r\nb", "\x9bA", "a\u202eb")


@pytest.mark.parametrize("view", [[], *(["--view", name] for name in views.NAMES)], ids=" ".join)
def test_no_cell_of_csv_is_a_formula_or_moves_a_cursor(tmp_path, view):
    for job, word in enumerate(ODD, 1):
        write(tmp_path, record(job, user=word, account=word, plan={"mode": word}, warnings=[f"refused: {word}"]))
        write(tmp_path, record(100 + job, plan=None, request=word, exit_code=1))
    text = report(tmp_path, *view, "--csv").stdout
    assert all(line.isprintable() for line in text.split("\n"))
    for row in csv.reader(io.StringIO(text)):
        for cell in row:
            is_number = cell.lstrip("-").replace(".", "", 1).isdigit()
            assert is_number or not cell.lstrip().startswith(("=", "+", "-", "@", "\uff1d")), row


def test_a_request_that_was_never_valid_is_of_the_mode_invalid(tmp_path):
    bad = (*ODD, "none", "invalid", "spil", ",")
    write(tmp_path, *(record(job, plan=None, request=word) for job, word in enumerate(bad, 1)))
    write(tmp_path, record(100, plan=None, request=""))
    found = report_json(tmp_path)["rows"]
    assert {row["mode"]: row["jobs"] for row in found} == {"invalid": len(bad), "none": 1}
    assert report_json(tmp_path, "--mode", "invalid")["total"]["jobs"] == len(bad)
