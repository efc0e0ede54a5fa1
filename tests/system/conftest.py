# SPDX-License-Identifier: Apache-2.0
"""Fixtures: each test starts on an idle node with an empty ledger, and is checked for what it leaves there."""

import ctypes
import json
import os
import struct
import subprocess
from pathlib import Path

import byhand
import jsonschema
import namespaces
import nodes
import placing
import processes
import pytest
import slurm

pytest_plugins = ["failures"]

DAEMONS = {"slurmctld": "", "slurmd": f"-N {slurm.NODE}"}
PROJECT = Path(__file__).resolve().parents[2]
PERF_EVENT_OPEN = 298  # x86_64
PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS = 1, 2
PERF_ATTR_SIZE = 64  # size of the structure's first version


@pytest.fixture(scope="session", autouse=True)
def page_fault_events_stay_on():
    """Keeps a perf event open while tests run. When the first such event is opened and when the last one is closed, the
    kernel patches its page fault handler. QEMU without KVM has executed the half-patched code, and the guest died of
    the breakpoint (int3) in it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = struct.pack("<IIQ", PERF_TYPE_SOFTWARE, PERF_ATTR_SIZE, PERF_COUNT_SW_PAGE_FAULTS)
    event = libc.syscall(PERF_EVENT_OPEN, attributes.ljust(PERF_ATTR_SIZE, b"\0"), 0, -1, -1, 0)
    assert event >= 0, os.strerror(ctypes.get_errno())
    yield
    os.close(event)


@pytest.fixture(scope="session", autouse=True)
def users_trust_each_other():
    """Sets fsdax_trust, without which jobs get no file systems on persistent memory where the kernel is older than
    Linux 6.15, as the guest's is."""
    text = slurm.CONFIG.read_text()
    if slurm.TRUST not in text:
        slurm.put(text + slurm.TRUST, slurm.CONFIG)


@pytest.fixture(scope="session", autouse=True)
def quick_samples(pytestconfig):
    """Makes the monitor sample each job's memory often, as tests wait for the next sample. Runs of the tests marked
    meter, which count accesses from outside, or bench, which measure ratios, keep the default interval."""
    text, quick = slurm.CONFIG.read_text(), "interval = 200ms\n"
    if quick not in text and pytestconfig.getoption("markexpr") not in ("meter", "bench"):
        slurm.put(text + quick, slurm.CONFIG)


@pytest.fixture(scope="session")
def schema():
    text = (PROJECT / "site-docs" / "record.schema.json").read_text()
    return jsonschema.Draft202012Validator(json.loads(text))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown():
    """Waits for epilogs, as they may use what fixtures are going to remove."""
    slurm.wait_epilogs()


def wait_left_idle():
    """Waits for an idle node. If a failed test has left something that does not end, brings the node back, so that
    later tests can run."""
    try:
        slurm.wait_idle()
    except (AssertionError, subprocess.TimeoutExpired) as missing:
        bring_back(missing)
        raise


def bring_back(missing):
    """Brings the node back into service: it may be drained, have jobs, no slurmd, or a stopped epilog. If that fails
    there is no node to test on."""
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
    """Checks after every test: the node is not drained, nothing is left on it, and each record follows the schema."""
    wait_left_idle()
    before = slurm.record_sizes()
    yield
    wait_left_idle()
    assert processes.of_hybridmem() == []
    for line in slurm.record_lines(before):
        schema.validate(json.loads(line))


@pytest.fixture
def no_job_of_alices_is_left(clean_node):
    """Cancels alice's jobs, also where a test fails half-way, before `clean_node` looks at what is left."""
    yield
    slurm.run("scancel --user=alice")


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
    """A folder of root for a test's own DAMON broker."""
    folder = Path(slurm.run("mktemp -d /run/damon-test.XXXXXX").stdout.strip())
    yield folder
    slurm.run(f"rm -r {folder}")


@pytest.fixture(scope="session")
def steps():
    """Builds the library that counts the steps of hybridmem-namespace."""
    source = Path(__file__).parent / "programs" / "namespace" / "steps.c"
    slurm.run(f"gcc -O1 -Wall -Werror -D_GNU_SOURCE -shared -fPIC -o {namespaces.STEPS} {source} -ldl")


@pytest.fixture(scope="module")
def placed_program():
    slurm.run(f"gcc -O1 -Wall -Werror -o {placing.PROGRAM} {placing.SOURCE} -lhybridmem")
    slurm.drop_caches()  # the library, and the kernel where it chooses a node, take the page cache for used memory


@pytest.fixture
def half_of_the_regions():
    """Takes half of each region: less is left to fill, to wipe and to search."""
    with namespaces.foreign("half-0", "region0", 640), namespaces.foreign("half-1", "region1", 640):
        yield


@pytest.fixture
def empty_regions():
    """Checks that each region is free in one piece before the test, and again after it."""
    before = [namespaces.room(region) for region in namespaces.REGIONS]
    assert all(free == extent for free, extent in before), before
    yield
    namespaces.reap()
    assert namespaces.ours() == []
    assert [namespaces.room(region) for region in namespaces.REGIONS] == before


@pytest.fixture
def faults_for_users():
    """Lets users sample their own page faults."""
    before = byhand.PARANOID.read_text()
    byhand.PARANOID.write_text("2")
    yield
    byhand.PARANOID.write_text(before)
