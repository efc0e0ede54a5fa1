# SPDX-License-Identifier: Apache-2.0
"""Marks around memory-bound jobs, and what the node claims; tests/meter holds it against the count from outside."""

import json
import os
import re
from pathlib import Path

import pytest
import slurm

EXPECTED = Path("/tmp/meter-expected.json")
MIB = 64
PASSES = 64  # enough to drown what daemons do meanwhile
REQUESTS = [
    f"{mode},socket={socket}" for mode in ("fast", "slow", "interleave") for socket in ("local", "remote", "all")
] + ["spill"]


def pages_by_node(pid):
    """Pages of the mapping that is swept over: the largest."""
    best = {}
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        pages = {int(node): int(count) for node, count in re.findall(r"N(\d+)=(\d+)", line)}
        if sum(pages.values()) > sum(best.values()):
            best = pages
    return best


@pytest.mark.meter
@pytest.mark.parametrize("request_text", REQUESTS)
def test_sweep_between_two_marks(request_text):
    folder = slurm.folder_of("alice")
    mark = request_text.replace(",socket=", "-")
    to_test, from_test = folder / "to", folder / "from"
    slurm.run(f"mkfifo -m 666 {to_test} {from_test}")
    script = f"srun -n1 sweep {MIB} {PASSES} {to_test} {from_test}"
    job_id = slurm.sbatch("alice", script, f"--hybrid-mem={request_text}")
    with to_test.open() as answers, from_test.open("w") as orders:
        pid = int(answers.readline().split()[1])
        pages = pages_by_node(pid)
        slurm.run(f"meter-mark {mark}.start")
        orders.write("\n")
        orders.flush()
        assert answers.readline() == "DONE\n"
        slurm.run(f"meter-mark {mark}.end")
    assert slurm.wait_job(job_id) == "COMPLETED"
    claims = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    claims[mark] = {"pages": pages, "accesses": MIB * slurm.MIB // 64 * PASSES}
    EXPECTED.write_text(json.dumps(claims))
    os.sync()
    assert sum(pages.values()) == MIB * slurm.MIB // slurm.PAGE
