# SPDX-License-Identifier: Apache-2.0
"""Boots of nodes on which something has gone wrong before. A boot takes long, so both nodes boot at the same time, and
the tests look at what was seen meanwhile: n2 had lost its power with a job on it, and n1 reboots for a job that wants
another mode of the memory, which its firmware ignores."""

import types

import accounting
import cluster
import memmode
import pytest
import slurm
from cluster import NODES, Everywhere

# A setting of a unit: before the unit starts, root writes which namespaces there are.
LOOK = r"[Service]\nExecStartPre=+/bin/sh -c \"ndctl list -N > /var/lib/seen\"\n"


def lose_n2(seen):
    """n2 loses its power with a job on it that has a file system there and on n1."""
    cluster.drop_in("n2", "hybridmem-reap", LOOK)
    job = Everywhere("fsdax,size=64M")
    cluster.machine("kill", "n2")
    slurm.run("scontrol update nodename=n2 state=down reason=dead")
    seen.dead, seen.state = job.job_id, slurm.wait_job(job.job_id)
    seen.records = job.wait_records(1)


def mislead_n1(seen):
    """n1 reboots for a job, and its firmware ignores the goal."""
    cluster.on("n1", "testbed-machine ignore")
    job_id = slurm.sbatch("bob", "true", "-wn1", "--hybrid-mem=memory")
    slurm.wait_for(lambda: memmode.node("n1").get("State") == "IDLE+DRAIN", "a drained node that answers", every=0.5)
    seen.drained = memmode.node("n1")
    memmode.wait_state(job_id, "PENDING")
    slurm.run(f"scancel {job_id}")


@pytest.fixture(scope="module")
def seen():
    found, before = types.SimpleNamespace(), cluster.boots()
    lose_n2(found)
    cluster.machine("boot", "n2")
    slurm.run("scontrol update nodename=n2 state=resume")
    mislead_n1(found)
    for node in NODES:
        cluster.wait_booted(node, before[node])
    slurm.run("scontrol update nodename=n1 state=undrain")
    return found


def test_a_machine_that_dies_takes_no_record_of_another_and_is_clean_after_its_boot(seen, schema):
    assert seen.state == "NODE_FAIL"
    assert sorted(seen.records) == ["n1"] and len(seen.records["n1"]["namespaces"]) == 1
    schema.validate(seen.records["n1"])
    assert f'"hybridmem:testbed:{seen.dead}.0.0"' in cluster.on("n2", "cat /var/lib/seen")
    assert cluster.left_on("n2") == []
    accounting.wait_stored([seen.dead])
    accounting.collect_at_once()
    found = accounting.summary(accounting.row(seen.dead))
    assert (found["nodes"], found["reported"], found["missing"]) == (2, 1, "n2")


def test_a_node_whose_firmware_ignores_the_goal_is_drained_with_both_modes(seen):
    """The check at boot drains it, and tells slurmctld which mode it is in. So that reason stays, and once the cause is
    mended, an administrator has only the drain to end."""
    reason = "hybridmem: memmode=cache was asked for before the boot, and the node came back memmode=flat (of 640.0 MiB"
    assert seen.drained["Reason"].startswith(reason)
    memmode.check_machine("n1", memmode.FLAT)
