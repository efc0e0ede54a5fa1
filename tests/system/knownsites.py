# SPDX-License-Identifier: Apache-2.0
"""The program of 20 allocation sites whose traffic is known (programs/sites/known.c), and its sites in a profile."""

from pathlib import Path

import slurm

SOURCE = Path(__file__).parent / "programs" / "sites" / "known.c"
KNOWN = 20


def build(user):
    program = slurm.folder_of(user) / "known"
    slurm.run(f"gcc -O1 -Wall -Werror -D_GNU_SOURCE -o {program} {SOURCE}", user=user)
    return program


def truth(output):
    """The accesses to each site, by its bytes, as the program prints them: a line is fetched once for each access."""
    sizes = (map(int, line.split()) for line in output.splitlines()[:KNOWN])
    return {size: size * fetched for size, fetched, _ in sizes}


def found(profile, accesses):
    """Its sites in a profile, by their bytes."""
    sites = {site["peak_bytes"]: site for site in profile["sites"] if site["peak_bytes"] in accesses}
    assert len(sites) == KNOWN
    return sites
