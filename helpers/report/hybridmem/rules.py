# SPDX-License-Identifier: Apache-2.0
"""Advice: which mode would have suited a job, and why, by a table of rules over one record. Pure.

A rule speaks only if the record has every figure that it needs, and its sentence names the main ones. A record gets at
most one piece of advice, from the first rule of the table that speaks. A run of a job gets at most one piece of its
records' advice. elect() chooses it: the table says on how many of the run's nodes each rule must hold. Users who asked
for the slow tier leave the fast one to others: only the rule on writes speaks to them."""

from collections import Counter
from typing import Callable, NamedTuple, Optional

from . import draw, fields, guidance
from .figures import Figures

NEGLIGIBLE = 16 << 20  # bytes: Slurm's own process in each step counts as well, with a few MiB
KILLED = (137, 143)  # ended by signal 9 or 15: nobody knows what the job would have used
# Share of a tier's capacity: the kernel and others have used some of it since the boot, and the job never gets that.
NEARLY_FULL = 0.75
ROOMY = 0.9  # share of a tier's capacity: the kernel keeps some, and a job never has all memory of a node
SAMPLES = 1000  # with fewer samples the migrator's shares are guesses
DECISIONS = 5  # with fewer decisions of the migrator, a shorter interval is advised
TO_BOTH = frozenset(("interleave", "spill", "isolate", "migrate", "guided", "none"))
TO_SLOW = frozenset(("slow", "pmem", "cxl"))


class Advice(NamedTuple):
    rule: str
    wanted: str  # the mode to ask for instead
    why: str  # a sentence with the figures


class Seen:
    """What the rules look at. A figure that was not measured is None."""

    def __init__(self, figures):
        self.figures, self.record, self.mode = figures, figures.record, fields.mode(figures.record)
        self.fast_peak, self.slow_peak, self.slow_mean = (
            figures.fast_peak_bytes,
            figures.slow_peak_bytes,
            figures.slow_mean_bytes,
        )
        self.capacity = own_capacity(self.record, figures) or None
        migration = self.record.get("migration")
        self.migration = migration if isinstance(migration, dict) else {}
        self.most = most_at_once(self.record, figures.by_tier)

    def has_slow(self):
        return self.slow_peak is not None and self.slow_peak >= NEGLIGIBLE

    def is_all_fast(self):
        """Did the job use the fast tier, and of the slow one less than NEGLIGIBLE?"""
        return self.slow_peak is not None and self.slow_peak < NEGLIGIBLE <= (self.fast_peak or 0)

    def was_killed(self):
        return fields.whole(self.record, "exit_code") in KILLED

    def is_sampled(self):
        """Are there enough samples of the migrator for more than a guess?"""
        return (fields.whole(self.migration, "samples") or 0) >= SAMPLES

    def fits(self):
        """Would the job's memory have fitted into the fast tier at every moment? False if that is not known."""
        return None not in (self.most, self.capacity) and self.most <= ROOMY * self.capacity

    def can_be_fast(self):
        """Would the job's memory on this node fit into the fast tier? False if that is not known, or if the job was
        killed. What spilled a little has filled the tier: fast would have ended such a job."""
        return not self.was_killed() and self.fits()


def most_at_once(record, tiers):
    """The most memory that the job had at one moment, in all tiers: what the cgroup was charged, or the samples'
    largest total if that is more (huge pages need not be charged). The peaks of single tiers must not be added: they
    are of different moments, and a page that moved would count twice."""
    charged = fields.memory(record.get("memory"), "peak_bytes")
    sampled = [fields.memory(tier, f"{part}_bytes") for tier in tiers for part in ("anon", "file", "shmem")]
    more = [fields.memory(tier, f"{part}_bytes") or 0 for tier in tiers for part in ("kernel", "hugetlb")]
    total = sum(sampled) + sum(more) if sampled and None not in sampled else None
    return max((amount for amount in (charged, total) if amount is not None), default=None)


def own_capacity(record, figures):
    """Bytes of the fast tier on the job's sockets. A record only has the capacity of the whole tier. So this is None if
    the plan has some of the tier's nodes but not all, or if it has none (modes of the slow tier) and the request has a
    socket= other than all."""
    tier, plan = set(fields.numbers(figures.fast, "nodes")), set(fields.numbers(fields.part(record, "plan"), "nodes"))
    asked = (fields.text(record, "request") or "").split(",")
    limited = any(word.startswith("socket=") and word != "socket=all" for word in asked)
    is_whole = tier <= plan if tier & plan else not limited
    return figures.fast_capacity_bytes if is_whole else None


def fits_the_fast_tier(seen):
    if seen.mode not in TO_BOTH or not seen.has_slow() or not seen.can_be_fast():
        return None
    return "fast", (
        f"mode fast would have done on a node of its own: peak {draw.size(seen.most)} of {draw.size(seen.capacity)} "
        f"fast memory, and {draw.size(seen.slow_peak)} of it was in the slow tier"
    )


