# SPDX-License-Identifier: Apache-2.0
"""Tests which stages tests/check --changed chooses for a file (tests/lib/changes.sh)."""

import ast
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


def stages_of(*files):
    """The stages of each file; [] where no line of the table has it, as it then needs all."""
    script = '. "$0"; stage_names() { :; }; for file; do echo "$(stages_of_file "$file" | xargs)"; done'
    command = ["bash", "-c", script, TESTS / "lib" / "changes.sh", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def shared_with_cluster():
    """The modules of tests/system that tests/cluster uses, and those that these use."""
    found, left = {"failures"}, [*(TESTS / "cluster").glob("*.py")]  # pytest's plugin
    while left:
        names = set(imported(left.pop())) - found
        paths = [TESTS / "system" / f"{name}.py" for name in names]
        left += [path for path in paths if path.exists()]
        found |= {path.stem for path in paths if path.exists()}
    return sorted(found)


def test_a_module_that_the_cluster_shares_chooses_its_stage():
    names = shared_with_cluster()
    assert {"slurm", "accounting"} <= set(names)
    chosen = stages_of(*(f"tests/system/{name}.py" for name in names))
    assert [name for name, stages in zip(names, chosen, strict=True) if "cluster" not in stages] == []


@pytest.mark.parametrize(
    "file",
    [
        "tests/system/programs/occupy.c",
        "tests/system/programs/slurm/slurmstates.c",
        "helpers/memmode/commands/main.c",
        "etc/hybridmem-memmode.service.in",
        "etc/hybridmem-constraint.lua",
        "tests/cluster/slurm/site.conf",
    ],
)
def test_what_the_cluster_runs_chooses_its_stage(file):
    (stages,) = stages_of(file)
    assert "cluster" in stages


def test_a_file_that_no_line_has_needs_all_stages():
    assert stages_of("a-new-folder/file") == [[]]


def test_each_stage_of_the_table_is_there():
    script = '. "$0"; . "$1"; stages_by_file | while read -r _ words; do echo "$words"; done; echo; stage_names'
    command = ["bash", "-c", script, TESTS / "lib" / "changes.sh", TESTS / "lib" / "stages.sh"]
    settings = {"build": "/nonexistent", "slurm": "", "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=settings)
    chosen, _, known = done.stdout.partition("\n\n")
    assert chosen and set(chosen.split()) <= set(known.split())
