# SPDX-License-Identifier: Apache-2.0
"""Tests how the records of a job's nodes become one summary."""

import pytest
from collecting import entry
from hybridmem import merge, summaries
from makerecords import GIB, record, tier

ENTRY = entry()


def test_sums_extremes_and_their_nodes():
    made = merge.summary(
        ENTRY,
        ["n1", "n2", "n3"],
        [
            record(
                7,
                node="n2",
                memory={"peak_bytes": 5 * GIB, "tiers": [tier("dram", [0], GIB, GIB)]},
                end="2025-03-01T11:00:09Z",
            ),
            record(7, node="n1", warnings=["late", "late", "odd"], start="2025-03-01T09:59:58Z"),
            record(7, node="n3", energy={"package_j": 1000.5, "memory_j": None, "source": "x"}, warnings=["late"]),
        ],
    )
    assert made["nodes"] == made["reported"] == 3 and made["missing"] == []
    assert (made["request"], made["mode"], made["policy"]) == ("spill", "spill", "interleave")
    assert (made["start"], made["end"]) == ("2025-03-01T09:59:58Z", "2025-03-01T11:00:09Z")
    assert made["memory"]["peak_bytes"] == {
        "sum": 13 * GIB,
        "least": [4 * GIB, "n1"],
        "most": [5 * GIB, "n2"],
        "nodes": 3,
    }
    dram, pmem = made["memory"]["tiers"]
    assert dram["peak_bytes"] == {"sum": 7 * GIB, "least": [GIB, "n2"], "most": [3 * GIB, "n1"], "nodes": 3}
    # A node without the tier has no figure of it, which is not a figure of 0.
    assert pmem["peak_bytes"] == {"sum": 2 * GIB, "least": [GIB, "n1"], "most": [GIB, "n1"], "nodes": 2}
    assert made["energy"] == {
        "package_j": {"sum": 1000.5, "least": [1000.5, "n3"], "most": [1000.5, "n3"], "nodes": 1},
        "memory_j": None,
    }
    assert made["traffic"] == [] and made["migration"] == dict.fromkeys(("promoted_bytes", "demoted_bytes", "cpu_s"))
    assert made["warnings"] == {"count": 4, "nodes": 2, "texts": [["late", 3], ["odd", 1]]}
    assert made["by_node"][1] == ["n2", [GIB, None], [GIB, None]]


def test_the_jobs_own_traffic():
    """If no record has a figure of it, the summary has no key job_traffic, so that programs which do not know the key
    can read the summary."""
    group = {"total_bytes": 5 * GIB, "local_bytes": None, "source": "resctrl"}
    others = [None, {**group, "total_bytes": None}, {"total_bytes": "x", "local_bytes": True}, 3]
    found = [record(7, node=f"n{i}", traffic={"tiers": [], "job": job}) for i, job in enumerate([*others, group])]
    names = [one["node"] for one in found]
    made = merge.summary(ENTRY, names, found)
    figure = {"sum": 5 * GIB, "least": [5 * GIB, "n4"], "most": [5 * GIB, "n4"], "nodes": 1}
    assert made["job_traffic"] == {"total_bytes": figure, "local_bytes": None} and made["traffic"] == []
    assert summaries.decode(summaries.encode(made))["job_traffic"] == made["job_traffic"]
    assert "job_traffic" not in merge.summary(ENTRY, names, found[:-1])


def test_a_refusal_is_told_once_for_each_node():
    """Older records have a refusal for the job and again for each step."""
    refused = ["refused: no", "step batch was refused: no", "step 0 was refused: other"]
    made = merge.summary(ENTRY, ["n1", "n2"], [record(7, node=node, warnings=refused) for node in ("n1", "n2")])
    assert made["warnings"] == {
        "count": 4,
        "nodes": 2,
        "texts": [["refused: no", 2], ["step 0 was refused: other", 2]],
    }


