# SPDX-License-Identifier: Apache-2.0
"""Step launch with the plugin against without it: the ratio within one run, pair by pair."""

import statistics
import time

import pytest
import slurm

TASKS = 64
PAIRS = 9
LIMIT = 1.05


def launch(option=""):
    started = time.monotonic()
    slurm.run(f"srun -n{TASKS} --overcommit {option} true")
    return time.monotonic() - started


@pytest.mark.bench
def test_step_launch_ratio():
    with_plugin = slurm.PLUGSTACK.read_text()
    ratios = []
    for _ in range(PAIRS):
        seconds = launch("--hybrid-mem=spill")
        with slurm.configured("", path=slurm.PLUGSTACK):
            ratios.append(seconds / launch())
    assert slurm.PLUGSTACK.read_text() == with_plugin
    median = statistics.median(ratios)
    print(f"step launch of {TASKS} tasks with the plugin / without: median {median:.3f} of {sorted(ratios)}")
    assert median <= LIMIT
