# SPDX-License-Identifier: Apache-2.0
"""The figures of one record; what was not measured is None. A figure that a history has in a column has the column's
name. Pure."""

from . import fields


class Once:
    """An attribute that is made when it is read for the first time, as a view needs few of them. It is faster than
    functools.cached_property, which takes a lock before Python 3.12."""

    def __init__(self, make):
        self.make = make

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, figures, owner):
        made = figures.__dict__[self.name] = self.make(figures)
        return made


def of_fast(key):
    return Once(lambda figures: fields.memory(figures.fast, key))


def of_slow(key):
    return Once(lambda figures: fields.memory(figures.slow, key))


def of_energy(key):
    return Once(lambda figures: fields.millionths(figures.record.get("energy"), key))


def of_estimate(key):
    """The sum over the tiers; None unless each tier has an estimate. No other figure is computed from estimates."""

    def make(figures):
        modelled = fields.members(fields.part(figures.record.get("energy"), "estimate"), "tiers")
        return fields.total([fields.millionths(tier, key) for tier in modelled])

    return Once(make)


def of_slow_traffic(key):
    return Once(lambda figures: fields.count(figures.traffic_of(figures.slow), key))


class Figures:
    """Of the tiers the first is the fast one, the last the slow one; a node with one tier has no slow one. Figures that
    are added up are whole numbers of their units (ms, uj, uw, us): their sums do not depend on the order of the
    records."""

    def __init__(self, record):
        self.record, self.by_tier = record, fields.tiers(record)
        self.fast = self.by_tier[0] if self.by_tier else None
        self.slow = self.by_tier[-1] if len(self.by_tier) > 1 else None

    elapsed_ms = Once(lambda figures: fields.milliseconds(figures.record, "elapsed_s"))
    fast_peak_bytes = of_fast("peak_bytes")
    fast_mean_bytes = of_fast("mean_bytes")
    fast_capacity_bytes = of_fast("capacity_bytes")
    slow_peak_bytes = of_slow("peak_bytes")
    slow_mean_bytes = of_slow("mean_bytes")
    package_uj = of_energy("package_j")
    memory_uj = of_energy("memory_j")
    peak_uw = of_energy("peak_w")
    estimated_static_uj = of_estimate("static_j")
    estimated_dynamic_uj = of_estimate("dynamic_j")
    slow_read_bytes = of_slow_traffic("read_bytes")
    slow_write_bytes = of_slow_traffic("write_bytes")

    @Once
    def all_mean_bytes(self):
        return fields.total([fields.memory(tier, "mean_bytes") for tier in self.by_tier], fields.MOST_BYTES)

    @Once
    def shared(self):
        """True if other jobs ran on the node beside this one, False if none did, None if that is not known. Older
        records lack this key. They have counters of the job itself only if the job was alone, so such counters mean
        that no other ran."""
        if isinstance(self.record.get("shared"), bool):
            return self.record["shared"]
        groups = [fields.part(self.record, name) for name in ("energy", "traffic")]
        own = [fields.figure(groups[0], key) for key in ("package_j", "memory_j", "platform_j")]
        for tier in fields.members(groups[1], "tiers"):
            own += [fields.figure(tier, key) for key in ("read_bytes", "write_bytes")]
        if any(figure is not None for figure in own):
            return False
        return True if any(fields.part(group, "node") for group in groups) else None

    @Once
    def unused_bytes(self):
        """Mean fast memory that the job did not use. Only for jobs alone on the node: otherwise the others' share is
        unknown, and each job would be charged the whole node's."""
        if self.shared is not False or None in (self.fast_capacity_bytes, self.fast_mean_bytes):
            return None
        return max(self.fast_capacity_bytes - self.fast_mean_bytes, 0)

    @Once
    def slow_beside_room_bytes(self):
        """What the job had in the slow tier while there was room for it in the fast one."""
        return (
            None if None in (self.unused_bytes, self.slow_mean_bytes) else min(self.unused_bytes, self.slow_mean_bytes)
        )

    @Once
    def metered_uj(self):
        """The energy that power is computed from: packages and memory, or packages alone if the node does not meter
        memory."""
        return None if self.package_uj is None else self.package_uj + (self.memory_uj or 0)

    @Once
    def counted_us(self):
        """The time for which energy was counted. Power is energy divided by it, not by the job's time: counting starts
        later and may end earlier."""
        return fields.millionths(fields.part(self.record.get("energy"), "node"), "seconds") or None

    @Once
    def moved_bytes(self):
        """Reads and writes of all tiers, for energy by traffic; known only with the energy."""
        parts = [self.traffic_of(tier) for tier in self.by_tier]
        moved = fields.total([fields.count(part, key) for part in parts for key in ("read_bytes", "write_bytes")])
        return moved if moved and self.metered_uj is not None else None

    @Once
    def joules_per_gb(self):
        return None if self.moved_bytes is None else self.metered_uj * 1000 / self.moved_bytes

    def traffic_of(self, tier):
        """The tier's part of `traffic`, found by its name in `memory`; None if it was not measured."""
        name = fields.text(tier, "name")
        measured = fields.members(self.record.get("traffic"), "tiers") if name else ()
        return next((part for part in measured if fields.text(part, "name") == name), None)
