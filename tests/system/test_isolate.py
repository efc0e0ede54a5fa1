# SPDX-License-Identifier: Apache-2.0
"""Tests mode isolate: large allocations of unmodified programs start in the slow tier, and written data comes back."""

import contextlib
import os
import re
import shlex
import signal
from pathlib import Path

import pytest
import slurm
from migration import FAST, SLOW
from stepmigrators import migrators, progress, status_of

pytestmark = pytest.mark.usefixtures("no_job_of_alices_is_left")

(LIBRARY,) = Path("/usr/lib").glob("*/hybridmem/libhybridmem-preload.so")
NODES = "fast=0@0,1@1 slow=2@0,3@1"
# Size of each of the three parts of the test program's memory (programs/thirds.c): a written, a read and a cold one.
MIB = 6
# The size from which on an allocation is large. The thirds are large, but small enough to be moved within few phases.
LARGE = {"HYBRIDMEM_ISOLATE_SIZE": "4M"}
# The most phases until the written third is in the fast tier. A phase moves some 2 MiB here, as its CPU time allows,
# and less on a busy machine.
MOST_PHASES = 150
SETTLED = 4  # phases in which the claims must still hold
ISOLATE = "--hybrid-mem=isolate"
VARIABLES = ("LD_PRELOAD", "HYBRIDMEM_ISOLATE_NODES", "HYBRIDMEM_ISOLATE_JOB")
SHOW = "printenv " + " ".join(VARIABLES) + " || true"
OWN = str(next(Path("/usr/lib").glob("*/libm.so.6")))  # stands for a library that the user preloads; any will do


def by_node(pid, start=0, size=1 << 64, least=0):
    """Anonymous bytes by node, of those mappings of a process that begin in this range and have at least `least`
    bytes."""
    found = dict.fromkeys((*FAST, *SLOW), 0)
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        if start <= int(line.split()[0], 16) < start + size and " anon=" in line:
            page = int(re.search(r"kernelpagesize_kB=(\d+)", line)[1]) << 10
            nodes = {int(node): int(count) * page for node, count in re.findall(r" N(\d+)=(\d+)", line)}
            for node, count in nodes.items():
                found[node] += count if sum(nodes.values()) >= least else 0
    return found


class Thirds:
    """A job of programs/thirds.c. `first` has the shares of its parts before the migrator has seen them.

    The migrator is stopped while the program fills its parts, as filling also writes to the part that is cold and to
    the part that is only read later."""

    def __init__(self, *options):
        self.folder = slurm.folder_of("alice")
        begin, ready, self.go = (self.folder / name for name in ("begin", "ready", "go"))
        self.job_id = slurm.sbatch("alice", f"srun -n1 thirds {MIB} {begin} {ready} {self.go}", *options, env=LARGE)
        migrator = slurm.wait_for(self.migrator, f"the migrator of {self.job_id}.0")
        os.kill(migrator, signal.SIGSTOP)
        try:
            slurm.wait_for(lambda: status_of(migrator)["State"].startswith("T"), "a migrator that stands still")
            begin.touch()
            slurm.wait_for(ready.exists, f"job {self.job_id} to have its memory")
            pid, *starts = ready.read_text().split()
            self.pid, self.starts = int(pid), [int(start, 16) for start in starts]
            self.first = self.shares()
        finally:
            os.kill(migrator, signal.SIGCONT)

    def migrator(self):
        """The pid of the step's migrator, not of the batch script's; None before it exists."""
        found = migrators(self.job_id).items()
        return next((pid for pid, options in found if options["--step"] == "0"), None)

    def shares(self):
        """The shares in the fast tier of the written, the read and the cold part."""
        nodes = [by_node(self.pid, start, MIB * slurm.MIB) for start in self.starts]
        return [sum(found[node] for node in FAST) / (MIB * slurm.MIB) for found in nodes]

    def after_phases(self, count):
        """Waits `count` times until a phase has ended, and gives the shares each time. Other phases may end in
        between."""
        for _ in range(count):
            before = progress(self.job_id, 0).phases
            slurm.wait_for(lambda: progress(self.job_id, 0).phases > before, f"a phase of {self.job_id}")  # noqa: B023
            yield self.shares()

    def end(self):
        self.go.touch()
        assert slurm.wait_job(self.job_id) == "COMPLETED", slurm.output(self.job_id)
        return slurm.record(self.job_id)


def test_written_memory_comes_back_and_nothing_else():
    """Two of the thirds are equally hot, and only the written one comes back. The overhead is 10 %, as observing and
    moving cost about fifty times as much in the guest."""
    held = Thirds(f"{ISOLATE},interval=2s,overhead=10%")
    seen = [held.first]
    assert max(seen[0]) < 0.1
    for shares in held.after_phases(MOST_PHASES):
        seen.append(shares)
        if shares[0] >= 0.95:
            break
    settled = list(held.after_phases(SETTLED))
    record = held.end()
    assert all(written >= 0.95 for written, _, _ in settled), seen
    assert all(read <= 0.1 and cold <= 0.02 for _, read, cold in seen + settled), seen + settled
    plan, migration = record["plan"], record["migration"]
    assert record["request"].startswith("isolate") and plan["mode"] == "isolate" and plan["policy"] == "default"
    assert "Large allocations start in slow (nodes 2-3)" in plan["reason"] and "most written data" in plan["reason"]
    assert migration["hot_by"] == "writes", migration
    assert migration["promoted_bytes"] >= 0.95 * MIB * slurm.MIB, (seen, migration, record["warnings"])
    # The clock's samples tell what is hot, but not which share of all accesses they stand for.
    assert migration["sample_source"] == "clock" and migration["fast_share"] is None, migration


