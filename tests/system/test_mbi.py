# SPDX-License-Identifier: Apache-2.0
"""Tests profiles by bandwidth isolation: in Slurm as a job array; and their figures, by the tier meter, which stands in
for the node's counters below the meter's own interface: as the helper program that PAPI is asked by."""

import contextlib
import json
import re
from pathlib import Path

import knownsites
import migration
import pytest
import slurm
from claims import claim
from mbicounters import by_meter, counters, tiers_have_kinds
from siteprobe import give_accesses

HUGE = 2 * slurm.MIB
OPTIONS = "--partition=whole --exclusive --hybrid-mem=profile,method=mbi,plan=plan"
# Counts a line more at each reading: what it says means nothing
ANY_COUNTS = """#!/bin/bash
echo papi 1 7.1.0
echo event 0 read-bytes cxl - 64B 0 any
echo event 1 write-bytes cxl - 64B 0 other
echo ready 2
while read -r _; do echo read 1 $((++i)) $i; done
"""


@pytest.fixture
def folder():
    """alice's, with the program."""
    with tiers_have_kinds():
        yield knownsites.build("alice").parent
        slurm.run("scancel --user=alice")


def status_of(plan):
    return json.loads(slurm.run(f"hybridmem profile mbi status --json {plan}", user="alice", check=False).stdout)


def test_a_job_array_runs_the_plan_and_only_what_failed_again(folder):
    """That of the plan, and one of the user's own, whose script starts the program."""
    plan, flag = folder / "plan", folder / "fail"
    slurm.run(f"hybridmem profile mbi plan -o plan --repeat 1 -- {folder}/known 1 {flag}", user="alice", cwd=folder)
    own = (OPTIONS, "-o out-%a", f"--wrap 'srun -n2 ./known 1 {flag}'")

    def submit(array, *words):
        done = slurm.run(f"sbatch --parsable --array={array} {' '.join(words)}", user="alice", cwd=folder)
        return int(done.stdout)

    with counters(ANY_COUNTS):
        submit("0", f"{plan}/job.sh")
        slurm.wait_for(lambda: status_of(plan)["done"] == 1, "the first run")
        flag.touch()
        submit("0-2", *own)
        slurm.wait_for(lambda: len(status_of(plan)["failed"]) == 2, "the runs that fail")
        failed = status_of(plan)
        flag.unlink()
        submit("1", f"{plan}/job.sh")
        slurm.wait_for(lambda: status_of(plan)["done"] == 2, "the run that failed")
        assert status_of(plan)["array"] == "2"
        job_id = submit("2", *own)
        slurm.wait_for(lambda: status_of(plan)["done"] == 3, "the last run")
        slurm.wait_idle()
    record = slurm.record(job_id)
    left = {
        "file": None,
        "method": "mbi",
        "plan": "plan",
        "run": 2,
        "reason": None,
        "period": None,
        "rate_reason": None,
        "unsampled": None,
    }
    assert record["profile"] == left and record["plan"]["nodes"] == list(migration.FAST) and record["exit_code"] == 0
    assert f"run 0 of {plan} is done" in (folder / "out-0").read_text()
    assert (failed["done"], failed["array"]) == (1, "1-2")
    for run in failed["failed"]:
        assert (run["node"], run["reason"]) == (slurm.NODE, "the program ended with exit status 3")
    slurm.run(f"hybridmem profile mbi merge -o {folder}/app.json {plan}", user="alice")
    assert json.loads((folder / "app.json").read_text())["sampling"]["source"] == "mbi"


def test_a_job_that_cannot_measure_a_run_is_refused_in_one_line(folder):
    """One that is no task of an array, and one on a node without counters."""
    slurm.run("hybridmem profile mbi plan -o plan --repeat 1 -- ./known 1", user="alice", cwd=folder)
    words = f"{OPTIONS} -n1 ./known 1"
    done = slurm.run(f"srun {words}", user="alice", cwd=folder, check=False)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("srun: ")]
    assert done.returncode != 0 and done.stdout == "" and len(lines) == 1, done.stderr
    assert lines[0].endswith("sbatch --exclusive --array=$(hybridmem profile mbi status --array plan)")
    slurm.run(f"sbatch --array=1 -o out {OPTIONS} --wrap 'srun -n2 ./known 1'", user="alice", cwd=folder)
    slurm.wait_for(lambda: status_of(folder / "plan")["failed"], "the run that fails")
    slurm.wait_idle()
    reason = status_of(folder / "plan")["failed"][0]["reason"]
    assert reason.startswith("the traffic of the tier slow is not counted here: perf-imc: the kernel has no PMU ")
    lines = [line for line in (folder / "out").read_text().splitlines() if not line.startswith("srun: ")]
    assert lines == [f"hybridmem: {reason}"]


