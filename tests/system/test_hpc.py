# SPDX-License-Identifier: Apache-2.0
"""Runs Debian's HPC Challenge in four modes: the results are equal, and the record's bytes per tier match the mode."""

import re
from pathlib import Path

import pytest
import slurm

EXAMPLE = "/usr/share/doc/hpcc/examples/_hpccinf.txt"
# The least share of anonymous memory in the fast tier, and the most, by mode.
SHARES = {"off": (0.9, 1), "slow": (0, 0.02), "interleave": (0.45, 0.55), "spill": (0.98, 1)}
SLACK = 4 * slurm.MIB  # for slurmstepd's own memory
PATIENCE = 900  # seconds
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def verdict(text):
    """The lines that depend only on the computed numbers."""
    residual = re.findall(r"^\|\|Ax-b\|\|_oo.*$", text, re.M)
    errors = re.findall(r"^Found \d+ errors in \d+ locations.*$", text, re.M)
    validated = re.findall(r"^Solution Validates.*$", text, re.M)
    summary = re.findall(r"^\s+\d+ tests completed and (?:passed|failed).*$", text, re.M)
    return residual + errors + validated + summary


def hpcc(mode):
    """Run HPC Challenge in this mode. Returns the verdict and the job's record."""
    folder = slurm.folder_of("carol")
    # Debian's example, but one process on a 1 x 1 grid, and a smaller matrix, as an emulated CPU is slow at arithmetic.
    edit = "6s/1000/300/;11s/2 /1 /;12s/2 /1 /"
    slurm.run(f"{{ cat {EXAMPLE} || zcat {EXAMPLE}.gz; }} 2>/dev/null | sed '{edit}' > {folder}/hpccinf.txt")
    slurm.run(f"chown -R carol: {folder}")
    slurm.drop_caches()
    with slurm.configured(slurm.CONFIG.read_text() + "record = all\n"):
        job_id = slurm.sbatch("carol", f"cd {folder} && srun -n1 hpcc", f"--hybrid-mem={mode}")
        assert slurm.wait_job(job_id, PATIENCE) == "COMPLETED", slurm.output(job_id)
        record = slurm.record(job_id)
    found = verdict((folder / "hpccoutf.txt").read_text())
    assert any("0 tests completed and failed" in line for line in found), found
    return found, record


@pytest.fixture(scope="module", autouse=True)
def small_pages():
    """No huge pages: each is on one node as a whole, and the few that this small program gets are not spread evenly."""
    before = re.search(r"\[(\w+)\]", HUGE_PAGES.read_text())[1]
    HUGE_PAGES.write_text("never")
    yield
    HUGE_PAGES.write_text(before)


@pytest.fixture(scope="module")
def off(small_pages, schema):
    """The run in mode off, which all other modes are compared with, also where only some of the tests run."""
    found, record = hpcc("off")
    schema.validate(record)  # clean_node only checks records that tests have made, not fixtures
    return found, record


@pytest.mark.parametrize("mode", SHARES)
def test_hpcc(mode, off):
    found, record = off if mode == "off" else hpcc(mode)
    assert found == off[0]
    fast, slow = slurm.tier_bytes(record)
    least, most = SHARES[mode]
    assert fast + slow > 8 * slurm.MIB
    assert least * (fast + slow) - SLACK <= fast <= most * (fast + slow) + SLACK, (mode, fast, slow)
