# SPDX-License-Identifier: Apache-2.0
"""Finds the records of one job, in the folder of records or in a history."""

from datetime import datetime, timezone

from . import fields, held, history, moments, records, tallyquery


def in_folder(folder, job, period, skipped):
    """The job's records of the period, the newest days first. Lines without the job's number are not parsed, and days
    before the job began are not read. A duplicate of a record is left out. All are held (held.py)."""
    found = {}
    for day in filter(period.has_day, reversed(records.days(folder))):
        if day < first_day(job, found.values()):
            break
        for path in records.files(folder, day, skipped):
            for number, line in records.lines(path, skipped):
                record = records.parse(line, path, number, skipped) if job.needle in line else None
                if record and job.names(record) and period.has(fields.text(record, "end")):
                    key = (day, fields.key(record))
                    if key not in found:
                        found[key] = held.Held(record, line)
    return list(found.values())


def first_day(job, found):
    """The first day that can have records of the job: the one before its first run began, as clocks differ. "" while
    that run was not found, and for an array, whose tasks begin when they like."""
    if job.kind is None and any(fields.whole(record, "array_job_id") == job.number for record in found):
        return ""
    began = [moments.parse_time(fields.text(r, "start") or "") for r in found if fields.whole(r, "restart_count") == 0]
    now = datetime.now(timezone.utc)  # a start that is yet to come is of a wrong clock
    day = min((start.astimezone(timezone.utc) for start in began if start and start <= now), default=None)
    return min(moments.neighbours(day.date().isoformat())) if day else ""


def in_history(options, engine_folder, wanted):
    """The job's records of the period, in any order, all held."""
    source = history.Source(options, engine_folder, wanted)
    if not source.tables:
        return []
    where, values = tallyquery.period_of(options)
    number, found = options.job.number, []
    with source.session() as connection:
        for day, table in zip(source.with_table, source.tables):
            of_day = f"{where} AND (job_id = ? OR array_job_id = ? OR het_job_id = ?)"
            texts = source.texts(connection, history.engine.parquet([table]), of_day, [*values, *[number] * 3])
            for text in texts:
                record = source.parsed(text, day)
                if options.job.names(record):
                    found.append(held.Held(record, text.encode()))
    return found
