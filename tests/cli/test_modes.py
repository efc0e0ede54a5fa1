# SPDX-License-Identifier: Apache-2.0
"""Tests the table of modes (helpers/core/request/modes.def) as the program shows it, and other lists of modes
(test_docs.py tests those of the user guide and of hybridmem-spank(7))."""

import json
import re
import sys
from pathlib import Path

import pytest
from installed import DATA, helper, modes

sys.path.insert(0, str(DATA / "python"))
from hybridmem import fields, rules

PROJECT = Path(__file__).resolve().parents[2]
MODES = {mode["name"]: mode for mode in modes()}


def wanting(*wants):
    return {name for name, mode in MODES.items() if set(wants) <= set(mode["wants"])}


def test_what_a_mode_has():
    assert next(iter(MODES)) == "off" and MODES["off"]["wants"] == MODES["off"]["keys"] == []
    for name, mode in MODES.items():
        assert re.fullmatch("[a-z]+", name) and mode["about"][0].islower() and not mode["about"].endswith(".")
        assert mode["kind"] in (None, name)
        assert "migrator" not in mode["wants"] or "source" in mode["keys"]
        assert ("namespaces" in mode["wants"]) == ("size" in mode["keys"])


def test_the_table_as_text():
    text = helper("hybridmem-plan", "--modes").stdout
    assert re.findall(r"^([a-z]+) ", text, re.MULTILINE) == list(MODES)
    assert "\n  wants     placement, both-tiers, slow-ram, migrator\n" in text
    assert "\n  no default: it changes programs" in text
    assert max(map(len, text.splitlines())) <= 80
    done = helper("hybridmem-plan", "--modes", "spill", status=2)
    assert done.stderr == "hybridmem plan: --modes takes no request: give one or the other\n"


def test_the_help_has_each_mode_and_key():
    text = helper("hybridmem-plan", "--help").stdout
    for mode in MODES.values():
        for word in (mode["name"], *mode["keys"]):
            assert re.search(rf"^  {word} +\w", text, re.MULTILINE), word


@pytest.mark.parametrize("name", MODES)
def test_what_may_be_a_default(configure, name):
    request = f"{name},size=1G" if "size" in MODES[name]["keys"] else name
    path = configure(f'partition "p" {{ default_mode = "{request}" }}\n')
    status = 0 if MODES[name]["may_be_default"] else 1
    done = helper("hybridmem-config", "check", "--file-only", "--config", path, status=status)
    assert status == 0 or "cannot be a default" in done.stdout + done.stderr


def test_reports_have_the_same_modes():
    assert (tuple(MODES), (*MODES, "none", "invalid")) == (fields.OPTION_MODES, fields.MODES)
    assert wanting("migrator") == fields.MIGRATED
    assert wanting("both-tiers") | {"none"} == rules.TO_BOTH
    assert set(MODES) - wanting("both-tiers") >= rules.TO_SLOW


def test_the_schema_of_records_has_the_same_modes():
    schema = json.loads((PROJECT / "site-docs" / "record.schema.json").read_text())
    (words,) = (plan["mode"]["enum"] for plan in find(schema, "mode"))
    assert words == list(MODES)


def find(schema, key):
    """Yields the properties of each object of the schema that has an enum for this key."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and "enum" in schema["properties"].get(key, {}):
            yield schema["properties"]
        for part in schema.values():
            yield from find(part, key)


def test_the_example_of_the_configuration_has_the_same_modes():
    text = (PROJECT / "etc" / "hybridmem.conf").read_text()
    assert re.search(r"^#modes = { (.*) }$", text, re.MULTILINE)[1].split(", ") == list(MODES)


def test_the_job_submit_script_knows_the_modes_that_take_persistent_memory():
    """The snippet counts the file systems of fsdax for Slurm, and always allows "off". Its code names no other mode."""
    text = (PROJECT / "etc" / "hybridmem-job-submit.lua").read_text()
    assert set(re.findall(r'text:match\("\^(\w+),"\)', text)) == wanting("namespaces")
    assert re.findall(r'mode == "(\w+)"', text) == ["off"]
