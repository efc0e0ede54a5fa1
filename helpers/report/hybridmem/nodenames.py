# SPDX-License-Identifier: Apache-2.0
"""Names of nodes: recognizes them, and writes many of them in short, as Slurm does."""

import re

from . import draw

MOST = 64  # most characters of a host's name
NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MOST - 1}}}")
_NUMBERED = re.compile(r"(.*?)(\d{1,9})")


def in_order(names):
    """Sorts names as people count: n2 before n10."""
    return sorted(names, key=lambda name: [int(p) if p.isdigit() else p for p in re.split(r"([0-9]+)", name)])


def fold(names):
    """Writes n1, n2, n3, n7 and login as n[1-3,7],login. Numbers in brackets have the same number of digits, so that
    007 stays 007."""
    groups = {}
    for name in names:
        found = _NUMBERED.fullmatch(name)
        prefix, digits = found.groups() if found else (name, "")
        groups.setdefault((prefix, len(digits)), set()).add(int(digits) if digits else None)
    parts = []
    for (prefix, width), numbers in groups.items():
        text = draw.ranges(numbers, width) if width else ""
        parts.append(f"{prefix}[{text}]" if len(numbers) > 1 else f"{prefix}{text}")
    return ",".join(parts)
