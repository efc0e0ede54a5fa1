# SPDX-License-Identifier: Apache-2.0
"""Tests energy in the record. The node has no RAPL: hybridmem's own reader reads files that stand in for it."""

import contextlib
from pathlib import Path

import pytest
import readings
import slurm

POWERCAP = Path("/sys/class/powercap")
ZONES = {"intel-rapl:0": "package-0", "intel-rapl:0/intel-rapl:0:0": "dram", "intel-rapl:1": "package-1"}
START = 100_000_000  # microjoules; large enough that counting does not change the number of digits


def set_counter(zone, microjoules):
    """Sets the zone's counter by one write, which always has the same length: a monitor may read at any moment."""
    with (POWERCAP / zone / "energy_uj").open("r+") as file:
        file.write(f"{START + microjoules}\n")


@pytest.fixture
def powercap():
    slurm.run(f"mount -t tmpfs none {POWERCAP}")
    try:
        for zone, name in ZONES.items():
            folder = POWERCAP / zone
            folder.mkdir()
            for file, text in (("name", name), ("max_energy_range_uj", "262143328850"), ("energy_uj", str(START))):
                (folder / file).write_text(f"{text}\n")
            (folder / "energy_uj").chmod(0o400)
        yield
    finally:
        slurm.run(f"umount -l {POWERCAP}")


def test_a_job_that_had_the_node_to_itself(powercap):
    with slurm.Occupied("alice", 8, "--hybrid-mem=fast") as held:
        for times in (1, 2):  # the last value is read at the job's end
            readings.wait_metered(held.job_id)
            set_counter("intel-rapl:0", times * 500_000)
            set_counter("intel-rapl:0/intel-rapl:0:0", times * 30_000)
            set_counter("intel-rapl:1", times * 250_000)
    record = slurm.record(held.job_id)
    energy = record["energy"]
    assert record["shared"] is False
    assert energy["package_j"] == pytest.approx(1.5) and energy["memory_j"] == pytest.approx(0.06)
    assert energy["platform_j"] is None
    assert energy["source"] == "powercap; for the whole node: this job had 1 core of it, and no other job ran there"
    assert energy["mean_w"] == pytest.approx(1.56 / energy["node"]["seconds"])
    assert energy["peak_w"] >= energy["mean_w"] > 0
    shown = slurm.run(f"hybridmem show {held.job_id}").stdout
    assert "  energy       package 1.5 J, memory 0.1 J, mean " in shown


def test_jobs_that_shared_a_node_have_its_figures_alone(powercap):
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(slurm.Occupied(user, 8, "--hybrid-mem=slow")) for user in ("alice", "bob")]
        readings.wait_metered(held[0].job_id)
        readings.wait_metered(held[1].job_id)
        set_counter("intel-rapl:1", 500_000)
    for job in held:
        record = slurm.record(job.job_id)
        energy = record["energy"]
        assert record["shared"] is True
        assert [energy[key] for key in ("package_j", "memory_j", "mean_w", "peak_w")] == [None] * 4
        assert energy["node"]["package_j"] == pytest.approx(0.5)
        assert energy["source"] == "powercap; for the node only, as other jobs ran beside this one"
