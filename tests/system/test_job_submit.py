# SPDX-License-Identifier: Apache-2.0
"""Tests the job_submit snippet in a real slurmctld."""

from pathlib import Path

import pytest
import slurm

GRES_CONF = Path("/etc/slurm/gres.conf")
GRES = """NodeName=n1 Name=pmem Type=socket0 Count=256M Flags=CountOnly
NodeName=n1 Name=pmem Type=socket1 Count=256M Flags=CountOnly
NodeName=n1 Name=scratch Count=4 Flags=CountOnly
"""
JOB_SUBMIT = Path("/etc/slurm/job_submit.lua")
SLURM_CONF = Path("/etc/slurm/slurm.conf")
GLUE = """
local hybridmem = dofile("/usr/share/hybridmem/hybridmem-job-submit.lua")
hybridmem.allowed.partition.whole = { "fast" }
hybridmem.pmem.types = { "socket0", "socket1" }
function slurm_job_submit(job_desc, part_list, submit_uid)
    return hybridmem.submit(job_desc, part_list)
end
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return hybridmem.modify(job_desc, job_rec)
end
"""


@pytest.fixture(scope="module", autouse=True)
def job_submit():
    text = SLURM_CONF.read_text().replace(
        "NodeName=n1 ", "NodeName=n1 Gres=pmem:socket0:256M,pmem:socket1:256M,scratch:4 "
    )
    text += "JobSubmitPlugins=lua\nGresTypes=pmem,scratch\n"
    try:
        with (
            slurm.configured(text, SLURM_CONF),
            slurm.configured(GRES, GRES_CONF),
            slurm.configured(GLUE, JOB_SUBMIT),
        ):
            slurm.restart("slurmctld", "slurmd")
            yield
    finally:
        slurm.restart("slurmctld", "slurmd")


@pytest.fixture(autouse=True)
def no_job_is_left(clean_node):
    yield
    slurm.run("scancel --user=alice", check=False)  # jobs that a failed test has left, also held ones


def told(job_id):
    """scontrol's fields of a job that exists; asked again where there is no answer."""
    return slurm.wait_for(lambda: slurm.job(job_id), f"scontrol's answer about {job_id}")


def test_modes_are_refused_by_partition_at_submission_and_when_a_job_is_moved():
    refused = slurm.sbatch("alice", "true", "--hybrid-mem=spill", "-p", "whole", check=False)
    assert refused.returncode != 0
    assert "--hybrid-mem=spill is not allowed in partition whole: use off, fast" in refused.stderr
    refused = slurm.run("srun --hybrid-mem=spill -p whole true", user="alice", check=False)
    assert refused.returncode != 0 and "is not allowed in partition whole" in refused.stderr
    held = slurm.sbatch("alice", "true", "--hybrid-mem=spill", "--hold")
    moved = slurm.run(f"scontrol update jobid={held} partition=whole", user="alice", check=False)
    assert moved.returncode != 0 and told(held)["Partition"] == "main"
    slurm.run(f"scancel {held}")
    allowed = slurm.sbatch("alice", "true", "--hybrid-mem=fast", "-p", "whole")
    assert slurm.wait_job(allowed) == "COMPLETED"


def test_jobs_that_together_want_more_than_there_is_wait_for_each_other():
    """The second job also asks for --gres=0: Slurm ignores what comes after such an item in a list of GRES."""
    folder = slurm.folder_of("alice")
    script = f"touch {folder}/$1; until [ -e {folder}/go ]; do sleep 0.2; done; ls -d $HYBRIDMEM_FSDAX_DIR"
    first, second = (
        slurm.sbatch("alice", script.replace("$1", name), "--hybrid-mem=fsdax,size=320M", "-n1", *words)
        for name, *words in (("first",), ("second", "--gres=0"))
    )
    try:
        slurm.wait_for(lambda: (folder / "first").exists(), "the first job")
        # Slurm says Priority until its scheduler has looked at the job for the first time.
        slurm.wait_for(lambda: told(second)["Reason"] == "Resources", "the second job's wait for resources", every=0.3)
        waiting = told(second)
        assert waiting["JobState"] == "PENDING", waiting
        assert "pmem:socket0" in waiting["TresPerNode"] and "pmem:socket1" in waiting["TresPerNode"]
        small = slurm.sbatch("alice", f"touch {folder}/small", "--hybrid-mem=fsdax,size=128M", "-n1")
        assert slurm.wait_job(small) == "COMPLETED" and not (folder / "second").exists()
    finally:
        (folder / "go").touch()
    for job_id in (first, second):
        assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
        assert len(slurm.record(job_id)["namespaces"]) == 2


def test_what_is_kept_is_in_no_jobs_gres():
    held, counted = (
        slurm.sbatch("alice", "true", f"--hybrid-mem=fsdax,size=128M{word}", "--hold") for word in (",keep", "")
    )
    assert "pmem" not in told(held).get("TresPerNode", "")
    assert "pmem:socket0" in told(counted)["TresPerNode"]
    slurm.run(f"scancel {held} {counted}")


def test_a_pending_jobs_memory_stays_counted_whatever_becomes_of_its_gres():
    """A change of the job's GRES that names pmem is refused. Any other change, even to no GRES at all, keeps what size=
    asks for."""
    held = slurm.sbatch("alice", "ls -d $HYBRIDMEM_FSDAX_DIR", "--hybrid-mem=fsdax,size=128M", "-n1", "--hold")
    counted = told(held)["TresPerNode"]
    assert "pmem:socket0" in counted and "pmem:socket1" in counted

    def change(words):
        return slurm.run(f"scontrol update jobid={held} {words}", user="alice", check=False)

    for lower in ("gres=pmem:socket0:1", "TresPerNode=gres/scratch:1,gres/pmem:socket1:1M", "gres=pmem:0"):
        refused = change(lower)
        assert refused.returncode != 0, lower
        assert "is asked for by size= of --hybrid-mem=fsdax: leave it out" in refused.stderr, refused.stderr
        assert told(held)["TresPerNode"] == counted
    for words, besides in (("gres=scratch:1", ",gres/scratch:1"), ("TresPerNode=", ""), ("gres=", "")):
        assert change(words).returncode == 0, words
        assert told(held)["TresPerNode"] == counted + besides
    slurm.run(f"scontrol release {held}", user="alice")
    assert slurm.wait_job(held) == "COMPLETED", slurm.output(held)
    assert len(slurm.record(held)["namespaces"]) == 2


def test_users_may_change_the_gres_of_a_job_without_file_systems():
    held = slurm.sbatch("alice", "true", "--gres=pmem:socket0:1M", "--hold")
    slurm.run(f"scontrol update jobid={held} gres=", user="alice")
    assert "pmem" not in told(held).get("TresPerNode", "")
    slurm.run(f"scancel {held}")
