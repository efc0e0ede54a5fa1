# SPDX-License-Identifier: Apache-2.0
"""Tests that a user with a kept file system (`keep`) holds up nobody else, if another process of theirs on the node
still uses a page of it. Since Linux 6.15 the kernel does not end a DAX file system while somebody has a page of it:
whoever unmounts it last waits, and cannot be killed."""

import subprocess
import sys
from pathlib import Path

import pytest
import slurm
from namespaces import destroy_kept, ours

pytestmark = pytest.mark.slurm26
CONFIG = "fsdax_keep_share = 20%\n"
SIZE = "--hybrid-mem=fsdax,size=64M"
KEEP = f"{SIZE},keep"
ALICE = 1001

# A task of the job, which puts a page of its file system into a pipe.
PIN = """
import ctypes, mmap, os, time
file = os.open(os.environ["HYBRIDMEM_FSDAX_DIR"] + "/file", os.O_RDWR | os.O_CREAT, 0o600)
os.ftruncate(file, 1 << 20)
seen = mmap.mmap(file, 1 << 20)
seen[:4] = b"left"
read, write = os.pipe()
page = (ctypes.c_size_t * 2)(ctypes.addressof(ctypes.c_char.from_buffer(seen)), 4096)
assert ctypes.CDLL(None).vmsplice(write, page, 1, 0) == 4096
with open("pinned.new", "w") as told:
    told.write(f"/proc/{os.getpid()}/ns/mnt /proc/{os.getpid()}/fd/{read}")
os.rename("pinned.new", "pinned")
while not os.path.exists("go"):
    time.sleep(0.1)
"""
# Another process of the user's holds that pipe, and the mounts of the task.
HOLD = """
import os, sys
held = [os.open(path, os.O_RDONLY | os.O_NONBLOCK) for path in open("pinned").read().split()]
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def the_site_offers_keep(clean_node):
    with slurm.configured(CONFIG):
        yield
        slurm.wait_idle()
        destroy_kept(ALICE, patience=60)
    assert ours() == []


def waiting():
    """Processes that wait for the page: their folders in /proc."""
    found = []
    for path in Path("/proc").glob("[0-9]*/wchan"):
        try:
            if path.read_text() == "dax_break_layout_final":
                found.append(path.parent)
        except OSError:  # it has ended
            continue
    return found


def hold(folder):
    slurm.wait_for((folder / "pinned").exists, "the page in the pipe")
    pipe = subprocess.PIPE
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=pipe, stdout=pipe, text=True, **{**slurm.identity("alice"), "cwd": folder}
    )
    assert holder.stdout.readline() == "held\n"
    return holder


def test_a_file_system_that_cannot_end_holds_up_nobody_else():
    folder = slurm.folder_of("alice")
    (folder / "pin.py").write_text(PIN)
    first = slurm.sbatch("alice", f"cd {folder}; exec python3 pin.py", "-n1", KEEP)
    with hold(folder) as holder:
        (folder / "go").touch()
        assert slurm.wait_job(first) == "COMPLETED"
        held = slurm.wait_for(waiting, "a process that ends the file system")
        assert [(path / "comm").read_text() for path in held] == ["hybridmem-job\n"]
        slurm.wait_idle()
        again = slurm.sbatch("alice", "echo began", "-n1", KEEP)
        assert slurm.wait_job(again) == "FAILED"
        assert f"what user {ALICE} keeps on this node cannot be used yet: cannot mount /dev/pmem" in slurm.output(again)
        other = slurm.sbatch("bob", "ls $HYBRIDMEM_FSDAX_DIR", "-n1", SIZE)
        assert slurm.wait_job(other) == "COMPLETED" and slurm.output(other) == "lost+found\n"
        for job_id in (first, other):
            assert slurm.record(job_id)["warnings"] == []
        assert waiting() == held
        holder.stdin.close()
    slurm.wait_for(lambda: not waiting(), "the end of the file system")
    last = slurm.sbatch("alice", "head -c4 $HYBRIDMEM_FSDAX_DIR/file", "-n1", KEEP)
    assert slurm.wait_job(last) == "COMPLETED" and slurm.output(last) == "left"
    slurm.wait_idle()
    assert [path.name for path in Path("/run/hybridmem/fsdax").iterdir()] == []
