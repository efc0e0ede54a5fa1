# SPDX-License-Identifier: Apache-2.0
"""Advice on guidance by allocation site: rules of the table in rules.py. Pure."""

from . import draw, fields

SHORT = 0.1  # of the accesses: a profile that has promised so much more does not fit the run
NO_PROFILE = "there is no profile "  # begins the reason of a task that fell back for want of one


def profile_is_there(seen):
    profile = fields.part(seen.record, "profile")
    if seen.mode != "profile" or not fields.text(profile, "file") or seen.was_killed():
        return None
    if not seen.has_slow() or None in (seen.most, seen.capacity) or seen.fits():
        return None
    return "guided", (
        f"it has left a profile, and its peak of {draw.size(seen.most)} is more than {draw.size(seen.capacity)} of "
        f"fast memory can hold, with {draw.size(seen.slow_peak)} in the slow tier: guided has the sites that are used "
        "most in the fast one"
    )


def profile_was_wanting(seen):
    guided = fields.part(seen.record, "guided")
    is_wanting = (fields.text(guided, "reason") or "").startswith(NO_PROFILE)
    if fields.text(guided, "fallback") != "migrate" or not is_wanting or seen.is_all_fast():
        return None
    return "profile", (
        "it ran as with migrate, as there is no profile of its program: one job with profile makes it, and guided "
        "finds it then"
    )


def is_counted(guided):
    """Is the seen share one of bytes, by the node's counters? Else it is an estimate by samples."""
    return (fields.text(guided, "seen_source") or "").startswith("bytes of ")


def profile_was_wrong(seen):
    """What guidance online expects is by its last decision, and what was seen is of all the time: they are no pair."""
    guided = fields.part(seen.record, "guided")
    expected, served = (fields.amount(guided, key) for key in ("expected_share", "seen_share"))
    if None in (expected, served) or fields.part(guided, "online") or round(expected - served, 9) < SHORT:
        return None
    if is_counted(guided):
        return "guided,migrate", (
            f"the fast tier served {draw.percent(served)} of the job's bytes, the profile expected "
            f"{draw.percent(expected)} of the accesses: a migrator mends that, or make a new profile"
        )
    if not seen.is_sampled():
        return None
    return "profile", (
        f"the fast tier served {draw.percent(served)} of the samples, the profile expected {draw.percent(expected)}, "
        "and the migrator could not mend it: make a new profile"
    )
