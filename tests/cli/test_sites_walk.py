# SPDX-License-Identifier: Apache-2.0
"""Tests that stacks walked by known rules (helpers/sites/record/walk.h) are those that the unwinder finds, in programs
built in many ways (walk-probe.cc, under walk-check.c)."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DEADLOCK_S = 120  # a program that takes so long never ends

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"), reason="the unwinder alone walks stacks here"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Has the library that walks in both ways, and those that the program loads."""
    path = tmp_path_factory.mktemp("walk")
    subprocess.run([HERE / "walk-build", path, "gcc"], check=True)
    return path


def run(folder, *words):
    environment = {**os.environ, "LD_PRELOAD": str(folder / "check.so"), "WALK_CHECK": "1"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=DEADLOCK_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize(
    ("level", "pointers", "other"), [("-O0", "no-omit", "omit"), ("-O2", "omit", "no-omit"), ("-O3", "no-omit", "omit")]
)
def test_the_frames_are_those_of_the_unwinder(folder, tmp_path, compiler, level, pointers, other):
    probe = tmp_path / "probe"
    words = ("-std=gnu++17", level, f"-f{pointers}-frame-pointer", "-pthread", HERE / "walk-probe.cc", "-ldl")
    subprocess.run([compiler, "-g1", "-Wall", "-Werror", "-o", probe, *words], check=True)
    run(folder, probe, folder / f"{other}.so", folder / "via16.so", folder / "via48.so")


def test_an_interpreter(folder):
    done = run(folder, sys.executable, "-c", "import decimal, json, sqlite3, ssl")
    walks, by_rules, differ = map(int, done.stderr.split()[-5::2])
    assert walks > 1000 and by_rules > 0.9 * walks and differ == 0, done.stderr
