# SPDX-License-Identifier: Apache-2.0
"""Tests tables on a terminal that is narrower than they are: nothing is lost, and no line is too long."""

import sys

import pytest
from installed import DATA, LIBEXEC, helper
from makerecords import GIB, record, tier, write
from terminal import on_terminal

sys.path.insert(0, str(DATA / "python"))
from hybridmem import draw, views

WARNING = "a warning that has as many words as most of them have, with what was wrong on the node and how to mend it"


@pytest.fixture
def folder(tmp_path):
    """Rows for each view."""
    tiers = [tier("dram", [0], 0, 0, capacity=16 * GIB), tier("pmem", [1], 8 * GIB, 8 * GIB, capacity=99 * GIB)]
    facts = {
        "memory": {"peak_bytes": 8 * GIB, "tiers": tiers},
        "traffic": {"tiers": [{"name": "pmem", "read_bytes": GIB, "write_bytes": 3 * GIB}], "source": "perf"},
        "energy": {"package_j": 1e6, "memory_j": 1e5, "node": {"seconds": 3600.0}, "source": "powercap"},
        "warnings": [WARNING],
    }
    write(
        tmp_path,
        record(7, mode="interleave", **facts),
        record(8, mode="interleave", **facts, user="somebody-with-a-long-name"),
        record(9),
    )
    return tmp_path


@pytest.mark.parametrize("columns", [40, 60, 80])
@pytest.mark.parametrize("view", [None, *views.NAMES])
def test_a_table_fits_a_terminal(folder, view, columns):
    words = ["--records", folder, *(["--view", view] if view else [])]
    lines = on_terminal(columns, LIBEXEC / "hybridmem-report", *words)
    whole = helper("hybridmem-report", *words).stdout
    assert max(map(len, lines)) <= columns
    assert sorted(" ".join(lines).split()) == sorted(whole.split())
    wide = max(map(len, whole.splitlines()))
    assert on_terminal(wide, LIBEXEC / "hybridmem-report", *words) == whole.splitlines()


@pytest.mark.parametrize("view", ["advice", "failures", "jobs", "users"])
def test_a_pipe_has_each_row_in_one_line(folder, view):
    """A pipe's lines are wider than most terminals."""
    lines = helper("hybridmem-report", "--records", folder, "--view", view).stdout.splitlines()
    assert max(map(len, lines)) > 80 and not any(line.startswith(" ") for line in lines)


def test_reasons_hang_below_their_row(folder):
    lines = on_terminal(80, LIBEXEC / "hybridmem-report", "--records", folder, "--view", "advice")
    assert lines == [
        "JOB  USER                       MODE        WANTED  NODES  NODE-HOURS",
        "    WHY",
        *("7    alice                      interleave  fast        1       1.000", *WHY),
        *("8    somebody-with-a-long-name  interleave  fast        1       1.000", *WHY),
    ]


WHY = (
    "    mode fast would have done on a node of its own: peak 8.0 GiB of 16.0 GiB",
    "    fast memory, and 8.0 GiB of it was in the slow tier",
)
ROWS = [["NAME", "SENTENCE", "FIGURE"], ["a", "one two three four five six seven eight", "1"], ["bb", "x", "10"]]


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        (
            None,
            [
                "NAME  SENTENCE                                 FIGURE",
                "a     one two three four five six seven eight       1",
                "bb    x                                            10",
            ],
        ),
        (
            50,
            [
                "NAME  SENTENCE                              FIGURE",
                "a     one two three four five six seven          1",
                "      eight",
                "bb    x                                         10",
            ],
        ),
        (
            40,
            [
                *("NAME", "    SENTENCE", "    FIGURE"),
                *("a", "    one two three four five six seven", "    eight", "         1"),
                *("bb", "    x", "        10"),
            ],
        ),
        (
            3,
            [
                *("NAME", "    SENTENCE", "    FIGURE"),
                *("a", "    one two three four", "    five six seven eight", "         1"),
                *("bb", "    x", "        10"),
            ],
        ),
    ],
)
def test_a_table(monkeypatch, columns, lines):
    monkeypatch.setattr(draw, "has_unicode", lambda: True)
    assert list(draw.table(ROWS, 1, texts=(1,), prose=(1,), columns=columns)) == lines


def test_a_sentence():
    assert draw.sentence("one  two\x1b", None) == ["one  two\\x1b"]
    assert draw.sentence("one two three --four-five six", 20) == ["one two three", "  --four-five six"]
    assert draw.sentence("one two three four five", 3) == ["one two three four", "  five"]


def test_a_jobs_tiers_fit_a_terminal(folder):
    lines = on_terminal(60, LIBEXEC / "hybridmem-show", "--records", folder, "7")
    first = next(place for place, line in enumerate(lines) if line.split()[:3] == ["TIER", "KIND", "NODES"])
    table = lines[first : first + 6]
    assert max(map(len, table)) <= 60
    assert [line.split()[0] for line in table] == ["TIER", "PAGE", "dram", "0", "pmem", "0"]
