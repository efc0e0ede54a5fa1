# SPDX-License-Identifier: Apache-2.0
"""Tests which sources of samples a job's user may use: by the distribution's settings, and by an administrator's."""

import json
import re
from pathlib import Path

import pytest
import slurm

PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
STEP = "srun --quiet --nodes=1 --ntasks=1 "


@pytest.fixture
def paranoid():
    """Gives a function that sets kernel.perf_event_paranoid for a test."""
    before = PARANOID.read_text()
    yield lambda value: PARANOID.write_text(f"{value}\n")
    PARANOID.write_text(before)


def sources(user=None, launch=""):
    done = slurm.run(f"{launch}hybridmem sources --json", user=user, check=False)
    assert done.returncode in (0, 1), done.stderr
    return {source["name"]: source for source in json.loads(done.stdout)["sources"]}


def test_the_distribution_refuses_perf_events_to_users():
    """Debian's default refuses them: the reason names the sysctl, its value and the value that would allow them. DAMON
    needs a broker, which only a step with a migrator starts: a node without jobs has none, as the administrator guide
    says."""
    assert int(PARANOID.read_text()) == 3
    shown = sources("alice", f"{STEP}--hybrid-mem=migrate ")
    for name in ("perf", "faults"):
        assert not shown[name]["usable"]
    assert "kernel.perf_event_paranoid is 3, wanted is 2 or less" in shown["faults"]["reason"]
    assert shown["damon"]["usable"], shown["damon"]


def test_perf_event_paranoid_2_allows_a_users_own_threads(paranoid):
    paranoid(2)
    shown = sources("alice", STEP)
    assert shown["faults"]["usable"] and shown["faults"]["knows_writes"] is False
    assert shown["faults"]["how"].startswith("each thread by itself")
    # There is no PMU here, and the reason says so.
    reason = shown["perf"]["reason"]
    assert re.search(r"PMU|PEBS|ibs_op|no events of this processor", reason), reason


def test_root_may_watch_a_whole_cgroup_whatever_is_set(paranoid):
    for value in (0, 3):
        paranoid(value)
        assert sources()["faults"]["how"] == "the whole cgroup, on each CPU"
