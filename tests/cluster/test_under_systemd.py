# SPDX-License-Identifier: Apache-2.0
"""Units of systemd as they are installed, in their sandboxes: started by a timer, by an epilog, or to stay. What starts
at boot is in test_bad_boots.py."""

import contextlib
import pwd
import re

import cluster
import pytest
import slurm
from slurm import Occupied

LOCK = "/run/hybridmem/root/node/namespace.lock"  # held while namespaces are changed
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


@contextlib.contextmanager
def limited_wipe():
    """An epilog on n1 may wipe for a second, and another process changes namespaces for longer."""
    config = str(slurm.CONFIG)
    cluster.on("n1", f"cp {config} {config}.before && echo 'fsdax_wipe_limit = 1s' >> {config}")
    cluster.on("n1", f"systemd-run --quiet --unit=another flock {LOCK} sleep infinity")
    slurm.wait_for(lambda: cluster.on("n1", f"flock -n {LOCK} true", check=False) is None, "its lock", every=0.2)
    try:
        yield
    finally:
        cluster.on("n1", f"mv {config}.before {config}; systemctl stop another")


def test_what_an_epilog_has_no_time_to_wipe_a_unit_of_the_job_wipes():
    job = Occupied("alice", 16, "-wn1", "--hybrid-mem=fsdax,size=64M")
    unit = f"hybridmem-wipe@{job.job_id}-*.service"
    with limited_wipe():
        assert job.end() == "COMPLETED"
        active = f"systemctl list-units --state=activating --no-legend '{unit}'"
        slurm.wait_for(lambda: cluster.on("n1", active).strip(), "the unit of the job", every=0.5)
        cluster.wait_idle()
        assert len(cluster.left_on("n1")) > 0
    slurm.wait_for(lambda: not cluster.left_on("n1"), "the end of the wipe", every=0.5)
    slurm.wait_for(lambda: "Deactivated successfully" in said(unit), "the end of the unit", every=0.5)
    assert slurm.record(job.job_id)["exit_code"] == 0


def test_the_unit_removes_old_records_with_the_users_copies():
    """It reads record_dir from hybridmem.conf."""
    with Occupied("alice", 16, *SPILL) as job:
        pass
    slurm.record(job.job_id)
    settings = cluster.on("n1", "/usr/libexec/hybridmem/hybridmem-config show")
    (folder,) = re.findall(r'^record_dir = "(.*)"$', settings, re.M)
    old, copies = f"{folder}/2020-02-02", f"{folder}/by-user/{pwd.getpwnam('alice').pw_uid}/2020-02-02"
    cluster.on("n1", f"install -d -m 750 {old} && install -d -o alice -m 700 {copies}")
    cluster.on("n1", f"touch -d 2020-02-02 {old}/n1.jsonl && su alice -c 'touch -d 2020-02-02 {copies}/n1.jsonl'")
    before = cluster.on("n1", f"cd {folder} && find . -type f | sort").split()
    cluster.on("n1", "systemctl start hybridmem-expire.service")
    left = cluster.on("n1", f"cd {folder} && find . -type f | sort").split()
    assert left == [name for name in before if "2020-02-02" not in name] and len(before) == len(left) + 2
    assert cluster.on("n1", f"ls -d {old}", check=False) is cluster.on("n1", f"ls -d {copies}", check=False) is None
