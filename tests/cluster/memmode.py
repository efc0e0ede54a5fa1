# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of nodes that change their memory's mode: what Slurm and a node say of it."""

import cluster
import slurm

FLAT, CACHE = "memmode=flat", "memmode=cache"
LAYOUT = {FLAT: "flat", CACHE: "cached"}
NOTE = "/var/lib/hybridmem/memmode"


def node(name):
    """scontrol's fields of a node."""
    text = "\n".join(slurm.lines(f"scontrol show node {name}") or [])
    fields = dict(word.split("=", 1) for word in text.split() if "=" in word)
    return {**fields, "Reason": text.partition("Reason=")[2].partition("\n")[0]}


def features():
    """The active feature of each node."""
    return {name: node(name).get("ActiveFeatures") for name in cluster.NODES}


def wait_reported():
    """Waits until each node has told slurmctld its memory's mode. A node is idle some time before that, and a job that
    asks for a mode, as all with --hybrid-mem do, is refused until then."""
    slurm.wait_for(lambda: set(features().values()) <= {FLAT, CACHE}, "reports of all nodes", every=0.2)


def check_machine(name, feature):
    """The node's memory is in this mode, and nothing is pending."""
    assert cluster.on(name, "testbed-machine show").split() == [LAYOUT[feature]] * 2
    assert cluster.on(name, f"test ! -e {NOTE} && /usr/libexec/hybridmem/hybridmem-memmode") == f"{feature}\n"
    assert [len(cluster.tiers(name)["tiers"]), node(name)["ActiveFeatures"]] == [1 if feature == CACHE else 2, feature]


def wait_state(job_id, state):
    slurm.wait_for(lambda: slurm.job(job_id).get("JobState") == state, f"job {job_id} that is {state}", every=0.2)
