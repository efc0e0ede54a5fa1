# SPDX-License-Identifier: Apache-2.0
"""Jobs on two machines: their records, their summary, and what is left when a machine or slurmctld fails meanwhile."""

import accounting
import cluster
import slurm
from cluster import NODES, Everywhere


def summary(job_id):
    accounting.wait_stored([job_id])
    accounting.collect_at_once()  # earlier jobs have left no record where nothing of them ran
    return accounting.summary(accounting.row(job_id))


def check_records(of_node, mode):
    assert sorted(of_node) == list(NODES)
    for record in of_node.values():
        assert record["plan"]["mode"] == mode and record["exit_code"] == 0 and record["warnings"] == []
        assert record["memory"]["peak_bytes"] >= Everywhere.MIB * slurm.MIB


def test_a_job_on_two_machines_has_a_record_of_each_and_one_summary():
    job = Everywhere("spill")
    of_node = job.end()
    check_records(of_node, "spill")
    found = summary(job.job_id)
    peaks = {node: record["memory"]["peak_bytes"] for node, record in of_node.items()}
    assert (found["nodes"], found["reported"], found["missing"]) == (2, 2, "")
    assert found["memory"]["peak_bytes"]["sum"] == sum(peaks.values())


def test_each_machine_has_a_migrator_of_its_own():
    job = Everywhere("migrate,interval=200ms")
    for node in NODES:
        slurm.wait_for(lambda node=node: cluster.on(node, "pgrep -x -c hybridmem-migra", check=False), "a migrator")
    of_node = job.end()
    check_records(of_node, "migrate")
    assert all(record["migration"]["phases"] is not None for record in of_node.values())


def test_a_job_with_file_systems_outlives_a_restart_of_slurmctld():
    job = Everywhere("fsdax,size=64M", prepare="echo $SLURMD_NODENAME > $HYBRIDMEM_FSDAX_DIR/file")
    assert all(len(cluster.left_on(node)) > 0 for node in NODES)
    cluster.restart_slurmctld()
    of_node = job.end()
    check_records(of_node, "fsdax")
    assert all(len(record["namespaces"]) == 1 for record in of_node.values())
    assert summary(job.job_id)["reported"] == 2


# A setting of a unit: before the unit starts, root writes which namespaces there are.
LOOK = r"[Service]\nExecStartPre=+/bin/sh -c \"ndctl list -N > /var/lib/seen\"\n"


def test_a_machine_that_dies_takes_no_record_of_another_and_is_clean_after_its_boot():
    folder = "/etc/systemd/system/hybridmem-reap.service.d"
    cluster.on("n2", f"mkdir -p {folder} && printf '{LOOK}' > {folder}/look.conf && sync")
    job = Everywhere("fsdax,size=64M")
    before = cluster.boot_of("n2")
    cluster.machine("kill", "n2")
    slurm.run("scontrol update nodename=n2 state=down reason=dead")
    assert slurm.wait_job(job.job_id) == "NODE_FAIL"
    of_node = job.wait_records(1)
    assert sorted(of_node) == ["n1"] and len(of_node["n1"]["namespaces"]) == 1
    cluster.machine("boot", "n2")
    slurm.run("scontrol update nodename=n2 state=resume")
    cluster.wait_booted("n2", before)
    assert f'"hybridmem:testbed:{job.job_id}.0.0"' in cluster.on("n2", "cat /var/lib/seen")
    assert cluster.left_on("n2") == []
    accounting.wait_stored([job.job_id])
    accounting.collect_at_once()
    found = accounting.summary(accounting.row(job.job_id))
    assert (found["nodes"], found["reported"], found["missing"]) == (2, 1, "n2")
