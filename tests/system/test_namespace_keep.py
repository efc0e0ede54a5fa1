# SPDX-License-Identifier: Apache-2.0
"""Tests kept namespaces of hybridmem-namespace on the guest's two NVDIMMs: crashes, damage, age, other clusters."""

import time
from pathlib import Path

import pytest
import slurm
from namespaces import (
    MIB,
    REGIONS,
    STEPS,
    by_socket,
    count_markers,
    create,
    destroy,
    destroy_kept,
    keep,
    killed_before_each_step,
    let_it_be_overdue,
    mark_all_over,
    mounted,
    namespace,
    ours,
    reap,
    room,
    seen,
)

ALICE, BOB = 1001, 1002


@pytest.fixture(autouse=True)
def the_site_offers_keep(steps, empty_regions):
    with slurm.configured(slurm.TRUST + "fsdax_keep_share = 60%\nfsdax_keep_age = 2h\n"):
        yield
        for uid in {one["uid"] for one in ours()} - {None}:
            destroy_kept(uid)


def leave(made, text):
    """Write a file into each of the file systems."""
    for one in made:
        with mounted(one["device"]):
            Path("/mnt/file").write_text(text)


def left(made):
    """The text of the file that leave() writes, the same in each of the file systems; None: there is none."""
    texts = set()
    for one in made:
        with mounted(one["device"]):
            path = Path("/mnt/file")
            texts.add(path.read_text() if path.exists() else None)
    (text,) = texts
    return text


def test_what_is_kept_is_given_again_whatever_file_system_is_asked_for():
    made = keep(ALICE, 640, "0,1", fs="xfs")
    assert [(one["uid"], one["job"], one["restart"], one["fs"]) for one in made] == [(ALICE, None, None, "xfs")] * 2
    with mounted(made[0]["device"]):
        assert (Path("/mnt").stat().st_uid, Path("/mnt").stat().st_mode & 0o7777) == (ALICE, 0o700)
    leave(made, "left")
    again = keep(ALICE, 320, "0,1", fs="ext4", map="pmem")
    assert again == made and left(again) == "left"
    text = namespace("list").stdout
    assert text.count(f"kept by uid {ALICE} until {made[0]['kept_until']}") == 2
    assert by_socket(ours()) == [{**one, "fs": None} for one in made]
    reap()
    reap("7.0,u1002")
    assert len(ours()) == 2
    destroy_kept(ALICE)
    (made,) = keep(ALICE, 64)
    assert "has_journal" in slurm.run(f"dumpe2fs -h {made['device']}").stdout


def test_jobs_users_and_clusters_are_kept_apart():
    made = {
        "job": create(1, 32),
        "alice": keep(ALICE, 32),
        "bob": keep(BOB, 32),
        "elsewhere": keep(ALICE, 32, cluster="other"),
    }
    assert len({one["uuid"] for each in made.values() for one in each}) == 4
    destroy_kept(ALICE, cluster="testbed")
    assert {one["name"].split(".")[0] for one in ours()} == {
        "hybridmem:testbed:1",
        f"hybridmem:testbed:u{BOB}",
        f"hybridmem:other:u{ALICE}",
    }
    destroy(1)
    assert keep(ALICE, 32, cluster="other") == made["elsewhere"]


def test_a_crash_of_the_node_leaves_what_is_kept():
    """The kernel reads the labels again, as it does at boot. A namespace whose device is disabled is found as well."""
    made = keep(ALICE, 128, "0,1")
    leave(made, "left")
    slurm.run("ndctl disable-region all && ndctl enable-region all")
    reap()
    again = keep(ALICE, 128, "0,1")
    assert [one["uuid"] for one in again] == [one["uuid"] for one in made] and left(again) == "left"
    (dev,) = [one["dev"] for one in seen() if one.get("name") == made[1]["name"]]
    slurm.run(f"ndctl disable-namespace {dev}")
    assert [one["device"] for one in ours()].count(None) == 1
    reap()
    assert left(keep(ALICE, 128, "0,1")) == "left"


