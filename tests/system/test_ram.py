# SPDX-License-Identifier: Apache-2.0
"""Tests `hybridmem namespace ram` on the guest's two NVDIMMs: devdax namespaces become nodes 4 and 5, and devices
again."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
import slurm
from namespaces import (
    MIB,
    PROGRAM,
    REGIONS,
    STEPS,
    create,
    destroy,
    foreign,
    killed_before_each_step,
    module_missing,
    namespace,
    ndctl,
    ours,
    reap,
    seen,
    stopped,
)

pytestmark = pytest.mark.usefixtures("steps", "empty_regions", "policy_stays")

NODES = (4, 5)
SYSTEM = Path("/sys/devices/system")
POLICY = SYSTEM / "memory" / "auto_online_blocks"
# By the kernel's policy for new memory: a zone that this policy would not choose.
POLICIES = {"offline": "normal", "online": "movable", "online_kernel": "movable", "online_movable": "normal"}
KEPT = Path("/run/hybridmem/root/node/auto_online_blocks")  # has the original policy while a command has changed it
LOCK = Path("/run/hybridmem/root/node/namespace.lock")
# The kernel's names of zones.
NAMES = {"movable": "Movable", "normal": "Normal"}


def zones(node):
    return set(slurm.zones_of(node))


def with_memory():
    """Which of the two nodes have memory."""
    return [node for node in NODES if zones(node)]


def devices():
    return json.loads(slurm.run(f"{PROGRAM} ram list --json").stdout)["devices"]


def online(status=0, **options):
    return namespace("ram online", status=status, **options)


def offline(status=0, **options):
    return namespace("ram offline", status=status, **options)


def blocks(node):
    return sorted((SYSTEM / "node" / f"node{node}").glob("memory[0-9]*"))


@pytest.fixture
def policy_stays():
    """Checks after a test that no command has left a saved policy for new memory. The policy is put back for the next
    test in any case."""
    slurm.drop_caches()  # where the other nodes are full, daemons would allocate on these nodes
    before = POLICY.read_text()
    yield
    is_kept = KEPT.exists()
    KEPT.unlink(missing_ok=True)
    POLICY.write_text(before)
    assert not is_kept


@contextlib.contextmanager
def devdax(*regions, mib=None):
    """Make a devdax namespace in each region, and get the devices' names. Destroy the namespaces afterwards, even where
    they are memory."""
    size = ["-s", f"{mib}M"] if mib else []
    made = [ndctl("create-namespace", "-m", "devdax", "-r", region, *size) for region in regions]
    try:
        yield [one["daxregion"]["devices"][0]["chardev"] for one in made]
    finally:
        for one in made:
            device = one["daxregion"]["devices"][0]["chardev"]
            slurm.run(f"daxctl reconfigure-device -f -m devdax {device}", check=False)
            slurm.run(f"ndctl destroy-namespace -f {one['dev']}")
    assert with_memory() == []


@contextlib.contextmanager
def living_on(node, mib=96):
    """Run a process with this much memory on the node, and end it afterwards."""
    folder = slurm.folder_of("alice")
    words = ["numactl", "-m", str(node), "occupy", str(mib), folder / "ready", folder / "go"]
    process = subprocess.Popen(list(map(str, words)))
    try:
        slurm.wait_for(lambda: (folder / "ready").exists() or process.poll() is not None, "the process to have memory")
        assert process.poll() is None
        yield process
        assert process.poll() is None
    finally:
        (folder / "go").touch()
        process.wait(slurm.PATIENCE)


def test_there_and_back_in_both_zones():
    with devdax(*REGIONS) as names:
        for zone in NAMES:
            text = online(zone=zone).stdout
            assert [line.split(":")[0] for line in text.splitlines()] == names
            assert all(f"online in zone {zone} on node" in line for line in text.splitlines())
            assert with_memory() == list(NODES)
            assert [zones(node) for node in NODES] == [{NAMES[zone]}] * 2
            shown = devices()
            assert [(one["mode"], one["zone"], one["node"], one["socket"]) for one in shown] == [
                ("ram", zone, 4, 0),
                ("ram", zone, 5, 1),
            ]
            assert all(MIB * 1024 <= one["online_bytes"] <= one["bytes"] for one in shown)
            tiers = json.loads(slurm.run("hybridmem tiers --json").stdout)["tiers"]
            assert set(NODES) <= {node for tier in tiers for node in tier["nodes"]}
            with LOCK.open("a") as lock:  # where all is online, the command waits for no lock
                fcntl.flock(lock, fcntl.LOCK_EX)
                assert "already online" in online(zone=zone, patience=0).stdout
            assert "online in zone" in namespace("ram list").stdout
            assert offline().stdout == "".join(f"{name}: offline, a device again\n" for name in names)
            assert with_memory() == []
            assert [(one["mode"], one["zone"]) for one in devices()] == [("devdax", None)] * 2
            assert "already offline" in offline().stdout
            tiers = json.loads(slurm.run("hybridmem tiers --json").stdout)["tiers"]
            assert not set(NODES) & {node for tier in tiers for node in tier["nodes"]}


def test_one_socket():
    with devdax(*REGIONS, mib=320) as (_, second):
        online(sockets="1")
        assert with_memory() == [5]
        assert offline(sockets="0").stdout == "dax0.0: already offline\n"
        assert with_memory() == [5]
        assert offline(sockets="1").stdout == f"{second}: offline, a device again\n"
        assert "socket 2 has no devdax namespace" in online(status=1, sockets="0,2").stderr
        assert with_memory() == []


def test_the_zone_is_right_under_each_policy_for_new_memory():
    """Each of the kernel's policies for new memory is tried with the zone that it would not choose."""
    with devdax("region0", mib=320):
        for policy, zone in POLICIES.items():
            POLICY.write_text(policy)
            online(zone=zone)
            assert (policy, zones(4)) == (policy, {NAMES[zone]})
            assert POLICY.read_text().strip() == policy
            offline()
            assert with_memory() == []


