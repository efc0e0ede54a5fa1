# SPDX-License-Identifier: Apache-2.0
"""Tests profiles by bandwidth isolation: in Slurm as a job array; and their figures, by the tier meter, which stands in
for the node's counters below the meter's own interface: as the helper program that PAPI is asked by."""

import contextlib
import json
import shutil
from pathlib import Path

import migration
import pytest
import slurm

PROGRAMS = Path(__file__).parent / "programs" / "sites"
PAPI = Path("/usr/libexec/hybridmem/hybridmem-papi")  # which the guest's build does not have
HUGE = 2 * slurm.MIB
SITES = 20
SLOW_IS_CXL = 'tier "slow" { kind = cxl }\n'
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
    """alice's, with the program. The counters tell kinds of memory apart, which the guest's firmware does not."""
    made = slurm.folder_of("alice")
    text = slurm.CONFIG.read_text()
    slurm.put(text + SLOW_IS_CXL, slurm.CONFIG)
    slurm.run(f"gcc -O1 -Wall -Werror -D_GNU_SOURCE -o {made}/known {PROGRAMS}/known.c", user="alice")
    yield made
    slurm.run("scancel --user=alice")
    slurm.put(text, slurm.CONFIG)


@contextlib.contextmanager
def counters(program):
    """Has this program in the place of hybridmem-papi."""
    assert not PAPI.exists()
    shutil.copy(program, PAPI)
    PAPI.chmod(0o755)
    try:
        yield
    finally:
        PAPI.unlink()


def status_of(plan):
    return json.loads(slurm.run(f"hybridmem profile mbi status --json {plan}", user="alice", check=False).stdout)


def test_a_job_array_runs_the_plan_and_only_what_failed_again(folder):
    stand_in, plan, flag = folder / "papi", folder / "plan", folder / "fail"
    stand_in.write_text(ANY_COUNTS)
    slurm.run(f"hybridmem profile mbi plan -o plan --repeat 1 -- {folder}/known 1 {flag}", user="alice", cwd=folder)

    def submit(array):
        slurm.run(f"sbatch --array={array} {plan}/job.sh", user="alice", cwd=folder)

    with counters(stand_in):
        submit("0")
        slurm.wait_for(lambda: status_of(plan)["done"] == 1, "the first run")
        flag.touch()
        submit("0-2")
        slurm.wait_for(lambda: len(status_of(plan)["failed"]) == 2, "the runs that fail")
        failed = status_of(plan)
        flag.unlink()
        submit(failed["array"])
        slurm.wait_for(lambda: status_of(plan)["done"] == 3, "the runs that failed")
        slurm.wait_idle()
    assert (failed["done"], failed["array"]) == (1, "1-2")
    for run in failed["failed"]:
        assert (run["node"], run["reason"]) == (slurm.NODE, "the program ended with exit status 3")
    slurm.run(f"hybridmem profile mbi merge -o {folder}/app.json {plan}", user="alice")
    assert json.loads((folder / "app.json").read_text())["sampling"]["source"] == "mbi"


def test_where_the_node_has_no_counters_nothing_is_measured(folder):
    slurm.run("hybridmem profile mbi plan -o plan --repeat 1 -- ./known 1", user="alice", cwd=folder)
    done = slurm.run("hybridmem profile mbi run plan 0", user="alice", cwd=folder, check=False)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1
    assert done.stderr.startswith(
        "hybridmem profile mbi run: the traffic of the tier slow is not counted here: perf-imc: the kernel has no PMU "
    )


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
    stand_in = folder / "papi"
    stand_in.write_text(ANY_COUNTS)
    slurm.run(f"hybridmem profile mbi plan -o plan --repeat 1 --alone 100% -- ./known {SITES}", cwd=folder)
    with counters(stand_in), full(2, folder / "full2"), full(3, folder / "full3"):
        done = slurm.run("hybridmem profile mbi run plan 2", cwd=folder, check=False)
    assert done.returncode == 1 and "hybridmem profile mbi run: a tier was full: " in done.stderr
    assert json.loads((folder / "plan" / "run-2.json").read_text())["read_bytes"] is None
    with counters(stand_in):
        slurm.run("hybridmem profile mbi run plan 2", cwd=folder)


@pytest.mark.meter
def test_each_site_has_its_share_of_the_traffic(folder):
    said = slurm.run(f"hybridmem profile mbi plan -o plan --repeat 1 -- ./known {SITES}", cwd=folder).stdout
    truth = {}
    for line in said.splitlines()[:SITES]:
        size, fetched, written = map(int, line.split())
        truth[size] = (size * fetched, size * written)
    assert f"{SITES + 2} runs: {SITES} sites in {SITES} groups" in said
    stand_in = folder / "papi"
    ranges = slurm.run("meter-mark --ranges").stdout.strip()
    stand_in.write_text((PROGRAMS / "meterpapi.py").read_text().replace('"RANGES"', f'"{ranges}"'))
    with counters(stand_in):
        slurm.run("hybridmem profile mbi run plan", cwd=folder, timeout=2000)
    slurm.run("hybridmem profile mbi merge -o app.json plan", cwd=folder)
    profile = json.loads((folder / "app.json").read_text())
    found = {site["peak_bytes"]: site for site in profile["sites"] if site["accesses"]}
    assert set(found) == set(truth) and len(truth) == SITES
    all_found = profile["sampling"]["elsewhere"] + sum(site["accesses"] for site in found.values())
    all_true = sum(map(sum, truth.values()))
    for size, (fetched, written) in truth.items():
        share, true_share = found[size]["accesses"] / all_found, (fetched + written) / all_true
        print(found[size]["reads"], fetched, found[size]["writes"], written, f"{share:.5f} {true_share:.5f}")
        assert share == pytest.approx(true_share, rel=0.05)
