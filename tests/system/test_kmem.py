# SPDX-License-Identifier: Apache-2.0
"""Tests the slow tier as movable system-ram (NVDIMMs through kmem): the kernel's own memory can only be in the fast
tier."""

import json
from pathlib import Path

import pytest
import slurm

pytestmark = pytest.mark.kmem
WATERMARK = Path("/proc/sys/vm/watermark_scale_factor")


def test_the_slow_tier_is_movable():
    _, slow = json.loads(slurm.run("hybridmem tiers --json").stdout)["tiers"]
    assert all(set(slurm.zones_of(node)) == {"Movable"} for node in slow["nodes"])


def test_spill_over_twice_the_fast_tier_without_oom_and_names_its_reserve():
    fast, slow = json.loads(slurm.run("hybridmem tiers --json").stdout)["tiers"]
    plan = json.loads(slurm.run("hybridmem plan spill --json").stdout)
    assert plan["reserve_bytes"] > 0 and "reserve" in plan["reason"]
    before = WATERMARK.read_text()
    want = min(2 * fast["capacity_bytes"], int(0.85 * (fast["free_bytes"] + slow["free_bytes"])))
    # The step fills the page cache first, which has to make room for the job's memory.
    script = "head -c 400M /dev/zero > $HOME/cache; cat $HOME/cache > /dev/null; occupy"
    with slurm.Occupied("alice", want // slurm.MIB, "--hybrid-mem=spill", launch=script) as held:
        on = {node: count * slurm.PAGE for node, count in held.pages.items()}
        assert WATERMARK.read_text() != before
        assert sum(on.values()) >= want * 0.999
        assert sum(on.get(node, 0) for node in fast["nodes"]) >= 0.35 * fast["free_bytes"], (
            on,
            fast,
        )  # the page cache has the rest
    assert slurm.record(held.job_id)["exit_code"] == 0
    assert "Out of memory" not in slurm.run("dmesg").stdout
    slurm.wait_idle()
    assert WATERMARK.read_text() == before


def test_other_modes_on_movable_memory():
    """One job runs a step for each mode. The file `go` exists from the start, so that no step waits."""
    fast, slow = json.loads(slurm.run("hybridmem tiers --json").stdout)["tiers"]
    nodes = {"fast": fast["nodes"], "slow": slow["nodes"], "interleave": fast["nodes"] + slow["nodes"]}
    folder = slurm.folder_of("alice")
    steps = "\n".join(f"srun -n1 --hybrid-mem={mode} occupy 96 {mode} go" for mode in nodes)
    job_id = slurm.sbatch("alice", f"{slurm.OVERLAP}cd {folder}\ntouch go\n{steps}", "--hybrid-mem=off")
    assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
    for mode, allowed in nodes.items():
        held = set(map(int, json.loads((folder / mode).read_text())["pages"]))
        assert held and held <= set(allowed), "bind takes the nearest of its nodes first"
        assert held == set(allowed) or mode != "interleave", "interleave takes all"
