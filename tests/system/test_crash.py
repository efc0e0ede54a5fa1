# SPDX-License-Identifier: Apache-2.0
"""Kills the monitor, slurmstepd and slurmd, and fills the records' disk: the job's outcome is Slurm's own, nothing is
left, and the record says what is missing."""

import contextlib
import os
import re
import signal
from pathlib import Path

import processes
import readings
import slurm

EXTERN = 0xFFFFFFFC  # number of the extern step, which scancel takes only so
SLURMD = slurm.process_name("slurmd")


def monitors():
    return [int(line.split()[0]) for line in processes.of_hybridmem()]


def is_running(pid):
    """Whether the process exists and is not a zombie that waits for its parent."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it may end while it is read
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


@contextlib.contextmanager
def killed_slurmd():
    """Kill slurmd for the time of the block, and start it again afterwards, even if the block fails."""
    pid = int(slurm.run(f"pgrep -o -x {SLURMD}").stdout)  # the oldest: its children have the same name until they exec
    os.kill(pid, signal.SIGKILL)
    try:
        slurm.wait_for(lambda: not is_running(pid), "slurmd's end")
        yield
    finally:
        slurm.run("slurmd -N n1")


def test_users_cannot_touch_the_monitor_and_a_kill_costs_its_figures_alone():
    with slurm.Occupied("alice", 64, "--hybrid-mem=spill") as held:
        readings.wait_sampled(held.job_id)  # until then the monitor may still run as root
        (pid,) = monitors()
        samples = slurm.JOBS / f"{held.job_id}.samples"
        assert samples.exists()
        forbidden = (f"ls {slurm.JOBS}", *(f"{verb} {samples}" for verb in ("cat", "truncate -s 0", "rm")))
        for command in (*forbidden, f"kill -9 {pid}", f"cat /proc/{pid}/environ"):
            assert slurm.run(command, user="alice", check=False).returncode != 0, command
        traced = slurm.run(f"timeout 200 strace -p {pid} -o /dev/null", user="alice", check=False)
        assert traced.returncode not in (0, 124), traced
        assert monitors() == [pid] and samples.exists()
        os.kill(pid, signal.SIGKILL)
        slurm.wait_for(lambda: not is_running(pid), "the monitor's end")
        assert held.end() == "COMPLETED"
    record = slurm.record(held.job_id)
    assert any("monitor" in warning for warning in record["warnings"]), record["warnings"]


def test_killed_stepds_leave_nothing():
    """One job's batch step and another job's extern step are killed."""
    held, other = (slurm.Occupied(user, 64, "--hybrid-mem=spill") for user in ("alice", "bob"))
    os.kill(processes.stepd_of(held.job_id), signal.SIGKILL)
    os.kill(processes.stepd_of(other.job_id, "extern"), signal.SIGKILL)
    for job in (held, other):
        job.go.touch()
    # No process is left that could tell slurmctld of the script's end: such a job ends by scancel, or when the node
    # registers.
    slurm.run(f"scancel {held.job_id}")
    for job in (held, other):
        slurm.wait_job(job.job_id)
        assert slurm.record(job.job_id)["plan"]["mode"] == "spill"
    slurm.wait_idle()
    # Slurm leaves the extern step's process, and in its cgroup it would count as a job that nobody knows.
    slurm.run("pkill -KILL -f 'sleep 100000000'", check=False)
    assert monitors() == []


def test_slurmd_may_be_reconfigured_and_killed_under_a_job():
    with slurm.Occupied("alice", 64, "--hybrid-mem=slow") as held:
        monitors_before = slurm.wait_for(monitors, "a monitor")
        slurm.run("scontrol reconfigure")
        # For a moment there are two: a reconfigured slurmd starts a new slurmd, which takes over.
        slurm.run(f"while pkill -KILL -x {SLURMD}; do sleep 0.1; done; slurmd -N n1", check=False)
        slurm.wait_for(lambda: slurm.node_state() in ("ALLOCATED", "MIXED"), "slurmd's return", every=0.5)
        assert monitors() == monitors_before
        readings.wait_sampled(held.job_id)
        assert held.end() == "COMPLETED"
    record = slurm.record(held.job_id)
    assert not any("monitor" in warning for warning in record["warnings"])
    assert record["exit_code"] == 0 and sum(slurm.tier_bytes(record)) >= 64 * slurm.MIB


def test_full_disk_at_the_epilog_keeps_the_record_for_later():
    slurm.RECORDS.mkdir(parents=True, exist_ok=True)
    slurm.run(f"mount -t tmpfs -o size=64k,mode=0751 none {slurm.RECORDS}")
    try:
        slurm.run(f"dd if=/dev/zero of={slurm.RECORDS}/filler bs=4k", check=False)
        with slurm.Occupied("alice", 64, "--hybrid-mem=spill") as held:
            pass
        slurm.wait_idle()
        assert slurm.records(held.job_id) == []
        (slurm.RECORDS / "filler").unlink()
        slurm.run("hybridmem reap")
        assert len(slurm.records(held.job_id)) == 1
    finally:
        slurm.run(f"umount {slurm.RECORDS}")


def test_weights_that_a_dead_job_changed_come_back():
    weight = Path("/sys/kernel/mm/mempolicy/weighted_interleave/node0")
    before = weight.read_text()
    config = slurm.CONFIG.read_text() + 'channels "fast+slow" { kind = separate }\n'
    with slurm.configured(config):
        held = slurm.Occupied("alice", 64, "--hybrid-mem=spill", "--partition=whole", "--exclusive")
        changed = weight.read_text()
        # The node as a crash leaves it: slurmd gone, the job's processes gone, no epilog.
        with killed_slurmd():
            for step in ("batch", "extern"):
                os.kill(processes.stepd_of(held.job_id, step), signal.SIGKILL)
            held.go.touch()
            slurm.run("pkill -KILL -u alice; pkill -KILL -f 'sleep 100000000'", check=False)
            slurm.wait_for(lambda: not processes.of_user("alice"), "the end of the job's processes")
            # reap looks at this cgroup; the job's processes that run as root are in it, too.
            slurm.wait_for(lambda: not processes.is_populated(held.job_id), "an empty cgroup of the job")
            slurm.run("hybridmem reap")
            assert changed != before and weight.read_text() == before
        slurm.run(f"scancel {held.job_id}")
    slurm.wait_job(held.job_id)


def test_an_idle_allocation_is_not_taken_for_dead():
    """Its user ends the extern step, and no process of the job is left. What it does later is in its record, too."""
    done = slurm.run("salloc --no-shell -n1 --hybrid-mem=spill", user="alice")
    job_id = int(re.search(r"allocation (\d+)", done.stderr)[1])
    slurm.wait_for(lambda: processes.is_populated(job_id), "the extern step")
    slurm.run(f"scancel {job_id}.{EXTERN}", user="alice")
    slurm.wait_for(lambda: not processes.is_populated(job_id), "the extern step's end")
    for _ in range(2):
        slurm.run("hybridmem reap --grace 0")
    slurm.run(f"srun --jobid={job_id} true", user="alice")
    slurm.run(f"scancel {job_id}")
    slurm.wait_job(job_id)
    record = slurm.record(job_id)
    assert record["step_ids"] == ["0"] and record["partition"] == "main", record
