# SPDX-License-Identifier: Apache-2.0
"""Marks around memory-bound jobs, and what the node claims; tests/meter holds it against the count from outside."""

import json
import os
import re
from pathlib import Path

import pytest
import slurm
from namespaces import REGIONS, ndctl

EXPECTED = Path("/tmp/meter-expected.json")
MIB = 64
PASSES = 64  # enough to drown what daemons do meanwhile
SPLIT = 2  # HM_ALLOC_SPLIT
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


def claim(mark, what):
    claims = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    EXPECTED.write_text(json.dumps(claims | {mark: what}))
    os.sync()


def sweep_between_marks(mark, find_pages, *options, folders=""):
    """A job that sweeps over its memory, or over files in the folders. Claims the pages {node: count} that find_pages
    sees of its process, and returns them."""
    folder = slurm.folder_of("alice")
    to_test, from_test = folder / "to", folder / "from"
    slurm.run(f"mkfifo -m 666 {to_test} {from_test}")
    job_id = slurm.sbatch("alice", f"srun -n1 sweep {MIB} {PASSES} {to_test} {from_test} {folders}", *options)
    with to_test.open() as answers, from_test.open("w") as orders:
        pid = int(answers.readline().split()[1])
        pages = find_pages(pid)
        slurm.run(f"meter-mark {mark}.start")
        orders.write("\n")
        orders.flush()
        assert answers.readline() == "DONE\n"
        slurm.run(f"meter-mark {mark}.end")
    assert slurm.wait_job(job_id) == "COMPLETED"
    claim(mark, {"pages": pages, "accesses": MIB * slurm.MIB // 64 * PASSES})
    return pages


@pytest.mark.meter
@pytest.mark.parametrize("request_text", REQUESTS)
def test_sweep_between_two_marks(request_text):
    mark = request_text.replace(",socket=", "-")
    pages = sweep_between_marks(mark, pages_by_node, f"--hybrid-mem={request_text}")
    assert sum(pages.values()) == MIB * slurm.MIB // slurm.PAGE


def pages_by_region(_pid):
    """The files' pages by the nodes that the regions would be, in equal parts over those with namespaces by ndctl."""
    regions = [region for region in REGIONS if ndctl("list", "-N", "-r", region)]
    nodes = [int(Path(f"/sys/bus/nd/devices/{region}/target_node").read_text()) for region in regions]
    return {node: MIB * slurm.MIB // slurm.PAGE // len(nodes) for node in nodes}


@pytest.mark.meter
@pytest.mark.parametrize(("socket", "nodes"), [("local", {4}), ("remote", {5}), ("all", {4, 5})])
def test_sweep_over_fsdax_files_between_two_marks(socket, nodes):
    """Nodes 4 and 5 are what the regions of socket 0 and 1 would be as memory; the job has the core of socket 0."""
    options = (f"--hybrid-mem=fsdax,size=256M,socket={socket}", "-n1", "-p", "alone")
    folders = "$(echo $HYBRIDMEM_FSDAX_DIRS | sed 's/[0-9]*=//g; y/:/ /')"
    with slurm.alone_partition():
        pages = sweep_between_marks(f"fsdax-{socket}", pages_by_region, *options, folders=folders)
    assert set(pages) == nodes


@pytest.mark.meter
def test_a_jobs_copy_from_fsdax_files_into_the_fast_tier():
    """Write isolation in a job: what it reads is in blocks over the files of both sockets, what it writes in DRAM."""
    source = Path(__file__).parent / "programs" / "alloc" / "copied.c"
    slurm.run(f"gcc -O1 -Wall -Werror -o /usr/local/bin/copied {source} -lhybridmem")
    folder = slurm.folder_of("alice")
    to_test, from_test = folder / "to", folder / "from"
    slurm.run(f"mkfifo -m 666 {to_test} {from_test}")
    script = f"copied {SPLIT} {MIB} {PASSES} > {to_test} < {from_test}"
    job_id = slurm.sbatch("alice", script, "--hybrid-mem=fsdax,size=256M")
    with to_test.open() as answers, from_test.open("w") as orders:
        said = json.loads(answers.readline())
        pages = pages_by_region(None)
        slurm.run("meter-mark copy-fsdax.start")
        orders.write("\n")
        orders.flush()
        assert answers.readline() == "DONE\n"
        slurm.run("meter-mark copy-fsdax.end")
    assert slurm.wait_job(job_id) == "COMPLETED"
    assert set(said["read"]) == {"-1"} and set(said["written"]) == {"0", "1"} and set(pages) == {4, 5}
    copy = {"read": pages, "written": said["written"]}
    claim("copy-fsdax", {"copy": copy, "accesses": MIB * slurm.MIB // 64 * PASSES})
