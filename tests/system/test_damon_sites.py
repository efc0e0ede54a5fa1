# SPDX-License-Identifier: Apache-2.0
"""Tests profiles of allocation sites by DAMON's looks, as made where users may open no perf events."""

import json
import os
from pathlib import Path

import damonbroker
import knownsites
import slurm

SOCKET = Path("/run/hybridmem/damon.sock")
TIMES = 20  # that the program uses its memory
OVERHEAD = "10%"  # of a slow guest's CPUs
HOT = 5  # sites that rank first
NEAR = 8  # of the truly hottest: sites that follow each other there differ by a tenth


def start_of(program):
    """The program's process."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (path / "exe").readlink() == program:
                return int(path.name)
        except OSError:
            continue  # it has ended, or is the kernel's
    return None


def check(profile, accesses):
    """The hottest sites rank first, and what looks do not tell is null."""
    sampling, sites = profile["sampling"], knownsites.found(profile, accesses)
    everything = sum(site["accesses"] or 0 for site in profile["sites"]) + sampling["elsewhere"]
    for size, number in accesses.items():
        print(f"{number / sum(accesses.values()):.4f} {sites[size]['accesses'] / everything:.4f}")
    assert sampling["source"] == "damon" and sampling["samples"] > 0 and sampling["saturated"] >= 0
    for site in sites.values():
        assert (site["reads"], site["writes"], site["confidence"]) == (None, None, None)
    ranked = sorted(sites, key=lambda size: -sites[size]["accesses"])
    assert set(ranked[:HOT]) <= set(sorted(accesses, key=lambda size: -accesses[size])[:NEAR])


def test_the_hottest_sites_rank_first():
    """Of a job that is profiled, and of a program that is run by hand. Both run on one CPU: DAMON only sees what is
    translated anew (test_damon.py). DAMON comes after the sources of single addresses, which users may not have."""
    program = knownsites.build("alice")
    by_hand = program.with_name("by-hand.json")
    words = f"{program} {knownsites.KNOWN} /none {TIMES}"
    job_id = slurm.sbatch("alice", f"srun -n1 {words}", f"--hybrid-mem=profile,overhead={OVERHEAD}")
    pid = slurm.wait_for(lambda: start_of(program), f"the program of job {job_id}")
    cpu = min(os.sched_getaffinity(pid))
    run = f"hybridmem sites run --source damon --broker {SOCKET} --overhead {OVERHEAD} -o {by_hand}"
    done = slurm.run(f"{run} -- taskset -c {cpu} {words}")
    check(json.loads(by_hand.read_text()), knownsites.truth(done.stdout))
    slurm.wait_job(job_id)
    damonbroker.end_left()
    record = slurm.record(job_id)
    assert record["profile"]["reason"] is None, slurm.output(job_id)
    profile = json.loads(Path(record["profile"]["file"]).read_text())
    assert profile["sampling"]["why"].startswith("perf: ") and "; clock: " in profile["sampling"]["why"]
    check(profile, knownsites.truth(slurm.output(job_id)))
