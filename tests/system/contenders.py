# SPDX-License-Identifier: Apache-2.0
"""Runs real programs in the guest under a way of tiering (a contender), with each of its settings, so that contenders
can be compared.

    python3 contenders.py OUTPUT.json CONTENDER ROOM [PROGRAM...]

ROOM is the fast memory that a program gets, in percent of its memory. Marks are set around the steady part of each
run for the tier meter, which counts accesses from outside of the guest (tests/testbed/README.md). OUTPUT.json gets a
list of the runs, with their settings and figures.
"""

import contextlib
import json
import re
import sys
import time
from pathlib import Path
from typing import NamedTuple

import migration
import slurm

PROGRAMS = Path(__file__).parent / "programs"
PATIENCE = 900  # seconds for one part of a run


class Program(NamedTuple):
    """A program of migration.RANKS independent ranks. Its progress is counted in the program's own units (steps,
    batches)."""

    name: str  # its name in /proc
    about: str
    footprint_mib: int  # anonymous memory of all ranks in the steady part; ROOM percent of it fit into the fast tier
    warm: int  # units of the slowest rank before the measured part
    stop: int  # units of the slowest rank at the end of the measured part, when the run is cancelled
    units: int  # units that each rank is told to do: so many that no rank ends before the measured part does
    prepare: object  # (folder, units): writes the input
    command: str  # of a rank
    progress: object  # (folder, rank): units that it has done
    result: object  # (folder, rank): its text at `stop`, which must not depend on who moves pages


