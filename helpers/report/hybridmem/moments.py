# SPDX-License-Identifier: Apache-2.0
"""Parses and formats moments, from users (2025-11-21, RFC 3339, 7d) and from records (RFC 3339, UTC)."""

import contextlib
import re
from datetime import date, datetime, timedelta, timezone

FORMS = "a date (2025-11-21), a time (2025-11-21T08:00:00Z) or an age (30min, 12h, 7d, 4w)"
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_AGE = re.compile(r"(\d{1,18})(min|h|d|w)")
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
AHEAD_S = 24 * 3600  # the clock of slurmctld's host, or of a node, may be ahead of ours by this much
_UNITS = {"min": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_time(text):
    """Parses an RFC 3339 time. Returns an aware datetime, or None."""
    found = _TIME.fullmatch(text)
    if not found:
        return None
    day, clock, fraction, zone = found.groups()
    microseconds = (fraction or ".0")[1:7].ljust(6, "0")
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}.{microseconds}{'+00:00' if zone in 'Zz' else zone}")
        moment.astimezone(timezone.utc)  # raises for times in the years 1 and 9999 that do not exist in UTC
    except (ValueError, OverflowError):
        return None
    return moment


def of_epoch(microseconds):
    """The moment so many microseconds after the beginning of 1970; None for None."""
    return None if microseconds is None else EPOCH + timedelta(microseconds=microseconds)


def parse_bound(text, end_of_day, now=None):
    """Parses a bound of a period. A date means its first moment; as the end of a period, the first moment of the next
    day."""
    age = _AGE.fullmatch(text)
    try:
        if age:
            return (now or datetime.now(timezone.utc)) - timedelta(**{_UNITS[age[2]]: int(age[1])})
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return datetime.fromisoformat(f"{text}T00:00:00+00:00") + timedelta(days=int(end_of_day))
    except OverflowError as error:
        raise ValueError(f'"{text}" is out of range: 0001-01-01 to 9999-12-30') from error
    except ValueError:
        pass
    else:
        moment = parse_time(text)
        if moment:
            return moment
    raise ValueError(f'"{text}" is not {FORMS}')


def plain(text):
    """A record's time for people: UTC, in whole seconds; "?" if there is none."""
    moment = parse_time(text) if text else None
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S") if moment else "?"


def is_ahead(text, now):
    """Is a record's time later than clocks that are ahead explain?"""
    moment = parse_time(text) if text else None
    return bool(moment) and moment > now + timedelta(seconds=AHEAD_S)


def neighbours(day):
    """Yields the days before and after."""
    middle = date.fromisoformat(day)
    for step in (-1, 1):
        with contextlib.suppress(OverflowError):
            yield (middle + timedelta(days=step)).isoformat()


class Period:
    """A period from `since` (included) to `until` (excluded); None means no bound."""

    def __init__(self, since=None, until=None):
        self.since, self.until = since, until

    def has_day(self, day):
        """Can a record that ended on this day (UTC) be in the period?"""
        try:
            start = datetime.fromisoformat(f"{day}T00:00:00+00:00")
            end = start + timedelta(days=1)
        except (ValueError, OverflowError):  # not a day, or the last day of the calendar
            return False
        return not (self.until and start >= self.until) and not (self.since and end <= self.since)

    def has(self, text):
        """Is the end of a record in the period? A record without a readable end is only in a period without bounds."""
        if not self.since and not self.until:
            return True
        moment = parse_time(text) if text else None
        return bool(moment) and not (self.since and moment < self.since) and not (self.until and moment >= self.until)
