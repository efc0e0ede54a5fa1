# SPDX-License-Identifier: Apache-2.0
"""Compares the time to launch a step with the plugin and without it, in one allocation, by turns."""

import re
import statistics
import time

import pytest
import slurm

TASKS = 64
TURNS = (8, 24, 48)  # after so many turns the ratio is calculated
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


def quick(seconds):
    """The mean of the quickest quarter: other work on the machine only makes a launch longer, and a single lucky launch
    does not decide."""
    return statistics.mean(sorted(seconds)[: len(seconds) // 4])


@pytest.mark.bench
def test_step_launch_ratio(allocation):
    """On a machine with other work, the test takes more turns, until enough launches of each kind were undisturbed."""
    seconds = {"with": [], "without": []}
    launch(allocation)
    for turn in range(1, max(TURNS) + 1):
        seconds["with"].append(launch(allocation))
        with slurm.configured("", path=slurm.PLUGSTACK):
            seconds["without"].append(launch(allocation))
        if turn not in TURNS:
            continue
        ratio = quick(seconds["with"]) / quick(seconds["without"])
        if ratio <= LIMIT:
            break
    for key, values in seconds.items():
        print(f"{key}: {sorted(round(value, 2) for value in values)}")
    print(f"step launch of {TASKS} tasks with the plugin / without: {ratio:.3f}")
    assert ratio <= LIMIT
