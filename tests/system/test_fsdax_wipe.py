# SPDX-License-Identifier: Apache-2.0
"""fsdax_wipe_limit: an epilog that has no time for the whole wipe, and the unit that goes on behind it."""

import contextlib
from pathlib import Path

import pytest
import slurm
from namespaces import count_markers, ours

UNIT = "hybridmem-wipe.service"
SYSTEMCTL = Path("/usr/bin/systemctl")
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


def test_what_an_epilog_has_no_time_for_the_unit_wipes(tmp_path):
    text = slurm.CONFIG.read_text() + "fsdax_wipe_limit = 1s\n"
    with systemd(tmp_path) as (told, go):
        with slurm.configured(text):
            # At the end of each file system, where a wipe that was cut has not come to.
            fill = (
                "for d in ${HYBRIDMEM_FSDAX_DIRS//:/ }; do while cat p; do :; done > ${d#*=}/f 2> /dev/null; done; true"
            )
            write = f"cd {slurm.folder_of('alice')}; yes '{MARKER.decode()}' | head -c 8M > p; {fill}"
            job_id = slurm.sbatch("alice", write, "-n1", "--hybrid-mem=fsdax,size=2G")
            assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
            slurm.wait_idle()
            assert told.read_text().splitlines()[0] == f"start --no-block {UNIT}"
            record = slurm.record(job_id)
            assert [one["destroy_s"] for one in record["namespaces"]] == [None, None]
            assert any("MiB of /dev/pmem" in line and "wiped after 1 s" in line for line in record["warnings"]), record
            left = ours()
            assert [one["job"] for one in left] == [job_id] * 2 and count_markers(left[1]["device"], MARKER) > 0
            # It is nobody's: neither the room nor a byte of it.
            done = slurm.run("srun -n1 --hybrid-mem=fsdax,size=2G echo began", user="alice", check=False)
            assert done.returncode != 0 and "began" not in done.stdout
            assert "the memory of earlier jobs is still being wiped" in done.stderr, done.stderr
            assert slurm.wait_for(slurm.node_state, "scontrol's answer about the node") != "DRAIN"
        go.touch()
        slurm.wait_for(lambda: not ours(), "the end of the unit's wipe")
    look = "cat ${HYBRIDMEM_FSDAX_DIR}/* 2>&1; echo looked"
    assert "looked" in slurm.run(f"srun -n1 --hybrid-mem=fsdax,size=2G bash -c '{look}'", user="alice").stdout
