# SPDX-License-Identifier: Apache-2.0
"""The monitor's samples file (helpers/meter/monitor/samples.h), for tests that start the monitor themselves, or read
what the monitor of a job has measured."""

import ctypes
from pathlib import Path

TIERS, NAME, POINTS, WARNING, DOMAINS, SOURCE = 8, 24, 256, 200, 3, 1000
NONE = (1 << 64) - 1
U32, U64 = ctypes.c_uint32, ctypes.c_uint64


class Usage(ctypes.Structure):
    _fields_ = [(name, U64) for name in ("anon", "file", "shmem", "kernel", "hugetlb")]


class Figure(ctypes.Structure):
    _fields_ = [("amount", ctypes.c_double), ("is_known", U64)]


class Samples(ctypes.Structure):
    """struct hm_samples; the monitor refuses a shorter file."""

    _fields_ = [
        ("magic", U32),
        ("version", U32),
        ("bytes", U32),
        ("n_tiers", U32),
        ("tier_name", ctypes.c_char * NAME * TIERS),
        ("tier_kind", U32 * TIERS),
        ("tier_nodes", U64 * (8192 // 64) * TIERS),
        ("interval_ms", U32),
        ("finished", U32),
        ("n_samples", U64),
        ("first_ns", U64),
        ("last_ns", U64),
        ("first_mono_ns", U64),
        ("last_mono_ns", U64),
        ("peak_source", U32),
        ("has_hugetlb", U32),
        ("memory_peak", U64),
        ("missing", ctypes.c_char * WARNING),
        ("peak", Usage * TIERS),
        ("tier_peak", U64 * TIERS),
        ("tier_last", U64 * TIERS),
        ("tier_sum", ctypes.c_double * TIERS),
        ("n_readings", U64),
        ("first_reading_ns", U64),
        ("last_reading_ns", U64),
        ("energy", Figure * DOMAINS),
        ("peak_w", Figure),
        ("traffic", Figure * 2 * TIERS),
        ("energy_source", ctypes.c_char * SOURCE),
        ("traffic_source", ctypes.c_char * SOURCE),
        ("group", Figure * 2),
        ("group_source", ctypes.c_char * SOURCE),
        ("stride", U64),
        ("n_points", U32),
        ("point", U64 * TIERS * POINTS),
    ]


def create(path, interval_ms=1000, tiers=((0, 1), (2, 3))):
    """Creates a file as hm_samples_create does, for tiers of these nodes."""
    made = Samples(magic=0x484D5331, version=3, bytes=ctypes.sizeof(Samples), n_tiers=len(tiers), stride=1)
    made.interval_ms = interval_ms
    for index, nodes in enumerate(tiers):
        made.tier_name[index].value = f"tier{index}".encode()
        made.tier_nodes[index][0] = sum(1 << node for node in nodes)
    Path(path).write_bytes(bytes(made))
    return made


def read(path):
    return Samples.from_buffer_copy(Path(path).read_bytes())
