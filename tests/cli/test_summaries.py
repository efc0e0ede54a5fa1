# SPDX-License-Identifier: Apache-2.0
"""Tests a job's records as one summary, and the summary as a text of at most 4096 characters."""

import base64
import gzip
import json
import random
import sys
import tracemalloc

import pytest
from installed import DATA
from makerecords import GIB, record, tier

sys.path.insert(0, str(DATA / "python"))
from hybridmem import merge, nodenames, summaries

ENTRY = {"job_id": 7, "array_job_id": None, "array_task_id": None, "het_job_id": None, "restart_count": 0}


def packed(plain):
    """Any bytes as a text with our mark."""
    return "HM1:" + base64.b64encode(gzip.compress(plain, 9, mtime=0)).decode()


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["n1"], "n1"),
        (["n1", "n2", "n3", "n7"], "n[1-3,7]"),
        (["n3", "n1", "n2"], "n[1-3]"),
        (["n001", "n002", "n010"], "n[001-002,010]"),
        (["n9", "n10"], "n9,n10"),
        (["login", "n1", "n2"], "login,n[1-2]"),
        (["a-1-1", "a-1-2", "a-2-1"], "a-1-[1-2],a-2-1"),
        (["0", "1"], "[0-1]"),
    ],
)
def test_names_in_short(names, text):
    assert nodenames.fold(names) == text


def test_names_in_order():
    assert nodenames.in_order(["n10", "n9", "b", "n9a", "9", "n1-2", "n1-10"]) == [
        *("9", "b", "n1-2", "n1-10", "n9", "n9a", "n10"),
    ]


