# SPDX-License-Identifier: Apache-2.0
"""Every test starts from, and has to leave, an idle node, an empty ledger and valid records."""

import contextlib
import ctypes
import json
import os
import struct
import subprocess
from pathlib import Path

import jsonschema
import namespaces
import nodes
import pytest
import slurm

PROJECT = Path(__file__).resolve().parents[2]
PERF_EVENT_OPEN = 298  # x86_64
PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS = 1, 2
PERF_ATTR_SIZE = 64  # of the first version


@pytest.fixture(scope="session", autouse=True)
def page_fault_events_stay_on():
    """An event of our own while tests run: with the first and last of them the kernel patches its page fault handler,
    and QEMU without KVM has met that half-way (the guest dies of an int3 that nobody put there)."""
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = struct.pack("<IIQ", PERF_TYPE_SOFTWARE, PERF_ATTR_SIZE, PERF_COUNT_SW_PAGE_FAULTS)
    event = libc.syscall(PERF_EVENT_OPEN, attributes.ljust(PERF_ATTR_SIZE, b"\0"), 0, -1, -1, 0)
    assert event >= 0, os.strerror(ctypes.get_errno())
    yield
    os.close(event)


@pytest.fixture(scope="session", autouse=True)
def programs():
    for source in (Path(__file__).parent / "programs").glob("*.c"):
        slurm.run(f"gcc -O1 -Wall -o /usr/local/bin/{source.stem} {source} -lnuma")


@pytest.fixture(scope="session")
def schema():
    text = (PROJECT / "site-docs" / "record.schema.json").read_text()
    return jsonschema.Draft202012Validator(json.loads(text))


def wait_left_idle():
    """What a test that failed has left may run for long: the next tests are not to wait for it as well."""
    try:
        slurm.wait_idle()
    except (AssertionError, subprocess.TimeoutExpired):
        with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
            for user in slurm.USERS:
                slurm.run(f"scancel --user={user}")
            slurm.wait_idle()
        raise


@pytest.fixture(autouse=True)
def clean_node(schema):
    """What holds after every test: the node was not drained, nothing is left on it, each record follows the schema."""
    slurm.wait_idle()
    before = len(slurm.all_records())
    yield
    wait_left_idle()
    assert slurm.hybridmem_processes() == []
    for record in slurm.all_records()[before:]:
        schema.validate(record)


@pytest.fixture
def second_node():
    with nodes.second():
        yield


@pytest.fixture
def node_apart():
    with nodes.second(is_apart=True):
        yield


@pytest.fixture
def run_dir():
    """A folder of root's for a DAMON broker of the test's own."""
    folder = Path(slurm.run("mktemp -d /run/damon-test.XXXXXX").stdout.strip())
    yield folder
    slurm.run(f"rm -r {folder}")


@pytest.fixture(scope="session")
def steps():
    """The library that counts the steps of hybridmem-namespace."""
    source = Path(__file__).parent / "programs" / "namespace" / "steps.c"
    slurm.run(f"gcc -O1 -Wall -Werror -D_GNU_SOURCE -shared -fPIC -o {namespaces.STEPS} {source} -ldl")


@pytest.fixture
def empty_regions():
    """A test starts from regions that are free in one piece, and has to leave them so."""
    before = [namespaces.room(region) for region in namespaces.REGIONS]
    assert all(free == extent for free, extent in before), before
    yield
    namespaces.reap()
    assert namespaces.ours() == []
    assert [namespaces.room(region) for region in namespaces.REGIONS] == before
