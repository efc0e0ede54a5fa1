# SPDX-License-Identifier: Apache-2.0
"""Jobs whose file systems cannot be made get one message; the node is not drained, and the next job runs once the fault
is mended."""

import contextlib
import os
from pathlib import Path

import pytest
import slurm
from namespaces import check_job_refused, epilogs_over, ours, region_without_labels

SIZE = "fsdax,size=64M"

pytestmark = pytest.mark.usefixtures("empty_regions")


@contextlib.contextmanager
def region_disabled():
    slurm.run("ndctl disable-region region1")
    try:
        yield
    finally:
        slurm.run("ndctl enable-region region1")


@contextlib.contextmanager
def region_read_only():
    """Make region 1 read-only, as the kernel does when a DIMM's energy store has failed."""
    switch = Path("/sys/bus/nd/devices/region1/read_only")
    switch.write_text("1")
    try:
        yield
    finally:
        switch.write_text("0")


@contextlib.contextmanager
def mkfs_absent():
    """Mount /dev/null over mkfs.ext4, so that it cannot be run."""
    program = os.path.realpath("/usr/sbin/mkfs.ext4")
    slurm.run(f"mount --bind /dev/null {program}")
    try:
        yield
    finally:
        slurm.run(f"umount {program}")


def test_a_region_that_cannot_be_used_is_not_left_out():
    """The other region does not take over the part of the region that cannot be used. A job that does not ask for that
    region's socket runs. It has the first core, which is on socket 0."""
    with region_disabled(), epilogs_over():
        done = slurm.run(f"srun -n1 --hybrid-mem={SIZE},socket=local printenv HYBRIDMEM_FSDAX_DIRS", user="alice")
        assert done.stdout.startswith("0=") and ":" not in done.stdout.strip()
        said = "region1 is disabled, so that nothing can be made in it (an administrator's step: "
        check_job_refused(f"{SIZE},socket=remote", said)
    for wrong, said in (
        (region_without_labels, "region1 has no labels, so that nothing can be cut from it (an administrator's step: "),
        (region_read_only, "region1 is read-only, so that nothing can be made in it: its firmware or"),
    ):
        with wrong():
            assert said in slurm.run(f"hybridmem plan {SIZE}", check=False).stderr


def test_a_jobs_name_forges_no_cpus():
    """The job's name looks like scontrol's line about a job's cores. The job may get its own cores only: it is refused,
    as hybridmem cannot tell which line is Slurm's. A task of an array gets its own cores, too, although scontrol shows
    all tasks for the array's number."""
    forged = f"x Nodes={slurm.NODE} CPU_IDs=0-1"
    with epilogs_over():
        done = slurm.run(f"srun -n1 -J '{forged}' --hybrid-mem={SIZE},socket=local true", user="alice", check=False)
        assert done.returncode != 0 and "cores are not known" in done.stderr, done.stderr
    script = "printenv HYBRIDMEM_FSDAX_DIRS"
    job_id = slurm.sbatch("alice", script, "--array=3", f"--hybrid-mem={SIZE},socket=local")
    slurm.wait_job(job_id)
    assert slurm.output(job_id).startswith("0=") and ":" not in slurm.output(job_id).strip()


def test_an_older_kernel_refuses_unless_the_site_trusts_its_users():
    with slurm.configured("\n"), epilogs_over():
        check_job_refused(SIZE, "use Linux 6.15 or later, or say fsdax_trust = yes if the users of fsdax trust each")
        lines = slurm.run("hybridmem namespace check", check=False).stdout.splitlines()
        assert [line for line in lines if line.startswith("error kernel: Linux ")], lines
        assert ours() == []


def test_a_rule_that_udev_does_not_read_is_said():
    rule = Path("/usr/lib/udev/rules.d/60-hybridmem.rules")
    hidden = rule.rename(rule.with_suffix(".hidden"))
    said = slurm.run("hybridmem namespace check", check=False).stdout
    hidden.rename(rule)
    assert f"error udev: {rule.name} is in no folder of udev's" in said
    assert f"ok    udev: {rule}" in slurm.run("hybridmem namespace check", check=False).stdout


def test_what_is_wrong_is_said_until_it_is_mended():
    """The program that makes the file systems finds the fault, which the plan cannot know of."""
    with mkfs_absent(), epilogs_over():
        check_job_refused(SIZE, "mkfs.ext4 is missing: install e2fsprogs")
        slurm.wait_idle()
        assert ours() == []
    done = slurm.run(f"srun -n1 --hybrid-mem={SIZE} printenv HYBRIDMEM_FSDAX_DIRS", user="alice")
    assert [word.split("=")[0] for word in done.stdout.strip().split(":")] == ["0", "1"], done.stdout
