# SPDX-License-Identifier: Apache-2.0
"""Jobs that change the mode of nodes' memory: node_features/helpers, hybridmem-memmode and hybridmem-reboot as the
administrator guide sets them up, with a stand-in for ipmctl (tests/testbed). A boot takes long, so each test goes on
with the modes that the one before it has left: first both nodes are flat, then n2 is cached, and at the end flat."""

import contextlib
import re

import accounting
import cluster
import slurm
from cluster import NODES, Everywhere, boots
from memmode import CACHE, FLAT, NOTE, check_machine, features, node, wait_reported, wait_state
from slurm import Occupied

CACHE_BYTES = 512 << 20  # tests/testbed/hostside/machine.py
SITE = slurm.Path("/etc/slurm/site.conf")
JOB_SUBMIT = slurm.Path("/etc/slurm/job_submit.lua")
# While a node shuts down, root writes what is staged: the firmware's layout and goal, and the note for the check.
STOP = f'[Service]\\nExecStop=+/bin/sh -c \\"(testbed-machine show; cat {NOTE}) > /var/lib/staged\\"\\n'
WHERE = "echo $SLURMD_NODENAME; " + slurm.POLICY


def stored(job_id):
    (line,) = slurm.wait_for(lambda: accounting.rows([job_id]), f"job {job_id} in Slurm's database", every=0.5)
    return line["State"]


def check_done(job_id, restarts="0"):
    """The job has completed, and Slurm's database says so. `restarts`: how often it may have gone back to the queue."""
    assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
    slurm.wait_for(lambda: stored(job_id) != "RUNNING", "its end in Slurm's database", every=0.5)
    line = accounting.row(job_id)
    assert line["State"] == "COMPLETED" and line["Restarts"] <= restarts
    return line


def hurry(job_id):
    """Cuts the two minutes for which a job waits that went back to the queue."""
    again = f"scontrol update jobid={job_id} starttime=now+2"
    slurm.wait_for(lambda: slurm.run(again, check=False).returncode == 0, "a new start", every=1)


def wait_start(job_id):
    """Waits for a run of a job that was CONFIGURING while slurmctld was restarted. slurmctld has forgotten that the
    node boots, and starts the job after 30 s. If that is too early, the job goes back to the queue."""
    slurm.wait_for(lambda: slurm.job(job_id).get("JobState") != "CONFIGURING", "a start", every=0.2)
    slurm.wait_for(lambda: slurm.end_of(job_id) or slurm.job(job_id).get("Reason") == "BeginTime", "a run", every=0.2)
    if not slurm.end_of(job_id):
        hurry(job_id)


def test_a_node_is_emptied_and_rebooted_for_a_job_that_wants_a_cache():
    cluster.drop_in("n2", "hybridmem-memmode", STOP)
    before = boots()
    assert features() == {"n1": FLAT, "n2": FLAT}
    stays, ends = (Occupied("alice", 16, f"-w{name}", "--hybrid-mem=spill") for name in NODES)
    job_id = slurm.sbatch("bob", WHERE, "--hybrid-mem=memory", "-N1")
    slurm.wait_for(lambda: slurm.job(job_id).get("Reason") == "Resources", "a job that waits for a node", every=0.2)
    assert (features(), stored(job_id)) == ({"n1": FLAT, "n2": FLAT}, "PENDING")
    assert ends.end() == "COMPLETED"
    wait_state(job_id, "CONFIGURING")
    slurm.wait_for(lambda: "POWERING_UP" in node("n2").get("State", ""), "a node that reboots", every=0.2)
    cluster.wait_gone("n2")
    assert stored(job_id) == "RUNNING"  # as of a job that has its nodes
    cluster.restart_slurmctld()
    assert slurm.job(job_id)["JobState"] == "CONFIGURING"
    wait_start(job_id)
    assert check_done(job_id, restarts="1")["NodeList"] == "n2"
    assert slurm.output(job_id) == "n2\ndefault\n"
    plan = slurm.record(job_id)["plan"]
    assert (plan["mode"], plan["side_cache_bytes"]) == ("memory", CACHE_BYTES)
    staged = cluster.on("n2", "cat /var/lib/staged").splitlines()
    note = ["mode cache", "is_unsure no", f"boot_id {before['n2'].strip()}"]
    assert (staged[0], [line for line in staged if line in note]) == ("flat cached", note)
    check_machine("n2", CACHE)
    assert before["n1"] == cluster.boot_of("n1") and before["n2"] != cluster.boot_of("n2")
    assert stays.end() == "COMPLETED" and len(slurm.tier_bytes(slurm.record(stays.job_id))) == 2


@contextlib.contextmanager
def patient():
    """The site has jobs wait for nodes in their mode, for an hour, before others are rebooted."""
    text = JOB_SUBMIT.read_text()
    with slurm.configured(text.replace("\nfunction", "\nhybridmem.reboot.delay = 3600\nfunction", 1), JOB_SUBMIT):
        yield


def test_users_who_want_opposite_modes_reboot_no_node_where_jobs_have_to_wait():
    """The node that is free first is in the mode that the first job in the queue does not want. Without a delay Slurm
    would reboot it for that job, as in the test before."""
    before = boots()
    with patient():
        held = {mode: Occupied("alice", 16, "-pwhole", f"--hybrid-mem={mode}") for mode in ("memory", "spill")}
        waiting = {mode: slurm.sbatch("bob", WHERE, "-pwhole", f"--hybrid-mem={mode}") for mode in held}
        for mode in ("spill", "memory"):
            wait_state(waiting[mode], "PENDING")
            assert held[mode].end() == "COMPLETED"
            check_done(waiting[mode])
    assert [slurm.output(job_id).split()[0] for job_id in waiting.values()] == ["n2", "n1"]
    assert boots() == before


