# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem-namespace on the guest's two NVDIMMs: what it makes, removes, refuses, and leaves alone."""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import threading
from pathlib import Path

import pytest
import slurm
from migration import name_of
from namespaces import (
    MARKER,
    MIB,
    PROGRAM,
    REGIONS,
    STEPS,
    count_markers,
    create,
    destroy,
    foreign,
    killed_before_each_step,
    mark_all_over,
    mounted,
    namespace,
    ndctl,
    ours,
    raw_device,
    reap,
    room,
    seen,
    stopped,
)

pytestmark = pytest.mark.usefixtures("steps", "empty_regions")

ALICE = 1001


def test_a_job_gets_a_file_system_on_each_socket():
    made = create(12, 200, "0,1")
    listed = {found["uuid"]: found for found in ndctl("list", "-N")}
    for socket, one in enumerate(made):
        assert one["socket"] == socket and one["region"] == REGIONS[socket] and one["fs"] == "ext4"
        assert one["name"] == f"hybridmem:testbed:12.0.{socket}"
        assert one["bytes"] == 112 * MIB, "half of the size, rounded up to a multiple of 16 MiB"
        assert 0.9 * one["bytes"] < one["usable_bytes"] < one["bytes"]
        by_ndctl = next(found for found in ndctl("list", "-N") if found.get("name") == one["name"])
        assert by_ndctl["mode"] == "fsdax" and by_ndctl["map"] == "mem"
        assert one["device"] == f"/dev/{by_ndctl['blockdev']}"
        with mounted(one["device"]) as options:
            assert "dax=always" in options or "dax" in options
            root = Path("/mnt").stat()
            assert (root.st_uid, root.st_mode & 0o7777) == (ALICE, 0o700)
    assert len(listed) == 2
    assert {one["name"] for one in ours()} == {one["name"] for one in made}
    text = namespace("list").stdout
    assert all(one["name"] in text and one["device"] in text for one in made)
    destroy(12)
    assert seen() == []


