# SPDX-License-Identifier: Apache-2.0
"""What the migrator knows of ranks whose hot data did not reach the fast tier, for the text of a test's failure."""

import json

import slurm

DAMON_LIMITS = "cd /sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/monitoring_attrs && grep -r ."


def line_of(hotset, rank, region):
    """One of the migrator's regions: its place in the rank's memory, counted in the parts of Hotset (from 0), its pages
    by tier, its heat."""
    pages, first = region["bytes"] / slurm.PAGE, (int(region["address"], 16) - hotset.words(rank)[4]) / slurm.PAGE
    place = f"{first / hotset.part_pages:.2f} to {(first + pages) / hotset.part_pages:.2f}"
    tiers = " ".join(f"{region[f'{tier}_bytes'] // slurm.PAGE} {tier}" for tier in ("fast", "slow"))
    heat = " ".join(f"{region[kind] / pages:.4f} {kind}" for kind in ("reads", "writes"))
    return f"  part {place}: pages: {tiers}; for each page: {heat}"


def told(hotset, part, share):
    """DAMON's intervals and numbers of regions, the share of the part's pages in the fast tier by rank, and what the
    migrator knows of the ranks that have less than `share`."""
    shown = slurm.run(f"timeout 20 hybridmem top --json {hotset.job_id}.0", check=False)
    regions = json.loads(shown.stdout)["regions"] if shown.returncode == 0 else []
    lines = [slurm.run(DAMON_LIMITS, check=False).stdout, shown.stderr]
    for rank, pid in enumerate(hotset.pids):
        found = hotset.share_of_rank(rank, part)
        lines.append(f"rank {rank}: {found:.3f} of part {part} in the fast tier")
        lines += [line_of(hotset, rank, region) for region in regions if region["pid"] == pid and found < share]
    return "\n".join(lines)
