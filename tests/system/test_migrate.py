# SPDX-License-Identifier: Apache-2.0
"""A migrator for each step of a migrate job: started as the user, its figures in the record."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
import slurm
from migration import SLOW, written
from stepmigrators import (
    BATCH,
    OPTION,
    Started,
    descriptors_of,
    migrators,
    nothing_is_left,
    phases,
    progress,
    status_of,
    steps_of,
    wait_phases,
)

PROGRAM = Path(slurm.run("ls /usr/libexec/hybridmem/hybridmem-migrator /usr/local/libexec/hybridmem/hybridmem-migrator "
                         "2>/dev/null || true").stdout.split()[0])  # fmt: skip
POLICY = "/usr/bin/awk 'NR == 1 { print $2 }' /proc/self/numa_maps"


@pytest.fixture(autouse=True)
def no_job_is_left(clean_node):
    """Also where a test fails half-way: what `clean_node` then looks at is what its job leaves."""
    yield
    slurm.run("scancel --user=alice")


@pytest.mark.main
def test_a_migrated_job_and_its_record():
    held = slurm.Occupied("alice", 48, OPTION + ",fast=16M,rate=100M", "--time=30")
    job_id = held.job_id
    wait_phases(job_id, BATCH, 2)
    # Phases before the job had its memory count as well, and have no source.
    slurm.wait_for(lambda: progress(job_id, BATCH).source not in (b"", b"none yet"), "its source of samples")
    ((pid, options),) = migrators(job_id).items()
    status = status_of(pid)
    assert status["Uid"].split() == [str(slurm.home("alice").stat().st_uid)] * 4
    assert status["Groups"].strip() == "" and status["NoNewPrivs"] == "1"
    assert Path(f"/proc/{pid}/oom_score_adj").read_text() == "0\n"
    assert Path(f"/proc/{pid}/cgroup").read_text().strip().endswith("/step_batch/slurm")
    assert Path(options["--cgroup"]).name == "user" and (Path(options["--cgroup"]) / "cgroup.events").exists()
    assert options["--cap"] == str(16 << 20) and options["--rate"] == str(100 << 20)
    assert options["--fast-nodes"] == "0-1" and options["--slow-nodes"] == "2-3"
    assert int(options["--end"]) > time.time()
    # What it keeps takes no room in the fast tier, but for what it had before it knew which that is.
    heap = next(line for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines() if " heap " in line)
    assert " prefer (many)=static:2-3 " in heap, heap
    assert any(f" N{node}=" in heap for node in SLOW), heap
    # It has what it needs, and nothing of slurmstepd's.
    opened = descriptors_of(pid)
    assert not [name for name in opened if "slurm" in name.lower() and "cgroup" not in name], opened
    file = slurm.JOBS / f"{job_id}.{BATCH}.migration"
    assert file.stat().st_mode & 0o777 == 0o600 and file.stat().st_uid == 0
    # Other users cannot trace it, nor he himself: it was given a handle of root's.
    assert slurm.run(f"cat /proc/{pid}/environ", user="alice", check=False).returncode != 0
    assert held.end() == "COMPLETED"
    record = slurm.record(job_id)
    assert record["plan"]["mode"] == "migrate" and "migrator keeps" in record["plan"]["reason"]
    migration = record["migration"]
    assert migration["self_reported"] is True and migration["source"] == "the migrator's own figures (self-reported)"
    assert migration["phases"] >= 2 and migration["cap_bytes"] == 16 << 20 and migration["interval_s"] == 0.2
    assert migration["algorithm"] == "regions"
    # There is no PMU here: the record says what was used instead of perf, and why.
    assert migration["sample_source"] in ("damon", "faults"), migration["sample_source_why"]
    assert "perf" in migration["sample_source_why"]
    assert list(steps_of(record)) == ["batch"] and steps_of(record)["batch"]["end"] == "ended"
    assert not [warning for warning in record["warnings"] if "migrator" in warning and "killed" in warning]
    nothing_is_left(job_id)


@pytest.mark.main
def test_nobody_looks_into_it_before_it_has_begun():
    """The program is not readable. It is stopped in its first instructions here: the loader opens a pipe."""
    folder = slurm.folder_of("alice")
    assert PROGRAM.stat().st_mode & 0o777 == 0o711
    assert slurm.run(f"cat {PROGRAM}", user="alice", check=False).returncode != 0
    os.mkfifo(folder / "pipe")
    (folder / "pipe").chmod(0o644)
    started = subprocess.Popen(
        [str(PROGRAM), "--help"], user="alice", group="alice", extra_groups=[], stdout=subprocess.PIPE, text=True,
        env={"LD_PRELOAD": str(folder / "pipe")},
    )  # fmt: skip
    try:
        assert Path(f"/proc/{started.pid}/environ").stat().st_uid == 0
        assert slurm.run(f"cat /proc/{started.pid}/environ", user="alice", check=False).returncode != 0
        assert started.poll() is None
        (folder / "pipe").write_text("")
        assert "--progress-fd" in started.communicate(timeout=slurm.PATIENCE)[0]
        assert started.returncode == 0
    finally:
        started.kill()
        started.wait()


def top(words, user=None, launch=""):
    """What hybridmem top prints. It waits 5 s for an answer, which a migrator gives between two phases: ask again."""

    def shown():
        done = slurm.run(f"{launch}hybridmem top {words}", user=user, check=False)
        if "does not answer" in done.stderr:
            return None
        assert done.returncode == 0, done.stderr
        return done

    return slurm.wait_for(shown, f"hybridmem top {words}").stdout


@pytest.mark.main
def test_top_shows_it_to_its_user_alone():
    """By job, by step and without a name; to the step's user and to root."""
    started = Started(OPTION + ",fast=16M")
    for words in (f"{started.job_id}", f"{started.job_id}.batch", ""):
        shown = json.loads(top(f"--json {words}", user="alice"))
        assert (shown["job_id"], shown["step_id"], shown["node"]) == (started.job_id, "batch", slurm.NODE)
        assert shown["cap_bytes"] == 16 << 20 and shown["phases"] >= 1
    # From elsewhere, as the man page has it, by a step without a migrator of its own.
    srun = f"srun --quiet --jobid={started.job_id} --overlap -N1 -n1 --hybrid-mem=off "
    shown = json.loads(top(f"--json {started.job_id}.batch", user="alice", launch=srun))
    assert (shown["job_id"], shown["step_id"]) == (started.job_id, "batch")
    screen = top(f"--once {started.job_id}")
    assert f"job {started.job_id}.batch on {slurm.NODE}, running: algorithm regions" in screen
    refused = slurm.run(f"hybridmem top --once {started.job_id}", user="bob", check=False)
    assert refused.returncode == 1 and f"no migrator of job {started.job_id}" in refused.stderr
    assert started.held.end() == "COMPLETED"
    nothing_is_left(started.job_id)


