#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes records for tests: single records, or a folder of many, with figures that can be calculated by hand.

usage: makerecords.py DIR RECORDS     RECORDS records of one-node jobs over 10 days and 10 nodes"""

import json
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

GIB = 1 << 30
MODES = ("spill", "fast", "slow", "interleave")
ENERGY = ("package_j", "memory_j", "platform_j", "mean_w", "peak_w")
USERS = {"alice": 1001, "bob": 1002, "carol": 1003}


MIGRATION_KEYS = """algorithm hot_by sample_source sample_source_why period period_unit interval_s phases samples lost
    throttled dropped promoted_bytes demoted_bytes unmoved cap_bytes above_cap_bytes first_above_cap_bytes
    above_cap_s fair_share_bytes cpu_s kernel_cpu_s allowed_cpu_s advance_cpu_s pays_from fast_share best_share regret
    balance heat self_reported"""
NO_MIGRATION = {
    **dict.fromkeys(MIGRATION_KEYS.split()),
    "source": "the job did not ask for a migrator",
    "step_count": 0,
    "steps": [],
}


# What a record has of the profile that a job has left
LEFT_PROFILE = {
    **dict.fromkeys(("reason", "plan", "run", "period", "rate_reason", "unsampled")),
    "file": "/home/a/7.0.json",
    "method": "sample",
}


def tier(name, nodes, peak, mean, points=60, capacity=None):
    return {
        "name": name,
        "kind": name,
        "nodes": nodes,
        "capacity_bytes": capacity,
        "peak_bytes": peak,
        "mean_bytes": mean,
        "anon_bytes": peak,
        "file_bytes": 0,
        "shmem_bytes": 0,
        "kernel_bytes": 0,
        "hugetlb_bytes": None,
        "series": [peak * (i + 1) // points for i in range(points)] or None,
    }


def record(job_id, **changes):
    """A job that ran for an hour and used 3 GiB of DRAM and 1 GiB of PMem at its peak. `changes` replace keys;
    `mode` is the one of its request and plan."""
    user = changes.get("user", "alice")
    mode = changes.pop("mode", "spill")
    made = {
        "schema": 1,
        "cluster": "test",
        "job_id": job_id,
        "array_job_id": None,
        "array_task_id": None,
        "het_job_id": None,
        "step_ids": ["batch", "0"],
        "step_count": 2,
        "user": user,
        "uid": USERS.get(user, 1000),
        "account": "physics",
        "partition": "main",
        "node": "n1",
        "restart_count": 0,
        "request": mode,
        "plan": {
            "mode": mode,
            "reason": "the fast tier first, then the slow one",
            "policy": "interleave",
            "tiers": ["dram"],
            "nodes": [0, 1],
            "weights": None,
            "side_cache_bytes": None,
        },
        "start": "2025-03-01T10:00:00.000Z",
        "end": "2025-03-01T11:00:00.000Z",
        "elapsed_s": 3600.0,
        "shared": False,
        "exit_code": 0,
        "memory": {
            "peak_bytes": 4 * GIB,
            "peak_source": "memory.peak of the job's cgroup",
            "interval_s": 60.0,
            "samples": 3600,
            "first_sample": "2025-03-01T10:00:00.500Z",
            "source": "memory.numa_stat of the job's cgroup",
            "tiers": [tier("dram", [0, 1], 3 * GIB, 2 * GIB), tier("pmem", [2, 3], GIB, GIB // 2)],
        },
        "energy": {**dict.fromkeys(ENERGY), "node": None, "source": "no meter on this node", "estimate": None},
        "traffic": {"tiers": [], "node": None, "job": None, "source": "no counters on this node", "estimate": None},
        "migration": dict(NO_MIGRATION),
        "guided": None,
        "profile": None,
        "namespaces": [],
        "warnings": [],
    }
    made.update(changes)
    return made


def write(folder, *records):
    """Appends the records to their nodes' files, as the epilog does."""
    for made in records:
        for place in (Path(folder), Path(folder) / "by-user" / str(made["uid"])):
            path = place / made["end"][:10] / f"{made['node']}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as stream:
                stream.write(json.dumps(made) + "\n")


def many(folder, count, padding=""):
    """Writes `count` records, distributed over days, nodes, users and modes in turn. Users' names end in `padding`."""
    first = datetime(2025, 3, 1, 12, tzinfo=timezone.utc)
    users, template = list(USERS), json.dumps(record(0, user="USER", mode="MODE", node="NODE", end="END"))
    for day in range(10):
        end = (first + timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ")
        path = Path(folder) / end[:10]
        path.mkdir(parents=True)
        streams = [(path / f"n{node}.jsonl").open("w") for node in range(10)]
        for job in range(day, count, 10):
            line = template.replace('"job_id": 0', f'"job_id": {job + 1}').replace("END", end)
            line = line.replace("USER", users[job % 3] + padding).replace("MODE", MODES[job % 4])
            node = job // 10 % 10
            streams[node].write(line.replace("NODE", f"n{node}") + "\n")
        for stream in streams:
            stream.close()


if __name__ == "__main__":
    many(sys.argv[1], int(sys.argv[2]))
