# SPDX-License-Identifier: Apache-2.0
"""Runs memory-bound jobs, and writes down how many accesses each should make to each node.

A QEMU plugin, the tier meter, counts the accesses of the guest by node; meter-mark has it note its counts under a name.
After the run tests/meter/test_truth.py compares what was counted between two marks with what is written down here."""

import json
import re
from pathlib import Path

import pytest
import slurm
from claims import claim
from namespaces import REGIONS, ndctl

MIB = 64
PASSES = 64  # enough that the accesses of daemons do not matter
SPLIT = 2  # HM_ALLOC_SPLIT
# One request of each kind of placement; test_placement.py checks more modes and sockets, by their pages. The slow one
# comes first: processes that start the job may still run then, and they access the fast nodes.
REQUESTS = ("slow,socket=remote", "interleave,socket=all", "spill", "fast,socket=local")
# The folders of the job's file systems, as words of a shell.
FILES = "$(echo $HYBRIDMEM_FSDAX_DIRS | sed 's/[0-9]*=//g; y/:/ /')"


def pages_by_node(pid):
    """Pages by node of the largest mapping, which the program sweeps over."""
    best = {}
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        pages = {int(node): int(count) for node, count in re.findall(r"N(\d+)=(\d+)", line)}
        if sum(pages.values()) > sum(best.values()):
            best = pages
    return best


def pages_by_region():
    """Pages of the files, by the node that each region would be if it were used as memory. The files are in equal parts
    on those regions on which ndctl lists namespaces."""
    regions = [region for region in REGIONS if ndctl("list", "-N", "-r", region)]
    nodes = [int(Path(f"/sys/bus/nd/devices/{region}/target_node").read_text()) for region in regions]
    return {node: MIB * slurm.MIB // slurm.PAGE // len(nodes) for node in nodes}


class Steps:
    """The steps of a job with DAX file systems, which run one after the other. Each step waits for its first mark."""

    def __init__(self, commands):
        folder = slurm.folder_of("alice")
        self.pipes = [(folder / f"{step}.to", folder / f"{step}.from") for step in range(len(commands))]
        slurm.run(f"mkfifo -m 666 {' '.join(str(pipe) for pair in self.pipes for pipe in pair)}")
        lines = [
            command.format(to=pair[0], answers=pair[1]) for command, pair in zip(commands, self.pipes, strict=True)
        ]
        self.job_id = slurm.sbatch("alice", slurm.OVERLAP + "\n".join(lines), "-n1", "--hybrid-mem=fsdax,size=256M")

    def between_marks(self, mark, look):
        """Lets the next step work between the marks MARK.start and MARK.end. Before that, calls look() with the step's
        first line. Returns the result of look()."""
        to_test, from_test = self.pipes.pop(0)
        with to_test.open() as answers, from_test.open("w") as orders:
            seen = look(answers.readline())
            slurm.run(f"meter-mark {mark}.start")
            orders.write("\n")
            orders.flush()
            assert answers.readline() == "DONE\n"
            slurm.run(f"meter-mark {mark}.end")
        return seen


@pytest.mark.meter
def test_sweeps_and_a_copy_between_two_marks():
    """Sweeps over memory and over files of both sockets, and write isolation in a job: the data that is read is
    spread over the files in blocks, the data that is written is in DRAM."""
    source = Path(__file__).parent / "programs" / "alloc" / "copied.c"
    slurm.run(f"gcc -O1 -Wall -Werror -o /usr/local/bin/copied {source} -lhybridmem")
    sweep = f"sweep {MIB} {PASSES} {{to}} {{answers}}"
    steps = Steps(
        [f"srun -n1 --hybrid-mem={request} {sweep}" for request in REQUESTS]
        + [f"srun -n1 {sweep} {FILES}", f"copied {SPLIT} {MIB} {PASSES} > {{to}} < {{answers}}"]
    )
    accesses = MIB * slurm.MIB // 64 * PASSES
    for request in REQUESTS:
        mark = request.replace(",socket=", "-")
        pages = steps.between_marks(mark, lambda line: pages_by_node(int(line.split()[1])))
        assert sum(pages.values()) == MIB * slurm.MIB // slurm.PAGE
        claim(mark, {"pages": pages, "accesses": accesses})
    pages = steps.between_marks("fsdax", lambda _: pages_by_region())
    assert set(pages) == {4, 5}
    claim("fsdax", {"pages": pages, "accesses": accesses})
    said = steps.between_marks("copy-fsdax", json.loads)
    # Node -1 stands for files on persistent memory.
    assert set(said["read"]) == {"-1"} and set(said["written"]) == {"0", "1"}
    claim("copy-fsdax", {"copy": {"read": pages, "written": said["written"]}, "accesses": accesses})
    assert slurm.wait_job(steps.job_id) == "COMPLETED", slurm.output(steps.job_id)
