# SPDX-License-Identifier: Apache-2.0
"""The columns of a record: each is an attribute of Columns and, by the same name, a column of a history's tables. Views
are made of them, with or without a history. Pure."""

import re
from datetime import timezone
from typing import NamedTuple, Optional

from . import fields, moments, rules
from .figures import Figures, Once

TEXT_MAX = 200


class Tier(NamedTuple):
    name: Optional[str]
    peak_bytes: Optional[int]
    mean_bytes: Optional[int]


class Failure(NamedTuple):
    kind: str
    pattern: str
    text: str


ITEMS = {"tiers": Tier, "failures": Failure}  # the columns that are lists, and what is in them


def word(key):
    return Once(lambda columns: fields.clean(fields.text(columns.record, key)))


def whole(key, group=None):
    """A whole number of the record, or of an object in it."""
    return Once(lambda columns: fields.integer(columns.record.get(group) if group else columns.record, key))


def joules(key):
    return Once(lambda columns: fields.figure(columns.record.get("energy"), key))


def of_job_traffic(key):
    return Once(lambda columns: fields.integer(fields.part(columns.record.get("traffic"), "job"), key))


def moment(key):
    def make(columns):
        found = moments.parse_time(fields.text(columns.record, key) or "")
        try:
            return found.astimezone(timezone.utc).isoformat(sep=" ") if found else None
        except OverflowError:  # on the first or the last day of the calendar
            return None

    return Once(make)


def of_advice(place):
    return Once(lambda columns: columns.opinion.advice[place] if columns.opinion.advice else None)


class Columns(Figures):
    run_key = Once(lambda columns: fields.run(columns.record))
    cluster = word("cluster")
    job_id = whole("job_id")
    restart_count = whole("restart_count")
    node = word("node")
    array_job_id = whole("array_job_id")
    array_task_id = whole("array_task_id")
    het_job_id = whole("het_job_id")
    user = word("user")
    account = word("account")
    partition = word("partition")
    request = word("request")
    mode = Once(lambda columns: fields.clean(fields.mode(columns.record)))
    start_time = moment("start")
    end_time = moment("end")
    exit_code = whole("exit_code")
    package_joules = joules("package_j")
    memory_joules = joules("memory_j")
    promoted_bytes = whole("promoted_bytes", "migration")
    demoted_bytes = whole("demoted_bytes", "migration")
    warnings = Once(lambda columns: len(fields.members(columns.record, "warnings")))
    job_traffic_bytes = of_job_traffic("total_bytes")
    job_local_bytes = of_job_traffic("local_bytes")
    end_text = word("end")
    opinion = Once(rules.opinion)
    advice_rule, advice_wanted, advice_why = map(of_advice, range(3))
    can_be_fast = Once(lambda columns: columns.opinion.can_be_fast)

    @Once
    def job(self):
        """The job as users name it, with the number of its run."""
        restarts = fields.whole(self.record, "restart_count") or 0
        return f"{fields.job_name(self.record)}{f' run {restarts + 1}' if restarts > 0 else ''}"

    @Once
    def tiers(self):
        return [
            Tier(
                fields.clean(fields.text(tier, "name")),
                *(fields.memory(tier, f"{key}_bytes") for key in ("peak", "mean")),
            )
            for tier in self.by_tier
        ]

    @Once
    def failures(self):
        """The record's exit code, refusals and warnings, each text once. Refusals or warnings that differ only in
        numbers (a size, a time, a process id) share a row: in its pattern each number is N. Exit codes keep their
        numbers."""
        code = fields.whole(self.record, "exit_code")
        found = {}

        def note(kind, text, pattern):
            before = found.setdefault((kind, pattern), text)
            if before != text:
                found[kind, pattern] = pattern

        if code:
            text = fields.exit_words(code)
            note("exit code", text, text)
        for warning in fields.warnings(self.record):
            refused = fields.refusal(warning)
            text = fields.clean((refused[1] if refused else warning)[:TEXT_MAX])
            note("refused" if refused else "warning", text, re.sub(r"\d+", "N", text))
        return [Failure(*key, text) for key, text in found.items()]