def last_line(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return lines[-1] if lines else ""


def lammps_prepare(folder, _units):
    (folder / "lj.in").write_text((PROGRAMS / "lj.in").read_text())


def lammps_progress(folder, rank):
    found = re.match(r"(\d+) \S+$", last_line(folder / f"out.{rank}"))
    return int(found[1]) if found else 0


def lammps_result(folder, rank):
    lines = (folder / f"out.{rank}").read_text().splitlines()
    return next((line for line in lines if line.startswith(f"{LAMMPS_STOP} ")), "")


LAMMPS_STOP = 95
SQLITE_STOP = 100
SQLITE_ROWS = 24000
SQLITE_LOOKUPS = 2000


def sqlite_prepare(folder, units):
    """A table in memory. Batches look up and update rows, 95 % of them in a tenth of the table."""
    for rank in range(migration.RANKS):
        lines = [
            "pragma journal_mode = off;",
            "create table t(id integer primary key, n integer, v blob);",
            f"with recursive c(i) as (select 0 union all select i + 1 from c where i < {SQLITE_ROWS - 1})"
            " insert into t select i, 0, zeroblob(1000) from c;",
        ]
        for unit in range(1, units + 1):
            keys = (
                f"with recursive q(i, x) as (select 1, {unit * 7919 + rank * 104729} union all"
                f" select i + 1, (x * 1103515245 + 12345) & 2147483647 from q where i < {SQLITE_LOOKUPS}),"
                f" k(id) as (select case when (x >> 8) % 20 then {SQLITE_ROWS // 2} + (x >> 12) % {SQLITE_ROWS // 10}"
                f" else (x >> 12) % {SQLITE_ROWS} end from q)"
            )
            lines.append(f"{keys} select sum(n + length(substr(v, 900, 10))) from t join k using (id);")
            lines.append(f"{keys} update t set n = n + 1 where id in (select id from k limit {SQLITE_LOOKUPS // 8});")
            if unit == SQLITE_STOP:
                lines += [f".once result.{rank}", "select sum(n), sum(n * id) from t;"]
            lines.append(f"select writefile('progress.{rank}', '{unit}');")
        (folder / f"batches.{rank}").write_text("\n".join(lines) + "\n")


def sqlite_progress(folder, rank):
    text = last_line(folder / f"progress.{rank}")
    return int(text) if text else 0


PROGRAM = {
    "lammps": Program(
        name="lmp",
        about="LAMMPS, 4 runs of a Lennard-Jones liquid of 23,328 atoms",
        footprint_mib=70,
        warm=80,
        stop=LAMMPS_STOP,
        units=140,
        prepare=lammps_prepare,
        # Each rank is an MPI world of its own, which must not look for the others.
        command="env -i PATH=$PATH HOME=$HOME OMPI_MCA_pml=ob1 OMPI_MCA_btl=self"
        " lmp -in lj.in -log none -screen none -var rank $SLURM_PROCID -var steps UNITS",
        progress=lammps_progress,
        result=lammps_result,
    ),
    "sqlite": Program(
        name="sqlite3",
        about=f"SQLite, 4 databases in memory of {SQLITE_ROWS:,} rows of 1 KB, 95 % of the queries on a tenth of them",
        footprint_mib=104,
        warm=70,
        stop=SQLITE_STOP,
        units=140,
        prepare=sqlite_prepare,
        command="sqlite3 :memory: < batches.$SLURM_PROCID > /dev/null",
        progress=sqlite_progress,
        result=lambda folder, rank: last_line(folder / f"result.{rank}"),
    ),
}


# Settings of each contender. The guest with the tier meter makes some 4 million accesses a second, a real node a
# thousand million: so the kernel's default times are tried, and others, most of them longer.
NUMA_BALANCING = [
    {"hot_threshold_ms": 1000, "scan_period_min_ms": 1000, "scan_period_max_ms": 60000},  # the kernel's defaults
    {"hot_threshold_ms": 5000, "scan_period_min_ms": 1000, "scan_period_max_ms": 5000},
    {"hot_threshold_ms": 5000, "scan_period_min_ms": 5000, "scan_period_max_ms": 10000},
    {"hot_threshold_ms": 20000, "scan_period_min_ms": 5000, "scan_period_max_ms": 10000},
]
# sample_us and aggr_us of DAMON's monitoring; hot: least accesses for promotion, in samples of an aggregation;
# cold_age: aggregations without an access before demotion.
DAMON = [
    {"sample_us": 5000, "aggr_us": 100000, "hot": 5, "cold_age": 50},  # the intervals of DAMON's own documents
    {"sample_us": 50000, "aggr_us": 1000000, "hot": 1, "cold_age": 5},
    {"sample_us": 50000, "aggr_us": 1000000, "hot": 5, "cold_age": 5},
    {"sample_us": 200000, "aggr_us": 4000000, "hot": 5, "cold_age": 2},
]
# Observing and moving pages take some fifty times as long in the guest as on a node, so more CPU time is tried, too.
OURS = [
    {"interval": "10s", "overhead": "1%"},  # the defaults
    {"interval": "5s", "overhead": "5%"},
    {"interval": "2s", "overhead": "5%"},
    {"interval": "5s", "overhead": "10%"},
    {"interval": "2s", "overhead": "10%"},
]
NO_MAX = 0xFFFFFFFF


@contextlib.contextmanager
def no_migrator(_setting):
    yield "off"


@contextlib.contextmanager
def ours(setting):
    yield ",".join(["migrate", *(f"{key}={value}" for key, value in setting.items())])


@contextlib.contextmanager
def numa_balancing(setting):
    folder = "/sys/kernel/debug/sched/numa_balancing"
    if not Path(folder).exists():
        slurm.run("mount -t debugfs debugfs /sys/kernel/debug")
    # The maximum comes first, so that a minimum above the old maximum is accepted.
    keys = sorted(setting, key=lambda key: key != "scan_period_max_ms")
    values = {f"{folder}/{key}": setting[key] for key in keys}
    values["/sys/kernel/mm/numa/demotion_enabled"] = 1
    values["/proc/sys/kernel/numa_balancing"] = 2
    with migration.written(values):
        yield "off"


def physical_ranges(node):
    """[start, end) of each range of physical addresses of the node; adjacent blocks are joined."""
    size = int(Path("/sys/devices/system/memory/block_size_bytes").read_text(), 16)
    starts = sorted(
        int((block / "phys_index").read_text(), 16) * size for block in migration.node_path(node).glob("memory[0-9]*")
    )
    ranges = []
    for start in starts:
        if ranges and ranges[-1][1] == start:
            ranges[-1][1] += size
        else:
            ranges.append([start, start + size])
    return ranges


def damon_kdamond(folder, node, action, target, setting):
    """Sets up and starts a kdamond that watches one node's physical memory, as in the kernel's usage document."""
    hot = action == "migrate_hot"
    migration.write(folder / "contexts/nr_contexts", 1)
    context = folder / "contexts/0"
    migration.write(context / "operations", "paddr")
    migration.write(context / "monitoring_attrs/intervals/sample_us", setting["sample_us"])
    migration.write(context / "monitoring_attrs/intervals/aggr_us", setting["aggr_us"])
    migration.write(context / "monitoring_attrs/nr_regions/min", 100)
    migration.write(context / "monitoring_attrs/nr_regions/max", 2000)
    migration.write(context / "targets/nr_targets", 1)
    ranges = physical_ranges(node)
    migration.write(context / "targets/0/regions/nr_regions", len(ranges))
    for number, (start, end) in enumerate(ranges):
        migration.write(context / f"targets/0/regions/{number}/start", start)
        migration.write(context / f"targets/0/regions/{number}/end", end)
    migration.write(context / "schemes/nr_schemes", 1)
    scheme = context / "schemes/0"
    migration.write(scheme / "action", action)
    migration.write(scheme / "target_nid", target)
    values = {
        "sz/min": slurm.PAGE,
        "sz/max": 1 << 40,
        "nr_accesses/min": setting["hot"] if hot else 0,
        "nr_accesses/max": NO_MAX if hot else 0,
        "age/min": 0 if hot else setting["cold_age"],
        "age/max": NO_MAX,
    }
    for name, value in values.items():
        migration.write(scheme / "access_pattern" / name, value)
    migration.write(folder / "state", "on")


@contextlib.contextmanager
def damon(setting):
    kdamonds = Path("/sys/kernel/mm/damon/admin/kdamonds")
    plan = [(fast, "migrate_cold", slow) for fast, slow in zip(migration.FAST, migration.SLOW, strict=True)]
    plan += [(slow, "migrate_hot", fast) for fast, slow in zip(migration.FAST, migration.SLOW, strict=True)]
    migration.write(kdamonds / "nr_kdamonds", len(plan))
    try:
        for number, (node, action, target) in enumerate(plan):
            damon_kdamond(kdamonds / str(number), node, action, target, setting)
        yield "off"
        for number, (node, action, _) in enumerate(plan):
            migration.write(kdamonds / str(number) / "state", "update_schemes_stats")
            stats = kdamonds / str(number) / "contexts/0/schemes/0/stats"
            print(f"   node {node} {action}: tried {(stats / 'sz_tried').read_text().strip()} bytes,", end=" ")
            print(f"applied {(stats / 'sz_applied').read_text().strip()}", flush=True)
    finally:
        for number in range(len(plan)):
            if (kdamonds / str(number) / "state").read_text().strip() == "on":
                migration.write(kdamonds / str(number) / "state", "off")
        migration.write(kdamonds / "nr_kdamonds", 0)


CONTENDERS = {
    "none": (no_migrator, [{}]),
    "ours": (ours, OURS),
    "numa_balancing": (numa_balancing, NUMA_BALANCING),
    "damon": (damon, DAMON),
}


def vmstat():
    fields = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    keys = ("pgpromote_success", "pgdemote_kswapd", "pgdemote_direct", "pgmigrate_success", "numa_hint_faults")
    return {key: int(fields[key]) for key in keys}


def warm_page_cache(program):
    """Puts the program's files into the page cache of the slow tier, so that the fast tier is left for data."""
    words = " ".join(["/usr/bin/" + program.name, *re.findall(r"\S+ => (\S+)", libraries(program))])
    slurm.run(f"numactl --membind={','.join(map(str, migration.SLOW))} cat {words} > /dev/null")


def libraries(program):
    return slurm.run(f"ldd /usr/bin/{program.name}").stdout


class Ranks:
    """A program's ranks: the files that they need, the job that they are, and their progress."""

    def __init__(self, program):
        self.program, self.folder, self.done = program, slurm.folder_of("alice"), [0] * migration.RANKS
        program.prepare(self.folder, program.units)
        slurm.run(f"chown -R alice: {self.folder}")
        command = program.command.replace("UNITS", str(program.units))
        (self.folder / "rank.sh").write_text(
            f"cd {self.folder}\ntouch here.$SLURM_PROCID\nuntil [ -e go ]; do sleep 0.2; done\n{command}\n"
        )

    def start(self, request):
        """Starts the ranks, which then wait for go()."""
        script = f"srun -O -n{migration.RANKS} bash {self.folder}/rank.sh"
        self.job_id = slurm.sbatch("alice", script, "-n2", f"--hybrid-mem={request}")
        slurm.wait_for(lambda: len(list(self.folder.glob("here.*"))) == migration.RANKS, "all ranks")

    def go(self):
        (self.folder / "go").touch()

    def slowest(self):
        """The units of the slowest rank. Units only grow: a smaller number is ignored, as it comes from a file that is
        just being written."""
        self.done = [max(units, self.program.progress(self.folder, rank)) for rank, units in enumerate(self.done)]
        return min(self.done)

    def wait(self, units, what):
        """Waits until the slowest rank has done this many units, or the job has ended."""
        slurm.wait_for(
            lambda: self.slowest() >= units or slurm.end_of(self.job_id), what, PATIENCE, every=migration.QUIET
        )

    def pids(self):
        return migration.ranks_of(self.job_id, self.program.name)

    def end(self):
        """Cancels the job. Returns the state that it had."""
        state = slurm.wait_for(lambda: slurm.job(self.job_id).get("JobState"), f"scontrol's answer about {self.job_id}")
        slurm.run(f"scancel {self.job_id}")
        slurm.wait_job(self.job_id)
        return state


def measure(ranks, mark):
    """Lets the ranks work through the warm-up, and then between two marks. Returns the figures of the run: `moves`,
    `cpu_s` and `migrator` include the warm-up."""
    before, started = vmstat(), time.monotonic()
    ranks.go()
    ranks.wait(ranks.program.warm, "the warm-up")
    migration.mark(f"{mark}.start")
    first_bytes = migration.anon_bytes(ranks.pids())
    units = ranks.slowest()
    warm_s = time.monotonic() - started
    ranks.wait(ranks.program.stop, "the measured stretch")
    migration.mark(f"{mark}.end")
    pids = ranks.pids()
    end_bytes = migration.anon_bytes(pids)
    measured_s = time.monotonic() - started - warm_s
    figures = migration.progress(ranks.job_id)
    cpu_s = migration.cpu_seconds(ranks.job_id)
    after = vmstat()
    return {
        "ranks": len(pids),
        "footprint": sum(end_bytes.values()),
        "fast_bytes": [migration.on_fast(first_bytes), migration.on_fast(end_bytes)],
        "units": [units, ranks.slowest()],
        "warm_s": round(warm_s, 1),
        "measured_s": round(measured_s, 1),
        "cpu_s": round(cpu_s, 2),
        "moves": {key: after[key] - before[key] for key in before},
        "migrator": figures,
    }


def run_once(program, contender, setting, room, mark):
    """Runs the program once, with fast memory for `room` percent of its memory, and sets the marks. Returns the run's
    figures."""
    ranks = Ranks(program)
    limit = program.footprint_mib * slurm.MIB * room // 100
    with contextlib.ExitStack() as stack:
        # The kernel's balancing would move the same pages: only its own contender uses it.
        stack.enter_context(migration.written({"/proc/sys/kernel/numa_balancing": 0}))
        ranks.start(stack.enter_context(contender(setting)))
        # The processes that Slurm starts besides the ranks have their memory by now, and take none of the limit.
        stack.enter_context(migration.scarce_fast(limit))
        warm_page_cache(program)
        measured = measure(ranks, mark)
        state = ranks.end()
    result = [program.result(ranks.folder, rank) for rank in range(migration.RANKS)]
    return {"state": state, "limit": limit, "result": result, **measured}


def main():
    output, name, room, *programs = sys.argv[1:]
    contender, settings = CONTENDERS[name]
    runs = []
    for program in programs or PROGRAM:
        for number, setting in enumerate(settings):
            mark = f"{program}.{name}.{number}"
            print(f"== {mark} {setting}", flush=True)
            seen = run_once(PROGRAM[program], contender, setting, int(room), mark)
            runs.append({"program": program, "contender": name, "setting": setting, "mark": mark, **seen})
            Path(output).write_text(json.dumps(runs))
            print("  ", json.dumps(seen), flush=True)
            slurm.wait_idle()


if __name__ == "__main__":
    main()
