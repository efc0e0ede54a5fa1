# SPDX-License-Identifier: Apache-2.0
"""Tests tests/lib/floors, which checks what each folder includes and links, on a small project of its own."""

import shutil
import subprocess
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tests" / "lib" / "floors"
PLAN = "helpers/core/plan/plan.c"


def faults(folder, text, path=PLAN):
    """Makes a project in which the file has this text. Returns what the tool says of the file, without its name. (The
    tool also names folders that the project lacks.)"""
    tool, file = folder / "tests/lib/floors", folder / path
    for name in (tool, file, folder / "helpers/base/error.h", folder / "helpers/base/files.h"):
        name.parent.mkdir(parents=True, exist_ok=True)
        name.touch()
    shutil.copy(TOOL, tool)
    file.write_text(text)
    subprocess.run(["git", "init", "-q", folder], check=True)
    said = subprocess.run([tool], capture_output=True, text=True, check=False)
    assert said.stderr == ""
    return [line.removeprefix(f"{path}:") for line in said.stdout.splitlines() if line.startswith(f"{path}:")]


@pytest.mark.parametrize(
    ("text", "number", "said"),
    [
        ('*out = getenv("HOME");', 1, "uses getenv"),
        ('/* the\n * folder */ mkdtemp(name); // of "exit("', 2, "uses mkdtemp"),
        ("n = 'a' + rand();", 1, "uses rand"),
        ("hm_config_read(path, true, &config, error);", 1, "uses hm_config_read"),
        ("x = 1;\nput(stdout);", 2, "uses stdout"),
        ("#include <unistd.h>", 1, "includes <unistd.h>"),
        ('#include "base/files.h"', 1, 'includes "base/files.h"'),
    ],
)
def test_code_that_decides_has_no_side_effects(tmp_path, text, number, said):
    assert faults(tmp_path, f"{text}\n") == [f"{number}: {said}: core/plan decides, and does nothing else"]
    assert faults(tmp_path, f"{text}\n", "helpers/core/apply/apply.c") == []


def test_code_that_decides_may_name_calls_in_comments_and_texts(tmp_path):
    text = '#include <stdlib.h>\n#include "base/error.h"\n/*\n * getenv(3) is not called,\n * nor is exit(3)\n */\n'
    assert faults(tmp_path, text + 'static char *forget(char *out) // rand()\n{\n    return "\\"puts(x)";\n}\n') == []
