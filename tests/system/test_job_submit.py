# SPDX-License-Identifier: Apache-2.0
"""The job_submit snippet in a real slurmctld."""

import contextlib
from pathlib import Path

import slurm

JOB_SUBMIT = Path("/etc/slurm/job_submit.lua")
SLURM_CONF = Path("/etc/slurm/slurm.conf")
GLUE = """
local hybridmem = dofile("/usr/share/hybridmem/hybridmem-job-submit.lua")
hybridmem.allowed.partition.whole = { "fast" }
function slurm_job_submit(job_desc, part_list, submit_uid)
    return hybridmem.submit(job_desc, part_list)
end
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return hybridmem.modify(job_desc, job_rec)
end
"""


def start_slurmctld():
    """JobSubmitPlugins takes effect when slurmctld starts."""
    slurm.run("pkill -x slurmctld; while pgrep -x slurmctld; do sleep 0.1; done", check=False)
    slurm.run("slurmctld")
    slurm.wait_for(lambda: slurm.run("scontrol ping", check=False).returncode == 0, "slurmctld")
    slurm.wait_idle()


@contextlib.contextmanager
def job_submit():
    with (
        slurm.configured(SLURM_CONF.read_text() + "JobSubmitPlugins=lua\n", SLURM_CONF),
        slurm.configured(GLUE, JOB_SUBMIT),
    ):
        start_slurmctld()
        yield
    start_slurmctld()


def test_modes_are_refused_by_partition_at_submission_and_when_a_job_is_moved():
    with job_submit():
        refused = slurm.sbatch("alice", "true", "--hybrid-mem=spill", "-p", "whole", check=False)
        assert refused.returncode != 0
        assert "--hybrid-mem=spill is not allowed in partition whole: use off, fast" in refused.stderr
        refused = slurm.run("srun --hybrid-mem=spill -p whole true", user="alice", check=False)
        assert refused.returncode != 0 and "is not allowed in partition whole" in refused.stderr
        held = slurm.sbatch("alice", "true", "--hybrid-mem=spill", "--hold")
        moved = slurm.run(f"scontrol update jobid={held} partition=whole", user="alice", check=False)
        assert moved.returncode != 0 and slurm.job(held)["Partition"] == "main"
        slurm.run(f"scancel {held}")
        allowed = slurm.sbatch("alice", "true", "--hybrid-mem=fast", "-p", "whole")
        assert slurm.wait_job(allowed) == "COMPLETED"
