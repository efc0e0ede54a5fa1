# SPDX-License-Identifier: Apache-2.0
"""Tests how the collector finds a job's records in the files of its nodes: wherever they are, and without reading
far into lines from before the job."""

import json
import os

import pytest
from collecting import END, START, entry
from hybridmem import jobrecords, records
from makerecords import record, write

HOUR = 3600


@pytest.fixture
def read(monkeypatch):
    """The sizes of all reads of files."""
    sizes, pread = [], os.pread

    def counted(descriptor, size, start):
        sizes.append(size)
        return pread(descriptor, size, start)

    monkeypatch.setattr(os, "pread", counted)
    return sizes


def looking(bench, **changes):
    return jobrecords.JobRecords(str(bench.records), "test", entry(**changes), ["n1"])


def path_of(bench):
    return bench.records / "2025-03-01" / "n1.jsonl"


def others(count, first=1000, end="2025-03-01T11:00:00Z"):
    """Records of other jobs, some 3.5 KiB each."""
    return [record(first + i, end=end) for i in range(count)]


@pytest.mark.parametrize("step", [1, 100, 5000, 1 << 20])
@pytest.mark.parametrize("place", range(4))
def test_records_are_found_wherever_they_are_in_their_file(bench, monkeypatch, step, place):
    monkeypatch.setattr(jobrecords, "FIRST_STEP", step)
    jobs = [71, 72, 73]
    jobs.insert(place, 7)
    write(bench.records, *map(record, jobs))
    kept = looking(bench)
    assert kept.look(bench.clock()) and [made["job_id"] for made in kept.read(bench.clock())] == [7]


def test_of_a_job_that_has_just_ended_only_the_end_of_the_file_is_read(bench, read):
    write(bench.records, *others(400), record(7))
    assert path_of(bench).stat().st_size > 10 * jobrecords.FIRST_STEP
    kept = looking(bench)
    assert kept.look(bench.clock()) and read == [jobrecords.FIRST_STEP]
    assert len(kept.read(bench.clock())) == 1 and read == [jobrecords.FIRST_STEP] * 2


def test_a_record_further_back_is_found_in_steps_that_double(bench, read):
    """A collector that was down finds other jobs' records after the one that it looks for. No byte is read twice."""
    write(bench.records, *others(100), record(7), *others(40, 2000))
    kept = looking(bench)
    assert kept.look(bench.clock())
    assert read == [jobrecords.FIRST_STEP, 2 * jobrecords.FIRST_STEP]
    assert sum(read) < path_of(bench).stat().st_size / 2


def test_older_records_that_were_written_later_hide_none(bench, read):
    """They had to wait, as while the disk was full. For a job that asked for nothing, and most likely has no record,
    only the end of the file is read."""
    write(bench.records, record(7), *others(60, end="2025-03-01T09:58:00Z"))
    kept = looking(bench)
    assert not kept.look(bench.clock())
    assert [made["job_id"] for made in kept.read(bench.clock())] == [7]
    read.clear()
    assert kept.read(bench.clock(), is_wanted=False) == [] and read == [jobrecords.FIRST_STEP]


def test_steps_grow_up_to_a_limit(bench, read, monkeypatch):
    monkeypatch.setattr(jobrecords, "LAST_STEP", 3 * jobrecords.FIRST_STEP)
    write(bench.records, record(7), *others(200))
    assert looking(bench).look(bench.clock())
    size, step = path_of(bench).stat().st_size, jobrecords.FIRST_STEP
    assert read[:4] == [step, 2 * step, 3 * step, 3 * step] and sum(read) == size


def test_a_node_that_has_not_reported_is_not_read_beyond_the_jobs_start(bench, read):
    write(bench.records, *others(400, end="2025-03-01T09:58:00Z"))
    assert not looking(bench).look(bench.clock()) and read == [jobrecords.FIRST_STEP]
    del read[:]
    write(bench.records, *others(20, 2000))  # some 70 KiB, more than FIRST_STEP, written while the job ran
    assert not looking(bench).look(bench.clock())
    assert read == [jobrecords.FIRST_STEP, 2 * jobrecords.FIRST_STEP, 4 * jobrecords.FIRST_STEP]
    del read[:]
    assert not looking(bench, start_s=START - 3 * HOUR).look(bench.clock())
    assert sum(read) == path_of(bench).stat().st_size, "all that is there ended while the job ran"


