# SPDX-License-Identifier: Apache-2.0
"""Tests that each step of a migrate job has a migrator, which runs as the user, with its figures in the record."""

import json
import os
import re
import socket
import subprocess
import time
from pathlib import Path

import pytest
import slurm
from migration import FAST, SLOW, nodes_of, written
from processes import descriptors_of
from stepmigrators import (
    BATCH,
    MIGRATOR,
    OPTION,
    Started,
    migrators,
    nothing_is_left,
    phases,
    progress,
    status_of,
    steps_of,
    wait_phases,
)

pytestmark = pytest.mark.usefixtures("no_job_of_alices_is_left")


def check_options(options):
    """Check the options that slurmstepd has started the migrator with."""
    assert Path(options["--cgroup"]).name == "user" and (Path(options["--cgroup"]) / "cgroup.events").exists()
    assert options["--cap"] == str(16 << 20) and options["--rate"] == str(100 << 20)
    assert options["--fast-nodes"] == "0-1" and options["--slow-nodes"] == "2-3"
    assert int(options["--end"]) > time.time()


def check_process(pid):
    """The migrator runs as the user, in the step's cgroup, and has no descriptor of slurmstepd's but the cgroup."""
    status = status_of(pid)
    assert status["Uid"].split() == [str(slurm.home("alice").stat().st_uid)] * 4
    assert status["Groups"].strip() == "" and status["NoNewPrivs"] == "1"
    assert Path(f"/proc/{pid}/oom_score_adj").read_text() == "0\n"
    assert Path(f"/proc/{pid}/cgroup").read_text().strip().endswith("/step_batch/slurm")
    # Its memory is in the slow tier, except what it allocated before it knew the tiers.
    heap = next(line for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines() if " heap " in line)
    assert " prefer (many)=static:2-3 " in heap, heap
    assert any(f" N{node}=" in heap for node in SLOW), heap
    opened = descriptors_of(pid)
    assert not [name for name in opened if "slurm" in name.lower() and "cgroup" not in name], opened
    # Other users cannot trace it, nor can its own user, as it holds a handle that root has opened.
    assert slurm.run(f"cat /proc/{pid}/environ", user="alice", check=False).returncode != 0


def top(words, user=None, launch=""):
    """What hybridmem top prints. A migrator answers only between two phases, and top waits 5 s for it: ask again."""

    def shown():
        done = slurm.run(f"{launch}hybridmem top {words}", user=user, check=False)
        if "does not answer" in done.stderr:
            return None
        assert done.returncode == 0, done.stderr
        return done

    return slurm.wait_for(shown, f"hybridmem top {words}").stdout


def refused_top(words, user=None):
    """What hybridmem top says where it finds no migrator."""
    done = slurm.run(f"hybridmem top --once {words}", user=user, check=False)
    assert done.returncode == 1 and done.stdout == "", done
    return done.stderr


def view_of(job_id):
    """The view that the batch step's migrator sends."""
    name = re.search(rf"@(hybridmem/{job_id}\.{BATCH}\.\w+)$", Path("/proc/net/unix").read_text(), re.M)[1]
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asked:
        asked.connect(f"\0{name}")
        asked.send(b"?")
        return asked.recv(1 << 16)


def check_top_believes_no_other_user(job_id):
    """Bob listens under names of alice's job: as the migrator of its batch step, and of a step that has no migrator.
    His answer is that of alice's migrator, with another algorithm. top believes it where bob himself asks, but not for
    alice, nor for root, who knows from the ledger whose job it is."""
    names = [f"hybridmem/{job_id}.{step}.{0:016x}" for step in (BATCH, 7)]
    view = view_of(job_id).replace(b"regions", b"of-bobs")
    program = Path(__file__).parent / "programs" / "hostile" / "view.py"
    words = ["python3", program, *names]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **slurm.identity("bob")) as bobs:
        try:
            bobs.stdin.write(view)
            bobs.stdin.close()
            assert bobs.stdout.readline() == b"listens\n"
            assert "of-bobs" in top(f"--once {job_id}.7", user="bob")
            for user in ("alice", None):
                assert "algorithm regions" in top(f"--once {job_id}", user=user)
                assert "no migrator" in refused_top(f"{job_id}.7", user)
        finally:
            bobs.kill()


