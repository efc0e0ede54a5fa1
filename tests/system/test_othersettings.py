# SPDX-License-Identifier: Apache-2.0
"""Tests jobs on a node whose Slurm lacks what hybridmem needs: they run, and their records say what is missing."""

import re

import nodes
import slurm

# No cgroups of steps, no extern step, no task plugin.
BARE = {
    "ProctrackType": "proctrack/linuxproc",
    "TaskPlugin": "task/none",
    "PrologFlags": "Alloc",
    "JobAcctGatherType": "jobacct_gather/none",
}
LACKS = "for which Slurm needs cgroup v2 and ProctrackType=proctrack/cgroup"


def test_without_cgroups_of_steps_jobs_run_and_their_records_say_what_is_missing():
    text = nodes.SLURM_CONF.read_text()
    for key, value in BARE.items():
        text = re.sub(rf"^{key}=.*\n", "", text, flags=re.M) + f"{key}={value}\n"
    script = f"{slurm.OVERLAP}srun -n2 {slurm.POLICY}; srun -n1 sort /etc/passwd"
    with nodes.reconfigured(text):
        for mode in ("spill", "migrate", "isolate", "profile", "guided,online"):
            job_id = slurm.sbatch("alice", script, f"--hybrid-mem={mode}", "-n2")
            assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
            record = slurm.record(job_id)
            assert any(LACKS in warning for warning in record["warnings"]), record["warnings"]
            assert record["step_ids"] == ["batch", "0", "1"] and record["exit_code"] == 0
            assert mode != "spill" or "interleave=static:0-1" in slurm.output(job_id)
