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


def traffic(output):
    """{size: bytes that were fetched, and written back} of the sites, by what the program has printed."""
    sizes = (map(int, line.split()) for line in output.splitlines()[:KNOWN])
    return {size: (size * fetched, size * written) for size, fetched, written in sizes}


def truth(output):
    """The accesses to each site, by its bytes: a line is fetched once for each access."""
    return {size: fetched for size, (fetched, _) in traffic(output).items()}


def found(profile, accesses):
    """Its sites in a profile, by their bytes."""
    sites = {site["peak_bytes"]: site for site in profile["sites"] if site["peak_bytes"] in accesses}
    assert len(sites) == KNOWN
    return sites
