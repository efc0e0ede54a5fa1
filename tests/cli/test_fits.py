# SPDX-License-Identifier: Apache-2.0
"""Tests that the output of commands fits the terminal, and that no line is broken if it goes to a pipe."""

import re
import subprocess
from pathlib import Path

import pytest
from installed import LIBEXEC
from replaying import TRACES
from terminal import on_terminal

TOPOLOGY = Path(__file__).resolve().parent.parent / "fixtures" / "topology"
OPTANE = ("--topology", TOPOLOGY / "optane-2-sockets.xml")
REPLAY = ("hybridmem-replay", TRACES / "LULESH.trace.zst", "--explain", "4")
COMMANDS = {
    "plan": ("hybridmem-plan", "migrate", "--kernel", "6.12", *OPTANE),
    "tiers": ("hybridmem-tiers", *OPTANE),
    "config check": ("hybridmem-config", "check", "--scontrol", "/none"),
    "papi --list": ("hybridmem-papi", "--list"),
    "replay": REPLAY,
}
TABLES = ("tiers", "replay")  # they put columns that find no room into further tables


def steady(lines):
    """Lines without the one figure that differs from run to run, replay's CPU time. It always has the same number of
    digits."""
    return [re.sub(r"\b0\.\d\d\d s\b", "0.000 s", line) for line in lines]


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("command", COMMANDS)
def test_lines_fit_a_terminal(command, columns):
    """A line is wider than the terminal only where a single word is so wide. Such a word is alone in its line, or after
    the line's first word."""
    program, *words = COMMANDS[command]
    if not (LIBEXEC / program).exists():
        pytest.skip("it was built without PAPI")
    words = [LIBEXEC / program, *words]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    lines = on_terminal(columns, *words, status=done.returncode)
    assert all(len(line) <= columns or len(line.split()) <= 2 for line in lines)
    assert steady(on_terminal(1000, *words, status=done.returncode)) == steady(done.stdout.splitlines())
    if command not in TABLES:
        assert " ".join(lines).split() == done.stdout.split()


def test_tiers_has_a_second_table_for_what_finds_no_room():
    lines = on_terminal(60, LIBEXEC / "hybridmem-tiers", *OPTANE)
    heads = [line.split() for line in lines if line.startswith("TIER")]
    assert len(heads) == 2
    assert [word for head in heads for word in head[1:]] == [
        *("KIND", "NODES", "SOCKETS", "CAPACITY", "FREE"),
        *("READ", "LATENCY", "READ", "BANDWIDTH"),
    ]


@pytest.mark.parametrize(
    ("columns", "scores", "regions"),
    [
        (1000, [["AMAT", "MEMORY", "RAW", "SLOW", "PAGES"]], [["PAGES", "VERDICT"]]),
        (80, [["AMAT", "MEMORY", "RAW", "SLOW", "PAGES"]], [["PAGES", "PRIORITY"], ["VERDICT", "VERDICT"]]),
        (
            60,
            [["AMAT", "MEMORY", "RAW"], ["SLOW", "PAGES"]],
            [["PAGES", "READS"], ["WRITES", "PRIORITY"], ["VERDICT", "VERDICT"]],
        ),
    ],
)
def test_replay_has_second_tables_for_what_finds_no_room(columns, scores, regions):
    """All rows of both tables are there, each with its name."""
    lines = on_terminal(columns, LIBEXEC / REPLAY[0], *REPLAY[1:])
    heads = [at for at, line in enumerate(lines) if line.startswith("PLACEMENT")]
    rest = ("ACCESSES", "WRITES", "MOVED")  # the second words of titles
    assert [[word for word in lines[at].split()[1:] if word not in rest] for at in heads] == scores
    for at in heads:
        rows = [line.split()[0] for line in lines[at + 1 : at + 5]]
        assert rows == ["ours", "first", "static", "per-phase"] and lines[at + 5] == ""
    heads = [at for at, line in enumerate(lines) if line.startswith("ADDRESSES")]
    assert [[lines[at].split()[1], lines[at].split()[-1]] for at in heads] == regions
    ends = [lines.index("", at) for at in heads]
    tables = [lines[at + 1 : end] for at, end in zip(heads, ends, strict=True)]
    names = [[line.split()[0] for line in table if not line.startswith(" ")] for table in tables]
    assert len(names[0]) > 10 and all(name == names[0] for name in names)