def check_top(job_id):
    """top finds migrators by job, by step and without a name, and shows them only to the step's user and to root."""
    for words in (f"{job_id}", f"{job_id}.batch", ""):
        shown = json.loads(top(f"--json {words}", user="alice"))
        assert (shown["job_id"], shown["step_id"], shown["node"]) == (job_id, "batch", slurm.NODE)
        assert shown["cap_bytes"] == 16 << 20 and shown["phases"] >= 1
    # The man page's way to ask from another node: top runs in a step that has no migrator of its own.
    srun = f"srun --quiet --jobid={job_id} --overlap -N1 -n1 --hybrid-mem=off "
    shown = json.loads(top(f"--json {job_id}.batch", user="alice", launch=srun))
    assert (shown["job_id"], shown["step_id"]) == (job_id, "batch")
    assert f"job {job_id}.batch on {slurm.NODE}, running: algorithm regions" in top(f"--once {job_id}")
    assert "no migrator" in refused_top(job_id, "bob")


@pytest.mark.slurm26
def test_a_migrated_job_its_record_and_its_top():
    held = slurm.Occupied("alice", 48, OPTION + ",fast=16M,rate=100M", "--time=30")
    job_id = held.job_id
    wait_phases(job_id, BATCH, 2)
    # Phases that ended before the job had its memory also count, and have no source.
    slurm.wait_for(lambda: progress(job_id, BATCH).source not in (b"", b"none yet"), "its source of samples")
    ((pid, options),) = migrators(job_id).items()
    check_options(options)
    check_process(pid)
    file = slurm.JOBS / f"{job_id}.{BATCH}.migration"
    assert file.stat().st_mode & 0o777 == 0o600 and file.stat().st_uid == 0
    check_top(job_id)
    check_top_believes_no_other_user(job_id)
    assert held.end() == "COMPLETED"
    record = slurm.record(job_id)
    assert record["plan"]["mode"] == "migrate" and "migrator keeps" in record["plan"]["reason"]
    migration = record["migration"]
    assert migration["self_reported"] is True and migration["source"] == "the migrator's own figures (self-reported)"
    assert migration["phases"] >= 2 and migration["cap_bytes"] == 16 << 20 and migration["interval_s"] == 0.2
    assert migration["algorithm"] == "regions"
    # There is no PMU here: the record says what was used instead of perf, and why.
    assert migration["sample_source"] == "clock", migration["sample_source_why"]
    assert "perf" in migration["sample_source_why"]
    assert list(steps_of(record)) == ["batch"] and steps_of(record)["batch"]["end"] == "ended"
    assert not [warning for warning in record["warnings"] if "migrator" in warning and "killed" in warning]
    nothing_is_left(job_id)


