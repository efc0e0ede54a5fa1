# SPDX-License-Identifier: Apache-2.0
"""Runs many jobs: each has one record, no process, file or state is left, and no node is drained."""

import processes
import slurm

IN_A_ROW = 8
AT_ONCE = 8
# Seconds after which a wait is given up, far more than an emulated node needs. Both fit into the stage's own limit.
TO_SUBMIT, TO_RUN = 1200, 1800


def recorded(ids):
    return sorted(record["job_id"] for record in slurm.all_records() if record["job_id"] in set(ids))


def test_short_jobs_in_a_row():
    modes = ("spill", "fast", "slow", "interleave")
    folder = slurm.folder_of("alice")
    (folder / "job.sh").write_text("#!/bin/bash\ntrue\n")
    # One shell submits all jobs; each one depends on the one before.
    script = f"""before=
        for i in $(seq {IN_A_ROW}); do
            set -- {" ".join(modes)}; shift $((i % {len(modes)}))
            before=$(sbatch --parsable -o /dev/null --hybrid-mem=$1 ${{before:+-d afterany:$before}} {folder}/job.sh)
            echo $before
        done"""
    (folder / "row.sh").write_text(script)
    ids = [int(line) for line in slurm.run(f"bash {folder}/row.sh", user="alice", timeout=TO_SUBMIT).stdout.split()]
    assert len(ids) == IN_A_ROW
    slurm.wait_no_jobs(TO_RUN, every=0.5)
    slurm.wait_idle()
    assert recorded(ids) == sorted(ids)
    assert processes.of_hybridmem() == []


def test_jobs_at_once():
    folder = slurm.folder_of("bob")
    go = folder / "go"
    ids = [
        slurm.sbatch("bob", f"until [ -e {go} ]; do sleep 0.5; done", "--hybrid-mem=spill", "-n1")
        for _ in range(AT_ONCE)
    ]
    slurm.wait_for(lambda: len(processes.of_hybridmem()) == AT_ONCE, "a monitor for each")
    go.touch()
    for job_id in ids:
        assert slurm.wait_job(job_id) == "COMPLETED"
    slurm.wait_idle()
    assert recorded(ids) == sorted(ids)
