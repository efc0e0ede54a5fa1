# SPDX-License-Identifier: Apache-2.0
"""Tests --hybrid-mem=fsdax,size=...,keep: file systems that stay for later jobs of the same user, and for no others."""

import re
import time
from datetime import datetime
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
    job_with_file_systems,
    keep,
    let_it_be_overdue,
    mark_all_over,
    ours,
    room,
)

CONFIG = slurm.TRUST + "fsdax_keep_share = 20%\n"  # some 256 MiB of each region
SIZE = "--hybrid-mem=fsdax,size=128M"
KEEP = f"{SIZE},keep"
ALICE, BOB = 1001, 1002
SMALLEST = 32 * MIB  # smaller extents are left by the alignment of others
PLACES = 'for place in ${HYBRIDMEM_FSDAX_DIRS//:/ }; do echo "${place#*=}"; done'


@pytest.fixture(autouse=True)
def the_site_offers_keep(clean_node):
    before = [room(region) for region in REGIONS]
    with slurm.configured(CONFIG):
        yield
        slurm.wait_idle()
        for uid in {one["uid"] for one in ours()} - {None}:
            destroy_kept(uid, patience=60)
    assert ours() == []
    assert [room(region) for region in REGIONS] == before
    assert "/dev/pmem" not in Path("/proc/mounts").read_text()


def run_job(user, script, *options):
    """Run a job and wait for its end. Returns its number and its output."""
    job_id = slurm.sbatch(user, script, "-n1", *options)
    assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
    return job_id, slurm.output(job_id)


def refused(user, *options):
    """Submit a job that ends before its first instruction. Returns its output, which has one line from hybridmem."""
    job_id = slurm.sbatch(user, "echo began", "-n1", *options)
    assert slurm.wait_job(job_id) == "FAILED"
    said = slurm.output(job_id)
    assert "began" not in said and said.count("hybridmem: ") == 1, said
    return said


