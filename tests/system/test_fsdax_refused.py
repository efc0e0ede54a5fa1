# SPDX-License-Identifier: Apache-2.0
"""Jobs whose file systems cannot be made: one line that says what is wrong, no drain, and the next job runs once it is
mended."""

import contextlib
import os
from pathlib import Path

import pytest
import slurm
from namespaces import (
    MIB,
    check_job_refused,
    epilogs_over,
    foreign,
    module_missing,
    ours,
    region_without_labels,
    room,
)

SIZE = "fsdax,size=64M"
STEP = 16  # MiB; the regions' alignment

pytestmark = pytest.mark.usefixtures("empty_regions")


def check_runs(text):
    """What was refused is had, on both sockets."""
    done = slurm.run(f"srun -n1 --hybrid-mem={text} printenv HYBRIDMEM_FSDAX_DIRS", user="alice")
    assert [word.split("=")[0] for word in done.stdout.strip().split(":")] == ["0", "1"], done.stdout
    slurm.wait_idle()
    assert ours() == []


@contextlib.contextmanager
def region_disabled():
    slurm.run("ndctl disable-region region1")
    try:
        yield
    finally:
        slurm.run("ndctl enable-region region1")


@contextlib.contextmanager
def region_read_only():
    """As the kernel has it where a DIMM's energy store has failed."""
    switch = Path("/sys/bus/nd/devices/region1/read_only")
    switch.write_text("1")
    try:
        yield
    finally:
        switch.write_text("0")


@contextlib.contextmanager
def mkfs_absent():
    """Something lies over it that is no program."""
    program = os.path.realpath("/usr/sbin/mkfs.ext4")
    slurm.run(f"mount --bind /dev/null {program}")
    try:
        yield
    finally:
        slurm.run(f"umount {program}")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (region_without_labels, "region1 has no labels, so that nothing can be cut from it (an administrator's step: "),
        (region_disabled, "region1 is disabled, so that nothing can be made in it (an administrator's step: "),
        (region_read_only, "region1 is read-only, so that nothing can be made in it: its firmware or"),
        (mkfs_absent, "mkfs.ext4 is missing: install e2fsprogs"),
        (module_missing, "the kernel module nd_pmem is not loaded, and cannot be"),
    ],
)
def test_what_is_wrong_is_said_until_it_is_mended(wrong, said):
    """A socket whose region cannot be used is not left out, and its part not asked of the other."""
    with wrong(), epilogs_over():
        check_job_refused(SIZE, said)
        slurm.wait_idle()
        assert ours() == []
    check_runs(SIZE)
    slurm.run("modprobe dax_pmem")  # which went with nd_pmem, and no job brings back


def test_a_socket_that_is_not_asked_for_is_not_in_the_way():
    """The job has the first core, on socket 0."""
    with region_disabled(), epilogs_over():
        done = slurm.run(f"srun -n1 --hybrid-mem={SIZE},socket=local printenv HYBRIDMEM_FSDAX_DIRS", user="alice")
        assert done.stdout.startswith("0=") and ":" not in done.stdout.strip()
        check_job_refused(f"{SIZE},socket=remote", "region1 is disabled")


def test_a_fragmented_region_is_named_with_its_largest_extent():
    third = room("region0")[1] // MIB // 3 // STEP * STEP
    with contextlib.ExitStack() as around, contextlib.ExitStack() as middle:
        around.enter_context(foreign("first", "region0", third))
        middle.enter_context(foreign("middle", "region0", third))
        around.enter_context(foreign("last", "region0", third))
        middle.close()
        free, extent = room("region0")
        assert third * MIB <= extent < free or extent == third * MIB
        wanted = extent // MIB + STEP
        said = f"region0 on socket 0 has no extent of {wanted}.0 MiB: the largest is {extent / MIB:.1f} MiB, of "
        check_job_refused(f"fsdax,size={2 * wanted}M", said)
        check_runs(f"fsdax,size={2 * (extent // MIB)}M")
