# SPDX-License-Identifier: Apache-2.0
"""Tests the record's schema: it accepts the records that hybridmem builds, and nothing else. The records are those of
tests/fixtures/records: test-record*.c compare these files with what hybridmem builds."""

import copy
import json
from pathlib import Path

import jsonschema
import pytest
from makerecords import LEFT_PROFILE

TOP = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((TOP / "site-docs" / "record.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
RECORDS = sorted((TOP / "tests" / "fixtures" / "records").glob("*.json"))


def walk(schema, path="record"):
    """Yields the schema of each property below this schema, with its path."""
    for name, part in schema.get("properties", {}).items():
        yield f"{path}.{name}", part
        yield from walk(part, f"{path}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from walk(schema["items"], f"{path}[]")


def test_the_schema_is_valid():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert len(RECORDS) >= 6


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_records_follow_the_schema(path):
    VALIDATOR.validate(json.loads(path.read_text()))


def test_every_key_is_described_and_required():
    schemas = {"record": SCHEMA, **{name: part for name, part in SCHEMA["$defs"].items() if "properties" in part}}
    for name, schema in schemas.items():
        assert schema["additionalProperties"] is False
        assert sorted(schema["required"]) == sorted(schema["properties"]), name
        for where, part in walk(schema, name):
            target = SCHEMA["$defs"][part["$ref"].rsplit("/", 1)[1]] if "$ref" in part else part
            assert "description" in part or "description" in target, where


def changed(record, path, value):
    made = copy.deepcopy(record)
    *parents, last = path
    at = made
    for part in parents:
        at = at[part]
    at[last] = value
    return made


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), 2),
        (("extra",), None),
        (("job_id",), "42"),
        (("job_id",), -1),
        (("uid",), None),
        (("node",), ""),
        (("step_ids",), ["extern"]),
        (("step_ids",), [0]),
        (("start",), "2025-03-01T10:00:00Z"),
        (("start",), "2025-03-01T10:00:00.000+01:00"),
        (("elapsed_s",), -0.5),
        (("exit_code",), 256),
        (("plan", "policy"), "none"),
        (("plan", "mode"), "cache"),
        (("plan", "side_cache_bytes"), 0),
        (("guided",), {"profile": "/a"}),
        (("profile",), {**LEFT_PROFILE, "method": "guess"}),
        (("plan", "weights"), {"n0": 1}),
        (("plan", "weights"), {"0": 0}),
        (("memory",), None),
        (("memory", "interval_s"), 0),
        (("memory", "tiers", 0, "anon_bytes"), 1.5),
        (("memory", "tiers", 0, "series"), [0] * 257),
        (("memory", "tiers", 0, "nodes"), "0-1"),
        (("energy", "source"), ""),
        (("energy", "package_j"), "none"),
        (("traffic", "tiers"), [{"name": "dram"}]),
        (("traffic", "job"), {}),
        (("traffic", "job"), {"total_bytes": 1, "local_bytes": None, "source": "resctrl"}),
        (("traffic", "job"), {"seconds": -1, "total_bytes": 1, "local_bytes": None, "source": "resctrl"}),
        (("traffic", "job"), {"seconds": 1, "total_bytes": -1, "local_bytes": None, "source": "resctrl"}),
        (("traffic", "job"), {"seconds": 1, "total_bytes": 1, "local_bytes": None, "source": ""}),
        (("warnings",), [""]),
    ],
)
def test_what_is_no_record_is_refused(path, value):
    whole = json.loads((TOP / "tests" / "fixtures" / "records" / "whole.json").read_text())
    assert not VALIDATOR.is_valid(changed(whole, path, value))


@pytest.mark.parametrize("key", SCHEMA["required"])
def test_no_key_may_be_missing(key):
    whole = json.loads((TOP / "tests" / "fixtures" / "records" / "whole.json").read_text())
    del whole[key]
    assert not VALIDATOR.is_valid(whole)
