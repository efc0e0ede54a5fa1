# SPDX-License-Identifier: Apache-2.0
"""Counters of the tiers' memory for `hybridmem profile mbi`, where the guest has none: a program in the place of
the helper that PAPI is asked by."""

import contextlib
from pathlib import Path

import slurm

PAPI = Path("/usr/libexec/hybridmem/hybridmem-papi")  # which the guest's build does not have
METERPAPI = Path(__file__).parent / "programs/sites/meterpapi.py"
KINDS = 'tier "fast" { kind = dram }\ntier "slow" { kind = cxl }\n'


@contextlib.contextmanager
def tiers_have_kinds():
    """Says them in the configuration: the counters tell kinds of memory apart, which the guest's firmware does not."""
    text = slurm.CONFIG.read_text()
    slurm.put(text + KINDS, slurm.CONFIG)
    try:
        yield
    finally:
        slurm.put(text, slurm.CONFIG)


@contextlib.contextmanager
def counters(text):
    """Has the program of this text in the place of hybridmem-papi."""
    assert not PAPI.exists()
    PAPI.write_text(text)
    PAPI.chmod(0o755)
    try:
        yield
    finally:
        PAPI.unlink()


def by_meter():
    """A program that has the tier meter's counts."""
    return METERPAPI.read_text().replace('"RANGES"', f'"{slurm.run("meter-mark --ranges").stdout.strip()}"')
