# SPDX-License-Identifier: Apache-2.0
"""The figures that views add up: each a function of a case, None where it was not measured. Pure."""

from typing import Any, NamedTuple

from . import fields


class Case(NamedTuple):
    """A record in one of a view's rows."""

    record: dict
    item: Any  # what of the record the row is of: a tier, an advice
    is_new: bool  # the row's first record of this run of the job
    is_new_failure: bool  # the first whose exit code is not 0


def constant(number):
    return lambda case: number


def seconds(case):
    return fields.amount(case.record, "elapsed_s")


def hours(case):
    elapsed = seconds(case)
    return None if elapsed is None else elapsed / 3600


def warnings(case):
    return len(fields.members(case.record, "warnings"))


def tier_amount(place, key):
    """Of the fast (0) or the slow (-1) tier: of a node with one tier that is the fast one."""

    def figure(case):
        tiers = fields.tiers(case.record)
        return fields.amount(tiers[place], key) if tiers and (place == 0 or len(tiers) > 1) else None

    return figure


def times(first, second):
    def figure(case):
        one, other = first(case), second(case)
        return None if one is None or other is None else one * other

    return figure


def where(figure, condition):
    """`figure` of the cases that have `condition`, too: what a ratio's two sums are to have in common."""
    return lambda case: None if condition(case) is None else figure(case)


fast_peak, slow_peak = tier_amount(0, "peak_bytes"), tier_amount(-1, "peak_bytes")
fast_mean, slow_mean = tier_amount(0, "mean_bytes"), tier_amount(-1, "mean_bytes")
fast_capacity = tier_amount(0, "capacity_bytes")


def all_mean(case):
    """Mean of all tiers together; None where one of them has none."""
    means = [fields.amount(tier, "mean_bytes") for tier in fields.tiers(case.record)]
    return sum(means) if means and None not in means else None


def fast_unused(case):
    """Fast memory of the node that the job did not use, on the mean. What other jobs had of it is not known."""
    capacity, mean = fast_capacity(case), fast_mean(case)
    return None if capacity is None or mean is None else max(capacity - mean, 0)


def slow_beside_room(case):
    """What the job had in the slow tier while the fast one had as much room, on the mean."""
    unused, slow = fast_unused(case), slow_mean(case)
    return None if unused is None or slow is None else min(unused, slow)


def item_amount(key):
    """Of the tier that the row is of."""
    return lambda case: fields.amount(case.item, key)


def energy(key):
    return lambda case: fields.amount(case.record.get("energy"), key)


def traffic(place, key):
    """Traffic of the fast (0) or the slow (-1) tier, by the name that the tier has in `memory`."""

    def figure(case):
        tiers = fields.tiers(case.record)
        name = fields.text(tiers[place], "name") if tiers and (place == 0 or len(tiers) > 1) else None
        for tier in fields.members(case.record.get("traffic"), "tiers"):
            if name is not None and fields.text(tier, "name") == name:
                return fields.amount(tier, key)
        return None

    return figure