def test_where_figures_come_from():
    """The source of a figure is that of the nodes that measured it, or else that of all nodes. If their sources differ,
    it is null. If no source is known, there is no key."""
    none, long = {"package_j": None, "source": "no meter"}, "s" * 300
    found = [
        record(7, node="n1", energy={"package_j": 5.0, "peak_w": 2, "source": long}, traffic=None),
        record(7, node="n2", energy=none, traffic={"tiers": [], "source": "a"}),
    ]
    made = merge.summary(ENTRY, ["n1", "n2"], found)
    assert made["sources"] == {"memory": "memory.peak of the job's cgroup", "energy": "s" * 200, "traffic": None}
    watts = {"sum": 2, "least": [2, "n1"], "most": [2, "n1"], "nodes": 1}
    assert made["energy_more"] == {"platform_j": None, "mean_w": None, "peak_w": watts}
    back = summaries.decode(summaries.encode(made))
    assert (back["sources"], back["energy_more"]) == (made["sources"], made["energy_more"])
    made = merge.summary(ENTRY, ["n2"], found[1:])
    assert (made["sources"]["energy"], made["sources"]["traffic"]) == ("no meter", "a") and "energy_more" not in made
    assert "sources" not in merge.summary(ENTRY, ["n1"], [])


def test_what_differs_between_nodes_is_null():
    made = merge.summary(
        ENTRY, ["n1", "n2"], [record(7, node="n1"), record(7, node="n2", mode="fast", restart_count=1)]
    )
    assert [made[key] for key in ("request", "mode", "restart_count")] == [None, None, None]
    assert made["policy"] == "interleave"


def test_no_record_at_all():
    made = merge.summary({**ENTRY, "restart_count": 2}, ["n2", "n10"], [])
    assert (made["nodes"], made["reported"], made["missing"]) == (2, 0, ["n2", "n10"])
    assert (made["restart_count"], made["mode"], made["memory"]) == (2, None, {"peak_bytes": None, "tiers": []})
    assert summaries.decode(summaries.encode(made))["missing"] == "n2,n10"


@pytest.mark.parametrize(
    "changes",
    [
        {"memory": None},
        {"memory": {"peak_bytes": True, "tiers": [None, 3, {"name": 5}, {"name": "dram", "peak_bytes": "x"}]}},
        {"memory": {"peak_bytes": 1e999, "tiers": {}}, "energy": 3, "traffic": [], "migration": "no"},
        {"plan": 5, "request": 7, "start": 9, "end": None, "elapsed_s": "long", "warnings": "all"},
        {"warnings": [None, {"a": 1}, ["x"]], "restart_count": True},
    ],
)
def test_records_of_any_shape(changes):
    made = merge.summary(ENTRY, ["n1"], [{**record(7), **changes}])
    assert summaries.decode(summaries.encode(made))["reported"] == 1


IMPOSSIBLE = (
    ({"elapsed_s": -9}, lambda made: made["elapsed_s"]),
    ({"elapsed_s": 1 << 50}, lambda made: made["elapsed_s"]),
    ({"energy": {"package_j": -0.5}}, lambda made: made["energy"]["package_j"]),
    ({"memory": {"peak_bytes": -1, "tiers": []}}, lambda made: made["memory"]["peak_bytes"]),
    ({"memory": {"peak_bytes": 1 << 60, "tiers": []}}, lambda made: made["memory"]["peak_bytes"]),
    ({"migration": {"cpu_s": -1}}, lambda made: made["migration"]["cpu_s"]),
    *(
        ({"memory": {"tiers": [{"name": "dram", key: wrong}]}}, lambda made, key=key: made["memory"]["tiers"][0][key])
        for key in ("peak_bytes", "mean_bytes")
        for wrong in (-1, 0.5, 1 << 56)
    ),
    (
        {"traffic": {"tiers": [{"name": "dram", "read_bytes": -1}]}},
        lambda made: made["traffic"][0]["read_bytes"],
    ),
)


@pytest.mark.parametrize(("changes", "of"), IMPOSSIBLE)
def test_what_cannot_have_been_measured_is_no_figure(changes, of):
    """As in the report, a figure that is negative, too large or has half a byte is in no sum, and is no extreme."""
    good = record(
        7,
        node="n2",
        energy={"package_j": 5.0},
        migration={"cpu_s": 1.5},
        traffic={"tiers": [{"name": "dram", "read_bytes": 3}]},
    )
    alone, both = (
        of(merge.summary(ENTRY, ["n1", "n2"], found)) for found in ([good], [record(7, **changes, node="n1"), good])
    )
    assert both == alone and both["nodes"] == 1
