# SPDX-License-Identifier: Apache-2.0
"""Tests which records the collector takes for those of a job's run."""

import json

import pytest
from collecting import END, WAIT, Slurm, entry, leave, row
from hybridmem import jobrecords, merge
from makerecords import record, tier, write


@pytest.mark.parametrize(
    "other",
    [
        {"job_id": 70},
        {"uid": 1002},
        {"cluster": "elsewhere"},
        {"restart_count": 5},
        {"node": "n2"},
        {"end": "2025-03-01T10:58:00Z"},
        {"start": "2025-03-01T11:02:00Z", "end": "2025-03-01T11:03:00Z"},
        {"end": None},
    ],
)
def test_records_of_other_jobs_and_runs(bench, other):
    leave(bench.folder, entry())
    made = {**record(7), **other}
    folder = bench.records / "2025-03-01"
    folder.mkdir()
    (folder / "n1.jsonl").write_text(f"torn 7\n{json.dumps(made)}\n[7]\n")
    bench.clock.now = END + WAIT
    bench.collect()
    assert bench.summary()["reported"] == 0


def test_what_is_kept_of_many_records_is_small(bench):
    """The records of ten thousand nodes, with all points of their series, would fill the host's memory."""
    full = {"memory": {"peak_bytes": 1, "tiers": [tier("dram", [0], 1, 1, 256) for _ in range(8)]}}
    write(bench.records, record(7, **full, migration={"promoted_bytes": 5, "steps": [{"step": "0"}] * 16}))
    kept = jobrecords.JobRecords(str(bench.records), "test", entry(), ["n1"])
    (made,) = kept.read(bench.clock())
    assert len(json.dumps(made)) < 4096 and made["migration"] == {"promoted_bytes": 5}
    assert merge.summary(entry(), ["n1"], [made]) == merge.summary(
        entry(), ["n1"], [record(7, **full, migration={"promoted_bytes": 5})]
    )


def test_records_of_the_next_day(bench):
    """The job ended just before midnight, its node's epilog just after."""
    end = 1740873599  # 2025-03-01T23:59:59Z
    leave(bench.folder, entry(end_s=end))
    bench.slurm = Slurm(row(end=end))
    bench.clock.now = end + 5
    write(bench.records, record(7, end="2025-03-02T00:00:01Z"))
    bench.collect()
    assert bench.summary()["reported"] == 1
