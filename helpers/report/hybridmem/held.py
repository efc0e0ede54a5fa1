# SPDX-License-Identifier: Apache-2.0
"""Records of which many are in memory at a time: a job may have ten thousand nodes, and each node's record some 35 KiB
as Python has it, nine tenths of it for the use over time. Pure."""

import json
import sys
import zlib

from . import fields

FASTEST = 1  # of zlib's levels


def slim(record):
    """Removes what is long and in no summary: the use over time, and the steps."""
    for tier in fields.tiers(record):
        tier.pop("series", None)
    if isinstance(record.get("migration"), dict):
        record["migration"].pop("steps", None)
    return record


def shared(value):
    """The same value, with the names of keys and the texts that other records have, too, in memory once."""
    if isinstance(value, dict):
        return {sys.intern(key): shared(member) for key, member in value.items()}
    if isinstance(value, list):
        return [shared(member) for member in value]
    return sys.intern(value) if isinstance(value, str) else value


class Held(dict):
    """A slim record, as all that looks at each node of a run needs, and its line, compressed."""

    __slots__ = ("line",)

    def __init__(self, record, line):
        super().__init__(shared(slim(record)))
        self.line = zlib.compress(line, FASTEST)


def whole(record):
    """All of a record, for the few that are shown. One that is not held is returned as it is."""
    return json.loads(zlib.decompress(record.line)) if isinstance(record, Held) else record
