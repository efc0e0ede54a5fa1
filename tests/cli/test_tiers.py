# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem tiers: the table, the JSON, what the configuration overrides, and what is refused."""

import json
from pathlib import Path

import pytest
from installed import helper

TOPOLOGY = Path(__file__).resolve().parent.parent / "fixtures" / "topology"
PROGRAM = "hybridmem-tiers"
FIGURES = {"kind", "capacity_bytes", "free_bytes", "read_latency_ns", "read_bandwidth_mbs"}
GIB = 1 << 30


def tiers(name, *words):
    done = helper(PROGRAM, "--json", "--topology", TOPOLOGY / f"{name}.xml", *words)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--nonsense"], "--nonsense"),
        (["--topology"], "requires an argument"),
        (["extra"], "unexpected word 'extra'"),
        (["--topology", ""], '--topology: "" names nothing: name a file or folder, or leave --topology out'),
        (["--topology", "/nonexistent.xml"], "/nonexistent.xml: No such file"),
        (["--topology", "/etc"], "/etc: not a file"),
        (["--topology", TOPOLOGY / "README.md"], "not a topology in hwloc's XML"),
        (["--config", "/nonexistent/hybridmem.conf"], "/nonexistent"),
    ],
)
def test_refuses_bad_words_and_files(words, text):
    done = helper(PROGRAM, *words, status=2)
    assert text in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("conf", "text"),
    [
        (
            'tier "slow"\n{ nodes = "9" }',
            "hybridmem.conf:2: tier slow names node 9, which is not there: this machine has nodes 0-3",
        ),
        ('tier "a" { nodes = "0" }\ntier "b" { nodes = "0-1" }', 'node 0 is in tier "a" too'),
        ('tier "a" { nodes = "x" }', "hybridmem.conf:1"),
    ],
)
def test_refuses_bad_tiers_in_the_configuration(configure, conf, text):
    done = helper(PROGRAM, "--topology", TOPOLOGY / "optane-2-sockets.xml", "--config", configure(conf), status=2)
    assert text in done.stderr


@pytest.mark.parametrize("pair", ["dram+pmem", "pmem+dram", "dram+cxl", "dram+dram2"])
def test_channels_of_tiers_that_are_not_there(configure, pair):
    config = configure(f'channels "{pair}" {{ kind = separate }}')
    done = helper(PROGRAM, "--json", "--topology", TOPOLOGY / "optane-2-sockets.xml", "--config", config)
    why = "no two tiers here have these names or kinds: ignored; here are dram, pmem"
    said = f"hybridmem.conf:1: channels {pair}: {why}"
    assert json.loads(done.stdout)["warnings"] == ([] if "pmem" in pair else [said])


def test_fails_where_no_memory_may_be_used():
    done = helper(PROGRAM, "--json", "--topology", TOPOLOGY / "all-hidden.xml", status=3)
    assert "hides nodes 0-1" in done.stderr
    assert done.stdout == ""


def test_help_and_version():
    help_text = helper(PROGRAM, "--help").stdout
    for word in ("--json", "--topology", "--config", "Exit status", "fastest first"):
        assert word in help_text
    assert helper(PROGRAM, "--version").stdout.startswith("hybridmem ")


def test_json_has_exactly_the_promised_keys():
    found = tiers("optane-2-sockets")
    assert set(found) == {"tiers", "warnings"}
    assert found["warnings"] == []
    for tier in found["tiers"]:
        assert set(tier) == FIGURES | {"name", "nodes", "sockets", "origin"}
        assert set(tier["origin"]) == FIGURES | {"order"}
    dram, pmem = found["tiers"]
    assert (dram["name"], dram["kind"], dram["nodes"], dram["sockets"]) == ("dram", "dram", [0, 1], [0, 1])
    assert (pmem["name"], pmem["kind"], pmem["nodes"], pmem["sockets"]) == ("pmem", "pmem", [2, 3], [0, 1])
    assert (pmem["capacity_bytes"], pmem["read_latency_ns"], pmem["read_bandwidth_mbs"]) == (1536 * GIB, 304, 78000)
    assert pmem["free_bytes"] is None
    assert pmem["origin"] == {
        "kind": "hwloc",
        "capacity_bytes": "hwloc",
        "free_bytes": "unknown",
        "read_latency_ns": "hmat",
        "read_bandwidth_mbs": "hmat",
        "order": "hmat",
    }


