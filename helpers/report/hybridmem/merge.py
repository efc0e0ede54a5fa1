# SPDX-License-Identifier: Apache-2.0
"""Makes one summary of a job's run, of all its nodes' records. Pure; summaries.py makes it a text.

A figure is None if no node measured it, or if the sum is too large (fields.MAXIMUM). Else it has the sum over the nodes
that measured it, how many these are, and the least and the largest value, each with its node.
"""

from . import fields, nodenames

SCHEMA = 1
MOST_TIERS = 8
MOST_TEXT = 200  # characters of a request, a source or a warning
MOST_WORD = 40  # of a mode, a policy, a kind of memory or a time
MOST_TEXTS = 8  # warnings that are told word by word


def figure(pairs):
    """The figure of (node, value) pairs. A value is None if the node did not measure it."""
    known = [(value, node) for node, value in pairs if value is not None]
    total = sum(value for value, _ in known)
    if not known or abs(total) >= fields.MAXIMUM:
        return None
    return {
        "sum": tidy(total),
        "least": list(min(known, key=lambda pair: pair[0])),
        "most": list(max(known, key=lambda pair: pair[0])),
        "nodes": len(known),
    }


def tidy(number):
    """Rounds a sum of fractions, as its last digits mean nothing."""
    return number if isinstance(number, int) else round(number, 3)


def figures(records, key, *path):
    """The figure `key` of the object under `path` in each record."""

    def value(record):
        for step in path:
            record = record.get(step) if isinstance(record, dict) else None
        return fields.figure(record, key)

    return figure([(record["node"], value(record)) for record in records])


def same(values):
    """The value that all of them have, or None."""
    found = set(values)
    return found.pop() if len(found) == 1 else None


def cut(text, most=MOST_TEXT):
    return text[:most] if text else text


def tier_names(parts):
    """(name, kind) of the tiers of all records, in the order in which they are met: each node's are fastest first."""
    found = {}
    for tiers in parts:
        for tier in tiers:
            name = fields.text(tier, "name")
            if name and len(found) < MOST_TIERS:
                found.setdefault(name[: nodenames.MOST], fields.text(tier, "kind"))
    return found.items()


def by_tier(records, group, keys):
    """A figure for each key and tier of the records' memory or traffic."""
    parts = [
        (record["node"], [tier for tier in fields.members(record.get(group), "tiers") if isinstance(tier, dict)])
        for record in records
    ]
    made = []
    for name, kind in tier_names(tiers for _, tiers in parts):
        of_node = [(node, next((t for t in tiers if fields.text(t, "name") == name), None)) for node, tiers in parts]
        values = {key: figure([(node, fields.figure(tier, key)) for node, tier in of_node]) for key in keys}
        made.append({"name": name, "kind": cut(kind, MOST_WORD), **values})
    return made


def warnings(records):
    """How many there are, on how many nodes, and the most frequent ones. Nodes often have the same."""
    counts, nodes = {}, 0
    for record in records:
        texts = [cut(text) for text in fields.warnings(record)]
        nodes += bool(texts)
        for text in texts:
            counts[text] = counts.get(text, 0) + 1
    often = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_TEXTS]
    return {"count": sum(counts.values()), "nodes": nodes, "texts": [list(item) for item in often]}


def one_node(record, tiers):
    """Node, and the peak and mean of each tier."""
    mine = {fields.text(tier, "name"): tier for tier in fields.tiers(record)}
    return [
        record["node"],
        *([fields.figure(mine.get(name), key) for name in tiers] for key in ("peak_bytes", "mean_bytes")),
    ]


def own_traffic(records):
    """What the job's own tasks moved, all tiers together. Most sites do not count it. Without any figure the key is
    left out, so that older readers, which do not know it, accept the summary."""
    found = {key: figures(records, key, "traffic", "job") for key in ("total_bytes", "local_bytes")}
    return {"job_traffic": found} if any(found.values()) else {}


def has_figure(value):
    """Is there a figure, or a tier with one?"""
    tiers = [tier for tier in fields.members(value, "tiers") if isinstance(tier, dict)]
    keys = ("peak_bytes", "package_j", "memory_j", "platform_j", "read_bytes", "write_bytes")
    return any(fields.figure(part, key) is not None for part in (value, *tiers) for key in keys)


def sources(records):
    """For each group, where its figures come from, as the nodes with figures say; or, if no node has any, why not, as
    all nodes say. None if they do not say the same. If it is None for all groups, the key `sources` is left out.
    summaries.py also leaves it out of a summary that is too long."""
    found = {}
    for group, key in (("memory", "peak_source"), ("energy", "source"), ("traffic", "source")):
        values = [fields.part(record, group) for record in records]
        measured = [fields.text(value, key) for value in values if has_figure(value)]
        found[group] = cut(same(measured or [fields.text(value, "source") for value in values]))
    return {"sources": found} if any(found.values()) else {}


def more_energy(records):
    """The whole node's joules, and watts; left out as in own_traffic()."""
    found = {key: figures(records, key, "energy") for key in ("platform_j", "mean_w", "peak_w")}
    return {"energy_more": found} if any(found.values()) else {}


def more_migration(records):
    """What the migrators cost besides their own processor time; left out as in own_traffic()."""
    found = {"kernel_cpu_s": figures(records, "kernel_cpu_s", "migration")}
    return {"migration_more": found} if any(found.values()) else {}


def summary(entry, nodes, records):
    """The summary of a job: from its spool entry, its nodes' names, and the records of those that have one."""
    found = sorted(records, key=lambda record: record["node"])
    reported = {record["node"] for record in found}
    missing = nodenames.in_order(set(nodes) - reported)
    memory = by_tier(found, "memory", ("peak_bytes", "mean_bytes"))
    starts, ends = ([t for r in found if (t := fields.text(r, key))] for key in ("start", "end"))
    return {
        "summary": SCHEMA,
        **{key: entry[key] for key in ("job_id", "array_job_id", "array_task_id", "het_job_id")},
        "restart_count": same(fields.whole(r, "restart_count") for r in found) if found else entry["restart_count"],
        "request": cut(same(fields.text(r, "request") for r in found)),
        "mode": cut(same(fields.mode(r) for r in found), MOST_WORD),
        "policy": cut(same(fields.text(r.get("plan"), "policy") for r in found), MOST_WORD),
        "start": cut(min(starts, default=None), MOST_WORD),
        "end": cut(max(ends, default=None), MOST_WORD),
        "elapsed_s": figures(found, "elapsed_s"),
        "nodes": len(nodes),
        "reported": len(reported),
        "missing": missing,
        "memory": {"peak_bytes": figures(found, "peak_bytes", "memory"), "tiers": memory},
        "energy": {key: figures(found, key, "energy") for key in ("package_j", "memory_j")},
        "traffic": by_tier(found, "traffic", ("read_bytes", "write_bytes")),
        **own_traffic(found),
        **more_energy(found),
        **sources(found),
        "migration": {key: figures(found, key, "migration") for key in ("promoted_bytes", "demoted_bytes", "cpu_s")},
        **more_migration(found),
        "warnings": warnings(found),
        "by_node": [one_node(record, [tier["name"] for tier in memory]) for record in found],
        "left_out": [],
    }
