# SPDX-License-Identifier: Apache-2.0
"""--hybrid-mem=fsdax,size=...,keep: file systems that stay for the same user's next jobs, and for nobody else."""

import contextlib
import re
import time
from datetime import datetime
from pathlib import Path

import pytest
import slurm
from namespaces import REGIONS, by_socket, count_markers, create, destroy, destroy_kept, mark_all_over, ours, room

CONFIG = "fsdax_keep_share = 20%\n"  # some 256 MiB of each region
SIZE = "--hybrid-mem=fsdax,size=128M"
KEEP = f"{SIZE},keep"
ALICE, BOB = 1001, 1002
PLACES = 'for place in ${HYBRIDMEM_FSDAX_DIRS//:/ }; do echo "${place#*=}"; done'


@pytest.fixture(autouse=True)
def the_site_offers_it(clean_node):
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
    """Its output; what the job has made or kept is where its end has left it."""
    job_id = slurm.sbatch(user, script, "-n1", *options)
    state = slurm.wait_job(job_id)
    assert state == "COMPLETED", slurm.output(job_id)
    slurm.wait_idle()
    return job_id, slurm.output(job_id)


def refused(user, *options):
    """The one line of a job that ends before its first instruction; the node stays."""
    job_id = slurm.sbatch(user, "echo began", "-n1", *options)
    assert slurm.wait_job(job_id) == "FAILED"
    said = slurm.output(job_id)
    assert "began" not in said and said.count("hybridmem: ") == 1, said
    slurm.wait_idle()
    return said