def test_unknown_figures_are_null():
    (tier,) = tiers("one-node")["tiers"]
    assert tier["read_latency_ns"] is None
    assert tier["read_bandwidth_mbs"] is None
    assert tier["origin"]["read_bandwidth_mbs"] == "unknown"


@pytest.mark.parametrize("path", sorted(TOPOLOGY.glob("*.xml")), ids=lambda path: path.stem)
def test_every_fixture_gives_disjoint_tiers(path):
    if path.stem == "all-hidden":
        helper(PROGRAM, "--topology", path, status=3)
        return
    found = tiers(path.stem)["tiers"]
    nodes = [node for tier in found for node in tier["nodes"]]
    assert nodes
    assert len(nodes) == len(set(nodes))
    assert len({tier["name"] for tier in found}) == len(found)
    assert all(tier["capacity_bytes"] > 0 for tier in found)


def test_hbm_without_cpus_is_the_fast_tier():
    hbm, dram = tiers("hbm-flat-snc4")["tiers"]
    assert (hbm["kind"], hbm["nodes"]) == ("hbm", list(range(8, 16)))
    assert (dram["kind"], dram["nodes"]) == ("dram", list(range(8)))


def test_the_configuration_overrides(configure):
    conf = configure('tier "pmem" {\n  read_latency = 350\n  read_bandwidth = 60000\n}\n')
    dram, pmem = tiers("optane-2-sockets", "--config", conf)["tiers"]
    assert (pmem["read_latency_ns"], pmem["read_bandwidth_mbs"]) == (350, 60000)
    assert pmem["origin"]["read_latency_ns"] == "hybridmem.conf"
    assert dram["origin"]["read_latency_ns"] == "hmat"


def test_the_configuration_names_and_orders(configure):
    conf = configure('tier "near" { nodes = "2-3" kind = "cxl" }\ntier "far" { nodes = "0-1" }\n')
    near, far = tiers("memory-only-no-figures", "--config", conf)["tiers"]
    assert (near["name"], near["kind"], near["nodes"]) == ("near", "cxl", [2, 3])
    assert near["origin"]["kind"] == "hybridmem.conf"
    assert (far["name"], far["nodes"], far["origin"]["order"]) == ("far", [0, 1], "hybridmem.conf")


def test_warnings_are_in_the_json_and_the_table():
    name = "optane-dram-only-cpuset"
    (warning,) = tiers(name)["warnings"]
    assert "hides nodes 2-3" in warning
    assert f"warning: {warning}" in helper(PROGRAM, "--topology", TOPOLOGY / f"{name}.xml").stdout


def test_table_names_the_origin_of_each_number():
    text = helper(PROGRAM, "--topology", TOPOLOGY / "optane-2-sockets.xml").stdout
    lines = text.splitlines()
    assert " ".join(lines[0].split()) == "TIER KIND NODES SOCKETS CAPACITY FREE READ LATENCY READ BANDWIDTH"
    for words in ("dram (distance)", "0-1", "384.0 GiB (hwloc)", "unknown", "81 ns (hmat)", "204.0 GB/s (hmat)"):
        assert words in lines[1]
    assert "Socket 1 has nodes 1 of dram (192.0 GiB), 3 of pmem (768.0 GiB)" in text
    assert "Fastest first, by: hmat" in text


def test_memory_side_caches_are_said():
    assert "memory-side cache of 96.0 GiB" in helper(PROGRAM, "--topology", TOPOLOGY / "memory-mode.xml").stdout


def test_this_machine():
    found = json.loads(helper(PROGRAM, "--json").stdout)
    assert found["tiers"][0]["free_bytes"] > 0
    assert found["tiers"][0]["origin"]["free_bytes"] == "sysfs"
