# SPDX-License-Identifier: Apache-2.0
"""Jobs on two machines: their records and summary, also where slurmctld or the server of records fails meanwhile."""

import contextlib
import json

import accounting
import cluster
import pytest
import slurm
from cluster import NODES, Everywhere
from slurm import Occupied


def summary(job_id):
    accounting.wait_stored([job_id])
    accounting.collect_at_once()  # earlier jobs have left no record where nothing of them ran
    return accounting.summary(accounting.row(job_id))


def check_records(of_node, mode):
    assert sorted(of_node) == list(NODES)
    for record in of_node.values():
        assert record["plan"]["mode"] == mode and record["exit_code"] == 0 and record["warnings"] == []
        assert record["memory"]["peak_bytes"] >= Everywhere.MIB * slurm.MIB


UNIT = "hybridmem-collect"


@contextlib.contextmanager
def readers_on_the_server():
    """SlurmUser is in the group of the records' readers also here, on the server of the records: it looks up groups
    itself (manage-gids, as Debian sets it), so the group that the unit has counts for nothing."""
    forget = "date +%s > /proc/net/rpc/auth.unix.gid/flush"
    slurm.run(f"gpasswd -a slurm hybridmem && {forget}")
    try:
        yield
    finally:
        slurm.run(f"gpasswd -d slurm hybridmem && {forget}")


def summary_by_the_unit(job_id):
    """As summary(), by the collector's unit under systemd: on n1, as the controller has no systemd."""
    accounting.wait_stored([job_id])
    slurm.wait_no_jobs()  # a job is in the queue until EpilogSlurmctld has ended
    (entry,) = accounting.SPOOL.glob(f"{job_id}.*.json")
    with readers_on_the_server():
        cluster.on("n1", f"install -d -o slurm -m 0700 {entry.parent}")
        cluster.on("n1", f"install -o slurm -m 0600 /dev/stdin {entry} <<< '{entry.read_text()}'")
        entry.unlink()
        cluster.on("n1", f"systemctl start {UNIT}")
        slurm.wait_for(lambda: accounting.row(job_id)["AdminComment"] or said(), "a summary", every=0.5)
        assert not said() and cluster.on("n1", f"systemctl is-active {UNIT} && systemctl stop {UNIT}") == "active\n"
    return accounting.summary(accounting.row(job_id))


def said():
    """What the collector has told the system's log, which is nothing where all is well."""
    return cluster.on("n1", "journalctl -b -t hybridmem-collect -o cat")


def test_a_job_on_two_machines_has_a_record_of_each_and_one_summary():
    job = Everywhere("spill")
    of_node = job.end()
    check_records(of_node, "spill")
    found = summary_by_the_unit(job.job_id)
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


HOMES = "/srv/homes"  # on the nodes
RANKS = 4
# Has a site of 3 MiB, which no compiler may leave out, and says so; ends with all others.
RANK = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    (void)argc;
    char path[4096], *volatile memory = malloc(3 << 20);
    snprintf(path, sizeof(path), "%s/%s", argv[1], getenv("SLURM_PROCID"));
    memset(memory, 1, 3 << 20);
    fclose(fopen(path, "w"));
    snprintf(path, sizeof(path), "%s/go", argv[1]);
    while (access(path, F_OK) != 0)
        usleep(100000);
    return memory[0] - 1;
}
"""


@contextlib.contextmanager
def homes_with_usual_caches():
    """The nodes have the users' homes a second time. What is in a folder they remember there for half a minute, as
    sites have it; the testbed's own mounts remember it for a second."""
    for node in NODES:
        cluster.on(node, f"mkdir -p {HOMES} && mount -t nfs4 ctl:/home {HOMES}")
    try:
        yield
    finally:
        for node in NODES:
            cluster.on(node, f"umount {HOMES}")


def test_ranks_on_two_machines_leave_one_profile():
    """They end at the same time. Each node looked before for a profile of that name, and found none."""
    folder = slurm.folder_of("alice")
    program = folder / "rank"
    slurm.run(f"gcc -O1 -Wl,--build-id=uuid -x c -o {program} - << 'END'\n{RANK}\nEND", user="alice")
    with homes_with_usual_caches():
        script = f"XDG_DATA_HOME={HOMES}/alice/{folder.name} srun --overcommit -n{RANKS} {program} {folder}"
        job_id = slurm.sbatch("alice", script, "-N2", "--hybrid-mem=profile")
        slurm.wait_for(lambda: all((folder / str(rank)).exists() for rank in range(RANKS)), "all ranks", every=0.2)
        (folder / "go").touch()
        assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
        slurm.wait_for(lambda: len(slurm.records(job_id)) == len(NODES), "its records")
    (path,) = folder.glob("hybridmem/profiles/*/*.json")
    for record in slurm.records(job_id):
        left = record["profile"]
        assert left["reason"] is None and left["file"] == f"{HOMES}/{path.relative_to('/home')}"
    profile = json.loads(path.read_text())
    sites = {site["peak_bytes"]: site["allocations"] for site in profile["sites"] if site["frames"]}
    assert (profile["processes"], sites.get(3 * slurm.MIB)) == (RANKS, RANKS), sites