@pytest.mark.parametrize(
    "later",
    [
        [record(1000, end=None), record(1001, end="yesterday")] * 10,
        ['{"schema": 1'] * 10_000,
        [record(1000, end="2025-03-01T07:00:00Z"), record(1001)] * 10,
    ],
    ids=["no time", "torn", "epilogs that came late"],
)
def test_lines_after_the_record_do_not_hide_it(bench, later):
    write(bench.records, record(7))
    with path_of(bench).open("a") as stream:
        stream.writelines((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in later)
    assert looking(bench).look(bench.clock())


def test_of_a_file_that_grows_only_what_is_new_is_read(bench, read):
    """A line that was seen half-written is read again as a whole. Nothing else is read twice."""
    write(bench.records, *others(5))
    path, kept = path_of(bench), looking(bench)
    before = path.stat().st_size
    assert not kept.look(bench.clock()) and read == [before]
    text = json.dumps(record(8)) + "\n" + json.dumps(record(7)) + "\n"
    half = text.index("\n") + 500
    for part, reads in ((text[:half], [half]), (text[half:], [len(text) - half + 499])):
        with path.open("a") as stream:
            stream.write(part)
        del read[:]
        assert kept.look(bench.clock()) == part.endswith("\n")
        assert read == reads
    del read[:]
    assert kept.look(bench.clock()) and read == []


def test_a_file_that_was_replaced_is_read_from_its_beginning(bench):
    write(bench.records, *others(5))
    kept = looking(bench)
    assert not kept.look(bench.clock())
    path_of(bench).write_text(json.dumps(record(7)) + "\n")
    assert kept.look(bench.clock())


@pytest.mark.parametrize("length", [records.LINE_MAX - 1, records.LINE_MAX, 3 * records.LINE_MAX])
@pytest.mark.parametrize("step", [1000, 64 << 10, 1 << 20])
def test_a_line_longer_than_any_record_is_passed_over(bench, monkeypatch, step, length):
    monkeypatch.setattr(jobrecords, "FIRST_STEP", step)
    write(bench.records, record(7))
    long = json.dumps(record(7, restart_count=1)).ljust(length) + "\n"
    with path_of(bench).open("a") as stream:
        stream.write(long + json.dumps(record(8)) + "\n")
    found = looking(bench, restart_count=1).read(END + 1)
    assert [made["restart_count"] for made in found] == [int(length < records.LINE_MAX)]


def test_what_is_no_file_is_no_error(bench):
    path = path_of(bench)
    path.parent.mkdir()
    os.mkfifo(path)
    assert not looking(bench).look(bench.clock())
    path.unlink()
    path.symlink_to("/dev/zero")
    assert not looking(bench).look(bench.clock())
    path.unlink()
    path.touch()
    assert not looking(bench).look(bench.clock())


@pytest.mark.parametrize("first", [0, 2, 4])
@pytest.mark.parametrize("step", [1, 2, 3, 100])
def test_steps_back(tmp_path, monkeypatch, step, first):
    """The line that begins at byte `first` is not lost. What follows the last line feed is read again later."""
    monkeypatch.setattr(jobrecords, "FIRST_STEP", step)
    path = tmp_path / "n1.jsonl"
    path.write_bytes(b"a\nb\n\nc")
    with path.open("rb") as stream:
        steps = list(jobrecords.steps_back(stream.fileno(), first, 6))
        assert b"".join(line for lines, _ in reversed(steps) for line in lines) == b"abc"[first // 2 :]
        assert steps[-1][1] == 5
        assert list(jobrecords.steps_back(stream.fileno(), 0, 99)) == [], "the file has become shorter"
        assert list(jobrecords.steps_back(stream.fileno(), 6, 6)) == []
