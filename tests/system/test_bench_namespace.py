# SPDX-License-Identifier: Apache-2.0
"""Compares the time to make and remove a job's namespace with that of the raw tools, wipe included, by turns."""

import time

import pytest
import slurm
from namespaces import MIB, create, destroy, ndctl

SIZES = (64, 512)
TURNS = 2
LIMIT = 1.2
MKFS = "mkfs.ext4 -q -F -b 4096 -m 0 -O ^has_journal -E nodiscard"


def raw(mib):
    """Run the commands that an administrator would type. Returns (seconds to create, seconds to destroy)."""
    started = time.monotonic()
    made = ndctl("create-namespace", "-m", "fsdax", "-M", "mem", "-s", f"{mib}M", "-r", "region0")
    slurm.run(f"{MKFS} /dev/{made['blockdev']}")
    created = time.monotonic()
    slurm.run(f"blkdiscard -z -f /dev/{made['blockdev']} && ndctl destroy-namespace -f {made['dev']}")
    return created - started, time.monotonic() - created


def ours(mib):
    started = time.monotonic()
    (made,) = create(12, mib)
    created = time.monotonic()
    assert made["bytes"] == mib * MIB
    destroy(12)
    return created - started, time.monotonic() - created


@pytest.mark.bench
@pytest.mark.parametrize("mib", SIZES)
def test_ratio_to_the_raw_tools(mib):
    rows = {"raw": [], "ours": []}
    for side in (raw, ours):  # not counted: this reads the programs from the disk
        side(mib)
    for turn in range(TURNS):
        # The order alternates, as the second one may be slowed by work that the first one has left.
        for side in (raw, ours) if turn % 2 else (ours, raw):
            rows[side.__name__].append(side(mib))
    ratios = [sum(mine) / sum(theirs) for mine, theirs in zip(zip(*rows["ours"]), zip(*rows["raw"]))]
    for key, values in rows.items():
        create_s, destroy_s = ([round(value, 2) for value in column] for column in zip(*values))
        print(f"{mib} MiB {key}: create {create_s}, destroy {destroy_s}")
    print(f"namespace of {mib} MiB, ours / raw tools: create {ratios[0]:.2f}, destroy {ratios[1]:.2f}")
    assert max(ratios) <= LIMIT
