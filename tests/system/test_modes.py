# SPDX-License-Identifier: Apache-2.0
"""Runs one job of each mode but hbm and memory on the node at the same time: each has its policy and, except off, its
record, and leaves nothing. Then runs the README's demo."""

from pathlib import Path

import pytest
import slurm
from modes import MODES

DEMO = Path(__file__).resolve().parents[1] / "lib" / "demo-in-guest"
FILE = "echo kept > $HYBRIDMEM_FSDAX_DIR/file; cat $HYBRIDMEM_FSDAX_DIR/file"


@pytest.fixture(scope="module")
def ended():
    """Run jobs of all these modes at once, and wait until the last one has ended. Returns the jobs by request."""
    jobs = {}
    for request in MODES:
        script = f"{slurm.POLICY}\n{FILE}" if request.startswith("fsdax") else slurm.POLICY
        jobs[request] = slurm.sbatch("alice", script, f"--hybrid-mem={request}", "-n1")
    for job_id in jobs.values():
        assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
    slurm.wait_idle()
    return jobs


@pytest.mark.slurm26
@pytest.mark.parametrize("request_text", MODES)
def test_a_job_of_this_mode_has_its_policy_and_its_record(ended, request_text):
    policy, mode, plan_policy = MODES[request_text]
    job_id = ended[request_text]
    said, *rest = slurm.output(job_id).splitlines()
    assert said == policy
    if mode is None:
        assert slurm.records(job_id) == []
        return
    record = slurm.record(job_id)
    assert (record["request"], record["plan"]["mode"], record["plan"]["policy"]) == (request_text, mode, plan_policy)
    assert record["exit_code"] == 0 and record["step_ids"] == ["batch"]
    if mode == "fsdax":
        assert rest == ["kept"] and len(record["namespaces"]) == 2


@pytest.mark.slurm26
def test_a_mode_that_does_not_exist_is_refused_in_one_line():
    done = slurm.sbatch("alice", "true", "--hybrid-mem=spil", check=False)
    (line,) = [line for line in done.stderr.splitlines() if "hybridmem:" in line]
    assert done.returncode != 0 and 'unknown mode "spil"' in line and "spill" in line


@pytest.mark.slurm26
def test_the_demo_of_the_readme():
    """It ends with a check of its own: the job's pages are in both tiers."""
    slurm.wait_no_jobs()
    slurm.drop_caches()
    assert "anonymous pages by NUMA node" in slurm.run(f"bash {DEMO}").stdout
