# SPDX-License-Identifier: Apache-2.0
"""The records that the collector takes for those of a job's run."""

import json

import pytest
from collecting import END, WAIT, Slurm, entry, leave, row
from hybridmem import jobrecords, merge, records
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


@pytest.mark.parametrize("tail", [1, 100, 5000, 1 << 20])
@pytest.mark.parametrize("place", range(4))
def test_records_are_found_wherever_they_are_in_their_file(bench, monkeypatch, tail, place):
    monkeypatch.setattr(jobrecords, "TAIL", tail)
    jobs = [71, 72, 73]
    jobs.insert(place, 7)
    write(bench.records, *map(record, jobs))
    kept = jobrecords.JobRecords(str(bench.records), "test", entry(), ["n1"])
    assert kept.look(bench.clock()) and [made["job_id"] for made in kept.read(bench.clock())] == [7]


def test_of_a_file_that_grows_only_its_end_is_read_again(bench, monkeypatch):
    """Also a line that was seen half-written."""
    monkeypatch.setattr(records, "LINE_MAX", 20000)
    starts, lines = [], records.lines
    monkeypatch.setattr(
        records, "lines", lambda path, skipped, start: starts.append(start) or lines(path, skipped, start)
    )
    write(bench.records, *map(record, range(71, 91)))
    path = bench.records / "2025-03-01" / "n1.jsonl"
    kept = jobrecords.JobRecords(str(bench.records), "test", entry(), ["n1"])
    assert not kept.look(bench.clock()) and starts == [0]
    first, text = path.stat().st_size, json.dumps(record(7)) + "\n"
    assert first > records.LINE_MAX > len(text)
    for part in (text[:500], text[500:]):
        with path.open("a") as stream:
            stream.write(part)
        complete = kept.look(bench.clock())
        assert complete == part.endswith("\n")
    assert starts == [0, first - records.LINE_MAX, first + 500 - records.LINE_MAX]
    assert kept.look(bench.clock()) and len(starts) == 3


@pytest.mark.parametrize(("start", "found"), [(0, "abc"), (1, "bc"), (2, "bc"), (3, "c"), (4, "c"), (5, ""), (99, "")])
def test_lines_from_a_byte_on(tmp_path, start, found):
    path = tmp_path / "n1.jsonl"
    path.write_bytes(b"a\nb\nc")
    assert b"".join(line for _, line in records.lines(path, records.Skipped(), start)).decode().split() == list(found)


def test_what_is_kept_of_many_records_is_small(bench):
    """Ten thousand nodes with all their points would fill the host's memory."""
    full = {"memory": {"peak_bytes": 1, "tiers": [tier("dram", [0], 1, 1, 256) for _ in range(8)]}}
    write(bench.records, record(7, **full, migration={"promoted_bytes": 5, "steps": [{"step": "0"}] * 16}))
    kept = jobrecords.JobRecords(str(bench.records), "test", entry(), ["n1"])
    (made,) = kept.read(bench.clock())
    assert len(json.dumps(made)) < 4096 and made["migration"] == {"promoted_bytes": 5}
    assert merge.summary(entry(), ["n1"], [made]) == merge.summary(
        entry(), ["n1"], [record(7, **full, migration={"promoted_bytes": 5})]
    )


def test_records_of_the_next_day(bench):
    """The job ended a moment before midnight, its node's epilog a moment after."""
    end = 1740873599  # 2025-03-01T23:59:59Z
    leave(bench.folder, entry(end_s=end))
    bench.slurm = Slurm(row(end=end))
    bench.clock.now = end + 5
    write(bench.records, record(7, end="2025-03-02T00:00:01Z"))
    bench.collect()
    assert bench.summary()["reported"] == 1
