# SPDX-License-Identifier: Apache-2.0
"""Every test starts from, and has to leave, an idle node, an empty ledger and valid records."""

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

DAEMONS = {"slurmctld": "", "slurmd": f"-N {slurm.NODE}"}
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
def quick_samples(pytestconfig):
    """Of each job's memory: tests wait for the next one. Not where it counts what the node does besides its jobs."""
    text, quick = slurm.CONFIG.read_text(), "interval = 200ms\n"
    if quick not in text and pytestconfig.getoption("markexpr") not in ("meter", "migration", "bench"):
        slurm.put(text + quick, slurm.CONFIG)


@pytest.fixture(scope="session")
def schema():
    text = (PROJECT / "site-docs" / "record.schema.json").read_text()
    return jsonschema.Draft202012Validator(json.loads(text))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown():
    """What fixtures take away again, an epilog may be using."""
    slurm.wait_epilogs()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Why it failed, at once: what the end says of all failures is lost where the stage runs out of time."""
    report = yield
    if report.failed:
        item.config.get_terminal_writer().line(f"\n{report.when} of {item.nodeid} failed:\n{report.longreprtext}")
    return report


def wait_left_idle():
    """What a test that failed has left costs that test alone, and no more time than it takes to end it."""
    try:
        slurm.wait_idle()
    except (AssertionError, subprocess.TimeoutExpired) as missing:
        bring_back(missing)
        raise


def bring_back(missing):
    """A node that may be drained, have jobs, no daemon, or an epilog that was stopped. Without one there is nothing to
    test on."""
    try:
        slurm.run("pkill -CONT -r T .", check=False)
        for daemon, words in DAEMONS.items():
            slurm.run(f"pgrep -x {slurm.process_name(daemon)} || {daemon} {words}")
        for user in slurm.USERS:
            slurm.run(f"scancel --user={user}")
        slurm.run(f"scontrol update nodename={slurm.NODE} state=resume", check=False)
        slurm.wait_idle()
    except (AssertionError, subprocess.TimeoutExpired):
        pytest.exit(f"the node is lost: {missing}", returncode=1)


@pytest.fixture(autouse=True)
def clean_node(schema):
    """What holds after every test: the node was not drained, nothing is left on it, each record follows the schema."""
    wait_left_idle()
    before = slurm.record_sizes()
    yield
    wait_left_idle()
    assert slurm.hybridmem_processes() == []
    for line in slurm.record_lines(before):
        schema.validate(json.loads(line))


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