@contextlib.contextmanager
def short_boots():
    """slurmctld waits for the boot of a node for 15 s only."""
    before, text = features(), SITE.read_text()
    with slurm.configured(re.sub("ResumeTimeout=.*", "ResumeTimeout=15", text), SITE):
        slurm.run("scontrol reconfigure")
        slurm.wait_for(lambda: features() == before, "reports of all nodes", every=0.2)
        yield
    slurm.run("scontrol reconfigure")
    wait_reported()


def lose_n2(job_id):
    """n2 boots for the job, and loses its power meanwhile. slurmctld gives it up, and the job goes back to the queue.
    Later n2 comes back."""
    slurm.wait_for(lambda: "POWERING_UP" in node("n2").get("State", ""), "a node that reboots", every=0.2)
    cluster.wait_gone("n2")
    cluster.machine("kill", "n2")
    slurm.wait_for(lambda: node("n2").get("State", "").startswith("DOWN"), "a node that is given up", every=0.5)
    assert node("n2")["Reason"].startswith(("reboot timed out", "ResumeTimeout reached"))  # the latter: Slurm 26.05
    wait_state(job_id, "PENDING")
    assert "idle" in cluster.states()["n1"]
    cluster.machine("boot", "n2")
    # Where slurmctld started the job 0.1 s after n2 had registered, nothing of it ever came to n2, in two of some ten
    # runs. So it starts two seconds later.
    slurm.wait_for(lambda: "idle" in cluster.states()["n2"], "a node that is back", every=0.5)
    hurry(job_id)


def test_a_job_on_both_nodes_brings_the_node_back_also_late():
    """A node that does not come back in ResumeTimeout is DOWN, with Slurm's reason, and its job waits. A node that
    comes back after that in the mode that was asked for is back in service, and the job starts."""
    before = boots()
    assert features() == {"n1": FLAT, "n2": CACHE}
    with short_boots():
        job = Everywhere("spill", "--requeue", meanwhile=lose_n2)
    of_node = job.end()
    check_done(job.job_id, restarts="1")
    assert [len(of_node[name]["memory"]["tiers"]) for name in NODES] == [2, 2]
    assert [of_node[name]["plan"]["side_cache_bytes"] for name in NODES] == [None, None]
    for name in NODES:
        check_machine(name, FLAT)
    assert before["n1"] == cluster.boot_of("n1") and before["n2"] != cluster.boot_of("n2")


KEEP = "--hybrid-mem=fsdax,size=64M,keep"


def said():
    """What the helper on n1 has told the system's log."""
    return cluster.on("n1", "journalctl -b -t hybridmem-memmode -o cat")


def test_data_that_a_user_keeps_outlasts_a_job_that_wants_its_node():
    """The helper refuses. The node is back at once for others: it is neither drained nor left down, and Slurm knows its
    mode. The job has the reason, and waits for another node: the one that has refused is not asked again."""
    before = boots()
    first = slurm.sbatch("alice", "echo precious > $HYBRIDMEM_FSDAX_DIR/file", "-wn1", KEEP)
    other = Occupied("alice", 16, "-wn2", "--hybrid-mem=spill")
    check_done(first)
    slurm.record(first)
    job_id = slurm.sbatch("bob", WHERE, "-N1", "--hybrid-mem=memory")
    slurm.wait_for(lambda: slurm.job(job_id).get("Restarts") == "1", "a job that goes back to the queue", every=0.2)
    assert features() == {"n1": FLAT, "n2": FLAT}
    slurm.wait_for(lambda: node("n1").get("AvailableFeatures") == FLAT, "a node that offers no cache", every=0.5)
    assert cluster.states()["n1"] == "idle"
    about = "hybridmem: node n1 cannot take memmode=cache for now: namespaces there hold data"
    shown = slurm.run(f"scontrol show job {job_id}").stdout
    assert f"AdminComment={about}" in shown, said()
    second = slurm.sbatch("alice", "cat $HYBRIDMEM_FSDAX_DIR/file", "-wn1", KEEP)
    check_done(second)
    assert slurm.output(second) == "precious\n"
    slurm.record(second)
    offers = "slurmctld offers memmode=cache of node n1 to"
    slurm.wait_for(lambda: offers in said(), "a line on what is offered", every=1)
    assert "1 of the namespaces is kept by users" in said()
    hurry(job_id)
    slurm.wait_for(lambda: slurm.job(job_id).get("Reason") == "Resources", "a job that waits for n2", every=0.2)
    slurm.run(f"scontrol update nodename=n2 availablefeatures={FLAT}")  # as if n2 had refused, too
    slurm.wait_for(lambda: slurm.job(job_id).get("Reason") == "BadConstraints", "a job without a node", every=0.2)
    assert (slurm.job(job_id)["Restarts"], boots()) == ("1", before)
    cluster.on("n1", "hybridmem namespace destroy --uid $(id -u alice)")
    with Occupied("alice", 16, "-wn1", "--hybrid-mem=spill"):  # so that none boots
        slurm.run(f"scontrol update nodename=n[1-2] availablefeatures={FLAT},{CACHE}")
        slurm.wait_for(lambda: slurm.job(job_id).get("Reason") == "Resources", "a job that has a node", every=0.5)
        slurm.run(f"scancel {job_id}")
    other.end()
    assert boots() == before