def test_what_others_brought_online_in_another_zone_is_redone():
    with devdax("region0", mib=768) as (name,):
        slurm.run(f"daxctl reconfigure-device -m system-ram --no-movable {name}")
        assert zones(4) == {"Normal"}
        assert f"{name}: online in zone movable on node 4" in online().stdout
        assert zones(4) == {"Movable"}
        assert "(was in zone movable)" in online(zone="normal").stdout
        assert zones(4) == {"Normal"}
        for block in blocks(4)[:3]:
            (block / "state").write_text("offline")
        (blocks(4)[0] / "state").write_text("online_movable")
        assert devices()[0]["zone"] == "mixed"
        assert "(was in zone mixed)" in online().stdout
        for block in blocks(4)[3:]:
            (block / "state").write_text("offline")
        online()
        assert {(block / "state").read_text() for block in blocks(4)} == {"online\n"}
        POLICY.write_text("online_kernel")
        offline()
        slurm.run(f"daxctl reconfigure-device -f -N -m system-ram {name}")
        assert zones(4) == {"Normal"}
        assert "(was in zone normal)" in online().stdout
        assert zones(4) == {"Movable"}


def test_the_policy_that_a_killed_command_saved_is_put_back():
    """The policy that a killed command has saved is put back by the next `ram offline` or reap, but not while another
    command is at work."""
    for back in (offline, reap, lambda: slurm.run("hybridmem reap")):
        POLICY.write_text("offline")
        KEPT.write_text("online_movable")
        with LOCK.open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert slurm.run("hybridmem reap").stderr == ""
            assert (POLICY.read_text(), KEPT.exists()) == ("offline\n", True)
        back()
        assert (POLICY.read_text(), KEPT.exists()) == ("online_movable\n", False)


def test_killed_at_each_step():
    """The next command finishes what a killed one began, and the policy for new memory is what it was before."""
    POLICY.write_text("online")
    with devdax("region0", mib=320):
        for _, steps in killed_before_each_step("ram", "online", least=6):
            online()
            assert (zones(4), POLICY.read_text(), KEPT.exists()) == ({"Movable"}, "online\n", False), steps
            offline()
            assert with_memory() == []
        assert zones(4) == {"Movable"}
        for _, steps in killed_before_each_step("ram", "offline", least=4):
            offline()
            assert (with_memory(), devices()[0]["mode"]) == ([], "devdax"), steps
            online()
        assert with_memory() == []


def test_nothing_is_taken_from_a_living_process():
    """This is tested in zone movable. In zone normal, what the kernel has allocated for a process that was bound there
    may stay after its end."""
    with devdax(*REGIONS, mib=512):
        online()
        with living_on(5) as process:
            said = offline(status=3, patience=1).stderr
            assert f"process {process.pid} (occupy) has 9" in said and "MiB on node 4-5" in said
            assert with_memory() == list(NODES), "neither node is touched"
            said = online(status=3, zone="normal", patience=1).stderr
            assert f"dax1.0: process {process.pid} (occupy) has 9" in said and "dax0.0" not in said
            assert (zones(4), zones(5)) == ({"Normal"}, {"Movable"})
            offline(sockets="0")
            pages = Path(f"/proc/{process.pid}/numa_maps").read_text()
            assert " N5=" in pages and " N4=" not in pages
        offline()


