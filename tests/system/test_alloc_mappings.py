# SPDX-License-Identifier: Apache-2.0
"""Tests libhybridmem where the kernel bounds the number of mappings: the program itself can still make some."""

import contextlib
import json
import re
from pathlib import Path

import pytest
import slurm
from placing import SOURCE


@contextlib.contextmanager
def mappings_bounded(n):
    """Set vm.max_map_count: the most mappings that the kernel allows a process."""
    path = Path("/proc/sys/vm/max_map_count")
    before = path.read_text()
    path.write_text(str(n))
    try:
        yield
    finally:
        path.write_text(before)


def many(own, count, blocks, bound):
    """Run programs/alloc/many.c with at least `own` mappings of its own and `count` arrays of `blocks` blocks, where
    the kernel allows `bound` mappings. Returns the number of its mappings before and after the allocations, and (number
    of blocks, reason) of each array. The program has to succeed in what programs usually ask for afterwards: mapping
    memory, starting threads, loading a library."""
    source, program = SOURCE.with_name("many.c"), "/usr/local/bin/many"
    slurm.run(f"gcc -O1 -Wall -Werror -pthread -o {program} {source} -lhybridmem")
    slurm.drop_caches()
    with mappings_bounded(bound):
        said = json.loads(slurm.run(f"{program} {own} {count} {blocks}").stdout)
    assert (said["mapped"], said["started"], said["opened"]) == (1, 1, 1), said
    return said["before"], said["after"], said["arrays"]


@pytest.mark.parametrize(
    ("bound", "in_blocks", "ours"),
    [
        # An array in 256 blocks has 259 mappings, one in a single block has 4. Arrays in 256 blocks may use a quarter
        # of the bound, all arrays together three eighths.
        (1000, 0, 93),  # 250 are too few for one in 256 blocks; 375 / 4: 93 arrays in one block
        (4000, 3, 100),  # 1000 suffice for 3 in 256 blocks; the other 97 are in one block
    ],
)
def test_the_programs_own_mappings_stay_its_own(bound, in_blocks, ours):
    """100 arrays of 256 blocks each would be 25,900 mappings if nothing bounded them."""
    before, after, arrays = many(0, 100, 256, bound)
    assert [blocks for blocks, _ in arrays] == [256] * in_blocks + [1] * (ours - in_blocks) + [0] * (100 - ours)
    for blocks, reason in arrays:
        assert ("is one block" in reason, "malloc was asked" in reason) == (blocks == 1, blocks == 0), reason
    taken = 259 * in_blocks + 4 * (ours - in_blocks)
    assert abs(after - before - taken) <= 4, "what the library counts is what the kernel has"


def test_where_the_kernel_stops_half_way_the_memory_is_one_mapping():
    """The program itself has most of the mappings: binding an array fails half-way, and its memory is one mapping
    again."""
    before, after, arrays = many(2000, 3, 256, 2400)
    assert arrays[0] == [256, ""]
    for blocks, reason in arrays[1:]:
        assert blocks == 0 and re.search("the kernel does not bind memory to node [01]: Cannot allocate memory", reason)
    assert 2000 <= before <= 2004 and abs(after - before - 259 - 2 * 4) <= 4, (before, after)
