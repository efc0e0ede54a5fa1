# SPDX-License-Identifier: Apache-2.0
"""Tests mode guided: a profiled program has the memory of its most used allocation sites in the fast tier."""

import json
import re
from pathlib import Path

import pytest
import siteprobe
import slurm
from migration import FAST, SLOW, killed, scarce_fast
from siteprobe import ALL, HOT, MIB, SOURCE, give_accesses, hot_sites, pid_of
from test_isolate import by_node

pytestmark = pytest.mark.usefixtures("no_job_of_alices_is_left")

LITTLE_KEPT_KIB = 4096  # what the kernel keeps free of all nodes


@pytest.fixture(scope="module")
def probe():
    return siteprobe.make()


def test_the_chosen_sites_are_on_the_fast_nodes_and_all_else_on_the_slow_ones(probe):
    program, path = probe
    profile = json.loads(path.read_text())
    options = f"--hybrid-mem=guided,profile={path.name},fast={sum(HOT)}M,packer=knapsack"
    job_id = slurm.sbatch(
        "alice", f"cd {program.parent}\nsrun -n1 ./{program.name} hot 600", f"--chdir={program.parent}", options
    )
    pid = slurm.wait_for(lambda: pid_of(program), f"the program of job {job_id}")
    found = by_node(pid)
    slurm.run(f"scancel {job_id}")
    slurm.wait_job(job_id)
    record = slurm.record(job_id)
    assert sum(HOT) * MIB <= sum(found[node] for node in FAST) < (sum(HOT) + 0.5) * MIB
    assert sum(found[node] for node in SLOW) >= (ALL - sum(HOT)) * MIB
    guided = record["guided"]
    assert set(guided["sites"]) == hot_sites(profile) and guided["site_count"] == len(HOT)
    assert (guided["profile"], guided["packer"]) == (str(path), "knapsack")
    assert guided["fast_bytes"] == sum(HOT) * MIB and guided["expected_share"] == 1
    assert guided["seen_share"] is None and guided["reason"] is None
    assert (record["plan"]["mode"], record["plan"]["nodes"]) == ("guided", list(SLOW))
    shown = slurm.run(f"hybridmem show {job_id}", user="alice").stdout
    assert f"{len(HOT)} sites of 10.0 MiB in the fast tier, at most 10.0 MiB, by knapsack" in shown


@pytest.mark.parametrize(("fast", "slices"), [(1, {0, 3, 4, 20}), (0.6, {3, 4})])
def test_the_most_used_slices_of_a_large_allocation_are_on_the_fast_nodes(probe, fast, slices):
    """Four slices just fit, of which one is as good as others. Where not all find room, those in front."""
    program, path = probe
    sliced = path.with_name("sliced.json")
    slurm.run(f"srun -n1 --hybrid-mem=off hybridmem sites run -o {sliced} -- {program} slices", user="alice")
    accesses = [300 if number in {3, 4, 20} else 1 for number in range(32)]

    def slice_large(site):
        is_large = site["accesses"] > 0
        site["slices"] = {"step_bytes": None, "extent_bytes": None, "accesses": accesses} if is_large else None
        if is_large and fast < 1:  # it has got larger since
            site.update(peak_bytes=6 * MIB, series=None)

    give_accesses(sliced, lambda site: sum(accesses) if site["peak_bytes"] == 8 * MIB else 0, slice_large)
    words = f"hybridmem sites guide --fast {int(fast * MIB)} {sliced} -- {program} slices"
    told = slurm.run(f"srun -n1 --hybrid-mem=off {words}", user="alice").stdout
    nodes = re.findall(r"^large \w+.*:([\d,-]+)$", told, re.M)
    assert len(nodes) == 32
    assert {number for number, node in enumerate(nodes) if node in map(str, FAST)} == slices


SMALL = {("frames", 400 * 8192): 400 * 8192, ("class", 128): 40000 * 104}  # bytes of the chosen small allocations
SMALL_REST = 400 * 10240 + 40000 * 208


@pytest.fixture(scope="module")
def small(probe):
    """The program with a profile by which one caller's allocations of 8 KiB and one size class are hot."""
    program, _ = probe
    path = program.with_name("small.json")
    slurm.run(f"srun -n1 --hybrid-mem=off hybridmem sites run -o {path} -- {program} small 0", user="alice")

    def accesses_of(site):
        key = ("frames", site["peak_bytes"]) if site["frames"] else ("class", site["class_bytes"])
        return 500 if key in SMALL else 0

    give_accesses(path, accesses_of)
    return program, path


