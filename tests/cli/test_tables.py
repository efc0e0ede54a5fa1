# SPDX-License-Identifier: Apache-2.0
"""Tests that every member of a structure that is stored has a row in its table of fields. A member without a row would
not be stored."""

import re
from pathlib import Path

import pytest

HELPERS = Path(__file__).parents[2] / "helpers"
COMMENT = re.compile(r"/\*.*?\*/", re.S)
ROW = re.compile(r"\bHM_FIELD\w*\(\s*(\w+),\s*(\w+)")
# Some rows of a table, for those who read no more of a file.
PART = re.compile(r"\bpart_table\[\] = \{\n.*?^\};", re.S | re.M)
MARKS = {"magic", "version", "bytes"}
# Members that need no row: the marks at the head of a file that holds a structure's raw bytes.
NO_ROW = {"hm_progress": MARKS}


def sources(pattern):
    return [COMMENT.sub("", path.read_text()) for path in sorted(HELPERS.rglob(pattern))]


def tables():
    """The members with a row, by structure."""
    rows = {}
    for text in sources("*.c"):
        for structure, member in ROW.findall(PART.sub("", text)):
            rows.setdefault(structure, []).append(member)
    return rows


def members(structure):
    for text in sources("*.[ch]"):
        if found := re.search(rf"^struct {structure} \{{\n(.*?)^\}};", text, re.S | re.M):
            names = re.findall(r"(\w+)(?:\[[^;,\]]*\])*\s*[;,]", found.group(1))
            return [name for name in names if name not in NO_ROW.get(structure, ())]
    raise AssertionError(f"no struct {structure}")


TABLES = tables()


def test_the_tables_are_found():
    assert {"hm_job", "hm_plan", "hm_progress", "hm_job_namespace"} <= set(TABLES)


@pytest.mark.parametrize("structure", sorted(TABLES))
def test_each_member_has_one_row(structure):
    assert sorted(TABLES[structure]) == sorted(members(structure))
