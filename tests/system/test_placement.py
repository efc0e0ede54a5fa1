# SPDX-License-Identifier: Apache-2.0
"""Tests that all anonymous pages of a task are on the right nodes: for six modes, three of them with each value of
socket=, among them all configurations of memory nodes in the administrator guide's Table 2. In the step of `slow`, the
task's child is looked at, after two execs."""

import json

import slurm

MIB = 24
# The guest's nodes by tier and socket (tests/testbed): DRAM 0 and 1, slow 2 and 3.
NODES = {"fast": [0, 1], "slow": [2, 3]}
TIERS = {
    **{mode: ["fast"] for mode in ("fast", "dram", "spill")},
    **{mode: ["slow"] for mode in ("slow", "pmem")},
    "interleave": ["fast", "slow"],
}
REQUESTS = [
    f"{mode},socket={socket}" for mode in ("dram", "pmem", "interleave") for socket in ("local", "remote", "all")
]
# By request: what is between the step's shell and its program. setsid forks and execs, env execs.
STEPS = {
    **dict.fromkeys((*REQUESTS, "spill,socket=local", "dram", "pmem", "interleave", "fast,socket=local"), ""),
    "slow": "setsid -w env ",
}
# Writes the step's only CPU to a file, and runs the program.
STEP = """awk '/^Cpus_allowed_list/ { print $2 }' /proc/self/status > $1.cpu
shift
"$@"
"""


def expected_nodes(request, cpu):
    mode, _, socket = request.partition(",socket=")
    sockets = {"local": [cpu], "remote": [1 - cpu], "all": [0, 1]}[socket or "all"]
    return {NODES[tier][s] for tier in TIERS[mode] for s in sockets}


def test_pages_are_where_the_mode_says():
    """One job runs a step for each request."""
    slurm.drop_caches()  # a node that is full of page cache would leave its share to the next node
    folder = slurm.folder_of("alice")
    (folder / "step.sh").write_text(STEP)
    (folder / "go").touch()
    lines = [slurm.OVERLAP.strip(), f"cd {folder}"]
    for request, start in STEPS.items():
        lines.append(f"srun -n1 --hybrid-mem={request} bash step.sh {request} {start}occupy {MIB} {request} go")
    lines.append("srun -n1 --hybrid-mem=off awk '{ print $2 }' /proc/self/numa_maps | sort -u > off")
    job_id = slurm.sbatch("alice", "\n".join(lines), "-n1")
    assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
    for request in STEPS:
        pages = {int(node): count for node, count in json.loads((folder / request).read_text())["pages"].items()}
        nodes = expected_nodes(request, int((folder / f"{request}.cpu").read_text()))
        assert sum(pages.values()) >= MIB * slurm.MIB // slurm.PAGE
        if request.startswith("interleave"):
            assert set(pages) == nodes
            even = sum(pages.values()) / len(nodes)
            assert all(abs(count - even) <= 0.02 * even for count in pages.values()), (request, pages)
        else:  # bind fills the nearest of its nodes first
            assert set(pages) <= nodes, (request, pages, nodes)
    assert (folder / "off").read_text() == "default\n"
