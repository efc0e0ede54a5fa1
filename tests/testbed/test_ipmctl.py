# SPDX-License-Identifier: Apache-2.0
"""Tests the stand-in for ipmctl of a cluster's nodes, without a guest: its answers have the form of ipmctl's own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from hostside import machine  # noqa: E402

PROGRAM = HERE / "guest-files" / "usr" / "local" / "sbin" / "testbed-ipmctl"
RECORDED = HERE.parent / "fixtures" / "ipmctl"
SHOW = "show -o nvmxml -u B"
CREATE = "create -f -o nvmxml -u B -goal"
FIRMWARE = '#!/bin/sh\n[ "$1" = show ] && cat {folder}/says || echo "$*" >> {folder}/told\n'


@pytest.fixture
def ask(tmp_path):
    """Runs the stand-in beside a firmware with a layout and a goal. Gives its status, its answer, and what it told."""
    (tmp_path / "testbed-machine").write_text(FIRMWARE.format(folder=tmp_path))
    (tmp_path / "testbed-machine").chmod(0o755)

    def run(words, layout="flat", goal=None):
        (tmp_path / "says").write_text(f"{layout} {goal or layout}\n")
        (tmp_path / "told").write_text("")
        path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        done = subprocess.run([PROGRAM, *words.split()], env=path, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, (tmp_path / "told").read_text()

    return run


def form(answer):
    """The answer's elements and words in their order, without values and the line on the playback; each row that is
    there twice, for another module, once."""
    text = re.sub(r"\d+ B", "N B", answer[answer.index("<?xml") :])
    text = re.sub(r"0x[0-9a-f]{4}", "0xN", re.sub(r"\s+", " ", text)).strip()
    return re.sub(r"((?:<(Dimm|ConfigGoal)>.*?</\2>|Delete [^:]*: \w+( [^D<]*)?) ?)\1+", r"\1", text)


@pytest.mark.parametrize(
    ("words", "layout", "goal", "recorded"),
    [
        (f"{SHOW} -memoryresources", "flat", None, "flat-resources"),
        (f"{SHOW} -memoryresources", "cached", None, "cache-resources"),
        (f"{SHOW} -dimm", "flat", None, "modules"),
        (f"{SHOW} -goal", "flat", None, "goal-none"),
        (f"{SHOW} -goal", "flat", "cached", "goal-cache"),
        (f"{SHOW} -goal", "cached", "flat", "goal-flat"),
        (f"{CREATE} MemoryMode=100", "flat", None, "goal-cache"),
        (f"{CREATE} PersistentMemoryType=AppDirect", "cached", None, "goal-flat"),
        ("delete -o nvmxml -goal", "flat", "cached", "delete"),
        ("delete -o nvmxml -goal", "flat", None, "delete-none"),
    ],
)
def test_an_answer_has_the_form_of_ipmctls(ask, words, layout, goal, recorded):
    status, answer, _ = ask(words, layout, goal)
    assert (status, form(answer)) == (0, form((RECORDED / f"{recorded}.txt").read_text()))


def test_of_the_abilities_it_has_those_that_are_read(ask):
    status, answer, _ = ask("show -a -o nvmxml -u B -system -capabilities")
    recorded = (RECORDED / "abilities.txt").read_text().splitlines()
    lines = answer.strip().splitlines()
    assert status == 0 and len(lines) == 6 and [line for line in recorded if line in lines] == lines


def test_goals_reach_the_firmware_and_a_second_one_is_refused(ask):
    assert ask(f"{CREATE} MemoryMode=100")[2] == "goal cached\n"
    assert ask(f"{CREATE} PersistentMemoryType=AppDirect", "cached")[2] == "goal flat\n"
    assert ask("delete -o nvmxml -goal", "flat", "cached")[2] == "goal flat\n"
    assert ask("delete -o nvmxml -goal")[2] == ""
    status, answer, told = ask(f"{CREATE} MemoryMode=100", "flat", "cached")
    assert (status, told, form(answer)) == (1, "", form((RECORDED / "create-pending.txt").read_text()))


def test_what_has_no_answer_is_a_wrong_use(ask):
    assert ask("show -region")[0] == 201


def test_its_sizes_are_those_of_the_machines(ask):
    flat, cached = machine.LAYOUTS["flat"], machine.LAYOUTS["cached"]
    numbers = re.findall(r"(\d+) B", ask(f"{SHOW} -memoryresources")[1])
    assert {int(number) >> 20 for number in numbers if number != "0"} == {
        *flat.dram_mib,
        *flat.nvdimm_mib,
        sum(flat.dram_mib + flat.nvdimm_mib),
    }
    assert cached.cache_mib == sum(flat.dram_mib)