def seconds(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def test_the_users_next_job_finds_what_is_kept_and_nobody_else_does(half_of_the_regions):
    """No other job gets the kept file systems while a job has them. Nobody finds a byte of them after their
    removal."""
    begin = time.time() // 60 * 60  # the label has the time in whole minutes
    write = f'{PLACES} | while read place; do echo "left in $place" > $place/file; done; echo $HYBRIDMEM_FSDAX_UNTIL'
    look = f'{PLACES} | xargs -n1 ls; echo "until=$HYBRIDMEM_FSDAX_UNTIL"'
    with job_with_file_systems(write, "-n1", KEEP) as (first, _):
        until = slurm.output(first).strip()
        assert begin <= seconds(until) - 7 * 24 * 3600 <= time.time()
        said = refused("alice", KEEP)
        assert f"your job {first} has what you keep on this node: wait for its end, or submit without" in said
        assert run_job("alice", look, SIZE)[1] == "lost+found\nlost+found\nuntil=\n"
        assert run_job("bob", look, KEEP)[1].startswith("lost+found\nlost+found\nuntil=20")
    kept = of_user(ALICE)
    assert [(one["job"], one["socket"]) for one in kept] == [(None, 0), (None, 1)]
    assert "/dev/pmem" not in Path("/proc/mounts").read_text()
    for one in slurm.record(first)["namespaces"]:
        assert one["name"].startswith("hybridmem:") and f":u{ALICE}." in one["name"]
        assert one["destroy_s"] is None and one["kept_until"] == until.replace("Z", ".000Z")
    check_next_job(first, until)
    assert [one["uuid"] for one in of_user(ALICE)] == [one["uuid"] for one in kept]
    for one in kept:
        mark_all_over(one["device"])
    assert all(count_markers(one["device"]) > 50 for one in kept)
    destroy_kept(ALICE)
    assert {one["uid"] for one in ours()} == {BOB}
    # Take all free space, to the last extent: root finds nothing of alice's in it.
    made = []
    for socket, region in enumerate(REGIONS):
        while room(region)[1] >= SMALLEST:
            made += create(100 + len(made), room(region)[1] >> 20, str(socket))
        assert room(region)[0] < SMALLEST
    assert sum(one["bytes"] for one in made) >= sum(one["bytes"] for one in kept)
    assert [count_markers(one["device"]) for one in made] == [0] * len(made)
    for job in range(100, 100 + len(made)):
        destroy(job)


def of_user(uid):
    return [one for one in by_socket(ours()) if one["uid"] == uid]


def check_next_job(first, until):
    """The user's next job has all files of the first job, and the user still owns them."""
    read = f"cat $HYBRIDMEM_FSDAX_DIR/file; {PLACES} | xargs -n1 ls; id -u; stat -c %u.%a $HYBRIDMEM_FSDAX_DIR"
    job_id, told = run_job("alice", read, f"{SIZE},socket=all,keep")
    files = "(file\nlost.found\n){2}"
    assert re.fullmatch(rf"left in /run/hybridmem/fsdax/{first}/0\n{files}{ALICE}\n{ALICE}.700\n", told), told
    record = slurm.record(job_id)
    assert record["namespaces"][0]["kept_until"] == until.replace("Z", ".000Z")
    assert "kept on this node for your next jobs there until 168 h" in record["plan"]["reason"]


def test_what_is_kept_is_removed_at_its_age_but_not_while_a_job_has_it(steps):
    """The kept file systems were made two minutes ago, when the site kept them for a week. While a job has them, the
    site sets the age to 60 s."""
    kept = by_socket(keep(ALICE, 128, "0,1", env={"LD_PRELOAD": STEPS, "STEPS_CLOCK": "-120"}))
    script = "echo $HYBRIDMEM_FSDAX_UNTIL; echo left > $HYBRIDMEM_FSDAX_DIR/file"
    with slurm.configured(CONFIG):
        with job_with_file_systems(script, "-n1", KEEP) as (job_id, _):
            assert slurm.output(job_id).strip() == kept[0]["kept_until"]
            slurm.put(f"{CONFIG}fsdax_keep_age = 60s\n", slurm.CONFIG)
            slurm.run("hybridmem reap")
            let_it_be_overdue()
            slurm.run("hybridmem reap")
            assert [one["uuid"] for one in by_socket(ours())] == [one["uuid"] for one in kept]
            step = f"srun --jobid={job_id} --overlap bash -c 'cat $HYBRIDMEM_FSDAX_DIR/file'"
            assert slurm.run(step, user="alice").stdout == "left\n"
        slurm.wait_for(lambda: ours() == [], "the wipe by the job's own epilog")


def test_what_does_not_fit_is_refused_and_what_is_there_stays():
    """The limits are: what the user keeps there already, the share for all users, the user's quota, and a site that
    does not offer keep."""
    size = int(Path(f"/sys/bus/nd/devices/{REGIONS[0]}/size").read_text())
    run_job("alice", "echo left > $HYBRIDMEM_FSDAX_DIR/file", KEEP)
    said = refused("alice", "--hybrid-mem=fsdax,size=256M,keep")
    assert f"user {ALICE} keeps 128.0 MiB on sockets 0-1 of this node, from 20" in said
    assert "256.0 MiB on sockets 0-1" in said and "ask for size=128M at most and the same sockets" in said
    said = refused("bob", "--hybrid-mem=fsdax,size=416M,keep")
    assert f"208.0 MiB cannot be kept in region0 on socket 0: all users together may keep {size / 5 / MIB:.1f}" in said
    assert "(fsdax_keep_share), and keep 64.0 MiB" in said
    with slurm.configured(CONFIG + "fsdax_keep_quota = 70M\n"):
        said = refused("bob", "--hybrid-mem=fsdax,size=66M,keep")
        assert f"user {BOB} may keep 70.0 MiB on this node (fsdax_keep_quota) and keeps 0 B: 96.0 MiB more" in said
    with slurm.configured(slurm.TRUST):
        assert "keep is not offered on this node: hybridmem.conf sets no fsdax_keep_share" in refused("alice", KEEP)
        slurm.run("hybridmem reap")
    _, told = run_job("alice", "cat $HYBRIDMEM_FSDAX_DIR/file", "--hybrid-mem=fsdax,size=64M,keep")
    assert told == "left\n"
