# SPDX-License-Identifier: Apache-2.0
"""Tests the monitoring group of each job. The node's processor has no resctrl: a file system stands in for it."""

import contextlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import processes
import pytest
import readings
import slurm

PROGRAM = Path(__file__).with_name("resctrlfs.py")


class Resctrl:
    """The stand-in, and the files that tell it what to count."""

    def __init__(self, folder):
        self.mount, self.state = folder / "mount", folder / "state"
        self.groups = self.mount / "mon_groups"
        folder.chmod(0o755)
        self.mount.mkdir()
        self.state.mkdir()
        self.counts = {}
        self.count("", 0, 0)
        self.allow(100)

    def serve(self):
        self.server = subprocess.Popen([sys.executable, PROGRAM, self.mount, self.state])
        slurm.wait_for(self.groups.exists, "the file system")

    def write(self, name, text):
        """Replace the file as a whole, as it may be read at any moment."""
        draft = self.state / "draft"
        draft.write_text(text)
        draft.rename(self.state / name)

    def allow(self, rmids):
        self.write("rmids", f"{rmids}\n")

    def count(self, group, total, local):
        self.counts[group] = {"mbm_total_bytes": str(total), "mbm_local_bytes": str(local)}
        self.write("counts", json.dumps(self.counts))

    def log(self):
        return [json.loads(line) for line in (self.state / "log").read_text().splitlines()]

    def tasks(self, group):
        return {words[2] for words in self.log() if words[:2] == ["task", group]}

    def names(self):
        return sorted(path.name for path in self.groups.iterdir())


@pytest.fixture
def resctrl():
    """Mount the stand-in, and name it in hybridmem.conf. It is not in /tmp, as a job may have a /tmp of its own."""
    made = Resctrl(Path(tempfile.mkdtemp(prefix="resctrl.", dir="/run")))
    try:
        made.serve()
        with slurm.configured(f'{slurm.CONFIG.read_text()}resctrl = yes\nresctrl_dir = "{made.mount}"\n'):
            yield made
            slurm.wait_idle()
    finally:
        slurm.run(f"umount -l {made.mount}", check=False)
        made.server.kill()
        made.server.wait()
        shutil.rmtree(made.mount.parent)


def group_of(job_id):
    return f"hybridmem.{job_id}.0"


def parents(pid):
    """The process and its ancestors."""
    while pid > 1:
        yield pid
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


OTHERS = ["hybridmem", "hybridmem.7", "hybridmem.07.0", "pqos"]  # groups that hybridmem did not make


def check_nobody_reads(resctrl, job_id):
    """The job's own user cannot read the group either: the monitor opens the counters while it is still root."""
    group = resctrl.groups / group_of(job_id)
    assert stat.S_IMODE(group.stat().st_mode) == 0o700
    for user in ("alice", "bob"):
        slurm.run(f"cat {resctrl.mount}/mon_data/*/*", user=user)  # other files below the mount are readable
        refused = slurm.run(f"cat {group}/tasks {group}/mon_data/*/*", user=user, check=False)
        assert refused.returncode == 1 and refused.stdout == "" and "Permission denied" in refused.stderr


def check_reap(resctrl, living):
    """reap removes the groups of dead jobs, and no others."""
    for name in ("hybridmem.4294967294.3", *OTHERS):
        (resctrl.groups / name).mkdir()
    slurm.run("hybridmem reap")
    assert resctrl.names() == sorted([*living, *OTHERS])


def check_without_a_group(job_id):
    record = slurm.record(job_id)
    group = record["traffic"]["job"]
    assert group["total_bytes"] is None and group["local_bytes"] is None
    assert group["source"].startswith("no resctrl group: all of the processor's monitoring ids (RMIDs")
    assert not [text for text in record["warnings"] if "traffic" in text or "resctrl" in text]


def test_each_of_two_jobs_has_its_own_traffic(resctrl):
    """A third job runs without a group, as all monitoring ids are taken."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(slurm.Occupied(user, 8, "--hybrid-mem=slow")) for user in ("alice", "bob")]
        groups = [group_of(job.job_id) for job in held]
        resctrl.allow(len(held))
        third = slurm.sbatch("carol", "true", "--hybrid-mem=slow")
        for number, (job, group) in enumerate(zip(held, groups), 1):
            assert resctrl.tasks(group) & set(parents(job.pid))
            readings.wait_metered(job.job_id)
            resctrl.count(group, 5_000_000 * number, 300_000 * number)
        assert slurm.wait_job(third) == "COMPLETED"
        check_without_a_group(third)
        resctrl.allow(100)
        check_nobody_reads(resctrl, held[0].job_id)
        check_reap(resctrl, groups)
        for job in held:
            readings.wait_metered(job.job_id)
    for number, job in enumerate(held, 1):
        record = slurm.record(job.job_id)
        assert record["traffic"]["job"].pop("seconds") > 0
        assert record["traffic"]["job"] == {
            "total_bytes": 5_000_000 * number,
            "local_bytes": 300_000 * number,
            "source": "resctrl",
        }
        assert record["traffic"]["tiers"] == [] and "resctrl" not in record["traffic"]["source"]
        assert not [text for text in record["warnings"] if "traffic" in text or "resctrl" in text]
    slurm.wait_idle()
    assert resctrl.names() == sorted(OTHERS)
    for name in OTHERS:
        (resctrl.groups / name).rmdir()
    shown = slurm.run(f"hybridmem show {held[0].job_id}").stdout
    line = "  own traffic  4.8 MiB between caches and memory of all tiers, 293.0 KiB to memory of the same socket"
    assert line in shown


def test_steps_of_a_job_share_its_group_and_a_job_without_a_record_has_none(resctrl):
    """Steps that place nothing are in the job's group, too."""
    script = f"{slurm.OVERLAP}srun --hybrid-mem=off true\nsrun --hybrid-mem=fast true"
    job_id, silent = slurm.sbatch("alice", script, "--hybrid-mem=slow"), slurm.sbatch("bob", "true")
    for one in (job_id, silent):
        assert slurm.wait_job(one) == "COMPLETED"
    assert slurm.record(job_id)["traffic"]["job"]["source"]
    log = resctrl.log()
    assert [words for words in log if words[0] == "mkdir"] == [["mkdir", group_of(job_id)]]
    assert len(resctrl.tasks(group_of(job_id))) == 3
    slurm.wait_idle()
    assert resctrl.log()[-1] == ["rmdir", group_of(job_id)]


def test_killed_processes_leave_no_group(resctrl):
    """The monitor and slurmstepd are killed: the job's epilog still removes the group, and the record has no figure."""
    held = slurm.Occupied("alice", 8, "--hybrid-mem=slow")
    readings.wait_metered(held.job_id)
    (monitor,) = slurm.wait_for(processes.of_hybridmem, "a monitor")
    os.kill(int(monitor.split()[0]), signal.SIGKILL)
    os.kill(processes.stepd_of(held.job_id), signal.SIGKILL)
    held.go.touch()
    slurm.run(f"scancel {held.job_id}")
    slurm.wait_job(held.job_id)
    group = slurm.record(held.job_id)["traffic"]["job"]
    assert group["total_bytes"] is None and "the monitor was killed" in group["source"]
    slurm.wait_idle()
    assert resctrl.names() == []
