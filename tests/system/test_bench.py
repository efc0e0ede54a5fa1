# SPDX-License-Identifier: Apache-2.0
"""Compares the time to launch a step with the plugin and without it, in one allocation, by turns."""

import math
import re
import statistics
import time

import pytest
import slurm

TASKS = 64
TURNS = (8, 24, 48)  # after so many turns it is decided whether more are needed
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
    """A machine's speed may change by half within seconds, so only the two launches of a turn are compared. If the true
    ratio is the limit, half of the turns are above it; the test fails where that many more are no chance (two standard
    deviations)."""
    ratios = []
    launch(allocation)
    for turn in range(1, max(TURNS) + 1):
        kinds = (launch, launch_without) if turn % 2 else (launch_without, launch)  # the second gains or loses by none
        seconds = {kind: kind(allocation) for kind in kinds}
        ratios.append(seconds[launch] / seconds[launch_without])
        above = sum(ratio > LIMIT for ratio in ratios)
        if turn in TURNS and above <= turn / 2:
            break
    print(f"step launch of {TASKS} tasks with the plugin / without: {statistics.median(ratios):.3f} (median)")
    print(sorted(round(ratio, 2) for ratio in ratios))
    assert above <= turn / 2 + math.sqrt(turn)