def ended_with_the_fast_tier_full(seen):
    """Exit code 137: ended by signal 9, which the kernel sends when memory runs out. The record does not say who sent
    it."""
    if seen.mode not in ("fast", "dram", "hbm") or fields.whole(seen.record, "exit_code") != 137:
        return None
    if None in (seen.fast_peak, seen.capacity) or seen.fast_peak < NEARLY_FULL * seen.capacity:
        return None
    return "spill", (
        f"it was killed (signal 9) with a peak of {draw.size(seen.fast_peak)} of {draw.size(seen.capacity)} fast "
        "memory, not all of which is there for jobs: it may have run out of it, where spill goes on in the slow tier"
    )


def spill_never_spilled(seen):
    if seen.mode != "spill" or not seen.is_all_fast() or not seen.can_be_fast():
        return None
    return "fast", (
        f"spill never spilled: at most {draw.size(seen.fast_peak)} in the fast tier, {draw.size(seen.slow_peak)} in "
        "the slow one; fast does the same, and the slow tier is left to others"
    )


def migrator_had_nothing_to_move(seen):
    cost = fields.amount(seen.migration, "cpu_s")
    if seen.mode not in fields.MIGRATED or not seen.is_all_fast() or not seen.can_be_fast() or cost is None:
        return None
    return "fast", (
        f"{seen.mode} had nothing to do: at most {draw.size(seen.fast_peak)}, all of it in the fast tier; "
        f"fast saves the migrator's {draw.duration(cost)} of CPU time"
    )


def fast_memory_was_left(seen):
    if seen.mode != "interleave" or None in (seen.capacity, seen.fast_peak, seen.slow_mean):
        return None
    if seen.most is None or seen.fits():
        return None
    left = seen.capacity * ROOMY - seen.fast_peak
    if left < seen.capacity / 4 or seen.slow_mean < seen.capacity / 10:
        return None
    return "spill", (
        f"{draw.size(seen.fast_peak)} of {draw.size(seen.capacity)} fast memory was used at most, with "
        f"{draw.size(seen.slow_mean)} in the slow tier on the mean: spill fills the fast tier first"
    )


def half_of_it_was_page_cache(seen):
    """At the moment of the job's largest total, at least half of what it had in the fast tier was page cache."""
    if seen.mode not in ("spill", "interleave"):
        return None
    parts = [fields.memory(seen.figures.fast, f"{part}_bytes") for part in ("file", "anon", "shmem")]
    own = fields.memory(seen.figures.slow, "anon_bytes")
    if None in parts or own is None or own < NEGLIGIBLE or parts[0] < max(sum(parts) / 2, NEGLIGIBLE):
        return None
    return "migrate", (
        f"{draw.size(parts[0])} of its {draw.size(sum(parts))} in the fast tier was page cache, while "
        f"{draw.size(own)} of the program's own was in the slow one: migrate gives the "
        "cache's room to the program; or have the program drop what it has read (posix_fadvise)"
    )


def migrator_was_far_from_the_best(seen):
    fast, best, regret = (fields.amount(seen.migration, key) for key in ("fast_share", "best_share", "regret"))
    samples, decisions = (fields.whole(seen.migration, key) for key in ("samples", "phases"))
    if None in (fast, best, regret, samples, decisions) or samples < SAMPLES or regret < 0.1 or best <= fast:
        return None
    served = f"the fast tier served {draw.percent(fast)}, the best known placement {draw.percent(best)}"
    interval = fields.amount(seen.migration, "interval_s")
    mode = "guided,migrate" if seen.mode == "guided" else seen.mode
    if decisions < DECISIONS:
        every = "" if interval is None else f", at most one every {interval:g} s"
        return (
            f"{mode},interval=...",
            f"{served}, with {draw.counted(decisions, 'decision')}{every}: a shorter interval= gives more",
        )
    stuck, why = largest(seen.migration.get("unmoved"))
    if stuck and seen.fast_peak is None:
        return None
    if stuck and stuck >= half_of_the_gap(fast, best, seen.fast_peak):
        return mode, f"{served}; the kernel did not move {draw.size(stuck)}: {WHY_STUCK.get(why, why)}"
    cap = fields.memory(seen.migration, "cap_bytes")
    if cap is not None:
        return f"{mode},fast=...", (
            f"{served}, with {draw.size(cap)} of fast memory at most: ask for a larger fast=, if the site allows it"
        )
    return "spill", f"{served}: what is hot changed faster than it was moved; see if spill is as fast for this program"


def half_of_the_gap(fast, best, fast_bytes):
    """Bytes that would close half of the gap between two shares of accesses. It assumes that each of these bytes
    gets as many accesses as a byte of fast memory does under the best placement: the share `best`, divided by the job's
    peak in the fast tier, `fast_bytes`."""
    return (best - fast) / 2 * fast_bytes / best