@contextlib.contextmanager
def full(node, folder):
    """Has little free memory on this node, and nothing that could be given back. Huge pages that are only kept in
    reserve take none of the host's memory; a file takes the rest, and what finds no room any more is on other nodes."""
    pages = Path(f"/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages")
    folder.mkdir()
    slurm.run(f"mount -t tmpfs -o mpol=prefer:{node},size=2G tmpfs {folder}")
    try:
        pages.write_text(str((migration.free_bytes(node) - 32 * slurm.MIB) // HUGE))
        slurm.run(f"head -c {migration.free_bytes(node)} /dev/zero > {folder}/file")
        yield
    finally:
        slurm.run(f"umount {folder}")
        pages.write_text("0")


def test_what_found_no_room_in_its_tier_is_no_figure(folder):
    """The kernel puts memory of the sites into the fast tier then, and the slow one has none of its traffic."""
    slurm.run(f"hybridmem profile mbi plan -o plan --repeat 1 --alone 100% -- ./known {knownsites.KNOWN}", cwd=folder)
    with counters(ANY_COUNTS), full(2, folder / "full2"), full(3, folder / "full3"):
        done = slurm.run("hybridmem profile mbi run plan 2", cwd=folder, check=False)
    assert done.returncode == 1 and "hybridmem profile mbi run: a tier was full: " in done.stderr
    assert json.loads((folder / "plan" / "run-2.json").read_text())["read_bytes"] is None
    with counters(ANY_COUNTS):
        slurm.run("hybridmem profile mbi run plan 2", cwd=folder)


@pytest.mark.meter
def test_each_site_has_its_share_of_the_traffic(folder):
    said = slurm.run(f"hybridmem profile mbi plan -o plan --repeat 1 -- ./known {knownsites.KNOWN}", cwd=folder).stdout
    truth = knownsites.traffic(said)
    assert f"{knownsites.KNOWN + 2} runs: {knownsites.KNOWN} sites in {knownsites.KNOWN} groups" in said
    with counters(by_meter()):
        slurm.run("hybridmem profile mbi run plan", cwd=folder, timeout=2000)
    slurm.run("hybridmem profile mbi merge -o app.json plan", cwd=folder)
    profile = json.loads((folder / "app.json").read_text())
    found = {site["peak_bytes"]: site for site in profile["sites"] if site["accesses"]}
    assert set(found) == set(truth) and len(truth) == knownsites.KNOWN
    all_found = profile["sampling"]["elsewhere"] + sum(site["accesses"] for site in found.values())
    all_true = sum(map(sum, truth.values()))
    for size, (fetched, written) in truth.items():
        share, true_share = found[size]["accesses"] / all_found, (fetched + written) / all_true
        print(found[size]["reads"], fetched, found[size]["writes"], written, f"{share:.5f} {true_share:.5f}")
        assert share == pytest.approx(true_share, rel=0.05)


READINGS = 2  # of the counters, before the program begins
ROOM = 30  # MiB of the fast tier: less than half of the sites


def readings_of_papi():
    """It writes its events at once, and then asks the meter and answers."""
    pid = slurm.run("pgrep -n -x hybridmem-papi", check=False).stdout.strip()
    found = re.search(r"syscw: (\d+)", Path(f"/proc/{pid}/io").read_text()) if pid else None
    return (int(found[1]) - 1) // 2 if found else 0


@pytest.mark.meter
def test_the_share_that_a_guided_job_has_seen(folder):
    """By the node's counters, for which the tier meter stands in. tests/meter compares it with the meter's own count
    while the program ran. What the meter has is told in the job's record, too."""
    made, go, done, end = (folder / name for name in ("known.json", "go", "done", "end"))
    truth = knownsites.traffic(
        slurm.run(f"hybridmem sites run -o {made} -- ./known {knownsites.KNOWN}", user="alice", cwd=folder).stdout
    )
    give_accesses(made, lambda site: sum(truth.get(site["peak_bytes"], (0,))))
    script = "until [ -e {} ]; do sleep 0.2; done"
    script = f"{script.format(go)}\nsrun -n1 {folder}/known {knownsites.KNOWN}\ntouch {done}\n{script.format(end)}"
    words = ("--partition=whole", "--exclusive", f"--hybrid-mem=guided,profile={made},fast={ROOM}M,packer=knapsack")
    with slurm.configured(slurm.CONFIG.read_text() + "meter_programs = papi\n"), counters(by_meter()):
        job_id = slurm.sbatch("alice", script, *words)
        slurm.wait_for(lambda: readings_of_papi() >= READINGS, "readings of the counters")
        slurm.run("meter-mark guided.start")
        go.touch()
        slurm.wait_for(lambda: done.exists() or slurm.end_of(job_id), "the end of the program", 2000)
        slurm.run("meter-mark guided.end")
        end.touch()
        slurm.wait_job(job_id)
        record = slurm.record(job_id)
    guided, traffic = record["guided"], record["traffic"]
    fast = {site["peak_bytes"] for site in json.loads(made.read_text())["sites"] if site["id"] in guided["sites"]}
    slow = sum(sum(amounts) for size, amounts in truth.items() if size not in fast)
    print(guided, traffic, slow)
    assert 0 < len(fast) == guided["site_count"] < knownsites.KNOWN
    assert guided["seen_source"].startswith("bytes of the whole job, all its steps: papi")
    (counted,) = [tier for tier in traffic["tiers"] if tier["name"] == "slow"]
    assert counted["read_bytes"] + counted["write_bytes"] == pytest.approx(slow, rel=0.05)
    claim("guided", {"accesses": sum(map(sum, truth.values())) // 64, "estimate": guided["seen_share"]})
