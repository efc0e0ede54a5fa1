# SPDX-License-Identifier: Apache-2.0
"""Tests the view of failures: its rows, and which warnings count as refusals, as told by their texts, which the node's
programs write."""

import pytest
from installed import helper
from makerecords import record, write
from viewing import rows_by, view_json

WHY = "fast=80% is above the limit of 50 %"
TOLD = "fast=N% is above the limit of N %"


def rows(folder, warnings):
    write(folder, record(1, warnings=warnings))
    return sorted((row["kind"], row["pattern"]) for row in view_json(folder, "failures")["rows"])


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


def test_failures_by_text(tmp_path):
    refusal = "mode fast wants 200.0 GiB, the tier has 16.0 GiB"
    write(
        tmp_path,
        record(1, exit_code=137, warnings=["killed at 10:00", "killed at 11:30"]),
        record(1, node="n2", exit_code=137),
        record(2, exit_code=1, warnings=["killed at 9:00", 7, None, f"refused: {refusal}"]),
        record(3, warnings=[f"a task was refused: {refusal.replace('200', '9')}", "x" * 5000]),
        record(4, exit_code=None),
        record(5, exit_code=255),
        record(6, warnings=["no 2 were left"]),
        record(6, node="n2", warnings=["no 2 were left"]),
    )
    found = view_json(tmp_path, "failures")
    assert {row["text"]: row["pattern"] for row in found["rows"] if "left" in row["text"]} == {
        "no 2 were left": "no N were left"
    }
    rows = rows_by(found, "kind", "text")
    assert {key: (row["jobs"], row["records"], row["last_job"]) for key, row in rows.items()} == {
        ("exit code", "137 (signal 9)"): (1, 2, "1"),
        ("exit code", "1"): (1, 1, "2"),
        ("exit code", "255"): (1, 1, "5"),
        ("warning", "killed at N:N"): (2, 2, "2"),
        ("warning", "7"): (1, 1, "2"),
        ("warning", "no 2 were left"): (1, 2, "6"),
        ("warning", "None"): (1, 1, "2"),
        ("refused", "mode fast wants N.N GiB, the tier has N.N GiB"): (2, 2, "3"),
        ("warning", "x" * 200): (1, 1, "3"),
    }


def test_a_refusal_is_said_once(tmp_path):
    """The record has the refusal of the whole job. Older versions of hybridmem repeated it for each step that did not
    begin. Another refusal of a step counts by itself."""
    texts = ("size=4G: 3.0 GiB are left", "mode fast: no such tier")
    warnings = [f"refused: {texts[0]}", *(f"step {step} was refused: {texts[0]}" for step in ("batch", "0"))]
    write(
        tmp_path, record(1, warnings=[*warnings, f"step 1 was refused: {texts[1]}", f"a task was refused: {texts[1]}"])
    )
    rows = rows_by(view_json(tmp_path, "failures"), "kind", "text")
    assert {key: row["records"] for key, row in rows.items()} == {("refused", text): 1 for text in texts}
    shown = helper("hybridmem-show", "--records", tmp_path, "1").stdout
    assert shown.count(texts[0]) == 1 and shown.count(texts[1]) == 2 and f"warning      refused: {texts[0]}" in shown