# Prints the socket and the variable of a task that is to use its own socket's memory.
SHOW_SOCKET = (
    "cpu=$(awk '/^Cpus_allowed_list/ { print $2 + 0 }' /proc/self/status)\n"
    "echo $(cat /sys/devices/system/cpu/cpu$cpu/topology/physical_package_id) $HYBRIDMEM_ISOLATE_NODES"
)


@pytest.mark.slurm26
def test_the_environment_of_the_tasks():
    """The preload library comes before the user's own; a step in another mode has neither the library nor the
    variables."""
    steps = ["", ISOLATE, "--hybrid-mem=off", "--hybrid-mem=spill", "--mem-bind=local"]
    lines = [slurm.OVERLAP.strip(), SHOW, *(f"echo :; srun -n1 {words} sh -c {shlex.quote(SHOW)}" for words in steps)]
    lines.append(f"echo :; srun -n2 --distribution=cyclic {ISOLATE},socket=local sh -c {shlex.quote(SHOW_SOCKET)}")
    job_id = slurm.sbatch("alice", "\n".join(lines), ISOLATE, "-n2", env={"LD_PRELOAD": OWN})
    assert slurm.wait_job(job_id) == "COMPLETED"
    batch, inherited, isolated, off, spill, bound, local = slurm.output(job_id).split(":\n")
    wanted = [f"{LIBRARY}:{OWN}", NODES, str(job_id)]
    assert batch.splitlines() == inherited.splitlines() == isolated.splitlines() == wanted
    assert off.splitlines() == spill.splitlines() == [OWN]
    assert OWN in bound and "--mem-bind is set" in bound and not {str(LIBRARY), NODES} & set(bound.splitlines())
    assert sorted(local.splitlines()) == ["0 fast=0@0 slow=2@0", "1 fast=1@1 slow=3@1"]
    slurm.record(job_id)


def test_variables_that_the_user_sets_stay():
    """The user sets the variables by hand, as hybridmem-preload(7) says. No hybridmem job has set them, so nothing
    removes them."""
    env = {"LD_PRELOAD": str(LIBRARY), "HYBRIDMEM_ISOLATE_NODES": "slow=2@0"}
    done = slurm.run(f"srun -n1 --hybrid-mem=off sh -c {shlex.quote(SHOW)}", user="alice", env=env)
    assert done.stdout.splitlines() == [str(LIBRARY), "slow=2@0"]


@contextlib.contextmanager
def without_the_library():
    away = LIBRARY.with_suffix(".away")
    LIBRARY.rename(away)
    try:
        yield
    finally:
        away.rename(LIBRARY)


def test_without_the_library_it_is_refused():
    with without_the_library():
        done = slurm.run(f"srun -n1 {ISOLATE} echo ran", user="alice", check=False)
        check = slurm.run("hybridmem config check", check=False)
    said = "the library that sends allocations to the slow tier is not installed on this node"
    assert done.returncode != 0 and "ran" not in done.stdout
    assert done.stderr.count(f"hybridmem: --hybrid-mem=isolate: {said}: {LIBRARY}\n") == 1
    assert re.search(rf"^change  {LIBRARY}: .*isolate is refused without it", check.stdout, re.M)
    assert re.search(rf"^ok      {LIBRARY} is there", slurm.run("hybridmem config check", check=False).stdout, re.M)


DATABASE = """
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)
  insert into t select i, printf('%0100d', i * 7919 % 10007) from n;
.shell touch {ready}; while [ ! -e {go} ]; do sleep 0.1; done
select count(*), sum(length(b)), min(b), max(b), sum(cast(b as integer) * a % 1009) from t;
"""


def sqlite(mode):
    """Run an in-memory database with a page cache of 33 MiB, which SQLite allocates at once. Returns the query's result
    and the bytes by node."""
    folder = slurm.folder_of("alice")
    ready, go, script = folder / "ready", folder / "go", folder / "script"
    script.write_text(DATABASE.format(ready=ready, go=go))
    # With an interval of 24 h nothing is moved, so that the pages are where they were allocated.
    job_id = slurm.sbatch("alice", f"exec sqlite3 -pagecache 4368 8000 :memory: < {script}", f"--hybrid-mem={mode}")
    slurm.wait_for(ready.exists, f"the database of {job_id}")
    (pid,) = slurm.run("pgrep -x sqlite3").stdout.split()
    nodes = by_node(pid, least=slurm.MIB)
    go.touch()
    assert slurm.wait_job(job_id) == "COMPLETED"
    return slurm.output(job_id), nodes


def test_a_database_has_the_same_result_and_its_cache_in_the_slow_tier():
    slurm.drop_caches()
    plain, before = sqlite("off")
    isolated, nodes = sqlite("isolate,interval=24h")
    assert plain == isolated and plain.startswith("10000|1000000|")
    assert sum(before[node] for node in SLOW) == 0 and sum(before.values()) > 2 * slurm.MIB
    slow = sum(nodes[node] for node in SLOW)
    assert slow >= 0.8 * sum(before.values()), (before, nodes)
