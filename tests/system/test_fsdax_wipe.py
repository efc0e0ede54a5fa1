# SPDX-License-Identifier: Apache-2.0
"""fsdax_wipe_limit: an epilog that has no time for the whole wipe, and the unit that goes on behind it."""

import contextlib
import fcntl
import os
import signal
import time
from pathlib import Path

import pytest
import slurm
from namespaces import count_markers, ours

UNIT = "hybridmem-wipe.service"
SYSTEMCTL = Path("/usr/bin/systemctl")
LIMIT_S = 3
MARKER = b"what alice wrote into her file system"


@pytest.fixture(autouse=True)
def nothing_is_left(clean_node):
    yield
    slurm.wait_idle()
    slurm.run("hybridmem reap")
    assert ours() == []


def first_line_of_unit():
    (unit,) = Path("/").glob(f"usr/**/systemd/system/{UNIT}")
    return next(line for line in unit.read_text().splitlines() if line.startswith("ExecStart="))


@contextlib.contextmanager
def systemd(folder):
    """No systemd runs in the guest: this starts what the unit has, once the test says `go`. Yields (told, go)."""
    told, go, program = folder / "told", folder / "go", folder / "systemctl"
    command = first_line_of_unit().removeprefix("ExecStart=")
    program.write_text(
        f'#!/bin/sh\necho "$@" >> {told}\nmkdir {folder}/active 2> /dev/null || exit 0\n'
        f"{{ until [ -e {go} ]; do sleep 0.1; done; {command}; rmdir {folder}/active; }} > /dev/null 2>&1 &\n"
    )
    program.chmod(0o755)
    is_there = SYSTEMCTL.exists()
    if not is_there:
        SYSTEMCTL.touch()
    slurm.run(f"mount --bind {program} {SYSTEMCTL}")
    try:
        yield told, go
    finally:
        go.touch()
        slurm.wait_for(lambda: not (folder / "active").exists(), "the unit's end")
        slurm.run(f"umount {SYSTEMCTL}")
        if not is_there:
            SYSTEMCTL.unlink()


def wipe_of(job_id):
    """The process that destroys the job's namespaces; by /proc itself, as it may not live for long."""
    words = [b"destroy", b"--job", str(job_id).encode()]
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it ended
            command = path.read_bytes().split(b"\0")
            if command[0] == b"hybridmem-namespace" and all(word in command for word in words):
                return int(path.parent.name)
    return None


def stop_the_wipe(job_id):
    """The epilog's wipe stands still until its time is over."""
    pid = slurm.wait_for(lambda: wipe_of(job_id), "the epilog's wipe", every=0)
    os.kill(pid, signal.SIGSTOP)
    since = time.monotonic()
    slurm.wait_for(lambda: time.monotonic() > since + LIMIT_S + 1, "the limit to pass")
    os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def another_at_work():
    """As the unit is while it wipes."""
    with Path("/run/hybridmem/fsdax/lock").open("r") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_what_an_epilog_has_no_time_for_the_unit_wipes(tmp_path):
    text = slurm.CONFIG.read_text() + f"fsdax_wipe_limit = {LIMIT_S}s\n"
    with systemd(tmp_path) as (told, go):
        with slurm.configured(text):
            # Up to the end of each file system, where a wipe that was cut has not come to.
            fill = "for d in ${HYBRIDMEM_FSDAX_DIRS//:/ }; do while cat p; do :; done > ${d#*=}/f 2> full; done; true"
            write = f"cd {slurm.folder_of('alice')}; yes '{MARKER.decode()}' | head -c 8M > p; {fill}"
            job_id = slurm.sbatch("alice", write, "-n1", "--hybrid-mem=fsdax,size=2G")
            stop_the_wipe(job_id)
            assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
            slurm.wait_idle()
            assert told.read_text().splitlines()[0] == f"start --no-block {UNIT}"
            record = slurm.record(job_id)
            assert [one["destroy_s"] for one in record["namespaces"]] == [None, None]
            said = f"wiped after {LIMIT_S} s"
            assert any("MiB of /dev/pmem" in line and said in line for line in record["warnings"]), record["warnings"]
            left = ours()
            assert {one["job"] for one in left} == {job_id} and count_markers(left[-1]["device"], MARKER) > 0
            # It is nobody's, and a job that finds it so is not the node's fault.
            with another_at_work():
                done = slurm.run("srun -n1 --hybrid-mem=fsdax,size=2G echo began", user="alice", check=False)
            assert done.returncode != 0 and "began" not in done.stdout
            assert "the memory of earlier jobs is still being wiped" in done.stderr, done.stderr
            assert "DRAIN" not in slurm.wait_for(slurm.node_state, "scontrol's answer about the node")
        go.touch()
        slurm.wait_for(lambda: not ours(), "the end of the unit's wipe")
    done = slurm.run("srun -n1 --hybrid-mem=fsdax,size=2G bash -c 'ls -A $HYBRIDMEM_FSDAX_DIR'", user="alice")
    assert done.stdout in ("", "lost+found\n")
