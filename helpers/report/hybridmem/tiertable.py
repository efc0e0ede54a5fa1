# SPDX-License-Identifier: Apache-2.0
"""The columns of a table of a node's memory by tier, for all who show one. Pure."""

from . import draw, fields

NAMES = ("Tier", "Kind", "Nodes")
SIZES = (("Peak", "peak_bytes"), ("Mean", "mean_bytes"))
CAPACITY = ("Capacity", "capacity_bytes")
# Values at the moment of the job's largest total.
PARTS = (
    ("Anonymous", "anon_bytes"),
    ("Page cache", "file_bytes"),
    ("Shared", "shmem_bytes"),
    ("Kernel", "kernel_bytes"),
    ("Hugetlb", "hugetlb_bytes"),
)


def measured(columns, tiers):
    """Those of the columns for which at least one tier has a figure."""
    return [column for column in columns if any(fields.memory(tier, column[1]) is not None for tier in tiers)]


def names(tier):
    """The cells below NAMES."""
    nodes = draw.ranges(fields.numbers(tier, "nodes"))
    return fields.text(tier, "name") or "?", fields.text(tier, "kind") or "unknown", nodes


def figures(tier, columns):
    """For each of the columns: the number of bytes, or None, and the text that is shown."""
    found = (fields.memory(tier, key) for _, key in columns)
    return [(amount, draw.size(amount)) for amount in found]
