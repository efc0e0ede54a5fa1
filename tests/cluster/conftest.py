# SPDX-License-Identifier: Apache-2.0
"""Fixtures: each test starts and ends on idle nodes, on which nothing of hybridmem's is left."""

import json
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "system"))

import accounting  # noqa: E402
import cluster  # noqa: E402
import jsonschema  # noqa: E402
import memmode  # noqa: E402
import slurm  # noqa: E402

pytest_plugins = ["failures"]


@pytest.fixture(scope="session", autouse=True)
def summed_up():
    """Makes the folder for summaries of jobs, which slurm/site.conf switches on."""
    slurm.run(f"install -d -o slurm -m 0700 {accounting.SPOOL}")


@pytest.fixture(scope="session")
def schema():
    return jsonschema.Draft202012Validator(json.loads((TESTS.parent / "site-docs" / "record.schema.json").read_text()))


@pytest.fixture(autouse=True)
def clean_nodes(schema):
    cluster.wait_idle()
    memmode.wait_reported()
    before = slurm.record_sizes()
    yield
    slurm.run("scancel --user=alice; scancel --user=bob", check=False)  # what a failed test left
    cluster.wait_idle()
    assert {node: cluster.left_on(node) for node in cluster.NODES} == {node: [] for node in cluster.NODES}
    for line in slurm.record_lines(before):
        schema.validate(json.loads(line))