def test_what_is_damaged_is_left_to_an_administrator():
    (made,) = keep(ALICE, 64)
    before = Path(made["device"]).read_bytes()
    slurm.run(f"dd if=/dev/urandom of={made['device']} bs=64k count=4 oflag=direct")
    damaged = Path(made["device"]).read_bytes()
    said = keep(ALICE, 64, status=1).stderr
    assert f"what user {ALICE} keeps on this node cannot be used: cannot mount {made['device']} (ext4) with DAX" in said
    assert f"it is left alone until {made['kept_until']}" in said
    reap()
    assert Path(made["device"]).read_bytes() == damaged != before
    destroy_kept(ALICE)
    assert left(keep(ALICE, 64)) is None


def test_the_age_is_counted_from_the_minute_in_the_label():
    for age, goes in ((100, False), (121, True)):
        first = int(time.time() // 60) - age
        (made,) = keep(ALICE, 64, env={"LD_PRELOAD": STEPS, "STEPS_CLOCK": str(-60 * age)})
        assert made["name"] in {f"hybridmem:testbed:u{ALICE}.{minute}.0" for minute in (first, first + 1)}
        reap(f"u{ALICE}")
        reap(config="/run/none.conf")  # no configuration says how old it may become
        assert len(ours()) == 1
        reap()
        assert len(ours()) == 1
        let_it_be_overdue()
        reap()
        assert (ours() == []) == goes
        destroy_kept(ALICE)


def test_what_is_in_use_is_named_and_stays():
    (made,) = keep(ALICE, 64)
    leave([made], "left")
    with mounted(made["device"]):
        assert f"{made['name']} is still in use after 0 s" in destroy_kept(ALICE, status=3, patience=0).stderr
    assert left(keep(ALICE, 64)) == "left"


# Most steps are the same as for a job's own file systems, where test_namespace.py kills the program before each step.
# The tests below kill it before every third step only. Near the mark they kill it before each step, as only kept file
# systems have a mark. The mark is written last, at the end of the device, and says that the file system is whole
# (namespace/pmem/mark.h).
FEW = 3
OF_THE_MARK = 6  # how many of the first steps of destroy count as near the mark, which is removed in them


def test_killed_at_steps_of_create_with_keep():
    """Kills at each step from the first mount on, and at every third one before. After each kill, the user's next job
    gets whole file systems. Where reap comes first, it removes what no job was given yet. It leaves what has its mark
    already, and also namespaces without a device, which the user's next job takes over."""
    words = ["create", "--keep", "--job=1", "--restart=0", f"--uid={ALICE}", "--size=32M", "--sockets=0"]
    seen_steps = []

    def stride(steps):
        return 1 if "mount" in steps else FEW

    for number, steps in killed_before_each_step(*words, "--cluster=testbed", least=10, stride=stride):
        if number % 2:
            reap()
            assert all(one["device"] is None for one in ours()) or steps[-1] == "fsync", steps
        made = keep(ALICE, 32)
        assert left(made) is None
        assert len(seen()) == 1
        destroy_kept(ALICE)
        assert seen() == []
        seen_steps = steps
    destroy_kept(ALICE)
    assert {"fork", "waitpid", "mount", "fchown", "fchmod", "umount2", "fsync"} <= set(seen_steps)


def test_killed_at_steps_of_destroying_what_is_kept():
    """From the first step on, the namespace is given to no job any more, and the next job finds no byte of its data."""
    seen_steps = []
    (made,) = keep(ALICE, 32)
    mark_all_over(made["device"])

    def stride(steps):
        return 1 if len(steps) < OF_THE_MARK else FEW

    for _number, steps in killed_before_each_step("destroy", f"--uid={ALICE}", least=10, stride=stride):
        again = keep(ALICE, 32)
        assert count_markers(again[0]["device"]) == 0, steps
        assert left(again) is None
        mark_all_over(again[0]["device"])
        seen_steps = steps
    assert ours() == []
    assert {"fsync", "BLKZEROOUT"} <= set(seen_steps)
    (other,) = keep(BOB, 32)
    assert count_markers(other["device"]) == 0


def test_the_share_of_the_regions():
    extent = room(REGIONS[0])[1]
    size = int(Path(f"/sys/bus/nd/devices/{REGIONS[0]}/size").read_text())
    most = size * 60 // 100 // MIB // 16 * 16
    assert most * MIB < extent
    assert "all users together may keep" in keep(ALICE, most + 16, status=1).stderr
    keep(ALICE, most)
    assert "and keep " in keep(BOB, 16, status=1).stderr
    create(1, 64)  # a job's own namespace, which is not kept, does not count for the share
    keep(BOB, 16, "1")
