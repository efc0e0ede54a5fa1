# SPDX-License-Identifier: Apache-2.0
"""Tests the view of failures: which warnings are refusals, by the words of the node's programs."""

import json

import pytest
from installed import helper
from makerecords import record, write

WHY = "fast=80% is above the limit of 50 %"
TOLD = "fast=N% is above the limit of N %"


def rows(folder, warnings):
    write(folder, record(1, warnings=warnings))
    found = json.loads(helper("hybridmem-report", "--records", folder, "--view", "failures", "--json").stdout)
    return sorted((row["kind"], row["pattern"]) for row in found["rows"])


@pytest.mark.parametrize(
    ("warning", "kind", "text"),
    [
        (f"refused: {WHY}", "refused", TOLD),
        (f"a task was refused: {WHY}", "refused", TOLD),
        (f"step 12 was refused: {WHY}", "refused", TOLD),
        (f"step batch was refused: {WHY}", "refused", TOLD),
        ("step interactive was refused: ", "refused", ""),
        # A default mode that cannot be had is no refusal.
        (
            f"step 0 runs without the partition's default mode: {WHY}",
            "warning",
            f"step N runs without the partition's default mode: {TOLD}",
        ),
        ("step 0: nothing is migrated: refused: x", "warning", "step N: nothing is migrated: refused: x"),
        ("the step was refused: x", "warning", "the step was refused: x"),
        ("step was refused: x", "warning", "step was refused: x"),
        ("a step 0 was refused: x", "warning", "a step N was refused: x"),
    ],
)
def test_what_is_a_refusal(tmp_path, warning, kind, text):
    assert rows(tmp_path, [warning]) == [(kind, text)]


def test_a_refusal_of_several_steps_is_one(tmp_path):
    warnings = [f"refused: {WHY}", f"step batch was refused: {WHY}", f"step 3 was refused: {WHY}", WHY]
    assert rows(tmp_path, warnings) == [("refused", TOLD), ("warning", TOLD)]
