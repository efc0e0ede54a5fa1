# SPDX-License-Identifier: Apache-2.0
"""The figures of one record, read once for all views; what was not measured is None. Pure."""

from operator import attrgetter
from typing import Any, NamedTuple

from . import fields


def product(one, other):
    return None if one is None or other is None else one * other


def company(record):
    """Returns True if other jobs ran on the node beside this one, False if none did, None if that is not known. Older
    records lack `shared`. They have counters of the job itself only if it was alone, so such counters mean no
    company."""
    if isinstance(record.get("shared"), bool):
        return record["shared"]
    groups = [fields.part(record, name) for name in ("energy", "traffic")]
    own = [fields.figure(groups[0], key) for key in ("package_j", "memory_j", "platform_j")]
    for tier in fields.members(groups[1], "tiers"):
        own += [fields.figure(tier, key) for key in ("read_bytes", "write_bytes")]
    if any(figure is not None for figure in own):
        return False
    return True if any(fields.part(group, "node") for group in groups) else None


class Figures:
    """Of the tiers the first is the fast one, the last the slow one; a node with one tier has no slow one. Figures are
    whole numbers of their units (ms, uj, uw, us): sums of them do not depend on the order of the records."""

    def __init__(self, record):
        self.record, self.tiers = record, fields.tiers(record)
        self.elapsed_ms = fields.milliseconds(record, "elapsed_s")
        self.warnings = len(fields.members(record, "warnings"))
        self.fast = self.tiers[0] if self.tiers else None
        self.slow = self.tiers[-1] if len(self.tiers) > 1 else None
        self.had_company = company(record)
        self.read_memory()
        energy = record.get("energy")
        self.package_uj, self.memory_uj = (fields.millionths(energy, key) for key in ("package_j", "memory_j"))
        # The energy that power is computed from: packages and memory, or packages alone if the node does not meter
        # memory.
        self.metered_uj = None if self.package_uj is None else self.package_uj + (self.memory_uj or 0)
        self.peak_uw = fields.millionths(energy, "peak_w")
        # Divide energy by the time that was counted, not by the job's: counting starts later and may end earlier.
        self.counted_us = fields.millionths(fields.part(energy, "node"), "seconds") or None
        # Estimates: known for all tiers or not at all. No other figure is computed from them.
        modelled = fields.members(fields.part(energy, "estimate"), "tiers")
        self.static_uj, self.dynamic_uj = (
            fields.total([fields.millionths(tier, key) for tier in modelled]) for key in ("static_j", "dynamic_j")
        )
        traffic = self.traffic_of(self.slow)
        self.slow_read, self.slow_written = (fields.count(traffic, key) for key in ("read_bytes", "write_bytes"))
        self.read_cost()

    def read_memory(self):
        self.fast_peak, self.fast_mean, self.fast_capacity = (
            fields.memory(self.fast, key) for key in ("peak_bytes", "mean_bytes", "capacity_bytes")
        )
        self.slow_peak, self.slow_mean = (fields.memory(self.slow, key) for key in ("peak_bytes", "mean_bytes"))
        self.all_mean = fields.total([fields.memory(tier, "mean_bytes") for tier in self.tiers], fields.MOST_BYTES)
        # Weighted by time. Both sides of a ratio must be of the same records.
        self.fast_byte_ms = product(self.fast_mean, self.elapsed_ms)
        self.all_byte_ms = product(self.all_mean, self.elapsed_ms)
        # Mean fast memory that the job did not use, and what it had in the slow tier while there was room for it. Only
        # for jobs alone on the node: otherwise the others' share is unknown, and each job would be charged the whole
        # node's.
        self.unused = self.slow_beside_room = None
        if self.had_company is False and None not in (self.fast_capacity, self.fast_mean):
            self.unused = max(self.fast_capacity - self.fast_mean, 0)
            self.slow_beside_room = None if self.slow_mean is None else min(self.unused, self.slow_mean)
        self.capacity_byte_ms = product(self.fast_capacity, self.elapsed_ms)
        self.unused_byte_ms = product(self.unused, self.elapsed_ms)
        self.slow_beside_room_byte_ms = product(self.slow_beside_room, self.elapsed_ms)

    def read_cost(self):
        """Energy per traffic. Needs the energy, and reads and writes of all tiers."""
        parts = [self.traffic_of(tier) for tier in self.tiers]
        moved = fields.total([fields.count(part, key) for part in parts for key in ("read_bytes", "write_bytes")])
        self.moved_bytes = self.joules_per_gb = None
        if moved and self.metered_uj is not None:
            self.moved_bytes = moved
            self.joules_per_gb = self.metered_uj * 1000 / moved

    def traffic_of(self, tier):
        """The tier's part of `traffic`, found by its name in `memory`; None if it was not measured."""
        name = fields.text(tier, "name")
        measured = fields.members(self.record.get("traffic"), "tiers") if name else ()
        return next((part for part in measured if fields.text(part, "name") == name), None)


class Case(NamedTuple):
    """A record in one of a view's rows."""

    figures: Figures
    item: Any  # the part of the record that the row is about: a tier, an advice
    is_new: bool  # the row's first record of this run of the job
    is_new_failure: bool  # the first whose exit code is not 0

    @property
    def record(self):
        return self.figures.record


def of(name):
    """The figure by its name, as a function of a case."""
    return attrgetter(f"figures.{name}")


def of_item(key):
    """An amount of memory in the tier that the row is about."""
    return lambda case: fields.memory(case.item, key)


def of_item_by(key, name):
    """That amount times one of the record's figures."""
    return lambda case: product(fields.memory(case.item, key), getattr(case.figures, name))


def where_item(name, key):
    """One of the record's figures, if the tier has the amount."""
    return lambda case: None if fields.memory(case.item, key) is None else getattr(case.figures, name)
