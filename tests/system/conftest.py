# SPDX-License-Identifier: Apache-2.0
"""Every test starts from, and has to leave, an idle node, an empty ledger and valid records."""

import json
from pathlib import Path

import jsonschema
import pytest
import slurm

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def programs():
    for source in (Path(__file__).parent / "programs").glob("*.c"):
        slurm.run(f"gcc -O1 -Wall -o /usr/local/bin/{source.stem} {source} -lnuma")


@pytest.fixture(scope="session")
def schema():
    text = (PROJECT / "site-docs" / "record.schema.json").read_text()
    return jsonschema.Draft202012Validator(json.loads(text))


@pytest.fixture(autouse=True)
def clean_node(schema):
    """What holds after every test: the node was not drained, nothing is left on it, each record follows the schema."""
    slurm.wait_idle()
    before = len(slurm.all_records())
    yield
    slurm.wait_idle()
    assert slurm.hybridmem_processes() == []
    for record in slurm.all_records()[before:]:
        schema.validate(record)
