# SPDX-License-Identifier: Apache-2.0
"""Describes a record's migration in sentences. Pure."""

from . import draw, fields


def lines(migration):
    """At most seven sentences: what was moved, how, what was not moved, the kinds of memory where not all is private,
    an estimate of the result, how heat was balanced, the cost. Before the cost are the cap, how much of the fast tier
    fast= allows, and the least share that the job had beside others. What was not measured is left out, or is "-"."""
    sizes = {key: fields.figure(migration, key) for key in ("promoted_bytes", "demoted_bytes", "cap_bytes")}
    moved = f"{draw.size(sizes['promoted_bytes'])} promoted, {draw.size(sizes['demoted_bytes'])} demoted"
    steps = draw.counted(fields.whole(migration, "step_count") or 0, "step")
    yield f"{moved}; self-reported by the migrators of {steps}"
    yield method(migration)
    unmoved = migration.get("unmoved") if isinstance(migration.get("unmoved"), dict) else {}
    stuck = [f"{reason} {draw.size(fields.figure(unmoved, reason))}" for reason in unmoved if unmoved[reason]]
    if stuck:
        yield f"not moved: {', '.join(stuck)}"
    yield from heat(migration.get("heat"))
    fast, best, regret = (fields.figure(migration, key) for key in ("fast_share", "best_share", "regret"))
    if fast is not None:
        what = "writes" if fields.text(migration, "hot_by") == "writes" else "accesses"
        if best is not None:
            # the difference of the rounded shares that are printed here
            regret = (round(best * 100) - round(fast * 100)) / 100
        yield (
            f"estimate: {draw.percent(fast)} of {what} served by the fast tier; best known placement "
            f"{draw.percent(best)}, regret {draw.percent(regret)}"
        )
    yield from balance(migration.get("balance"))
    cost = f"cost {draw.duration(fields.figure(migration, 'cpu_s'))} of CPU time"
    kernel = fields.figure(migration, "kernel_cpu_s")
    cost += "" if kernel is None else f", {draw.duration(kernel)} more in the kernel"
    pays = fields.figure(migration, "pays_from")
    if pays is not None:
        # a smaller share than 0.1 % pays, too, and so does 0.1 %
        waits = f"where the job waits for memory in {max(pays, 0.001) * 100:.1f} % of its CPU time or more"
        cost += "; not expected to pay" if pays > 1 else f"; expected to pay {waits}"
    shared = fields.figure(migration, "fair_share_bytes")
    if shared is not None:
        cost = f"fair share beside other jobs down to {draw.size(shared)}; {cost}"
    if sizes["cap_bytes"] is not None:
        above = fields.figure(migration, "above_cap_bytes")
        kept = "not known what was above it" if above is None else f"at most {draw.size(above)} above it after moving"
        took = fields.figure(migration, "above_cap_s")
        kept += f", above it for {draw.duration(took)}" if took else ""
        cost = f"cap {draw.size(sizes['cap_bytes'])}, {kept}; {cost}"
    yield cost


def heat(kinds):
    """How much of the accesses went to memory that is not private, and to what could not be moved; nothing where all
    are to private memory that could be."""
    parts = kinds if isinstance(kinds, dict) else {}
    shares, stuck = ({kind: fields.figure(parts[kind], key) or 0 for kind in parts} for key in ("share", "unmovable"))
    if not any(share >= LEAST for kind, share in {**shares, "private": 0}.items()) and stuck.get("private", 0) < LEAST:
        return
    named = ", ".join(f"{kind} {draw.percent(share)}" for kind, share in shares.items() if share >= LEAST)
    kept = ", ".join(f"{kind} {draw.percent(share)}" for kind, share in stuck.items() if share >= LEAST)
    yield f"accesses by kind of memory: {named}{f'; could not be moved: {kept}' if kept else ''}"


def balance(found):
    """How much of the heat belonged in the fast tier, and by which traffic; else why that is not known. Nothing where
    the record has neither."""
    share, why = fields.figure(found, "share"), fields.text(found, "why")
    if share is None:
        if why:
            yield f"no balance: {why}"
        return
    fast, slow = (rate(fields.figure(found, f"{tier}_bytes_per_s")) for tier in ("fast", "slow"))
    source = fields.text(found, "traffic_source")
    yield (
        f"balance: {draw.percent(share)} of accesses belonged in the fast tier, which served {fast}, "
        f"the slow one {slow} ({TRAFFIC.get(source, source or 'several sources')})"
    )


def rate(bytes_per_s):
    return draw.UNMEASURED if bytes_per_s is None else f"{bytes_per_s / 1e9:.1f} GB/s"


TRAFFIC = {"counters": "the node's counters", "samples": "an estimate by samples"}
LEAST = 0.005  # a smaller share is shown as 0 %
NO_SOURCE = "none yet"  # the source of a step that had nothing to move


def method(migration):
    source, why = fields.text(migration, "sample_source"), fields.text(migration, "sample_source_why")
    samples = draw.counted(fields.whole(migration, "samples"), "sample")
    samples += "" if source == NO_SOURCE else f" of {source or 'several sources'}"
    interval = fields.figure(migration, "interval_s")
    every = "" if interval is None else f", at most one every {interval:g} s"
    phases = draw.counted(fields.whole(migration, "phases") or 0, "decision")
    return (
        f"{fields.text(migration, 'algorithm') or 'several algorithms'}: {phases}{every}, on {samples}"
        f"{f' ({why})' if why else ''}"
    )
