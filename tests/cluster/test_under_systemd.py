# SPDX-License-Identifier: Apache-2.0
"""A unit of systemd as it is installed, in its sandbox, started by its timer. What starts at boot is in
test_two_machines.py (the reap) and test_memory_mode.py (the check of the mode)."""

import contextlib

import cluster
import pytest
import slurm
from slurm import Occupied

METRICS = "/var/lib/prometheus/node-exporter/hybridmem.prom"
SPILL = ("-wn1", "--hybrid-mem=spill")


@contextlib.contextmanager
def set_on_n1(unit, *lines):
    """A drop-in of this unit on n1 has these lines."""
    folder = f"/run/systemd/system/{unit}.d"
    text = "\\n".join(lines)
    cluster.on("n1", f"mkdir -p {folder} && printf '{text}\\n' > {folder}/test.conf && systemctl daemon-reload")
    try:
        yield
    finally:
        cluster.on("n1", f"rm -r {folder} && systemctl daemon-reload")


def said(unit):
    """What n1's log has of these units."""
    return cluster.on("n1", f"journalctl -b -u '{unit}' -o cat")


@pytest.fixture(autouse=True)
def log():
    """The log of the units is shown where a test fails."""
    yield
    print(said("hybridmem-*"))


@pytest.mark.clusterlong
def test_the_timer_writes_the_metrics_of_the_nodes_jobs():
    """The timer is set to a second after its start, instead of minutes after the boot and the last time."""
    with Occupied("alice", 16, *SPILL) as job:
        pass
    slurm.record(job.job_id)
    cluster.on("n1", f"rm -f {METRICS}")
    soon = ("[Timer]", "OnBootSec=", "OnUnitActiveSec=", "OnActiveSec=1s", "RandomizedDelaySec=0")
    with set_on_n1("hybridmem-export.timer", *soon):
        cluster.on("n1", "systemctl restart hybridmem-export.timer")
        slurm.wait_for(lambda: cluster.on("n1", f"cat {METRICS}", check=False), "metrics", every=0.5)
        shown = cluster.on("n1", "systemctl show hybridmem-export.timer -p LastTriggerUSec --value")
    assert "hybridmem_window_jobs{" in cluster.on("n1", f"cat {METRICS}")
    assert shown.strip(), "the timer was never due"
    cluster.on("n1", "systemctl restart hybridmem-export.timer")