def test_nobody_looks_into_a_migrator_before_it_has_begun():
    """The program cannot be read. A preloaded pipe stops it in its first instructions: the loader waits in open."""
    folder = slurm.folder_of("alice")
    assert MIGRATOR.stat().st_mode & 0o777 == 0o711
    assert slurm.run(f"cat {MIGRATOR}", user="alice", check=False).returncode != 0
    os.mkfifo(folder / "pipe")
    (folder / "pipe").chmod(0o644)
    started = subprocess.Popen(
        [MIGRATOR, "--help"], user="alice", group="alice", extra_groups=[], stdout=subprocess.PIPE, text=True,
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


def test_each_step_has_its_own_migrator_and_a_cancelled_step_loses_it():
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


def test_tasks_that_end_at_different_times_share_a_migrator():
    folder = slurm.folder_of("alice")
    (folder / "tasks").write_text(
        f"0 occupy 24 {folder}/ready-0 {folder}/go-0 0\n1 occupy 48 {folder}/ready-1 {folder}/go-1 0\n"
    )
    job_id = slurm.sbatch("alice", f"srun -n2 --multi-prog {folder}/tasks", OPTION, "-n2")
    ready = [folder / "ready-0", folder / "ready-1"]
    slurm.wait_for(lambda: all(file.exists() for file in ready), "both tasks to have their memory")
    wait_phases(job_id, 0, phases(job_id, 0) + 2)  # one whole phase in which both run
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
    """All of the step's memory is in the fast tier. The site's keys hold where the job gives none. The job is
    cancelled."""
    slurm.drop_caches()
    with slurm.configured('migrate = "interval=300ms,overhead=2%,fast=10%"\n'):
        started = Started()
        ((_, options),) = migrators(started.job_id).items()
        wait_phases(started.job_id, BATCH, 5)
        assert progress(started.job_id, BATCH).source == b"none yet"
        slurm.run(f"scancel {started.job_id}")
        slurm.wait_job(started.job_id)
    assert options["--interval"] == "200ms" and options["--overhead"] == "2%" and "--cap" in options
    step = steps_of(slurm.record(started.job_id))["batch"]
    assert step["end"] == "ended" and step["sample_source"] == "none yet" and "slow tier" in step["sample_source_why"]
    assert step["samples"] == 0 and step["kernel_cpu_s"] == 0 and step["fast_share"] is None
    nothing_is_left(started.job_id)


THREE_TIERS = """
tier "near" { nodes = "0-1" read_latency = 100 }
tier "cxl" { nodes = "2" kind = cxl read_latency = 200 }
tier "far" { nodes = "3" kind = pmem read_latency = 4000 }
"""


def test_a_step_on_three_tiers():
    """The fast tier may have half of what is hot, 1 of 2 MiB. The rest goes one tier down, the cold part first."""
    folder = slurm.folder_of("alice")
    size, first, hot, cap = 16, 8, 2, 1
    program = f"rewrite {size} {first} {hot} small {folder}/ready {folder}/go"
    with slurm.configured(THREE_TIERS):
        job_id = slurm.sbatch("alice", program, f"{OPTION},fast={cap}M,overhead=10%")
        slurm.wait_for((folder / "ready").exists, "a program's memory")
        pid, start = (folder / "ready").read_text().split()

        def pages(nodes, at=0, mib=size):
            found = nodes_of(int(pid), int(start, 16) + at * slurm.MIB, mib * slurm.MIB // slurm.PAGE)
            return sum(node in nodes for node in found) * slurm.PAGE / slurm.MIB

        assert pages(FAST) == size
        ((_, options),) = migrators(job_id).items()
        slurm.wait_for(lambda: pages(FAST) <= cap, "the cap to hold")
        hot_on_fast, in_the_middle = pages(FAST, first, hot), pages([2])
        (folder / "go").touch()
        assert slurm.wait_job(job_id) == "COMPLETED"
    assert (options["--middle-tier"].split(":")[0], options["--slow-nodes"]) == ("2", "3")
    assert hot_on_fast > cap / 4  # twice what chance would leave there
    assert in_the_middle >= size - cap
    record = slurm.record(job_id)
    assert record["plan"]["reason"].endswith("at most 1.0 MiB of it, and the next in cxl (node 2).")
    assert record["migration"]["demoted_bytes"] >= (size - cap) * slurm.MIB
    nothing_is_left(job_id)


def has_source(job_id, step, source):
    now = progress(job_id, step)
    return now and now.source == source


def test_a_source_that_does_not_work_here_is_replaced_by_the_next_best():
    folder = slurm.folder_of("alice")
    sources = ("perf", "faults")  # one for each step
    steps = "\n".join(f"srun -n1 {OPTION},fast=16M,source={one} occupy 48 {one} go 0 &" for one in sources)
    with written({"/proc/sys/kernel/perf_event_paranoid": 3}):
        job_id = slurm.sbatch("alice", f"{slurm.OVERLAP}cd {folder}\n{steps}\nwait", OPTION)
        for step in range(len(sources)):
            slurm.wait_for(lambda: has_source(job_id, step, b"clock"), "samples of another source")  # noqa: B023
        (folder / "go").touch()
        assert slurm.wait_job(job_id) == "COMPLETED"
    record = slurm.record(job_id)
    assert [steps_of(record)[step]["sample_source"] for step in ("0", "1")] == ["clock", "clock"]
    for source in sources:
        assert any(f"source={source}: " in warning for warning in record["warnings"]), record["warnings"]
    nothing_is_left(job_id)


def test_source_faults_gets_a_policy_that_allows_hint_faults():
    script = f"srun -n1 --hybrid-mem=migrate,source=faults {slurm.POLICY}\nsrun -n1 {slurm.POLICY}"
    job_id = slurm.sbatch("alice", script, OPTION)
    assert slurm.wait_job(job_id) == "COMPLETED"
    seen, usual = slurm.output(job_id).split()
    assert seen in ("bind=static|balancing:0-3", "bind=static:0-3") and usual == "interleave=static:0-1"