@contextlib.contextmanager
def squashed():
    """The server of the records takes root of the nodes for nobody."""
    slurm.run(f"exportfs -o rw,async,root_squash,no_subtree_check 10.0.5.0/24:{slurm.RECORDS}")
    try:
        yield
    finally:
        slurm.run("exportfs -ra")  # as testbed-share was told
        # A client keeps what a folder allows until the folder changes.
        slurm.run(f"find {slurm.RECORDS} -maxdepth 1 -type d -exec touch {{}} +")


def pending():
    """How many records wait on each node."""
    return [int(cluster.on(node, "ls /var/lib/hybridmem/pending 2> /dev/null | wc -l")) for node in NODES]


def test_components_on_two_machines_have_their_modes_and_records_that_nfs_refuses_wait_there():
    """A heterogeneous job has a component on each node. Their records come with those of the next job there."""
    script = f"srun --het-group=0 {slurm.POLICY}; srun --het-group=1 {slurm.POLICY}"
    options = ("-wn1", "--hybrid-mem=slow", ":", "-wn2", "--hybrid-mem=fast")
    with squashed():
        leader = slurm.sbatch("alice", script, *options)
        assert slurm.wait_job(leader) == "COMPLETED", slurm.output(leader)
        slurm.wait_for(lambda: pending() == [1, 1], "records that wait", every=0.5)
    assert slurm.output(leader).split() == ["bind=static:1", "bind=static:0"]
    assert slurm.records(leader) == slurm.records(leader + 1) == []
    check_records(Everywhere("spill").end(), "spill")
    of_job = {offset: slurm.record(leader + offset) for offset in (0, 1)}
    assert [of_job[offset]["node"] for offset in (0, 1)] == ["n1", "n2"]
    assert [of_job[offset]["request"] for offset in (0, 1)] == ["slow", "fast"]
    assert [of_job[offset]["het_job_id"] for offset in (0, 1)] == [leader, leader]
    assert pending() == [0, 0]


SERVED = "/srv/records"  # on n2


@contextlib.contextmanager
def records_on_n2():
    """n1 has its folder of records from n2. It asks a server that does not answer again each second."""
    cluster.on("n2", f"install -d -m 0751 -g hybridmem {SERVED} && testbed-share {SERVED}")
    cluster.on("n1", f"mount -t nfs4 -o actimeo=1,timeo=10,retrans=1 n2:{SERVED} {slurm.RECORDS}")
    try:
        yield
    finally:
        cluster.on("n1", f"umount -l {slurm.RECORDS}")
        cluster.on("n2", "testbed-share")


def waits_for_nfs():
    """Does a program that begins or ends a job on n1 wait for the server? Such a wait cannot be interrupted."""
    looks = "for pid in $(pgrep -x hybridmem-job); do cat /proc/$pid/wchan; done"
    return "rpc" in (cluster.on("n1", looks, check=False) or "")


def served(job_id):
    """The job's records on n2."""
    lines = cluster.on("n2", f"cat {SERVED}/2*/*.jsonl", check=False) or ""
    return [record for record in map(json.loads, lines.splitlines()) if record["job_id"] == job_id]


@pytest.mark.clusterlong
def test_a_server_of_records_that_stands_still_holds_up_a_node_for_a_minute_and_costs_no_record():
    """Slurm gives the node to no job before the epilog is over, and an epilog that waits for the server is cut after a
    minute. Then the next job begins, while the server still stands still. Its epilog brings both records."""
    with records_on_n2():
        first = Occupied("alice", 16, "-wn1", "--hybrid-mem=spill")
        with cluster.standing_still("n2"):
            first.go.touch()
            slurm.wait_for(waits_for_nfs, "an epilog that waits for the server", every=0.5)
            second = Occupied("bob", 16, "-wn1", "--hybrid-mem=spill")
            assert slurm.wait_job(first.job_id) == "COMPLETED"  # its epilog is over
            assert cluster.states()["n1"] == "allocated"  # and not draining
        assert second.end() == "COMPLETED"
        cluster.wait_idle()
        for job in (first, second):
            assert [record["exit_code"] for record in served(job.job_id)] == [0]
