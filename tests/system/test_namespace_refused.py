# SPDX-License-Identifier: Apache-2.0
"""Tests what hybridmem-namespace refuses on the guest's two NVDIMMs, and that a refusal leaves nothing behind."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
import slurm
from namespaces import (
    MIB,
    PROGRAM,
    STEPS,
    create,
    destroy,
    module_missing,
    region_without_labels,
    room,
    seen,
    stopped,
)

pytestmark = pytest.mark.usefixtures("steps", "empty_regions")

ALICE = 1001
STEP = 16  # MiB; the regions' alignment


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"mib": 2048}, "region0 on socket 0 has no extent of 2.0 GiB: the largest is 1.2 GiB"),
        ({"mib": 64, "sockets": "0,7"}, "socket 7 has no persistent memory region"),
        ({"mib": 16, "fs": "xfs"}, "mkfs.xfs failed on /dev/pmem"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(words, said):
    assert said in create(20, status=1, **words).stderr
    assert seen() == []


def test_a_full_and_a_fragmented_region():
    third = room("region0")[1] // MIB // 3 // STEP * STEP
    for job in (21, 22, 23):
        create(job, third)
    destroy(22)
    free, extent = room("region0")
    assert third * MIB <= extent < free or extent == third * MIB
    done = create(24, extent // MIB + STEP, status=1)
    assert "the largest is" in done.stderr and "region0" in done.stderr
    create(24, extent // MIB)
    while room("region0")[1]:
        create(100 + room("region0")[1] // MIB, room("region0")[1] // MIB)
    assert "the largest is 0 B, of 0 B free in all" in create(25, STEP, status=1).stderr


def test_half_of_what_was_asked_for_is_undone():
    done = create(26, 96, "0,1", status=1, fs="xfs")  # too small for xfs: mkfs fails on socket 0
    assert "mkfs.xfs" in done.stderr and seen() == []


def test_a_region_without_labels():
    with region_without_labels():
        assert "region1 has no labels and cannot be divided" in create(27, 64, "0,1", status=1).stderr
        assert "region1 has no labels" in namespace_check(1)
        create(27, 64, "0")
        destroy(27)


def test_a_region_of_the_wrong_alignment():
    align = Path("/sys/bus/nd/devices/region0/align")
    before = align.read_text()
    align.write_text("4096")
    try:
        assert "region0 is aligned to 4096 bytes" in create(28, 64, status=1).stderr
    finally:
        align.write_text(before)


def namespace_check(status):
    done = slurm.run(f"{PROGRAM} check", check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def test_missing_tools_and_modules():
    tool = Path(os.path.realpath("/usr/sbin/mkfs.ext4"))
    away = tool.with_name("away")
    tool.rename(away)
    try:
        assert "mkfs.ext4 is missing: install e2fsprogs" in create(29, 64, status=1).stderr
        assert "e2fsprogs" in namespace_check(1)
    finally:
        away.rename(tool)
    with module_missing():
        assert create(29, 64, status=1).stderr == (
            "hybridmem namespace: the kernel module nd_pmem is not loaded, and cannot be\n"
        )
        assert seen() == []
        assert "error module: nd_pmem is not loaded, and this kernel has no such module" in namespace_check(1)
    assert "ok    module: nd_pmem, which is loaded when it is needed" in namespace_check(0)
    create(29, 64)
    assert "ok    module: nd_pmem\n" in namespace_check(0)
    slurm.run("modprobe dax_pmem")


def test_nothing_is_left_where_the_answer_cannot_be_written():
    words = ["--job=32", "--restart=0", f"--uid={ALICE}", "--size=64M", "--sockets=0"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([PROGRAM, "create", *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    said = "hybridmem namespace: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, said)
    assert seen() == []
    reader, writer = os.pipe()
    os.close(reader)
    assert subprocess.run([PROGRAM, "create", *words], stdout=writer, check=False).returncode == 1
    os.close(writer)
    assert seen() == []


def test_a_mount_without_dax_is_refused():
    for fs in ("ext4", "xfs"):
        done = create(33, 512, status=1, fs=fs, env={"LD_PRELOAD": STEPS, "STEPS_NO_DAX": "1"})
        assert "was mounted, but without DAX" in done.stderr
        assert seen() == []


def test_an_administrator_who_takes_the_same_seed_keeps_it():
    """The administrator labels the namespace that create sets up, just before create writes its size."""
    log = Path("/tmp/steps.log")
    log.unlink(missing_ok=True)
    create(34, 64, env={"LD_PRELOAD": STEPS, "STEPS_LOG": str(log)})
    destroy(34)
    steps = log.read_text().splitlines()
    size = 1 + next(at for at, step in enumerate(steps) if step.endswith("/size"))
    words = ["--job=34", "--restart=0", f"--uid={ALICE}", "--size=64M", "--sockets=0", "--cluster=testbed"]
    with stopped(size, "create", *words, stderr=subprocess.PIPE) as creating:
        seed = Path("/sys/bus/nd/devices") / Path("/sys/bus/nd/devices/region0/namespace_seed").read_text().strip()
        (seed / "alt_name").write_text("theirs")
        creating.send_signal(signal.SIGCONT)
        said = creating.communicate(timeout=slurm.PATIENCE)[1]
    assert creating.returncode == 1 and "another program has set up the same namespace of region0" in said
    (theirs,) = seen()
    assert theirs["name"] == "theirs"
    slurm.run(f"ndctl destroy-namespace -f {theirs['dev']}")