@pytest.mark.parametrize("name", ["", "../x", ".", "..", ".hidden", "a/b", "a b", "a\n", "-n1", "a" * 65, "é"])
def test_what_is_no_name_of_a_node(name):
    assert not nodenames.NAME.fullmatch(name)


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
    """Without a figure the summary has no key for it, so that programs which do not know the key can read the
    summary."""
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
    it is null. If no record has a source, there is no key."""
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


def test_sources_are_the_first_to_go():
    """Sources are left out before the table of nodes. Where the table is left out, there is room for the sources
    again."""
    dice = random.Random(4)
    noise = "".join(chr(dice.randrange(0x10000, 0x20000)) for _ in range(200))
    left_out = []
    for count in range(40, 240, 8):
        nodes = [f"n{node}" for node in range(count)]
        found = [record(7, node=node, elapsed_s=dice.random() * 1e6) for node in nodes]
        for one in found:
            one["energy"]["source"] = noise
            one["memory"]["tiers"] = [tier("dram", [0], dice.randrange(1 << 50), dice.randrange(1 << 50), 0)]
        back = summaries.decode(summaries.encode(merge.summary(ENTRY, nodes, found)))
        assert ("sources" in back) == ("sources" not in back["left_out"])
        left_out.append(tuple(back["left_out"]))
    assert list(dict.fromkeys(left_out)) == [(), ("sources",), ("by_node",)]


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


def test_what_is_encoded_is_decoded():
    made = merge.summary(ENTRY, ["n1", "n2", "n4"], [record(7, warnings=["größe \x1b[2J"])])
    text = summaries.encode(made)
    assert text == summaries.encode(made) and text.startswith("HM1:") and text.isascii()
    assert summaries.decode(text) == {**made, "missing": "n[2,4]"}
    assert summaries.decode(text)["left_out"] == []


def many(count, missing=0, **changes):
    """A summary of `count` nodes whose figures all differ; some nodes have no record."""
    dice = random.Random(5)
    nodes = [f"node{i:05d}" for i in range(count)]
    absent = set(dice.sample(nodes, missing))
    made = [
        record(
            7,
            node=node,
            elapsed_s=dice.random() * 1e5,
            memory={
                "peak_bytes": dice.randrange(1 << 40),
                "tiers": [
                    tier(kind, [0], dice.randrange(1 << 40), dice.randrange(1 << 40), 0) for kind in ("dram", "pmem")
                ],
            },
            energy={"package_j": dice.random() * 1e7, "memory_j": dice.random() * 1e6, "source": "x"},
            traffic={
                "tiers": [
                    {"name": kind, "read_bytes": dice.randrange(1 << 50), "write_bytes": dice.randrange(1 << 50)}
                    for kind in ("dram", "pmem")
                ],
                "job": {"total_bytes": dice.randrange(1 << 50), "local_bytes": dice.randrange(1 << 50), "source": "x"},
                "source": "x",
            },
            **changes,
        )
        for node in nodes
        if node not in absent
    ]
    return merge.summary(ENTRY, nodes, made), made


@pytest.mark.parametrize(
    ("count", "missing", "left_out"),
    [
        (1, 0, []),
        (30, 3, []),
        (10000, 0, ["by_node"]),
        (10000, 5000, ["by_node", "missing", "sources"]),
        (10000, 9999, []),
    ],
)
def test_at_most_4096_characters(count, missing, left_out):
    made, found = many(count, missing)
    text = summaries.encode(made)
    assert len(text) <= summaries.MOST_BYTES
    back = summaries.decode(text)
    assert (back["nodes"], back["reported"]) == (count, count - missing)
    assert back["memory"]["peak_bytes"]["sum"] == sum(one["memory"]["peak_bytes"] for one in found)
    most = max(found, key=lambda one: one["energy"]["package_j"])
    assert back["energy"]["package_j"]["most"] == [most["energy"]["package_j"], most["node"]]
    assert back["traffic"][1]["write_bytes"]["nodes"] == back["job_traffic"]["local_bytes"]["nodes"] == count - missing
    assert back["left_out"] == left_out
    if "missing" in left_out:  # as many names as there is room for
        assert back["missing"].startswith("node[000") and len(text) > summaries.MOST_BYTES - 64


@pytest.mark.parametrize("count", [500, 700, 850, 1000])
def test_what_packs_well_is_decoded_as_well(count):
    """Equal figures on nodes with long names: the text is short, its content long."""
    nodes = [f"{'long-name-of-a-node' * 3}-{n}" for n in range(count)]
    made = merge.summary(ENTRY, nodes, [record(7, node=node) for node in nodes])
    back = summaries.decode(summaries.encode(made))
    assert (back["nodes"], back["reported"]) == (count, count)


def test_details_are_left_out_in_their_order():
    """The texts do not compress, so details are left out one after the other, and the sums last."""
    dice = random.Random(5)

    def noise(length):
        return "".join(chr(dice.randrange(0x10000, 0x20000)) for _ in range(length))

    made = merge.summary(
        ENTRY,
        [noise(60) for _ in range(50)],
        [
            record(
                7,
                node=noise(60),
                request=noise(300),
                start=noise(60),
                end=noise(60),
                plan={"mode": noise(60), "policy": noise(60)},
                warnings=[noise(300) for _ in range(10)],
                memory={"peak_bytes": 1, "tiers": [tier(noise(60), [0], 1, 1) for _ in range(20)]},
                traffic={"tiers": [], "job": {"total_bytes": 2, "local_bytes": 1}},
            )
        ],
    )
    text = summaries.encode(made)
    assert len(text) <= summaries.MOST_BYTES
    back = summaries.decode(text)
    assert back["left_out"] == ["by_node", "warnings.texts", "missing", "extremes", "tiers"]
    assert back["memory"] == {"peak_bytes": {"sum": 1, "nodes": 1}, "tiers": []} and back["nodes"] == 50
    assert back["warnings"] == {"count": 10, "nodes": 1, "texts": []}
    assert back["job_traffic"] == {"total_bytes": {"sum": 2, "nodes": 1}, "local_bytes": {"sum": 1, "nodes": 1}}


def test_a_text_that_is_no_summary():
    good = summaries.encode(merge.summary(ENTRY, ["n1"], [record(7)]))
    plain = json.loads(gzip.decompress(base64.b64decode(good[4:])))
    wrong = {
        "": "does not begin",
        "HM2:" + good[4:]: "does not begin",
        "JS1:none": "does not begin",
        good + "A" * 4096: "longer than",
        "HM1:": "torn",
        "HM1:!!!": "unpacked",
        "HM1:größe": "unpacked",
        good[:-8]: "torn",
        good[:-7]: "unpacked",
        "HM1:" + base64.b64encode(gzip.compress(b"{}") * 2).decode(): "torn",
        "HM1:" + base64.b64encode(b"{}").decode(): "unpacked",
        packed(b"{"): "not JSON",
        packed(b"[" * 60000): "not JSON",
        packed(b"NaN"): "not JSON",
        packed(b"\xff"): "not JSON",
        packed(b"[]"): "another version",
        packed(b'{"summary": 2}'): "another version",
        packed(b'{"summary": true}'): "another version",
        packed(b'{"summary": 1}'): "it is not an object with the expected keys",
    }
    for text, said in wrong.items():
        with pytest.raises(summaries.Wrong, match=said):
            summaries.decode(text)
    for path, value, said in (
        (("job_id",), "7", ".job_id"),
        (("job_id",), -1, ".job_id"),
        (("nodes",), True, ".nodes"),
        (("request",), 5, ".request"),
        (("missing",), ["n1"], ".missing"),
        (("memory",), None, ".memory is not an object with the expected keys"),
        (("memory", "more"), 1, ".memory is not an object with the expected keys"),
        (("memory", "tiers"), {}, ".memory.tiers is no list"),
        (("memory", "tiers", 0, "name"), None, ".memory.tiers.name"),
        (("memory", "peak_bytes"), 5, ".memory.peak_bytes"),
        (("memory", "peak_bytes", "most"), [1, 2, 3], ".memory.peak_bytes"),
        (("memory", "peak_bytes", "sum"), 1e300, ".memory.peak_bytes"),
        (("sources",), {"memory": None}, ".sources is not an object with the expected keys"),
        (("sources", "energy"), 5, ".sources.energy"),
        (("job_traffic",), None, ".job_traffic is not an object with the expected keys"),
        (("job_traffic",), {"total_bytes": None}, ".job_traffic is not an object with the expected keys"),
        (("job_traffic",), {"total_bytes": 5, "local_bytes": None}, ".job_traffic.total_bytes"),
        (("warnings", "texts"), [["a"]], ".warnings.texts"),
        (("by_node",), [["n1", [1], ["x"]]], ".by_node"),
        (("left_out",), [1], ".left_out"),
    ):
        changed = json.loads(json.dumps(plain))
        place = changed
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        with pytest.raises(summaries.Wrong) as caught:
            summaries.decode(packed(json.dumps(changed).encode()))
        assert said in str(caught.value)


def test_keys_of_a_later_version_are_passed_over():
    made = merge.summary(ENTRY, ["n1"], [record(7)])
    assert summaries.decode(packed(json.dumps({**made, "missing": "", "later": {"a": [1]}}).encode())) == {
        **made,
        "missing": "",
    }


def test_a_hostile_text_fills_no_memory():
    """4096 characters can hold some three million zeros."""
    bomb = packed(b" " * 2_900_000)
    assert len(bomb) <= summaries.MOST_BYTES
    tracemalloc.start()
    try:
        with pytest.raises(summaries.Wrong, match="torn, or too large"):
            summaries.decode(bomb)
        assert tracemalloc.get_traced_memory()[1] < 4 * summaries.MOST_JSON
    finally:
        tracemalloc.stop()


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
    """As in the report, a negative figure reduces no sum, and is no least value."""
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