def run_small(small):
    """Runs the program until it has its memory. Returns the job and its memory by node."""
    program, path = small
    words = f"--hybrid-mem=guided,profile={path},fast=64M"
    job_id = slurm.sbatch("alice", f"srun -n1 {program} small 600", words)
    least = sum(SMALL.values()) + SMALL_REST
    pid = slurm.wait_for(lambda: pid_of(program, least), f"the program of job {job_id}")
    # Huge pages may have that much before all is allocated; then the program sleeps.
    slurm.wait_for(lambda: "nanosleep" in Path(f"/proc/{pid}/wchan").read_text(), "its sleep")
    found = by_node(pid)
    slurm.run(f"scancel {job_id}")
    slurm.wait_job(job_id)
    return job_id, found


def test_small_objects_of_the_chosen_sites_are_on_the_fast_nodes(small):
    """Others are made in turn with them."""
    job_id, found = run_small(small)
    chosen = sum(SMALL.values())
    assert chosen <= sum(found[node] for node in FAST) < 1.3 * chosen + 4 * MIB  # the kernel gives huge pages
    assert sum(found[node] for node in SLOW) >= SMALL_REST
    assert slurm.record(job_id)["guided"]["site_count"] == len(SMALL)


def test_small_objects_find_room_where_the_fast_nodes_are_full(small):
    """The policy of their pages is a preference: nobody is killed for want of fast memory while slow is free."""
    begun = killed()
    with scarce_fast(0, LITTLE_KEPT_KIB):
        _, found = run_small(small)
    assert sum(found[node] for node in SLOW) >= sum(SMALL.values()) + SMALL_REST - MIB
    assert killed() == begun


def test_what_cannot_be_guided_is_refused_in_one_line(probe):
    _, path = probe
    said = {
        f"{path} true": "is of the build ",
        "/none.json true": "/none.json: No such file or directory",
        f"{path},packer=best {probe[0]}": '"best" is no packer',
        "/dev/zero true": "/dev/zero: no profile, as it is not a file",
    }
    for words, why in said.items():
        done = slurm.run(f"srun -n1 --hybrid-mem=guided,profile={words}", user="alice", check=False)
        lines = [line for line in done.stderr.splitlines() if line.startswith("hybridmem: ")]
        assert done.returncode != 0 and len(lines) == 1, done.stderr
        assert lines[0].startswith("hybridmem: --hybrid-mem=guided,profile=") and why in lines[0]


def test_a_static_program_runs_and_the_record_says_why(probe):
    program, path = probe
    static = program.with_name("static")
    static.with_suffix(".c").write_text("int main(void) { return 3; }\n")
    slurm.run(f"gcc -static -o {static} {static}.c", user="alice")
    # Slurm finds a program of the working directory, too, also without a slash in its name.
    words = f"cd {static.parent}\nsrun -n1 --hybrid-mem=guided,profile={path.name} {static.name}"
    job_id = slurm.sbatch("alice", words)
    slurm.wait_job(job_id)
    why = f"{static.name} is linked statically: it runs, and its memory is not guided"
    assert f"hybridmem: {why}\n" in slurm.output(job_id)
    record = slurm.record(job_id)
    assert record["exit_code"] == 3
    assert record["guided"]["reason"] == why and record["guided"]["fast_bytes"] is None


def test_steps_of_another_mode_are_not_guided(probe):
    _, path = probe
    script = "srun -n1 --hybrid-mem=off printenv LD_PRELOAD HYBRIDMEM_GUIDE HYBRIDMEM_ISOLATE_JOB\necho left $?"
    job_id = slurm.sbatch("alice", script, f"--hybrid-mem=guided,profile={path}")
    slurm.wait_job(job_id)
    output = slurm.output(job_id)
    assert "left 1" in output and "libhybridmem" not in output and "sites=" not in output


def test_a_profile_of_an_older_build_is_used_if_it_may_be(probe):
    """A function before all others has come since, so none is where it was."""
    program, path = probe
    later = program.with_name("later")
    source = later.with_suffix(".c")
    source.write_text("int more(int n);\nint more(int n)\n{\n    return n + 1;\n}\n" + SOURCE.read_text())
    slurm.run(f"gcc -O2 -pthread -I {SOURCE.parent} -o {later} {source}", user="alice")
    words = f"--hybrid-mem=guided,profile={path},fast={sum(HOT)}M,packer=knapsack,stale=ok"
    job_id = slurm.sbatch("alice", f"srun -n1 {words} {later} hot 600")
    pid = slurm.wait_for(lambda: pid_of(later), f"the program of job {job_id}")
    assert sum(HOT) * MIB <= sum(by_node(pid)[node] for node in FAST) < (sum(HOT) + 0.5) * MIB
    slurm.run(f"scancel {job_id}")
    slurm.wait_job(job_id)
    guided = slurm.record(job_id)["guided"]
    number = sum(bool(site["frames"]) for site in json.loads(path.read_text())["sites"])
    assert guided["stale"] == {"sites": number, "found": number} and guided["site_count"] == len(HOT)
    assert guided["profile"] == str(path) and guided["reason"] is None