@pytest.mark.parametrize(("where", "sockets"), [("all", [0, 1]), ("local", [1]), ("remote", [0])])
def test_sockets_by_a_word(where, sockets):
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {1})  # the CPU of socket 1
    try:
        made = create(51, 128, sockets=where)
    finally:
        os.sched_setaffinity(0, before)
    assert sorted(one["socket"] for one in made) == sockets
    assert {one["bytes"] for one in made} == {128 * MIB // len(sockets)}
    destroy(51)


def test_xfs_and_the_map_in_pmem():
    (made,) = create(13, 512, "1", fs="xfs", map="pmem")
    (by_ndctl,) = ndctl("list", "-N")
    assert by_ndctl["map"] == "dev"
    with mounted(made["device"]):
        assert "/mnt xfs" in Path("/proc/mounts").read_text()


def test_a_job_has_its_namespaces_once():
    create(14, 32)
    done = create(14, 32, "1", status=1)
    assert "job 14.0 has hybridmem:testbed:14.0.0 already" in done.stderr
    create(14, 32, "1", restart=1)
    destroy(14)
    assert [one["name"] for one in ours()] == ["hybridmem:testbed:14.1.1"]


def test_reap_removes_what_no_living_job_owns_and_nothing_else(tmp_path):
    with foreign("mine"), foreign("hybridmem:testbed:15.0.1"):
        for job in (15, 16, 17):
            create(job, 32, "0,1")
        create(16, 32, "0", restart=1)
        reap("16.0,17.0", cluster="elsewhere")
        assert len(ours()) == 7
        reap("16.0,17.0")
        assert {one["name"] for one in ours()} == {f"hybridmem:testbed:{job}.0.{s}" for job in (16, 17) for s in (0, 1)}
        living = Path("/run/hybridmem/living")
        living.write_text("16.0\n")
        reap(living)
        assert {one["job"] for one in ours()} == {16}
        namespace("reap", status=1, living="16.0,17")
        assert {one["job"] for one in ours()} == {16}, "a list that is wrong removes nothing"
        living.unlink()
        namespace("reap", status=1, living=living)
        assert {one["job"] for one in ours()} == {16}
        reap()


def test_udevs_rule_is_for_our_devices_alone():
    """What a user writes to their file system must not make its device a disk of the host (the rule's comment). No udev
    runs in the guest, so the rule's condition is tried by hand."""
    (condition,) = re.findall(r'PROGRAM=="(.*)"', Path("/usr/lib/udev/rules.d/60-hybridmem.rules").read_text())

    def holds_for(device):
        command = condition.replace("%k", Path(device).name).replace("$$", "$")
        return subprocess.run(["sh", "-c", command], stderr=subprocess.DEVNULL, check=False).returncode == 0

    with foreign("mine") as others:
        (made,) = create(19, 32, "0")
        assert holds_for(made["device"]) and not holds_for(others["blockdev"])
        destroy(19)


def test_what_a_node_crash_leaves_is_reaped():
    """The kernel reads the labels again, as it does at boot."""
    with foreign("mine"):
        made = create(18, 64, "0")
        slurm.run("ndctl disable-region all && ndctl enable-region all")
        assert [one["name"] for one in ours()] == [made[0]["name"]]
        reap()
        assert [found["name"] for found in seen()] == ["mine"]


def test_a_mounted_namespace_is_waited_for_and_named():
    (made,) = create(30, 64)
    with mounted(made["device"]):
        done = destroy(30, status=3, patience=1)
        assert f"{made['name']} is still in use after 1 s: {made['device']}" in done.stderr
        assert "1 (testbed-init)" in done.stderr
        assert ours() == [{**made, "fs": None}]
        waiting = subprocess.Popen([PROGRAM, "destroy", "--job=30", "--restart=0", "--patience=200"])
    assert waiting.wait(slurm.PATIENCE) == 0
    assert ours() == []


@contextlib.contextmanager
def in_a_namespace(device, program):
    """Run a process in a mount namespace of its own, with a mount of the device that is seen only there. The program
    prints "ready" and then executes sleep."""
    command = f"mount {device} /mnt && cd / && exec {program}"
    process = subprocess.Popen(["unshare", "-m", "sh", "-c", command], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        slurm.wait_for(lambda: name_of(process.pid) == "sleep", "the process to have its name")
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_mount_that_only_a_process_that_got_away_sees_is_detached():
    (made,) = create(32, 64)
    with in_a_namespace(made["device"], "sh -c 'echo ready; exec sleep 1000'") as process:
        said = destroy(32, status=3, patience=0).stderr
        assert f"{made['name']} is still in use" in said and f" {process.pid} (sleep)" in said
        assert len(ours()) == 1, "without --detach nothing is detached"
        destroy(32, patience=5, detach=0)
        assert ours() == [] and process.poll() is None


def test_a_file_open_in_a_mount_namespace_keeps_its_file_system_and_the_hosts_mount_stays():
    (made,) = create(33, 64)
    with (
        mounted(made["device"]),
        in_a_namespace(made["device"], "sh -c 'exec 9> /mnt/file; echo ready; exec sleep 1000'") as process,
    ):
        said = destroy(33, status=3, patience=1, detach=0).stderr
        assert f"{made['name']} is still in use" in said
        seen = Path(f"/proc/{process.pid}/mountinfo").read_text()
        assert made["device"] not in seen and Path("/mnt/file").exists()
    with in_a_namespace(made["device"], "sh -c 'exec 9> /mnt/file; echo ready; exec sleep 1000'") as process:
        said = destroy(33, status=3, patience=1, detach=0).stderr
        assert f"{made['name']} is still in use" in said and f" {process.pid} (sleep)" in said
        assert len(ours()) == 1
    destroy(33)
    assert ours() == []


def test_a_device_that_others_have_open_is_waited_for_and_named():
    (made,) = create(31, 64)
    with Path(made["device"]).open("rb"), mounted(made["device"]):
        said = destroy(31, status=3, patience=0).stderr
        assert f" {os.getpid()} (" in said
    destroy(31)


def test_one_at_a_time_and_a_dead_one_holds_nothing():
    done = []
    patient = {"patience": slurm.PATIENCE}
    threads = [
        threading.Thread(target=lambda job=job: done.append(create(job, 32, "0,1", **patient))) for job in range(40, 44)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    devices = [one["device"] for made in done for one in made]
    assert len(devices) == len(set(devices)) == 8
    with stopped(1, "reap", "--living=40.0") as first:
        second = subprocess.Popen([PROGRAM, "destroy", "--job=40", "--restart=0", f"--patience={slurm.PATIENCE}"])
        said = destroy(41, status=3, patience=1).stderr
        what = f"process {first.pid}: it still has /run/hybridmem/root/node/namespace.lock after 1 s"
        assert f"another hybridmem-namespace is at work, {what}" in said
        assert second.poll() is None
    assert (first.returncode, second.wait(slurm.PATIENCE)) == (-signal.SIGKILL, 0)
    assert {one["job"] for one in ours()} == {41, 42, 43}


@contextlib.contextmanager
def stopped_before_mkfs(job, mib, place):
    """Stop a create when the namespace has mode fsdax, but no file system yet. After the block, the create has to end
    well."""
    given = f"create --job={job} --restart=0 --uid={ALICE} --size={mib}M --sockets=0 --cluster=testbed --map={place}"
    with stopped("fork", *given.split(), stdout=subprocess.PIPE) as making:
        (one,) = [one for one in ours() if one["job"] == job]
        yield one
        making.send_signal(signal.SIGCONT)
        text, _ = making.communicate(timeout=slurm.PATIENCE)
        assert making.returncode == 0
        (made,) = json.loads(text)["namespaces"]
        assert {**one, "fs": made["fs"]} == made
        with mounted(one["device"]) as options:
            assert {"dax", "dax=always"} & set(options)


@pytest.mark.parametrize("place", ["dram", "pmem"])
@pytest.mark.parametrize("is_wiped", [True, False])
def test_no_byte_of_one_job_reaches_the_next(is_wiped, place):
    """Markers are searched for before mkfs: on the next job's device, and in the extent around it. With the wipe
    switched off, the same search finds markers, which proves the search."""
    env = {} if is_wiped else {"LD_PRELOAD": STEPS, "STEPS_NO_WIPE": "1"}
    (first,) = create(50, 128, map=place)
    with raw_device(first) as device:
        mark_all_over(device)
        everywhere = count_markers(device)
    mark_all_over(first["device"])
    content = count_markers(first["device"])
    assert everywhere == 128 and 100 < content < everywhere
    destroy(50, env=env)
    with stopped_before_mkfs(51, 128, place) as second:
        assert second["bytes"] == first["bytes"]
        found = count_markers(second["device"])
        with Path(second["device"]).open("rb") as file:
            assert any(file.read(MIB)) != is_wiped, "data before mkfs is the first job's"
        with raw_device(second) as device:
            found_everywhere = count_markers(device)
    if is_wiped:
        assert (found, found_everywhere) == (0, 0)
    else:
        assert found == content < found_everywhere


def all_clean():
    assert ours() == [] and [found["name"] for found in seen()] == ["mine"]


def test_killed_at_each_step_of_create():
    words = ["create", "--job=60", "--restart=0", "--uid=1001", "--size=32M", "--sockets=0,1", "--cluster=testbed"]
    seen_steps = []
    with foreign("mine"):
        before = [room(region) for region in REGIONS]
        for number, steps in killed_before_each_step(*words):
            if [room(region) for region in REGIONS] == before:  # a namespace without a size takes no room
                create(63, 32)
            reap()
            all_clean()
            assert [room(region) for region in REGIONS] == before, (number, steps)
            seen_steps = steps
        destroy(60)
    assert {"fork", "waitpid", "unshare", "mount", "fchown", "fchmod", "umount2"} <= set(seen_steps)
    assert sum(step.endswith("/size") for step in seen_steps) == 2


def test_killed_at_each_step_of_destroy():
    seen_steps = []

    def fill(steps):
        (made,) = create(61, 32)
        assert count_markers(made["device"]) == 0, steps
        with Path(made["device"]).open("r+b") as file:
            file.seek(24 * MIB)
            file.write(MARKER)
            os.fsync(file.fileno())

    with foreign("mine"):
        before = [room(region) for region in REGIONS]
        fill("none yet")
        for number, steps in killed_before_each_step("destroy", "--job=61", "--restart=0"):
            reap()
            all_clean()
            assert [room(region) for region in REGIONS] == before, (number, steps)
            seen_steps = steps
            fill(steps)
        all_clean()
    assert seen_steps[-1].endswith("/size")
    raw = next(at for at, step in enumerate(seen_steps) if step.endswith("/force_raw"))
    assert {"BLKZEROOUT", "fsync"} <= set(seen_steps[:raw]), "a user's RAID or volume must not appear on the raw disk"
    assert {"BLKZEROOUT", "fsync"} <= set(seen_steps[raw:])


def test_forty_cycles_in_mixed_sizes(half_of_the_regions):
    """A create fails only where no gap is large enough."""
    chance = random.Random(4)
    held, refused = [], 0
    for job in range(1000, 1040):
        mib = chance.choice([16, 32, 64, 128, 192, 320])
        socket = chance.randrange(2)
        extent = room(REGIONS[socket])[1]
        if mib * MIB <= extent:
            create(job, mib, str(socket))
            held.append(job)
        else:
            done = create(job, mib, str(socket), status=1)
            assert f"{REGIONS[socket]} on socket {socket} has no extent of" in done.stderr
            refused += 1
        if len(held) > 7 or mib * MIB > extent:
            destroy(held.pop(chance.randrange(len(held))))
    assert 2 <= refused <= 20, "some are refused, others are not"
    for job in held:
        destroy(job)
    assert json.dumps(ours()) == "[]"
