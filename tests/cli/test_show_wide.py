# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem show of a job on many nodes: one block for all, and the nodes that stand out."""

import json
import random

from makerecords import GIB, record, write
from showing import show
from viewing import peak_kib


def wide(folder, nodes=300):
    """A job of which n7 had most memory, n8 least, n9 failed, and n10 to n15 had a warning."""
    made = [record(5, node=f"n{number}") for number in range(nodes)]
    made[7]["memory"]["peak_bytes"], made[8]["memory"]["peak_bytes"] = 9 * GIB, GIB
    made[9]["exit_code"] = 137
    for one in made[10:16]:
        one["warnings"] = ["the monitor ended early"]
    write(folder, *made)
    return made


def nodes_of(text):
    return [line.split()[1] for line in text.splitlines() if line.startswith("Node ")]


def test_many_nodes_are_summed_up_and_those_that_stand_out_are_shown(tmp_path):
    wide(tmp_path)
    text = show(tmp_path, "5").stdout
    assert "\n  nodes        300\n" in text and "\n  plan         spill, policy interleave\n" in text
    peaks = f"largest 9.0 GiB on n7, least 1.0 GiB on n8, sum of 300 nodes {298 * 4 + 10:.1f} GiB"
    assert f"\n  memory       peak: {peaks.replace('1202.0 GiB', '1.2 TiB')}" in text
    assert "\n  warning      the monitor ended early (6 times)\n" in text
    assert nodes_of(text) == ["n10", "n7", "n8", "n9"]
    assert "\n296 nodes more; " in text and "--nodes all shows all, --nodes NAME,... some.\n" in text
    assert text.count("\n") < 100


def test_all_nodes_are_shown_where_they_are_few_or_wanted(tmp_path):
    made = wide(tmp_path, 20)
    assert len(nodes_of(show(tmp_path, "--nodes", "all", "5").stdout)) == 20
    some = show(tmp_path, "--nodes", "n2,n11", "5").stdout
    assert nodes_of(some) == ["n11", "n2"]
    advice = [line for line in show(tmp_path, "--nodes", "all", "5").stdout.splitlines() if "advice" in line]
    assert [line for line in some.splitlines() if "advice" in line] == advice, "it is on the whole job"
    assert len(json.loads(show(tmp_path, "--json", "5").stdout)) == len(made)
    said = show(tmp_path, "--nodes", "n2,n77", "5", status=1).stderr
    assert said == "hybridmem show: the job has no record of node n77\n"
    assert "--nodes is for the text" in show(tmp_path, "--nodes", "all", "--json", "5", status=2).stderr
    write(tmp_path, *(record(6, node=f"n{number}") for number in range(8)))
    text = show(tmp_path, "6").stdout
    assert len(nodes_of(text)) == 8 and "nodes more" not in text


def test_the_use_over_time_of_many_nodes_is_not_in_memory(tmp_path):
    """A record's 2 * 1024 points take 80 KiB as a list of Python's."""
    made, chance = record(5), random.Random(1)
    for tier in made["memory"]["tiers"]:
        tier["series"] = [chance.randrange(1 << 36) for _ in range(1024)]
    for name, nodes in (("few", 10), ("many", 500)):
        write(tmp_path / name, *({**made, "node": f"n{number}"} for number in range(nodes)))
    few, _ = peak_kib(tmp_path / "few", "5", program="hybridmem-show")
    many, found = peak_kib(tmp_path / "many", "5", program="hybridmem-show")
    assert found == [{**made, "node": f"n{number}"} for number in sorted(range(500), key=str)]
    assert many - few < 490 * 40
