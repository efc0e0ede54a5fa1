# SPDX-License-Identifier: Apache-2.0
"""Tests a job's summary as a text of at most 4096 characters: what is left out to fit, and which texts are refused."""

import base64
import gzip
import json
import random
import re
import tracemalloc

import pytest
from collecting import entry
from hybridmem import merge, summaries
from makerecords import record, tier

ENTRY = entry()


def packed(plain):
    """Any bytes as a text with our mark."""
    return "HM1:" + base64.b64encode(gzip.compress(plain, 9, mtime=0)).decode()


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


def test_what_is_encoded_is_decoded():
    made = merge.summary(ENTRY, ["n1", "n2", "n4"], [record(7, warnings=["größe \x1b[2J"])])
    text = summaries.encode(made)
    assert text == summaries.encode(made) and text.startswith("HM1:") and text.isascii()
    assert summaries.decode(text) == {**made, "missing": "n[2,4]"}
    assert summaries.decode(text)["left_out"] == []


def many(count, missing=0, **changes):
    """A summary of `count` nodes whose figures all differ, `missing` of them without a record; and the records."""
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
def test_a_short_text_with_a_long_content_is_decoded(count):
    """Equal figures on nodes with long names: the text is short, its content long."""
    nodes = [f"{'long-name-of-a-node' * 3}-{n}" for n in range(count)]
    made = merge.summary(ENTRY, nodes, [record(7, node=node) for node in nodes])
    back = summaries.decode(summaries.encode(made))
    assert (back["nodes"], back["reported"]) == (count, count)


def test_details_are_left_out_in_their_order():
    """The texts do not compress, so details are left out one after the other. The sums stay."""
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


GOOD = summaries.encode(merge.summary(ENTRY, ["n1"], [record(7)]))
WRONG = {
    "empty": ("", "does not begin"),
    "another mark": ("HM2:" + GOOD[4:], "does not begin"),
    "of another program": ("JS1:none", "does not begin"),
    "too long": (GOOD + "A" * 4096, "longer than"),
    "only the mark": ("HM1:", "torn"),
    "no base64": ("HM1:!!!", "unpacked"),
    "not ASCII": ("HM1:größe", "unpacked"),
    "without its end": (GOOD[:-8], "torn"),
    "cut within four characters": (GOOD[:-7], "unpacked"),
    "two files": ("HM1:" + base64.b64encode(gzip.compress(b"{}") * 2).decode(), "torn"),
    "not compressed": ("HM1:" + base64.b64encode(b"{}").decode(), "unpacked"),
    "half an object": (packed(b"{"), "not JSON"),
    "deep": (packed(b"[" * 60000), "not JSON"),
    "no number": (packed(b"NaN"), "not JSON"),
    "not UTF-8": (packed(b"\xff"), "not JSON"),
    "a list": (packed(b"[]"), "another version"),
    "a later version": (packed(b'{"summary": 2}'), "another version"),
    "no version": (packed(b'{"summary": true}'), "another version"),
    "without keys": (packed(b'{"summary": 1}'), "it is not an object with the expected keys"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_text_that_is_no_summary(case):
    text, said = WRONG[case]
    with pytest.raises(summaries.Wrong, match=said):
        summaries.decode(text)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
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
    ],
)
def test_a_summary_with_a_wrong_value(path, value, said):
    made = json.loads(gzip.decompress(base64.b64decode(GOOD[4:])))
    place = made
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(summaries.Wrong, match=re.escape(said)):
        summaries.decode(packed(json.dumps(made).encode()))


def test_keys_of_a_later_version_are_passed_over():
    made = merge.summary(ENTRY, ["n1"], [record(7)])
    assert summaries.decode(packed(json.dumps({**made, "missing": "", "later": {"a": [1]}}).encode())) == {
        **made,
        "missing": "",
    }


def test_a_hostile_text_fills_no_memory():
    """4096 characters can hold some three million blanks, packed."""
    bomb = packed(b" " * 2_900_000)
    assert len(bomb) <= summaries.MOST_BYTES
    tracemalloc.start()
    try:
        with pytest.raises(summaries.Wrong, match="torn, or too large"):
            summaries.decode(bomb)
        assert tracemalloc.get_traced_memory()[1] < 4 * summaries.MOST_JSON
    finally:
        tracemalloc.stop()
