# SPDX-License-Identifier: Apache-2.0
"""Ways of tiering (contenders), each with its settings, for tests/system/tiering.py and zipf.py."""

import contextlib
import json
import subprocess
from pathlib import Path
from typing import NamedTuple

import migration
import room
import siteprofile
import slurm

PROGRAM = Path("/opt/memtierd")  # memtierd, where the bench was given it
LRU_GEN = "/sys/kernel/mm/lru_gen/enabled"

# Settings of each contender, the first ones by default. The guest with the tier meter makes some 30 million accesses in
# a second of its clock, a real node a thousand million: so the kernel's default times are tried, and longer ones.
NUMA_BALANCING = [
    {"hot_threshold_ms": 1000, "scan_period_min_ms": 1000, "scan_period_max_ms": 60000},  # the kernel's defaults
    {"hot_threshold_ms": 5000, "scan_period_min_ms": 1000, "scan_period_max_ms": 5000},
    {"hot_threshold_ms": 20000, "scan_period_min_ms": 5000, "scan_period_max_ms": 10000},
]
# sample_us and aggr_us of DAMON's monitoring; hot: least accesses for promotion, in samples of an aggregation;
# cold_age: aggregations without an access before demotion.
DAMON = [
    {"sample_us": 50000, "aggr_us": 1000000, "hot": 5, "cold_age": 5},
    {"sample_us": 5000, "aggr_us": 100000, "hot": 5, "cold_age": 50},  # the intervals of DAMON's own documents
    {"sample_us": 200000, "aggr_us": 4000000, "hot": 5, "cold_age": 2},
]
# Observing and moving pages take some fifty times as long in the guest as on a node, so more CPU time is tried, too.
OURS = [
    {},
    {"overhead": "5%"},
    {"interval": "2s", "overhead": "5%"},
    {"interval": "5s", "overhead": "10%"},
]
# Each packer chooses by the same profile.
GUIDED = [{"packer": name} for name in ("gain", "thermos", "hotset", "knapsack")]
# As in memtierd's own examples, where a range is hot that is written in each of some looks; the second forgets slowly.
MEMTIERD = [
    {"scanintervalms": 5000, "heatmax": 0.01, "heatretention": 0.8},
    {"scanintervalms": 5000, "heatmax": 0.01, "heatretention": 0.95},
]
NO_MAX = 0xFFFFFFFF


@contextlib.contextmanager
def no_migrator(_setting):
    yield "off"


@contextlib.contextmanager
def ours(setting):
    yield ",".join(["migrate", *(f"{key}={value}" for key, value in setting.items())])


@contextlib.contextmanager
def interleave(_setting):
    yield "interleave"


@contextlib.contextmanager
def balancing(setting, lru_gen):
    folder = "/sys/kernel/debug/sched/numa_balancing"
    if not Path(folder).exists():
        slurm.run("mount -t debugfs debugfs /sys/kernel/debug")
    # The maximum comes first, so that a minimum above the old maximum is accepted.
    keys = sorted(setting, key=lambda key: key != "scan_period_max_ms")
    values = {f"{folder}/{key}": setting[key] for key in keys}
    values["/sys/kernel/mm/numa/demotion_enabled"] = 1
    values[LRU_GEN] = lru_gen
    values["/proc/sys/kernel/numa_balancing"] = 2
    with migration.written(values):
        yield "off"


def numa_balancing(setting):
    """The kernel's tiering mode, whose demotion takes what two lists call old."""
    return balancing(setting, "n")


def tpp(setting):
    """What the kernel has of TPP (Maruf et al., ASPLOS 2023): the same, where demotion takes the oldest of the
    multi-generational LRU."""
    return balancing(setting, "y")


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


@contextlib.contextmanager
def memtierd(setting):
    """memtierd's policy of heat over what is written (soft-dirty pages), as its other trackers need idle bits or
    bpftrace, which the guest has not."""
    folder = next(Path("/sys/fs/cgroup").rglob("*slurmstepd.scope"))
    heat = {
        "intervalms": 10000,
        "pidwatcher": {"name": "cgroups", "config": json.dumps({"cgroups": [str(folder)]})},
        "heatnumas": {"0": migration.SLOW, "3": migration.FAST},
        "heatmap": {key: setting[key] for key in ("heatmax", "heatretention")} | {"heatclasses": 4},
        "tracker": {
            "name": "softdirty",
            "config": json.dumps({"pagesinregion": 16, "scanintervalms": setting["scanintervalms"]}),
        },
        "mover": {"intervalms": 20, "bandwidth": 200},
    }
    path = Path("/tmp/memtierd.yaml")  # JSON is YAML
    path.write_text(json.dumps({"policy": {"name": "heat", "config": json.dumps(heat)}}))
    with subprocess.Popen(
        [PROGRAM, "-config", path, "-prompt"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as it:
        yield "off"
        assert it.poll() is None, f"memtierd ended with {it.returncode}"
        it.kill()


class Contender(NamedTuple):
    way: object  # (setting): a context, in which the job is; yields its --hybrid-mem
    settings: list
    stop: str  # the watermark of a fast node to which it fills it
    room: object = room.Room  # (target, stop): how its ranks are given the target
    starter: object = None  # (program, setting, bytes of a rank in the fast tier): words that start the program


CONTENDERS = {
    "none": Contender(no_migrator, [{}], "low", room.RoomForNobody),
    "interleave": Contender(interleave, [{}], "low", room.RoomForNobody),
    "ours": Contender(ours, OURS, "high"),
    "guided": Contender(no_migrator, GUIDED, "low", room.RoomToSpare, siteprofile.guide),
    "numa_balancing": Contender(numa_balancing, NUMA_BALANCING, "high"),
    "tpp": Contender(tpp, NUMA_BALANCING, "high"),
    "damon": Contender(damon, DAMON, "min"),
    "memtierd": Contender(memtierd, MEMTIERD, "min"),
}


def vmstat():
    fields = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    keys = ("pgpromote_success", "pgdemote_kswapd", "pgdemote_direct", "pgmigrate_success", "numa_hint_faults")
    return {key: int(fields[key]) for key in keys}
