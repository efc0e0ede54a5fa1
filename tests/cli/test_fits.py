# SPDX-License-Identifier: Apache-2.0
"""Tests that the output of commands fits the terminal, and that a pipe gets each thing in one line."""

import subprocess
from pathlib import Path

import pytest
from installed import LIBEXEC
from terminal import on_terminal

TOPOLOGY = Path(__file__).resolve().parent.parent / "fixtures" / "topology"
OPTANE = ("--topology", TOPOLOGY / "optane-2-sockets.xml")
COMMANDS = {
    "plan": ("hybridmem-plan", "migrate", "--kernel", "6.12", *OPTANE),
    "tiers": ("hybridmem-tiers", *OPTANE),
    "config check": ("hybridmem-config", "check", "--scontrol", "/none"),
    "papi --list": ("hybridmem-papi", "--list"),
}


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
    assert on_terminal(1000, *words, status=done.returncode) == done.stdout.splitlines()
    if command != "tiers":
        assert " ".join(lines).split() == done.stdout.split()


def test_tiers_has_a_second_table_for_what_finds_no_room():
    lines = on_terminal(60, LIBEXEC / "hybridmem-tiers", *OPTANE)
    heads = [line.split() for line in lines if line.startswith("TIER")]
    assert len(heads) == 2
    assert [word for head in heads for word in head[1:]] == [
        *("KIND", "NODES", "SOCKETS", "CAPACITY", "FREE"),
        *("READ", "LATENCY", "READ", "BANDWIDTH"),
    ]
