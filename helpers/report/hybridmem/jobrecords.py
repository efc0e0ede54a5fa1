# SPDX-License-Identifier: Apache-2.0
"""The records of one run of a job, from the files of its nodes around its end.

slurmctld may tell a restart count that is one too high, as a requeue counts up before the epilog's environment is made:
records with its count come first, then those with the one below, where their times fit.
"""

from datetime import datetime, timedelta, timezone
from pathlib import Path

from . import fields, moments, records

SKEW_S = 60  # between the clocks of slurmctld's host and of a node
MOST_DAYS = 3
TAIL = 4 << 20  # bytes at a file's end that are looked at first: a hundred records and more


def days(entry, now):
    """The day folders that can have the records: from the end on, until now."""
    first = datetime.fromtimestamp(entry["end_s"] - SKEW_S, timezone.utc).date()
    last = datetime.fromtimestamp(max(now, entry["end_s"]) + SKEW_S, timezone.utc).date()
    count = min((last - first).days + 1, MOST_DAYS)
    return [(first + timedelta(days=i)).isoformat() for i in range(count)]


def _seconds(record, key):
    moment = moments.parse_time(fields.text(record, key) or "")
    return moment.timestamp() if moment else None


def fits(record, entry, cluster):
    """Is it of this run, or of the one before that slurmctld may have meant?"""
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


def slim(record):
    """Without what is nine tenths of it and in no summary: use over time, and steps."""
    for tier in fields.tiers(record):
        tier.pop("series", None)
    if isinstance(record.get("migration"), dict):
        record["migration"].pop("steps", None)
    return record


class JobRecords:
    """`cluster`: the name in the records, "" for any. Files that did not change since the last look are not read
    again; what they had is not kept, for a job may have ten thousand nodes."""

    def __init__(self, record_dir, cluster, entry, nodes):
        self.record_dir, self.cluster, self.entry, self.nodes = record_dir, cluster, entry, nodes
        self.needle = str(entry["job_id"]).encode()
        self.seen, self.reported = {}, {}

    def look(self, now):
        """Have all nodes reported?"""
        for node in self.nodes:
            if not any(node in group for group in self.reported.values()):
                for record in self._of_node(node, now, self.seen):
                    self.reported.setdefault(fields.whole(record, "restart_count"), set()).add(node)
        return any(len(group) == len(self.nodes) for group in self.reported.values())

    def read(self, now):
        """The run's records, one of each node that has reported."""
        found = {}
        for node in self.nodes:
            for record in self._of_node(node, now, {}):
                found.setdefault(fields.whole(record, "restart_count"), {}).setdefault(node, slim(record))
        return list(found[max(found)].values()) if found else []

    def _of_node(self, node, now, seen):
        for day in days(self.entry, now):
            path = f"{self.record_dir}/{day}/{node}.jsonl"
            try:
                size = Path(path).lstat().st_size
            except OSError:
                continue
            before = seen.get(path)
            if before == size:
                continue
            seen[path] = size
            # Files only grow, at their end: the record of a job that has just ended is there, where it is at all.
            start = max(0, size - TAIL if before is None else min(before, size) - records.LINE_MAX)
            found = list(self._in_file(path, node, start))
            yield from found if found or start == 0 or before is not None else self._in_file(path, node, 0)

    def _in_file(self, path, node, start):
        skipped = records.Skipped()
        for number, line in records.lines(path, skipped, start):
            record = records.parse(line, path, number, skipped) if self.needle in line else None
            if record and record["node"] == node and fits(record, self.entry, self.cluster):
                yield record
