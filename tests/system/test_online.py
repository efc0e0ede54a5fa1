# SPDX-License-Identifier: Apache-2.0
"""Tests guidance online: the sites of a program are learned while it runs, and their memory is moved. It needs samples,
of which the kernel of these tests lets users take none themselves."""

import json
import re
from pathlib import Path

import damonbroker
import pytest
import slurm
from migration import FAST, SLOW, nodes_of
from siteprobe import SOURCE
from test_isolate import by_node

pytestmark = pytest.mark.usefixtures("no_job_of_alices_is_left")

MIB = slurm.MIB
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
# MiB: two cold sites come first, and leave the hot one no room in the fast tier. What a child shares stays there.
COLD, SHARED, HOT, ROOM = 8, 16, 8, 28


@pytest.fixture(scope="module")
def probe():
    before = PARANOID.read_text()
    PARANOID.write_text("3")  # Debian's own setting: users may open no event
    program = slurm.folder_of("alice") / "probe"
    slurm.run(f"gcc -O2 -pthread -o {program} {SOURCE}", user="alice")
    yield program
    PARANOID.write_text(before)


def told(output):
    """The address of the hot site's memory, and the process, once the program has printed them."""
    found = re.search(r"hot 0x(\w+) of (\d+)", output.read_text()) if output.exists() else None
    return (int(found[1], 16), int(found[2])) if found else None


def fast_share(address, pid):
    """Which part of the hot site's memory is in the fast tier."""
    nodes = nodes_of(pid, address // slurm.PAGE * slurm.PAGE, HOT * MIB // slurm.PAGE)
    return sum(node in FAST for node in nodes) / len(nodes)


def recorder_of(job_id):
    """The process that guides the job's program."""
    return slurm.run(f"pgrep -f 'hybridmem-sites record --name {job_id}[.]'").stdout.split()[-1]


@pytest.fixture
def lent():
    """A broker that runs since another test's job may lend nothing."""
    damonbroker.end_left()
    with slurm.configured(slurm.CONFIG.read_text() + "lend_samples = yes\n"):
        yield


@pytest.mark.usefixtures("lent")
def test_a_hot_site_that_came_too_late_gets_the_fast_memory(probe):
    """What the program shares with a child counts once, and the rest makes room. The recorder has its own memory in the
    slow tier."""
    output = probe.with_name("late.txt")
    words = f"--hybrid-mem=guided,online,fast={ROOM}M,overhead=10%"
    program = f"{probe} late {COLD} {SHARED} {HOT} 600"
    job_id = slurm.sbatch("alice", f"srun -n1 {words} {program} > {output}", "--hybrid-mem=off")
    address, pid = slurm.wait_for(lambda: told(output), f"the program of job {job_id}")
    slurm.wait_for(lambda: fast_share(address, pid) > 0.9, "the hot memory in the fast tier")
    own = by_node(recorder_of(job_id))
    assert sum(own[node] for node in SLOW) > sum(own[node] for node in FAST), own
    slurm.run(f"kill {pid}")
    slurm.wait_job(job_id)
    record = slurm.record(job_id)
    guided = record["guided"]
    assert record["plan"]["mode"] == "guided" and guided["reason"] is None
    assert guided["site_count"] == 1 and guided["expected_share"] > 0.9
    assert guided["limit_bytes"] == ROOM * MIB
    assert 0.99 * HOT * MIB <= guided["fast_bytes"] <= HOT * MIB, "its whole pages"
    assert 0 <= guided["seen_share"] <= 1 and "by the step's recorder (self-reported)" in guided["seen_source"]
    assert guided["online"]["promoted_bytes"] >= 0.9 * HOT * MIB and guided["online"]["decisions"] >= 1
    made = json.loads(Path(guided["profile"]).read_text())
    hot = max(made["sites"], key=lambda site: site["accesses"] or 0)
    assert guided["sites"] == [hot["id"]] and hot["peak_bytes"] == HOT * MIB
    assert made["sampling"]["source"] == "clock", made["sampling"]["why"]


def test_without_a_source_of_samples_the_record_says_why(probe):
    """As the broker lends no events by default. A program that cannot be watched has a line, and the next step runs as
    usual."""
    static = probe.with_name("static")
    slurm.run(f"gcc -O2 -static -pthread -o {static} {SOURCE}", user="alice")
    words = "srun -n1 --hybrid-mem=guided,online"
    job_id = slurm.sbatch("alice", f"{words} {static} status; echo $?; {words} {probe} status", "--hybrid-mem=off")
    slurm.wait_job(job_id)
    why = f"{static} is linked statically: its allocations cannot be seen"
    assert slurm.output(job_id).count(f"hybridmem: {why}") == 1 and "\n7\n" in slurm.output(job_id)
    guided = slurm.record(job_id)["guided"]
    assert guided["reason"] == (
        "no evidence: clock: the kernel refuses: kernel.perf_event_paranoid is 3, wanted is 2 or less, or CAP_SYS_ADMIN"
    )
    assert guided["sites"] == [] and guided["seen_share"] is None and guided["online"]["decisions"] == 0