def seconds(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


@contextlib.contextmanager
def running(user, script, *options):
    """A job that runs `script`, and then until the block ends."""
    folder = slurm.folder_of(user)
    job_id = slurm.sbatch(
        user, f"{script}\ntouch {folder}/ready; until [ -e {folder}/go ]; do sleep 0.2; done", "-n1", *options
    )
    try:
        slurm.wait_for(lambda: (folder / "ready").exists() or slurm.end_of(job_id), f"job {job_id} at work")
        assert (folder / "ready").exists(), slurm.output(job_id)
        yield job_id
    finally:
        (folder / "go").touch()
        slurm.wait_job(job_id)


@pytest.mark.main
def test_the_next_job_of_the_user_finds_what_the_first_has_left():
    before = time.time() // 60 * 60
    write = f'{PLACES} | while read place; do echo "left in $place" > $place/file; done; echo $HYBRIDMEM_FSDAX_UNTIL'
    first, told = run_job("alice", write, KEEP)
    kept = by_socket(ours())
    assert [(one["uid"], one["job"], one["socket"]) for one in kept] == [(ALICE, None, 0), (ALICE, None, 1)]
    assert "/dev/pmem" not in Path("/proc/mounts").read_text()
    until = told.strip()
    assert before <= seconds(until) - 7 * 24 * 3600 <= time.time()  # it is made in whole minutes
    for one in slurm.record(first)["namespaces"]:
        assert one["name"].startswith("hybridmem:") and f":u{ALICE}." in one["name"]
        assert one["destroy_s"] is None and one["kept_until"] == until.replace("Z", ".000Z")
    read = f"cat $HYBRIDMEM_FSDAX_DIR/file; {PLACES} | xargs -n1 ls; id -u; stat -c %u.%a $HYBRIDMEM_FSDAX_DIR"
    second, told = run_job("alice", read, f"{SIZE},socket=all,keep")
    assert re.fullmatch(
        rf"left in /run/hybridmem/fsdax/{first}/0\n(file\nlost.found\n){{2}}{ALICE}\n{ALICE}.700\n", told
    ), told
    assert [one["uuid"] for one in by_socket(ours())] == [one["uuid"] for one in kept]
    assert slurm.record(second)["namespaces"][0]["kept_until"] == until.replace("Z", ".000Z")
    assert "kept on this node for your next jobs there until 168 h" in slurm.record(second)["plan"]["reason"]


def test_nobody_else_has_it_and_no_byte_of_it_when_it_is_gone():
    run_job("alice", "echo secret > $HYBRIDMEM_FSDAX_DIR/file", KEEP)
    hers = ours()
    for one in hers:
        mark_all_over(one["device"])
    assert all(count_markers(one["device"]) > 50 for one in hers)
    look = f'{PLACES} | xargs -n1 ls; echo "until=$HYBRIDMEM_FSDAX_UNTIL"'
    _, own = run_job("alice", look, SIZE)
    assert own == "lost+found\nlost+found\nuntil=\n"
    _, his = run_job("bob", look, KEEP)
    assert his.startswith("lost+found\nlost+found\nuntil=20")
    assert {one["uid"] for one in ours()} == {ALICE, BOB}
    assert not any(count_markers(one["device"]) for one in ours() if one["uid"] == BOB)
    destroy_kept(ALICE)
    assert {one["uid"] for one in ours()} == {BOB}
    # All that is free, to the last extent: root finds nothing of hers in it.
    made = [create(100 + socket, room(REGIONS[socket])[1] >> 20, str(socket))[0] for socket in (0, 1)]
    assert [count_markers(one["device"]) for one in made] == [0, 0]
    destroy(100)
    destroy(101)


def test_one_job_at_a_time_has_it():
    with running("alice", "echo first > $HYBRIDMEM_FSDAX_DIR/file", KEEP) as first:
        second = slurm.sbatch("alice", "echo began", "-n1", KEEP)
        assert slurm.wait_job(second) == "FAILED"
        said = slurm.output(second)
        assert "began" not in said
        assert f"your job {first} has what you keep on this node: wait for its end, or leave keep out" in said
        own = slurm.sbatch("alice", "ls $HYBRIDMEM_FSDAX_DIR", "-n1", SIZE)
        other = slurm.sbatch("bob", "ls $HYBRIDMEM_FSDAX_DIR", "-n1", KEEP)
        for job_id in (own, other):
            assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
            assert slurm.output(job_id) == "lost+found\n"
    slurm.wait_idle()
    _, told = run_job("alice", "cat $HYBRIDMEM_FSDAX_DIR/file", KEEP)
    assert told == "first\n"


def test_it_goes_with_its_age_but_not_under_a_job_that_has_it():
    with slurm.configured("fsdax_keep_share = 20%\nfsdax_keep_age = 60s\n"):
        with running("alice", "echo $HYBRIDMEM_FSDAX_UNTIL; echo left > $HYBRIDMEM_FSDAX_DIR/file", KEEP) as job_id:
            until = seconds(slurm.output(job_id).strip())
            slurm.wait_for(lambda: time.time() >= until, "the end of its age")
            slurm.run("hybridmem reap")
            assert [one["uid"] for one in ours()] == [ALICE, ALICE]
            step = f"srun --jobid={job_id} --overlap bash -c 'cat $HYBRIDMEM_FSDAX_DIR/file'"
            assert slurm.run(step, user="alice").stdout == "left\n"
        slurm.wait_idle()
        slurm.wait_for(lambda: ours() == [], "the wipe by the job's own epilog")
        _, told = run_job("alice", "ls $HYBRIDMEM_FSDAX_DIR", KEEP)
        assert told == "lost+found\n"


def test_what_does_not_fit_what_is_there_is_refused_and_it_stays():
    run_job("alice", "echo left > $HYBRIDMEM_FSDAX_DIR/file", KEEP)
    for more, wants in (("size=256M", "256.0 MiB on sockets 0-1"), ("size=32M,socket=local", "32.0 MiB on sockets ")):
        said = refused("alice", f"--hybrid-mem=fsdax,{more},keep")
        assert f"user {ALICE} keeps 128.0 MiB on sockets 0-1 of this node, from 20" in said and wants in said
        assert "ask for size=128M at most and the same sockets" in said
    _, told = run_job("alice", "cat $HYBRIDMEM_FSDAX_DIR/file", "--hybrid-mem=fsdax,size=64M,keep")
    assert told == "left\n"


def test_share_and_quota_and_a_site_that_offers_nothing():
    size = int(Path(f"/sys/bus/nd/devices/{REGIONS[0]}/size").read_text())
    all_users = f"all users together may keep {size / 5 / slurm.MIB:.1f} MiB"
    run_job("bob", "true", "--hybrid-mem=fsdax,size=416M,keep")
    said = refused("alice", KEEP)
    assert f"region0 on socket 0 has no room to keep 64.0 MiB: {all_users} of it" in said
    assert "(fsdax_keep_share), and keep 208.0 MiB" in said
    said = refused("alice", "--hybrid-mem=fsdax,size=600M,keep")
    assert "300.0 MiB cannot be kept on socket 0: of its largest region, " in said and all_users in said
    with slurm.configured(CONFIG + "fsdax_keep_quota = 70M\n"):
        assert "128.0 MiB are above what each user may keep on a node, 70.0 MiB" in refused("alice", KEEP)
        assert f"user {ALICE} may keep 70.0 MiB on this node (fsdax_keep_quota) and keeps 0 B: with 96.0 MiB more" in (
            refused("alice", "--hybrid-mem=fsdax,size=66M,keep")
        )
        run_job("alice", "true", "--hybrid-mem=fsdax,size=64M,keep")
    with slurm.configured(""):
        assert "keep is not offered on this node: hybridmem.conf sets no fsdax_keep_share" in refused("alice", KEEP)
        slurm.run("hybridmem reap")
    assert {one["uid"] for one in ours()} == {ALICE, BOB}
