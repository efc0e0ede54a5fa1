# SPDX-License-Identifier: Apache-2.0
"""Other settings of the node's daemons, and a second node on this machine."""

import contextlib
import re
from pathlib import Path

import slurm

SLURM_CONF = Path("/etc/slurm/slurm.conf")


def restart(daemon, *words):
    slurm.run(f"pkill -x {daemon}; while pgrep -x {daemon}; do sleep 0.1; done; {daemon} {' '.join(words)}")


@contextlib.contextmanager
def reconfigured(text):
    """Slurm's daemons under another slurm.conf for a while."""

    def restart_both():
        restart("slurmctld")
        restart("slurmd", "-N n1")
        slurm.wait_for(lambda: slurm.run("scontrol ping", check=False).returncode == 0, "slurmctld")
        slurm.wait_idle()

    with slurm.configured(text, path=SLURM_CONF):
        restart_both()
        yield
        slurm.wait_no_jobs()
        slurm.wait_idle()
    restart_both()


@contextlib.contextmanager
def second():
    """A second slurmd: Slurm starts the components of a heterogeneous job on different nodes."""
    before = SLURM_CONF.read_text()
    node = re.search(r"^NodeName=n1 .*$", before, re.M).group()
    other = node.replace("=n1 ", "=n2 NodeHostname=n2 Port=16818 ")
    text = before.replace(node, f"{node}\n{other}").replace("=main Nodes=n1", "=main Nodes=n1,n2")
    for key in ("SlurmdPidFile", "SlurmdLogFile", "SlurmdSpoolDir"):
        text = re.sub(rf"^({key}=\S+)$", r"\1-%n", text, flags=re.M)
    hosts = Path("/etc/hosts")
    with slurm.configured(hosts.read_text() + "10.0.5.1 n2\n", path=hosts), reconfigured(text):
        slurm.run("slurmd -N n2")
        slurm.wait_for(lambda: slurm.lines("sinfo -h -n n2 -p main -o %T") == ["idle"], "a second node")
        yield
        slurm.wait_no_jobs()
