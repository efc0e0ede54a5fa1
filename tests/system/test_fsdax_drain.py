# SPDX-License-Identifier: Apache-2.0
"""Tests that a node is drained only where its persistent memory cannot be wiped or removed, and stays drained until an
administrator resumes it."""

import contextlib
import os
import signal
from pathlib import Path

import pytest
import slurm
from namespaces import STORES, count_markers, create, destroy, job_with_file_systems, mounted, ours, reap

SIZE = "--hybrid-mem=fsdax,size=256M"
MARKER = "what nobody else may see of "
STORED = f"{MARKER}0 ".encode()

pytestmark = pytest.mark.usefixtures("empty_regions")


def is_drained():
    return "DRAIN" in slurm.wait_for(slurm.node_state, "scontrol's answer about the node")


def shown():
    """What scontrol shows of the node."""
    said = slurm.wait_for(lambda: slurm.lines(f"scontrol show node {slurm.NODE}"), "scontrol's answer about the node")
    return "\n".join(said)


def resume():
    slurm.run(f"scontrol update nodename={slurm.NODE} state=resume")


@pytest.fixture
def region_that_fails(clean_node):
    """Gives a file: "1" written there makes region 0 read-only, as the kernel does when a DIMM's energy store has
    failed. Afterwards the node is in service again, whatever a test leaves."""
    switch = Path("/sys/bus/nd/devices/region0/read_only")
    yield switch
    switch.write_text("0")
    reap()
    if is_drained():
        resume()


def test_memory_that_cannot_be_wiped_drains_the_node_until_an_administrator_resumes_it(region_that_fails):
    with job_with_file_systems(f"python3 {STORES} '{MARKER}'", SIZE) as (job_id, _):
        (device,) = [one["device"] for one in ours() if one["socket"] == 0]
        region_that_fails.write_text("1")
    # The job itself ended well. What its epilog could not remove is given to no other job, also after another try.
    slurm.wait_for(is_drained, "a drained node")
    slurm.wait_for(lambda: not slurm.ledger(), "the epilog's end")
    reason = shown()
    name = f"hybridmem:testbed:{job_id}.0.0"
    assert f"Reason=hybridmem: job {job_id}: persistent memory was not given back: {name} is left: " in reason, reason
    assert device in reason, reason
    waiting = slurm.sbatch("bob", "true", SIZE)
    said = slurm.run("hybridmem reap").stderr
    assert f"namespaces that belong to no job could not be removed: {name} is left: " in said
    assert [one["name"] for one in ours()] == [name], "the other socket's is wiped and gone"
    assert count_markers(device, STORED) > 0
    state = slurm.wait_for(lambda: slurm.job(waiting).get("JobState"), f"scontrol's answer about {waiting}")
    assert is_drained() and state == "PENDING"
    record = slurm.record(job_id)
    assert record["exit_code"] == 0 and [one["destroy_s"] for one in record["namespaces"]] == [None, None]
    (warning,) = record["warnings"]
    assert f"its DAX file systems were not removed: {name} is left: " in warning

    region_that_fails.write_text("0")
    assert slurm.run("hybridmem reap").stderr == ""
    assert ours() == []
    assert is_drained(), "an administrator has the last word"
    resume()
    assert slurm.wait_job(waiting) == "COMPLETED", slurm.output(waiting)
    assert slurm.record(waiting)["warnings"] == []


def test_what_a_crash_has_left_and_cannot_be_wiped_drains_the_node_in_the_next_prolog(region_that_fails):
    (left,) = create(4000000, 64)
    name = left["name"]
    region_that_fails.write_text("1")
    job_id = slurm.sbatch("bob", "true")
    assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
    slurm.wait_for(is_drained, "a drained node")
    reason = shown()
    why = f"hybridmem: persistent memory that a past job left could not be taken back: {name} is left: "
    assert f"Reason={why}" in reason, reason
    assert left["device"] in reason, reason
    slurm.wait_for(lambda: not slurm.ledger(), "the epilog's end")
    assert [one["name"] for one in ours()] == [name]
    assert f"{name} is left: " in destroy(4000000, status=5).stderr

    region_that_fails.write_text("0")
    assert slurm.run("hybridmem reap").stderr == ""
    assert ours() == []


def test_memory_that_is_in_use_is_waited_for_and_drains_no_node():
    with job_with_file_systems("true", SIZE) as (job_id, folder):
        held = [one for one in ours() if one["socket"] == 1]
        with mounted(held[0]["device"]):
            (folder / "go").touch()
            slurm.wait_for(lambda: [one["name"] for one in ours()] == [held[0]["name"]], "the other socket's end")
            assert not is_drained()
            assert slurm.run("pgrep -f 'hybridmem-namespace destroy'").stdout
    slurm.wait_for(lambda: not slurm.ledger(), "the epilog's end")
    assert ours() == [] and not is_drained()
    assert slurm.record(job_id)["warnings"] == []


def test_a_process_that_got_away_from_its_job_keeps_no_memory():
    """The process is in the job's mount namespace but has left the job's cgroup: nothing ends it, and it never
    unmounts."""
    script = "(cd /; exec setsid sleep 1000 < /dev/null > /dev/null 2>&1) &\necho $! > pid"
    with contextlib.ExitStack() as at_the_end:
        with job_with_file_systems(script, SIZE) as (job_id, folder):
            pid = int((folder / "pid").read_text())
            devices = [one["device"] for one in ours()]
            seen = Path(f"/proc/{pid}/mountinfo").read_text()
            assert len(devices) == 2 and all(device in seen for device in devices)
            Path("/sys/fs/cgroup/cgroup.procs").write_text(str(pid))
            at_the_end.callback(os.kill, pid, signal.SIGKILL)
        slurm.wait_for(lambda: not slurm.ledger(), "the epilog's end")
        assert ours() == [] and not is_drained()
        assert slurm.record(job_id)["warnings"] == []
        assert Path(f"/proc/{pid}/comm").read_text() == "sleep\n", "it is not ours to end"