@contextlib.contextmanager
def bound(option):
    """Run a process with a memory policy for node 4."""
    script = "import time; print(1, flush=True); time.sleep(1000)"
    process = subprocess.Popen(["numactl", option, "4", "python3", "-c", script], stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        yield process.pid
    finally:
        process.kill()
        process.communicate()


def test_a_process_that_is_bound_there_without_a_page_is_named():
    with devdax("region0", mib=320):
        online()
        with bound("-p") as pid:
            slurm.run(f"migratepages {pid} 4 0")
            assert f"process {pid} (python3) has " in offline(status=3).stderr
            assert with_memory() == [4]
        offline()


def test_a_process_that_comes_while_the_node_is_emptied_keeps_it():
    """The command has seen that no process uses the node, and is stopped when `left` blocks are still online. When the
    last block goes offline, the kernel rebinds policies for the node to other nodes, except preferred ones."""
    log = Path("/tmp/steps.log")
    with devdax("region0", mib=512) as (name,):
        online()
        log.unlink(missing_ok=True)
        offline(env={"LD_PRELOAD": STEPS, "STEPS_LOG": str(log)})
        steps = log.read_text().splitlines()
        at_blocks = [number for number, step in enumerate(steps, 1) if step.endswith("/state")]
        for option, policy, left in (("-m", "bind", 2), ("-i", "interleave", 2), ("-p", "prefer", 1)):
            online()
            words = ("ram", "offline", "--patience=10")
            with stopped(at_blocks[-left], *words, stderr=subprocess.PIPE) as taking:
                assert sum((block / "state").read_text() == "online\n" for block in blocks(4)) == left
                with bound(option) as pid:
                    taking.send_signal(signal.SIGCONT)
                    said = taking.communicate(timeout=slurm.PATIENCE)[1]
                    assert taking.returncode == 3, said
                    assert f"{name}: process {pid} (python3) has " in said and " node 4" in said
                    states = {(block / "state").read_text() for block in blocks(4)}
                    assert states == {"online\n"} and zones(4) == {"Movable"}
                    assert f"process {pid} (python3)" in offline(status=3).stderr
                    assert f" {policy}:4 " in Path(f"/proc/{pid}/numa_maps").read_text()
            offline()


def test_others_namespaces_are_left_alone():
    raw = ndctl("create-namespace", "-m", "raw", "-s", "64M", "-r", "region0", "-n", "raw")
    try:
        with foreign("mine"), devdax("region0", mib=512):
            create(70, 32, "1")
            before = [found for found in seen() if found["mode"] != "devdax"]
            assert len(before) == 3
            assert "socket 1 has no devdax namespace" in online(status=1, sockets="1").stderr
            online()
            assert [one["region"] for one in devices()] == ["region0"]
            assert [found for found in seen() if found["mode"] != "devdax"] == before
            offline()
            assert [found for found in seen() if found["mode"] != "devdax"] == before
            assert [one["job"] for one in ours()] == [70]
            destroy(70)
    finally:
        slurm.run(f"ndctl destroy-namespace -f {raw['dev']}")


def test_a_device_that_is_open_or_too_small():
    with devdax("region0", mib=320) as (name,):
        with Path(f"/dev/{name}").open("rb"):
            assert f"{name}: it is open in {os.getpid()} (" in online(status=3).stderr
        assert devices()[0]["mode"] == "devdax"
        online()
        offline()
    with devdax("region0", mib=96) as (name,):
        assert "have no whole memory block of 128.0 MiB" in online(status=1).stderr
        assert devices()[0]["mode"] == "devdax"


def test_without_the_module():
    with devdax("region0", mib=320) as (name,):
        with module_missing("kmem", "kmem"):
            assert online(status=1).stderr == (
                f"hybridmem namespace: {name}: the kernel module kmem is not loaded, and cannot be\n"
            )
            assert devices()[0]["mode"] == "devdax"
        online()
        assert with_memory() == [4]
        offline()


def job(mode):
    """Run a job in this mode. Returns its record, and its Mems_allowed as the job prints it."""
    job_id = slurm.sbatch("alice", "srun grep Mems_allowed_list /proc/self/status", f"--hybrid-mem={mode}")
    slurm.wait_job(job_id)
    return slurm.record(job_id), slurm.output(job_id).split()[-1]


def test_the_prolog_brings_online_what_a_job_asks_for():
    """This is tested in zone movable: in zone normal the kernel would keep memory for the job's page tables and
    files."""
    with devdax(*REGIONS, mib=320), slurm.configured("ram = movable\n"):
        record, allowed = job("interleave")
        assert (record["warnings"], record["exit_code"]) == ([], 0)
        assert [zones(node) for node in NODES] == [{"Movable"}] * 2, "also after the epilog"
        assert "5" in allowed, "the job's step can have memory there"
        tiers = [set(tier["nodes"]) for tier in json.loads(slurm.run("hybridmem tiers --json").stdout)["tiers"]]
        assert set(NODES) <= set().union(*tiers)
        assert set(record["plan"]["nodes"]) == tiers[0] | tiers[-1]


def test_what_the_prolog_cannot_bring_online_is_a_warning():
    missing = "the kernel module kmem is not loaded, and cannot be"
    with devdax("region0", mib=320) as (name,), slurm.configured("ram = movable\n"), module_missing("kmem", "kmem"):
        said = slurm.run("hybridmem namespace check", check=False)
        assert said.returncode == 1 and "error module: kmem is not loaded, and this kernel" in said.stdout
        record, _ = job("slow")
        assert record["exit_code"] == 0
        assert record["warnings"] == [f"slow memory was not brought online: {name}: {missing}"]
