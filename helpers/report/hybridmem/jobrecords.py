# SPDX-License-Identifier: Apache-2.0
"""Finds the records of one run of a job in the files of its nodes, around the job's end.

A node appends to its file when a job ends: so the record is near the end of the file, or not there yet. Files are read
backwards, as a job may have ten thousand nodes, and each node's file may have megabytes.

slurmctld may give a restart count that is one too high, as a requeue increases it before the epilog's environment is
made. So records with that count are preferred, but those with one less are taken if their times fit."""

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

from . import fields, held, moments, records

SKEW_S = 60  # possible difference between the clocks of slurmctld's host and a node
MOST_DAYS = 3
FIRST_STEP = 64 << 10  # bytes at a file's end that are read first (steps_back): a dozen records
LAST_STEP = 4 << 20  # each read is of twice the bytes of the one before, up to this


def days(entry, now):
    """The days whose folders can have the records: from the job's end until now, MOST_DAYS at most."""
    first = datetime.fromtimestamp(entry["end_s"] - SKEW_S, timezone.utc).date()
    last = datetime.fromtimestamp(max(now, entry["end_s"]) + SKEW_S, timezone.utc).date()
    count = min((last - first).days + 1, MOST_DAYS)
    return [(first + timedelta(days=i)).isoformat() for i in range(count)]


def _seconds(record, key):
    moment = moments.parse_time(fields.text(record, key) or "")
    return moment.timestamp() if moment else None


def _parse(line):
    return records.parse(line, "", 0, records.Skipped())


def fits(record, entry, cluster):
    """Is the record of this run, or of the one before, which slurmctld may have meant?"""
    start, end = _seconds(record, "start"), _seconds(record, "end")
    return (
        record["job_id"] == entry["job_id"]
        and fields.whole(record, "uid") == entry["uid"]
        and (not cluster or fields.text(record, "cluster") in (cluster, None))
        and fields.whole(record, "restart_count") in (entry["restart_count"], entry["restart_count"] - 1)
        and end is not None
        and end >= max(entry["start_s"] or 0, entry["end_s"] - SKEW_S)
        and (start is None or start <= entry["end_s"] + SKEW_S)
    )


def steps_back(descriptor, first, end):
    """Reads an open file backwards, from byte `end` to byte `first`, at which a line begins. Yields (lines, resume):
    lists of lines, the last lines first, each list in the file's order; `resume` is the byte after the last line feed,
    or `first` while none was found. There may be half a line at `end`. Lines that are longer than a record can be
    are left out."""
    step, rest, resume = FIRST_STEP, b"", None
    while end > first:
        start = max(first, end - step)
        block = os.pread(descriptor, end - start, start)
        if len(block) < end - start:  # the file has become shorter: it is not safe to go on
            return
        if resume is None and b"\n" in block:
            resume = start + block.rindex(b"\n") + 1
        block += rest
        cut = 0 if start == first else block.find(b"\n") + 1 or len(block)
        # The end of a line that begins further back in the file. A line that is too long is cut, but stays too long.
        rest = block[:cut][-records.LINE_MAX - 1 :]
        yield [line for line in block[cut:].split(b"\n") if line and len(line) < records.LINE_MAX], resume or first
        end, step = start, min(2 * step, LAST_STEP)


class JobRecords:
    """The records of one run. `cluster` is the name in the records, "" for any. look() reads a file that it read
    before only from where that look ended. Records are not kept between two looks, as a job may have ten thousand
    nodes."""

    def __init__(self, record_dir, cluster, entry, nodes):
        self.record_dir, self.cluster, self.entry, self.nodes = record_dir, cluster, entry, nodes
        self.needle = str(entry["job_id"]).encode()
        self.before_s = (entry["start_s"] or entry["end_s"]) - SKEW_S  # jobs that ended before this do not matter
        self.seen = {}  # path -> the file's size, and the byte to read from the next time
        self.reported = {}  # restart count -> the nodes that have a record with it

    def look(self, now):
        """Have all nodes reported?"""
        for node in self.nodes:
            if not any(node in group for group in self.reported.values()):
                for record in self._of_node(node, now, self.seen, self._is_before):
                    self.reported.setdefault(fields.whole(record, "restart_count"), set()).add(node)
        return any(len(group) == len(self.nodes) for group in self.reported.values())

    def read(self, now, is_wanted=True):
        """The records of the run: those with the highest restart count that was found, one for each node that has
        one. If they are wanted, this reads a file to its beginning if need be, unlike look(): records that had to wait,
        as while the disk was full, are appended behind those of later jobs."""
        is_enough = (lambda lines: False) if is_wanted else self._is_before
        found = {}
        for node in self.nodes:
            for record in self._of_node(node, now, {}, is_enough):
                of_run = found.setdefault(fields.whole(record, "restart_count"), {})
                of_run.setdefault(node, held.shared(held.slim(record)))
        return list(found[max(found)].values()) if found else []

    def _of_node(self, node, now, seen, is_enough):
        for day in days(self.entry, now):
            path = f"{self.record_dir}/{day}/{node}.jsonl"
            try:
                size = Path(path).lstat().st_size
            except FileNotFoundError:
                continue
            before, first = seen.get(path, (None, 0))
            if before == size:
                continue
            descriptor = records.open_file(path)
            if descriptor is None:
                continue
            try:
                found, resume = self._in_file(descriptor, node, first if first <= size else 0, size, is_enough)
            finally:
                os.close(descriptor)
            seen[path] = (size, resume)
            yield from found

    def _in_file(self, descriptor, node, first, size, is_enough):
        """Reads back to the first list of lines (steps_back) that has matching records, or for which is_enough(lines)
        is true. Returns the records, and the byte at which the next look begins."""
        end = first
        for lines, end in steps_back(descriptor, first, size):
            near = (_parse(line) for line in lines if self.needle in line)
            found = [r for r in near if r and r["node"] == node and fits(r, self.entry, self.cluster)]
            if found or is_enough(lines):
                return found, end
        return [], end

    def _is_before(self, lines):
        """Did all jobs of these lines end before this one began? Then earlier lines are most likely older, too. A
        single older line at the end proves nothing: a late epilog writes after the others."""
        known = False
        for line in reversed(lines):
            record = _parse(line)
            end = _seconds(record, "end") if record else None
            if end is not None and end >= self.before_s:
                return False
            known = known or end is not None
        return known
