# SPDX-License-Identifier: Apache-2.0
"""Runs Slurm's daemons with other settings, and a second node on this machine."""

import contextlib
import re
from pathlib import Path

import slurm

SLURM_CONF = Path("/etc/slurm/slurm.conf")


def restart(daemon, *words):
    slurm.run(f"{slurm.stop(daemon)}; {daemon} {' '.join(words)}")


@contextlib.contextmanager
def reconfigured(text):
    """Runs Slurm's daemons with another slurm.conf for a while."""

    def restart_both():
        restart("slurmctld")
        restart("slurmd", "-N n1")
        slurm.wait_for(lambda: slurm.run("scontrol ping", check=False).returncode == 0, "slurmctld")
        slurm.wait_idle()

    try:
        with slurm.configured(text, path=SLURM_CONF):
            restart_both()
            yield
            slurm.wait_no_jobs()
            slurm.wait_idle()
    finally:
        restart_both()


# Starts a second slurmd whose node has a ledger and a state of its own. All nodes share the records' folder, as on a
# cluster.
APART = """unshare --mount sh -euc '
    mkdir -p {own}/run {own}/state/records /run/hybridmem
    install -d -m 0751 -g hybridmem /var/lib/hybridmem/records
    mount --bind /var/lib/hybridmem/records {own}/state/records
    mount --rbind {own}/state /var/lib/hybridmem
    mount --bind {own}/run /run/hybridmem
    exec slurmd -N n2'"""


@contextlib.contextmanager
def second(is_apart=False):
    """Runs a second slurmd. Heterogeneous jobs need it: Slurm starts their components on different nodes. With
    `is_apart` the second node has its own ledger and state, so that one job can be on both nodes."""
    before = SLURM_CONF.read_text()
    node = re.search(r"^NodeName=n1 .*$", before, re.M).group()
    other = node.replace("=n1 ", "=n2 NodeHostname=n2 Port=16818 ")
    text = before.replace(node, f"{node}\n{other}").replace("=main Nodes=n1", "=main Nodes=n1,n2")
    for key in ("SlurmdPidFile", "SlurmdLogFile", "SlurmdSpoolDir"):
        text = re.sub(rf"^({key}=\S+)$", r"\1-%n", text, flags=re.M)
    hosts = Path("/etc/hosts")
    with slurm.configured(hosts.read_text() + "10.0.5.1 n2\n", path=hosts), reconfigured(text):
        slurm.run(APART.format(own=slurm.run("mktemp -d").stdout.strip()) if is_apart else "slurmd -N n2")
        slurm.wait_for(lambda: slurm.lines("sinfo -h -n n2 -p main -o %T") == ["idle"], "a second node")
        yield
        slurm.wait_no_jobs()