WHY_STUCK = {
    "shared": "it is shared by several processes; put what all ranks read in memory of their own",
    "busy": "it is pinned, as by RDMA or a GPU; register less of it",
    "room": "the tier's NUMA node was full; ask for a whole compute node (--exclusive)",
    "denied": "it lies outside of the job's memory nodes",
    "other": "for other reasons of the kernel's",
}


def largest(unmoved):
    """(bytes, reason) of the largest amount that the kernel did not move; 0 if it moved everything."""
    reasons = unmoved if isinstance(unmoved, dict) else {}
    return max(((fields.amount(reasons, reason) or 0, reason) for reason in reasons), default=(0, None))


def slow_tier_was_mostly_written(seen):
    if seen.mode not in ("spill", "interleave", "migrate", *TO_SLOW):
        return None
    read, written = seen.figures.slow_read_bytes, seen.figures.slow_write_bytes
    if None in (read, written) or written <= read or written < 1 << 30:
        return None
    return "isolate", (
        f"{draw.size(written)} was written to the slow tier and {draw.size(read)} read: isolate keeps written data "
        "in the fast tier"
    )


# On how many of a run's nodes a rule must speak. ANY: on one. MOST: on more than half of those with a record. ALL: on
# one, but the job must be able to run in the fast tier on each node with a record (can_be_fast).
ANY, MOST, ALL = "any", "most", "all"


class Rule(NamedTuple):
    name: str
    says: Callable  # function of what was seen -> (mode, sentence), or None
    needs: str  # ANY, MOST or ALL


# The first rule that speaks gives a record its advice. A rule that advises `fast` wants the job's memory to fit on all
# of its nodes, as one node without room would end the job.
RULES = (
    Rule("fits", fits_the_fast_tier, ALL),
    # one node without room ends the job; on the other nodes spill is as fast
    Rule("killed", ended_with_the_fast_tier_full, ANY),
    Rule("unspilled", spill_never_spilled, ALL),
    Rule("unmoved", migrator_had_nothing_to_move, ALL),
    # spill does no harm on the other nodes: it fills the fast tier first there, too
    Rule("room", fast_memory_was_left, ANY),
    # migrate begins as spill does, and moves nothing on nodes where there is no need
    Rule("cache", half_of_it_was_page_cache, ANY),
    # what fits on the other nodes loses nothing where sites are chosen for the fast tier
    Rule("profiled", guidance.profile_is_there, ANY),
    Rule("unprofiled", guidance.profile_was_wanting, ANY),
    # on nodes where the rule is silent the profile may have been right
    Rule("misguided", guidance.profile_was_wrong, MOST),
    # on nodes where the rule is silent the migrator may have done well
    Rule("regret", migrator_was_far_from_the_best, MOST),
    Rule("writes", slow_tier_was_mostly_written, MOST),  # isolate may cost fast memory that is now used for reading
)
ORDER = {rule.name: number for number, rule in enumerate(RULES)}


def place(name):
    """The rank of a rule among those that speak on a job's nodes; the lowest wins. Rules that advise `fast` come last:
    room on one node does not matter if another node needed something else."""
    return RULES[ORDER[name]].needs == ALL, ORDER[name]


class Opinion(NamedTuple):
    """The opinion of one record on its run."""

    advice: Optional[Advice]
    can_be_fast: bool


def opinion(figures):
    seen = Seen(figures)
    found = ((rule.name, rule.says(seen)) for rule in RULES)
    advice = next((Advice(name, *map(fields.clean, said)) for name, said in found if said), None)
    return Opinion(advice, seen.can_be_fast())


def elect(nodes, records, can_be_fast):
    """The name of the rule that decides for a run, or None. `nodes` counts on how many nodes each rule speaks;
    `records` and `can_be_fast` are the numbers of all records, and of those that can be fast."""
    enough = {
        ANY: lambda name: True,
        MOST: lambda name: 2 * nodes[name] > records,
        ALL: lambda name: can_be_fast == records,
    }
    return min((name for name in nodes if enough[RULES[ORDER[name]].needs](name)), key=place, default=None)


def advise_run(records):
    """(advice, nodes) for the records of one run, with the figures of the first of those nodes; or None."""
    opinions = [(record["node"], opinion(Figures(record))) for record in records]
    spoken = [(node, said.advice) for node, said in opinions if said.advice]
    nodes = Counter(advice.rule for _, advice in spoken)
    name = elect(nodes, len(opinions), sum(said.can_be_fast for _, said in opinions))
    found = [(node, advice) for node, advice in spoken if advice.rule == name]
    return (found[0][1], [node for node, _ in found]) if found else None


def sentence(advice, nodes, is_alone):
    """The advice, with the nodes that it is about. `is_alone`: the job had one node."""
    if is_alone:
        return advice.why
    more = f", and {len(nodes) - 1} more of its nodes" if len(nodes) > 1 else ""
    return f"{advice.why} (node {nodes[0]}{more})"
