# SPDX-License-Identifier: Apache-2.0
"""Runs ranks whose accesses follow Zipf's law (programs/zipf.c) in the guest, and notes which share of them the fast
tier serves, and what that costs.

    python3 zipf.py OUTPUT.json CONTENDER BLOCK EXPONENT

CONTENDER is a name in CONTENDERS, BLOCK the size of a block in KiB. The share is exact: it is the sum of the weights of
the pages that are in the fast tier, by what the kernel says of each page. OUTPUT.json gets the figures.
"""

import array
import contextlib
import itertools
import json
import sys
import time
from pathlib import Path

import contenders
import migration
import ranks
import slurm

MIB = 40  # of each rank
ROOM = 16 * slurm.MIB  # what all ranks together can have of the fast tier
SECONDS = 120  # of the guest's clock, from the moment on when the ranks begin to work
LOOK_S = 5  # seconds between two looks: a look takes some CPU time from the ranks


def kernel_defaults():
    return contenders.numa_balancing(contenders.NUMA_BALANCING[0])


# By name: the job's request, and what is set for the time of the work.
CONTENDERS = {"migrate": ("migrate", contextlib.nullcontext), "numa_balancing": ("off", kernel_defaults)}


class Zipf(ranks.Controlled):
    """Ranks whose blocks have known shares of the accesses. As the ranks go in step, each makes a quarter of them."""

    def __init__(self, request, block_kib, exponent):
        super().__init__(request, f"zipf --mib {MIB} --block {block_kib} --exponent {exponent}")
        self.block_pages = block_kib * 1024 // slurm.PAGE
        self.weights = [self.read_weights(rank) for rank in range(migration.RANKS)]
        self.by_page = [
            [weight / self.block_pages for weight in weights for _ in range(self.block_pages)]
            for weights in self.weights
        ]

    def read_weights(self, rank):
        """The share of each block in the rank's accesses, in the order of addresses."""
        weights = array.array("d")
        weights.frombytes((self.folder / f"control.{rank}").read_bytes())
        return weights

    def best_share(self):
        """The share of all accesses that the best fixed placement would serve from the fast tier."""
        heaviest = sorted(itertools.chain(*self.weights), reverse=True)
        return sum(heaviest[: ROOM // (self.block_pages * slurm.PAGE)]) / migration.RANKS

    def look(self):
        """(share of all accesses that goes to pages which are in the fast tier now, bytes of these pages)."""
        share = pages = 0
        for rank, by_page in enumerate(self.by_page):
            nodes = migration.nodes_of(self.pids[rank], self.words(rank)[4], len(by_page))
            is_fast = [node in migration.FAST for node in nodes]
            share += sum(itertools.compress(by_page, is_fast))
            pages += sum(is_fast)
        return share / migration.RANKS, pages * slurm.PAGE

    def finish(self):
        """Ends the work. Returns the state in which the job ended: the ranks end only when they are told to."""
        self.order(self.END)
        return slurm.wait_job(self.job_id)


def follow(job, began):
    """Looks at the ranks until they have worked for SECONDS. Returns the looks, with the phases that the migrator had
    ended before each."""
    looks = []
    while (left := began + SECONDS - time.monotonic()) > 0:
        time.sleep(min(LOOK_S, left))
        phases = (migration.progress(job.job_id) or {"phases": 0})["phases"]
        share, held = job.look()
        looks.append({"s": round(time.monotonic() - began, 1), "phases": phases, "share": share, "fast_bytes": held})
    return looks


def mean_share(looks, phases):
    """The mean share during the phases that have ended, which the migrator's fast_share estimates. None if no look was
    in one of them."""
    shares = [look["share"] for look in looks if look["phases"] < phases]
    return sum(shares) / len(shares) if shares else None


def told(looks, figures, job_cpu_s):
    """What the migrator says of itself, and what it costs. {} without a migrator."""
    if not figures:
        return {}
    is_known = figures["kernel_cpu_s"] >= 0
    return {
        "cpu_share": (figures["cpu_s"] + figures["kernel_cpu_s"]) / job_cpu_s if is_known else None,
        "moved_bytes": figures["promoted_bytes"] + figures["demoted_bytes"],
        "estimate": figures["fast_share"] if figures["fast_share"] >= 0 else None,
        "truth": mean_share(looks, figures["phases"]),
        "figures": figures,
    }


def moved_by_kernel(counts):
    """Bytes that the kernel has promoted and demoted of its own accord."""
    return sum(counts[key] for key in ("pgpromote_success", "pgdemote_kswapd", "pgdemote_direct")) * slurm.PAGE


def run_once(contender, block_kib, exponent):
    """Returns the figures of a run; what is not known is None."""
    request, setting = CONTENDERS[contender]
    job = Zipf(request, block_kib, exponent)
    try:
        job.allocate(ROOM)
        with setting():
            first, _ = job.look()
            before = contenders.vmstat()
            job.start()
            looks = follow(job, time.monotonic())
            figures, job_cpu_s = migration.progress(job.job_id), migration.cpu_seconds(job.job_id)
            kernel = {key: count - before[key] for key, count in contenders.vmstat().items()}
            accesses = job.accesses()
        state = job.finish()
    finally:
        job.close()
    return {
        "state": state,
        "first_share": first,
        "share": looks[-1]["share"],
        "best_share": job.best_share(),
        "fast_bytes": looks[-1]["fast_bytes"],
        "accesses": accesses,
        "job_cpu_s": job_cpu_s,
        "cpu_share": None,
        "estimate": None,
        "truth": None,
        "moved_bytes": moved_by_kernel(kernel),
        **told(looks, figures, job_cpu_s),
        "kernel": kernel,
        "looks": looks,
    }


def main():
    output, contender, block, exponent = sys.argv[1:]
    case = {"contender": contender, "block_kib": int(block), "exponent": float(exponent)}
    print("==", json.dumps(case), flush=True)
    run = {**case, **run_once(**case)}
    Path(output).write_text(json.dumps(run))
    print("  ", json.dumps(run), flush=True)


if __name__ == "__main__":
    main()
