# SPDX-License-Identifier: Apache-2.0
"""Compares the time to launch a step with the plugin and without it, in one allocation, by turns. The guest's clock
counts instructions (tests/testbed/README.md), so that turns differ by a hundredth or two."""

import re
import statistics
import time

import pytest
import slurm

TASKS = 64
TURNS = 2
LIMIT = 1.05


@pytest.fixture
def allocation():
    """Hold the node with one job, so that only steps are measured, without prologs and epilogs."""
    done = slurm.run("salloc --no-shell -n1 --hybrid-mem=spill", user="alice")
    job_id = int(re.search(r"allocation (\d+)", done.stderr).group(1))
    yield job_id
    slurm.run(f"scancel {job_id}")


def launch(job_id):
    started = time.monotonic()
    slurm.run(f"srun --jobid={job_id} -n{TASKS} --overcommit true", user="alice")
    return time.monotonic() - started


def launch_without(job_id):
    with slurm.configured("", path=slurm.PLUGSTACK):
        return launch(job_id)


@pytest.mark.bench
def test_step_launch_ratio(allocation):
    ratios = []
    launch(allocation)
    for turn in range(TURNS):
        kinds = (launch_without, launch) if turn % 2 else (launch, launch_without)  # the order favours none
        seconds = {kind: kind(allocation) for kind in kinds}
        ratios.append(seconds[launch] / seconds[launch_without])
    print(f"step launch of {TASKS} tasks, with the plugin / without, each turn: {[round(r, 3) for r in ratios]}")
    assert statistics.mean(ratios) <= LIMIT
