# SPDX-License-Identifier: Apache-2.0
"""Tests that the migrator ends with its step, however the step ends, and that a migrator which ends earlier does not
harm the job."""

import contextlib
import os
import re
import signal
import struct
from pathlib import Path

import processes
import pytest
import slurm
from stepmigrators import BATCH, MIGRATOR, OPTION, Started, migrators, nothing_is_left, progress, steps_of

pytestmark = pytest.mark.usefixtures("no_job_of_alices_is_left")

MAGIC = 0x484D4D31  # HM_PROGRESS_MAGIC


@pytest.mark.slurm26
def test_a_killed_migrator_costs_the_job_nothing_and_the_record_says_so():
    started = Started()
    (pid,) = migrators(started.job_id)
    os.kill(pid, signal.SIGKILL)
    slurm.wait_for(lambda: not migrators(started.job_id), "the migrator's end")
    assert started.held.end() == "COMPLETED"
    record = slurm.record(started.job_id)
    assert record["exit_code"] == 0
    assert steps_of(record)["batch"]["end"] == "killed" and steps_of(record)["batch"]["phases"] >= 1
    assert any(w.startswith("the migrator of step batch was killed: its last") for w in record["warnings"])
    nothing_is_left(started.job_id)


def test_a_job_beyond_its_time_limit():
    started = Started()
    slurm.run(f"scontrol update JobId={started.job_id} EndTime=now")
    assert slurm.wait_job(started.job_id) == "TIMEOUT"
    assert steps_of(slurm.record(started.job_id))["batch"]["end"] == "ended"
    nothing_is_left(started.job_id)


def test_a_job_out_of_memory():
    started = Started()
    ((_, options),) = migrators(started.job_id).items()
    (Path(options["--cgroup"]).parents[1] / "memory.max").write_text("16M")
    assert slurm.wait_job(started.job_id) != "COMPLETED"
    record = slurm.record(started.job_id)
    assert record["exit_code"] != 0
    # The migrator has the same memory limit: the kernel may have killed it, too.
    assert steps_of(record)["batch"]["end"] in ("ended", "killed")
    nothing_is_left(started.job_id)


def test_a_step_that_cannot_be_launched():
    """No task is made, so the migrator cannot end with a task."""
    job_id = slurm.sbatch("alice", "true", OPTION, "-o", "/no/such/folder/out")
    assert slurm.wait_job(job_id) == "FAILED"
    record = slurm.record(job_id)
    assert record["migration"]["step_count"] <= 1
    nothing_is_left(job_id)


def test_the_users_own_binding_ends_the_migrator():
    folder = slurm.folder_of("alice")
    job_id = slurm.sbatch("alice", f"srun -n1 --mem-bind=map_mem:2 occupy 24 {folder}/ready {folder}/go 0", OPTION)
    slurm.wait_for((folder / "ready").exists, "the step")
    slurm.wait_for(lambda: "0" not in [o["--step"] for o in migrators(job_id).values()], "the end of its migrator")
    (folder / "go").touch()
    assert slurm.wait_job(job_id) == "COMPLETED"
    record = slurm.record(job_id)
    assert any("--mem-bind is set" in warning for warning in record["warnings"])
    assert not steps_of(record)["0"]["promoted_bytes"]
    nothing_is_left(job_id)


def test_a_killed_stepd_takes_the_migrator_with_it():
    started = Started()
    os.kill(processes.stepd_of(started.job_id), signal.SIGKILL)
    started.held.go.touch()
    slurm.wait_for(lambda: not migrators(started.job_id), "the migrator's end, by its guard")
    slurm.run(f"scancel {started.job_id}")
    slurm.wait_job(started.job_id)
    assert steps_of(slurm.record(started.job_id))["batch"]["end"] == "ended"
    # slurmstepd removes the cgroup's folders; as it was killed, they stay, empty.
    nothing_is_left(started.job_id, may_stay=True)


@contextlib.contextmanager
def instead_of_the_migrator(text):
    aside = MIGRATOR.with_suffix(".aside")
    MIGRATOR.rename(aside)
    try:
        if text is not None:
            MIGRATOR.write_text(text)
            MIGRATOR.chmod(0o755)
        yield
    finally:
        MIGRATOR.unlink(missing_ok=True)
        aside.rename(MIGRATOR)


def test_a_missing_migrator_is_a_warning():
    with instead_of_the_migrator(None):
        job_id = slurm.sbatch("alice", "true", OPTION)
        assert slurm.wait_job(job_id) == "COMPLETED"
    record = slurm.record(job_id)
    assert any(re.match("step batch: nothing is migrated: cannot execute .*hybridmem-migrator", w)
               for w in record["warnings"]), record["warnings"]  # fmt: skip
    assert record["migration"]["promoted_bytes"] is None
    assert record["migration"]["source"] == "a migrator was asked for, and left no figures on this node"
    nothing_is_left(job_id)


# A bad migrator for each step: the batch script's writes invalid figures, step 0's does not end, step 1's cannot start.
# Like the program that it stands for, the script becomes the job's user.
BAD = f"""#!/bin/bash
words=" $* "
uid=${{words#* --uid }}
[ $UID != 0 ] || exec setpriv --reuid=${{uid%% *}} --clear-groups "$0" "$@"
case " $* " in
*" --step {BATCH} "*) head -c 3000 /dev/urandom >&3; exec sleep 100000 ;;
*" --step 0 "*) trap '' TERM; while :; do sleep 1; done ;;
*) exec {MIGRATOR.with_suffix(".aside")} "$@" --reserve much ;;
esac
"""


def test_bad_migrators_hold_up_nothing_and_the_record_says_why():
    """The user can write the figures: root checks all that it takes from them."""
    folder = slurm.folder_of("alice")
    with instead_of_the_migrator(BAD):
        steps = f"srun -n1 true\nsrun -n1 occupy 8 {folder}/ready {folder}/go 0"
        job_id = slurm.sbatch("alice", slurm.OVERLAP + steps, OPTION)
        slurm.wait_for((folder / "ready").exists, "the second step")
        slurm.wait_for(lambda: progress(job_id, BATCH).magic != MAGIC, "bytes that are no figures")
        path = slurm.JOBS / f"{job_id}.1.migration"
        slurm.wait_for(lambda: b"--reserve" in path.read_bytes(), "the reason in the figures")
        (folder / "go").touch()
        assert slurm.wait_job(job_id) == "COMPLETED"
        record = slurm.record(job_id)
    assert {name: step["end"] for name, step in steps_of(record).items()} == {"0": "not begun", "1": "not begun"}
    said = "\n".join(record["warnings"])
    assert "the figures of the migrator of step batch cannot be used" in said
    assert re.search(r"^migrator of step 1: --reserve: .*much", said, re.M), said
    assert record["migration"]["phases"] is None
    # The sleep that step 0's migrator has started may outlive it by a second.
    slurm.wait_for(lambda: not processes.of_user("alice"), "the end of what stood in for the migrators")
    nothing_is_left(job_id)


def test_reap_takes_what_dead_jobs_left():
    orphan = slurm.JOBS / "4000000.0.migration"
    orphan.write_bytes(struct.pack("<I", 0))
    slurm.run("hybridmem reap")
    assert not orphan.exists()
