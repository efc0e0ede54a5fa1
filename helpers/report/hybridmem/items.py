# SPDX-License-Identifier: Apache-2.0
"""Says which rows of a view a record belongs to: (key, item) for each row. The item is what the row's figures are
calculated from; None: the record. Pure."""

import re

from . import fields, rules


def word(key):
    return lambda case: fields.clean(fields.text(case.record, key))


def by(*keys):
    def items(figures):
        return [(tuple(fields.name(figures.record, key) for key in keys), None)]

    return items


def by_mode(figures):
    return [((fields.clean(fields.mode(figures.record)),), None)]


def by_user_and_mode(figures):
    return [(by("user")(figures)[0][0] + by_mode(figures)[0][0], None)]


def job_name(record):
    """As users name it, with the number of its run."""
    restarts = fields.whole(record, "restart_count") or 0
    return f"{fields.job_name(record)}{f' run {restarts + 1}' if restarts > 0 else ''}"


def by_job(figures):
    return [(fields.run(figures.record), None)]


def by_opinion(figures):
    """Includes records without advice, as they count when a run's advice is chosen."""
    return [(fields.run(figures.record), rules.opinion(figures))]


def by_day_and_tier(figures):
    day = (fields.text(figures.record, "end") or "")[:10]
    day = day if re.fullmatch(r"[0-9]{4}-[0-9][0-9]-[0-9][0-9]", day) else "?"
    return [((day, fields.name(tier, "name")), tier) for tier in figures.tiers]


TEXT_MAX = 200


def by_failure(figures):
    """Within a record each text counts once. Texts that differ only in a size, a time or a process id share a row: in
    its key each number is N."""
    code = fields.whole(figures.record, "exit_code")
    found = {}

    def note(kind, text, pattern):
        before = found.setdefault((kind, pattern), (text, pattern))
        if before[0] != text:
            found[kind, pattern] = (pattern, pattern)

    if code:
        text = f"{code} (signal {code - 128})" if 128 < code < 193 else f"{code}"
        note("exit code", text, text)
    for warning in fields.warnings(figures.record):
        refused = fields.refusal(warning)
        text = fields.clean((refused[1] if refused else warning)[:TEXT_MAX])
        note("refused" if refused else "warning", text, re.sub(r"\d+", "N", text))
    return list(found.items())