def test_each_step_has_its_own_and_a_cancelled_step_loses_it():
    folder = slurm.folder_of("alice")
    script = "\n".join(
        f"srun --overlap -n1 occupy 24 {folder}/ready-{i} {folder}/go-{i} 0 &" for i in (0, 1)
    )  # fmt: skip
    job_id = slurm.sbatch("alice", f"{script}\nwait; echo both over", OPTION)
    for step in (0, 1):
        wait_phases(job_id, step)
    assert sorted(options["--step"] for options in migrators(job_id).values()) == ["0", "1", str(BATCH)]
    assert len({options["--cgroup"] for options in migrators(job_id).values()}) == 3
    slurm.run(f"scancel {job_id}.0")
    slurm.wait_for(lambda: len(migrators(job_id)) == 2, "the end of the cancelled step's migrator")
    before = phases(job_id, 1)
    wait_phases(job_id, 1, before + 1)
    (folder / "go-0").touch()
    (folder / "go-1").touch()
    assert slurm.wait_job(job_id) == "COMPLETED"
    assert "both over" in slurm.output(job_id)
    record = slurm.record(job_id)
    assert sorted(steps_of(record)) == ["0", "1", "batch"]
    # scancel kills all that is in a step's cgroup at once, up to Slurm 24.11 also what slurmstepd started.
    assert steps_of(record)["0"]["end"] in ("ended", "killed") and steps_of(record)["0"]["phases"] >= 1
    assert {steps_of(record)[step]["end"] for step in ("1", "batch")} == {"ended"}
    assert record["migration"]["phases"] == sum(step["phases"] for step in record["migration"]["steps"])
    nothing_is_left(job_id)


