# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of libhybridmem: a program that places its memory, and where the kernel has that memory."""

import contextlib
import json
import os
import re
import subprocess
from pathlib import Path

import slurm

SOURCE = Path(__file__).parent / "programs" / "alloc" / "placed.c"
PROGRAM = "/usr/local/bin/placed"
SPILL, SPLIT, FAST, SLOW, INTERLEAVE = range(1, 6)
READ, WRITE = 0, 1
MIB = slurm.MIB


@contextlib.contextmanager
def placed(policy, mib, use=READ, block=0, share=0.0, touched=None, env=None, prefix=()):
    """Run programs/alloc/placed.c with these arguments. Gives the JSON object that the program prints about its memory.
    The object's `runs` are stretches of adjacent blocks that are on one node, or in one folder's file."""
    words = [*prefix, PROGRAM, policy, use, mib, block, share, mib if touched is None else touched]
    process = subprocess.Popen(
        [str(word) for word in words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
    try:
        line = process.stdout.readline()
        assert line, "placed has said nothing"
        yield json.loads(line)
    finally:
        process.communicate()
        assert process.returncode == 0


def mappings(pid):
    """Read numa_maps of a process: {address: (policy, {node: bytes})}, without the mappings of files."""
    found = {}
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        if " file=" in line:
            continue
        address, policy, *_ = line.split()
        size = int(re.search(r"kernelpagesize_kB=(\d+)", line)[1]) << 10 if "kernelpagesize" in line else 0
        nodes = {int(node): int(count) * size for node, count in re.findall(r" N(\d+)=(\d+)", line)}
        found[int(address, 16)] = (policy, nodes)
    return found


def check(held, mib):
    """Checks that the runs follow each other without gaps, and that the kernel has one mapping for each run, with all
    of its pages."""
    kernel, offset = mappings(held["pid"]), 0
    for run in held["runs"]:
        assert run["offset"] == offset and run["folder"] == -1
        policy, nodes = kernel[held["address"] + offset]
        assert policy == f"prefer=static:{run['node']}", policy
        assert nodes == {run["node"]: run["bytes"]}, (run, nodes)
        offset += run["bytes"]
    assert offset == mib * MIB
    for node, (wanted, resident) in held["nodes"].items():
        assert wanted == resident == sum(run["bytes"] for run in held["runs"] if run["node"] == int(node))
    assert held["absent"] == 0


def by_block(held):
    """The node of each block, in order."""
    return [run["node"] for run in held["runs"] for _ in range(run["bytes"] // held["block"])]
