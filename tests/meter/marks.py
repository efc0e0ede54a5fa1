# SPDX-License-Identifier: Apache-2.0
"""Reads the marks of the tier meter (tests/testbed/README.md). A mark has a name, and what each CPU had accessed on
each node from the guest's boot until the mark was set."""

import json

FAST_NODES = (0, 1)


def read(path):
    """Return {name: mark} of the meter's file."""
    return {mark["name"]: mark for mark in json.loads(path.read_text())["marks"]}


def counts(mark, *kinds):
    """Return {node: accesses of these kinds since boot, over all CPUs}."""
    totals = {}
    for cpu in mark["cpus"]:
        for node in cpu["nodes"]:
            totals[node["node"]] = totals.get(node["node"], 0) + sum(node[kind] for kind in kinds)
    return totals


def grown(marks, name, *kinds, edges=("start", "end")):
    """Return {node: accesses between two marks, NAME.start and NAME.end by default}."""
    before, after = (counts(marks[f"{name}.{edge}"], *kinds) for edge in edges)
    return {node: count - before.get(node, 0) for node, count in after.items()}


def fast_share(marks, name, *kinds, edges=("start", "end")):
    """Return the share of these accesses that fast nodes served."""
    totals = grown(marks, name, *kinds, edges=edges)
    return sum(totals.get(node, 0) for node in FAST_NODES) / sum(totals.values())