def test_tasks_that_end_at_different_times_share_one():
    folder = slurm.folder_of("alice")
    (folder / "tasks").write_text(
        f"0 occupy 24 {folder}/ready-0 {folder}/go-0 0\n1 occupy 48 {folder}/ready-1 {folder}/go-1 0\n"
    )
    job_id = slurm.sbatch("alice", f"srun -n2 --multi-prog {folder}/tasks", OPTION, "-n2")
    ready = [folder / "ready-0", folder / "ready-1"]
    slurm.wait_for(lambda: all(file.exists() for file in ready), "both tasks to have their memory")
    wait_phases(job_id, 0, phases(job_id, 0) + 2)  # one whole phase with both
    (folder / "go-0").touch()
    slurm.wait_for(lambda: not slurm.run(f"pgrep -f 'occupy 24 {folder}'", check=False).stdout, "the first task's end")
    assert [o["--step"] for o in migrators(job_id).values()].count("0") == 1
    before = phases(job_id, 0)
    wait_phases(job_id, 0, before + 1)
    (folder / "go-1").touch()
    assert slurm.wait_job(job_id) == "COMPLETED"
    step = steps_of(slurm.record(job_id))["0"]
    assert step["end"] == "ended" and step["most_processes"] >= 2
    nothing_is_left(job_id)


def test_a_step_with_nothing_to_move_costs_next_to_nothing():
    """All that it has is in the fast tier."""
    slurm.drop_caches()
    started = Started()
    wait_phases(started.job_id, BATCH, 5)
    assert progress(started.job_id, BATCH).source == b"none yet"
    assert started.held.end() == "COMPLETED"
    step = steps_of(slurm.record(started.job_id))["batch"]
    assert step["end"] == "ended" and step["sample_source"] == "none yet" and "slow tier" in step["sample_source_why"]
    assert step["samples"] == 0 and step["kernel_cpu_s"] == 0 and step["fast_share"] is None
    nothing_is_left(started.job_id)


@pytest.mark.parametrize("source", ["perf", "faults"])
def test_a_source_that_does_not_work_here_is_replaced_by_the_next_best(source):
    with written({"/proc/sys/kernel/perf_event_paranoid": 3}):
        held = slurm.Occupied("alice", 48, f"{OPTION},fast=16M,source={source}")
        slurm.wait_for(lambda: progress(held.job_id, BATCH).source == b"damon", "samples of another source")
        assert held.end() == "COMPLETED"
    record = slurm.record(held.job_id)
    assert steps_of(record)["batch"]["sample_source"] == "damon"
    assert any(f"source={source}: " in warning for warning in record["warnings"]), record["warnings"]
    nothing_is_left(held.job_id)


def test_hint_faults_see_through_the_policy():
    done = slurm.run(f"srun -n1 --hybrid-mem=migrate,source=faults {POLICY}", user="alice")
    assert done.stdout.split()[0] in ("bind=static|balancing:0-3", "bind=static:0-3")
    assert slurm.run(f"srun -n1 --hybrid-mem=migrate {POLICY}", user="alice").stdout.split() == [
        "interleave=static:0-1"
    ]


def test_the_sites_keys_hold_where_the_job_says_nothing():
    text = slurm.CONFIG.read_text() if slurm.CONFIG.exists() else ""
    with slurm.configured(text + '\nmigrate = "interval=300ms,overhead=2%,fast=10%"\n'):
        held = slurm.Occupied("alice", 24, OPTION)
        ((_, options),) = migrators(held.job_id).items()
        assert held.end() == "COMPLETED"
    assert options["--interval"] == "200ms" and options["--overhead"] == "2%" and "--cap" in options
    nothing_is_left(held.job_id)
