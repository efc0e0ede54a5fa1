# SPDX-License-Identifier: Apache-2.0
"""Tests advice: each rule speaks if its figures say so, names them, and is silent if one is missing."""

import copy
import hashlib
import json
import re
import sys
from pathlib import Path

import pytest
from installed import DATA, helper
from makerecords import GIB, NO_MIGRATION, record, tier, write

sys.path.insert(0, str(DATA / "python"))
from hybridmem import layout, rules
from hybridmem.figures import Figures

MIB = 1 << 20


def two_tiers(fast, slow, capacity=16 * GIB, **parts):
    """A record's memory, in which each tier's mean is its peak; `parts` replace figures of the fast tier."""
    tiers = [tier("dram", [0], fast, fast, 0, capacity), tier("pmem", [1], slow, slow, 0, 8 * 16 * GIB)]
    tiers[0].update(parts)
    return {"peak_bytes": None if None in (fast, slow) else fast + slow, "tiers": tiers}


def migrated(**changes):
    figures = {"samples": 5000, "phases": 40, "interval_s": 2.5, "cpu_s": 3.0, "fast_share": 0.6, "best_share": 0.8}
    return {**NO_MIGRATION, **figures, "regret": 0.2, "unmoved": {"busy": 0, "room": 0}, **changes}


def traffic(read, written, dram=()):
    return {
        "tiers": [{"name": "dram", **dict(dram)}, {"name": "pmem", "read_bytes": read, "write_bytes": written}],
        "source": "perf",
    }


# rule: (a record for which it speaks, the advised mode, its sentence, changes that make it silent)
SPEAK = {
    "fits": (
        {"mode": "interleave", "memory": two_tiers(0, 12 * GIB)},
        "fast",
        "mode fast would have done on a node of its own: peak 12.0 GiB of 16.0 GiB fast memory, and 12.0 GiB of it was "
        "in the slow tier",
        [
            {"memory": two_tiers(3 * GIB, 12 * GIB)},
            {"memory": two_tiers(0, 12 * GIB, None)},
            {"memory": {**two_tiers(0, 12 * GIB), "peak_bytes": 15 * GIB}},
            {"memory": two_tiers(None, 12 * GIB)},
            {"memory": two_tiers(0, 15 * MIB)},
            *({"mode": mode} for mode in ("fsdax", "slow", "pmem", "cxl")),
            *({"exit_code": code} for code in (137, 143)),
            {"memory": None},
        ],
    ),
    "killed": (
        {"mode": "fast", "exit_code": 137, "memory": two_tiers(12 * GIB, 0)},
        "spill",
        "it was killed (signal 9) with a peak of 12.0 GiB of 16.0 GiB fast memory, not all of which is there for jobs: "
        "it may have run out of it, where spill goes on in the slow tier",
        [
            {"exit_code": 1},
            {"exit_code": None},
            {"mode": "spill"},
            {"exit_code": 143},
            {"memory": two_tiers(12 * GIB - 1, 0)},
            {"memory": two_tiers(15 * GIB, 0, None)},
        ],
    ),
    "unspilled": (
        {"mode": "spill", "memory": two_tiers(3 * GIB, 2 * MIB)},
        "fast",
        "spill never spilled: at most 3.0 GiB in the fast tier, 2.0 MiB in the slow one; fast does the same, and the "
        "slow tier is left to others",
        [
            {"mode": "interleave"},
            {"memory": two_tiers(3 * GIB, None)},
            {"memory": two_tiers(None, 0)},
            {"memory": two_tiers(3 * GIB, 16 * MIB)},
            {"memory": two_tiers(16 * MIB - 1, 0)},
            {"memory": {"tiers": [tier("dram", [0], GIB, GIB)]}},
            {"memory": two_tiers(384 * GIB - MIB, 0, 384 * GIB)},  # the tier is full: fast would have ended the job
            {"memory": two_tiers(3 * GIB, 2 * MIB, None)},
            *({"exit_code": code} for code in (137, 143)),
        ],
    ),
    "unmoved": (
        {"mode": "migrate", "memory": two_tiers(3 * GIB, 0), "migration": migrated(regret=0.0)},
        "fast",
        "migrate had nothing to do: at most 3.0 GiB, all of it in the fast tier; fast saves the migrator's 3.0 s of "
        "CPU time",
        [
            {"mode": "spill", "memory": two_tiers(3 * GIB, GIB)},
            {"migration": migrated(regret=0.0, cpu_s=None)},
            {"memory": two_tiers(16 * MIB - 1, 0)},
            {"memory": two_tiers(15 * GIB, 0)},
            {"memory": two_tiers(3 * GIB, 0, None)},
            {"exit_code": 137},
            {"migration": None},
        ],
    ),
    "room": (
        {"mode": "interleave", "memory": two_tiers(9 * GIB, 9 * GIB)},
        "spill",
        "9.0 GiB of 16.0 GiB fast memory was used at most, with 9.0 GiB in the slow tier on the mean: spill fills the "
        "fast tier first",
        [
            *({"mode": mode} for mode in ("spill", "slow", "pmem", "cxl")),
            {"memory": two_tiers(11 * GIB, 9 * GIB)},
            {"memory": two_tiers(4 * GIB, 9 * GIB), "mode": "off"},
            {"memory": two_tiers(9 * GIB, None)},
            {"memory": two_tiers(9 * GIB, 9 * GIB, None)},
        ],
    ),
    "cache": (
        {"mode": "spill", "memory": two_tiers(15 * GIB, 4 * GIB, None, anon_bytes=6 * GIB, file_bytes=9 * GIB)},
        "migrate",
        "9.0 GiB of its 15.0 GiB in the fast tier was page cache, while 4.0 GiB of the program's own was in the slow "
        "one: migrate gives the cache's room to the program; or have the program drop what it has read (posix_fadvise)",
        [
            {"memory": two_tiers(15 * GIB, 4 * GIB, None, anon_bytes=9 * GIB, file_bytes=6 * GIB)},
            {"memory": two_tiers(15 * GIB, 4 * GIB, None, anon_bytes=None, file_bytes=9 * GIB)},
            {"memory": two_tiers(15 * GIB, 15 * MIB, None, anon_bytes=6 * GIB, file_bytes=9 * GIB), "mode": "fast"},
            {"mode": "migrate"},
        ],
    ),
    "regret": (
        {"mode": "migrate", "migration": migrated()},
        "spill",
        "the fast tier served 60 %, the best known placement 80 %: what is hot changed faster than it was moved; see "
        "if spill is as fast for this program",
        [
            {"migration": migrated(regret=0.09)},
            {"migration": migrated(regret=None)},
            {"migration": migrated(samples=999)},
            {"migration": migrated(fast_share=0.8)},
            {"migration": migrated(phases=None)},
            {"migration": 7},
        ],
    ),
    "writes": (
        {"mode": "spill", "traffic": traffic(GIB, 3 * GIB)},
        "isolate",
        "3.0 GiB was written to the slow tier and 1.0 GiB read: isolate keeps written data in the fast tier",
        [
            {"traffic": traffic(3 * GIB, 3 * GIB)},
            {"traffic": traffic(0, GIB - 1)},
            {"traffic": traffic(None, 3 * GIB)},
            {"mode": "isolate"},
        ],
    ),
}


GUIDED = {"expected_share": 0.8, "seen_share": 0.7, "seen_source": "estimate from 9 samples", "reason": None}
COUNTED = {**GUIDED, "seen_source": "bytes of the whole job, all its steps: perf-imc"}
UNGUIDED = {"reason": "there is no profile of the build a1 of ./app", "fallback": "migrate"}
LEFT = {"file": "/home/a/9.0.json", "method": "sample"}
SPEAK |= {
    "profiled": (
        {"mode": "profile", "memory": two_tiers(14 * GIB, 12 * GIB), "profile": LEFT},
        "guided",
        "it has left a profile, and its peak of 26.0 GiB is more than 16.0 GiB of fast memory can hold, with 12.0 GiB "
        "in the slow tier: guided has the sites that are used most in the fast one",
        [
            {"mode": "guided"},  # that of guided,online
            {"profile": {"file": None, "method": "mbi"}},
            {"profile": None},
            {"memory": two_tiers(2 * GIB, 12 * GIB)},
            {"memory": two_tiers(16 * GIB, 15 * MIB)},
            {"memory": two_tiers(14 * GIB, 12 * GIB, None)},
            {"memory": two_tiers(14 * GIB, None)},
            *({"exit_code": code} for code in (137, 143)),
        ],
    ),
    "unprofiled": (
        {"mode": "migrate", "memory": two_tiers(14 * GIB, 12 * GIB), "guided": UNGUIDED},
        "profile",
        "it ran as with migrate, as there is no profile of its program: one job with profile makes it, and guided "
        "finds it then",
        [
            {"guided": {**UNGUIDED, "fallback": None}},
            {"guided": {**UNGUIDED, "reason": "./app is linked statically"}},
            {"guided": {**UNGUIDED, "reason": None}},
            {"memory": two_tiers(3 * GIB, 0)},
            {"guided": None},
        ],
    ),
    "misguided": (
        {"mode": "guided", "guided": GUIDED, "migration": migrated(regret=0.0)},
        "profile",
        "the fast tier served 70 % of the samples, the profile expected 80 %, and the migrator could not mend it: make "
        "a new profile",
        [
            {"guided": {**GUIDED, "seen_share": 0.71}},
            {"guided": {**GUIDED, "seen_share": None}},
            {"guided": {**GUIDED, "expected_share": None}},
            {"guided": {**GUIDED, "online": {"decisions": 3}}},
            {"migration": migrated(regret=0.0, samples=999)},
            {"migration": None},
            {"guided": None},
        ],
    ),
}


def given(changes):
    return rules.opinion(Figures(record(1, **copy.deepcopy(changes)))).advice


def test_there_is_a_case_of_every_rule():
    assert set(SPEAK) == {rule.name for rule in rules.RULES}


@pytest.mark.parametrize("rule", SPEAK)
def test_a_rule_speaks(rule):
    changes, wanted, why, _ = SPEAK[rule]
    assert given(changes) == (rule, wanted, why)


# Parts of further records, as a history has more columns than rules read: names, failures, memory, energy and traffic.
ROWS = (
    {"array_job_id": 7, "array_task_id": 3, "restart_count": 2, "user": "a\0b", "account": "\ud800", "shared": True},
    {"het_job_id": 1, "partition": 7, "plan": None, "request": "fast,size=1G", "end": "yesterday", "elapsed_s": 1e300},
    {"exit_code": 137, "warnings": ["12 of 13", "12 of 14", "x" * 300, "refused: 5 GiB", "a\nb"]},
    {
        "exit_code": 3,
        "memory": {"tiers": [tier("dram", [0], 1 << 60, 2.5), tier("", [1], -1, 7), tier("pmem", [2], 9, 9)]},
    },
    {
        "shared": False,
        "energy": {
            **{"package_j": 1234.5678915, "memory_j": 0.1, "peak_w": 7.25, "node": {"seconds": 3600.25}},
            "estimate": {"tiers": [{"static_j": 0.5, "dynamic_j": None}, {"static_j": 2, "dynamic_j": 3}]},
        },
        "traffic": {
            **traffic(3, 5, dram={"read_bytes": 1, "write_bytes": 2}),
            "job": {"total_bytes": 5, "local_bytes": 3},
        },
    },
)


def test_changed_columns_of_a_history_need_a_new_form():
    """A history keeps the rows that were made of records. If this fails, what row() makes has changed: increase
    layout.FORM, and put the new number and the new digest here."""
    changes = [*ROWS, *({**case[0], **silence} for case in SPEAK.values() for silence in ({}, *case[3]))]
    made = [layout.row(record(1, **copy.deepcopy(one)), "2025-03-01", "n1.jsonl", 1, "") for one in changes]
    assert (layout.FORM, hashlib.blake2b(repr(made).encode(), digest_size=4).hexdigest()) == (6, "32292e50")


@pytest.mark.parametrize(
    ("rule", "changes"), [(rule, {**case[0], **silence}) for rule, case in SPEAK.items() for silence in case[3]]
)
def test_a_rule_is_silent(rule, changes):
    assert (given(changes) or (None,))[0] != rule


@pytest.mark.parametrize(
    ("changes", "wanted", "part"),
    [
        ({"phases": 3}, "migrate,interval=...", "with 3 decisions, at most one every 2.5 s: a shorter interval= gives"),
        ({"phases": 3, "interval_s": None}, "migrate,interval=...", "with 3 decisions: a shorter"),
        ({"unmoved": {"busy": 5 * GIB, "room": 1}}, "migrate", "the kernel did not move 5.0 GiB: it is pinned"),
        ({"unmoved": {"shared": GIB}}, "migrate", "did not move 1.0 GiB: it is shared by several processes"),
        ({"unmoved": {"news": GIB}}, "migrate", "did not move 1.0 GiB: news"),
        ({"unmoved": None, "cap_bytes": GIB}, "migrate,fast=...", "ask for a larger fast=, if the site allows it"),
        ({"unmoved": None, "cap_bytes": GIB}, "migrate,fast=...", "%, with 1.0 GiB of fast memory at most: ask "),
    ],
)
def test_why_a_migrator_was_far_from_the_best(changes, wanted, part):
    found = given({"mode": "migrate", "migration": migrated(**changes)})
    assert (found.rule, found.wanted) == ("regret", wanted) and part in found.why


def test_where_nobody_moves_what_a_profile_got_wrong_a_migrator_is_advised():
    said = given({"mode": "guided", "guided": COUNTED})
    assert said[:2] == ("misguided", "guided,migrate")
    assert said.why == (
        "the fast tier served 70 % of the job's bytes, the profile expected 80 % of the accesses: a migrator mends "
        "that, or make a new profile"
    )


def test_keys_of_a_migrator_beside_guidance_are_advised_with_it():
    said = given({"mode": "guided", "migration": migrated(phases=3)})
    assert (said.rule, said.wanted) == ("regret", "guided,migrate,interval=...")


@pytest.mark.parametrize(("stuck", "is_why"), [(8 << 10, False), (128 * MIB - 1, False), (128 * MIB, True)])
def test_what_the_kernel_did_not_move_has_to_explain_the_gap(stuck, is_why):
    """The best placement serves 75 % from 768 MiB: half of the gap of 25 points is 128 MiB."""
    figures = migrated(fast_share=0.5, best_share=0.75, regret=0.25, unmoved={"busy": stuck, "room": 1})
    made = {"mode": "migrate", "memory": two_tiers(768 * MIB, GIB, None), "migration": figures}
    found = given(made)
    assert (found.wanted, "it is pinned" in found.why) == (("migrate", True) if is_why else ("spill", False))
    assert given({**made, "memory": two_tiers(None, GIB)}) is None


@pytest.mark.parametrize(
    ("charged", "held", "said"),
    [
        (307 * MIB, (150 * MIB, 150 * MIB), "peak 307.0 MiB of 512.0 MiB"),
        (307 * MIB, (150 * MIB, 170 * MIB), "peak 320.0 MiB of 512.0 MiB"),  # huge pages that are not charged
        (None, (150 * MIB, 150 * MIB), "peak 300.0 MiB of 512.0 MiB"),
        (307 * MIB, (None, 150 * MIB), "peak 307.0 MiB of 512.0 MiB"),
        (None, (None, 150 * MIB), None),
        (470 * MIB, (150 * MIB, 150 * MIB), None),
    ],
)
def test_a_page_that_was_moved_counts_once(charged, held, said):
    """The tiers had their peaks of 256 MiB at different moments."""
    memory = {**two_tiers(256 * MIB, 256 * MIB, 512 * MIB), "peak_bytes": charged}
    for one, bytes_held in zip(memory["tiers"], held):
        one["anon_bytes"] = bytes_held
    found = given({"mode": "migrate", "memory": memory})
    assert (found and found.why.partition(": ")[2].partition(" fast")[0]) == said


def test_a_job_that_did_well_gets_no_advice():
    for mode in ("off", "fast", "none", "spill", "fsdax"):
        assert given({"mode": mode, "memory": two_tiers(14 * GIB, 9 * GIB)}) is None, mode


def test_one_mode_at_most_is_advised():
    """The rules "fits" and "writes" would both speak for the second of these jobs."""
    fits = SPEAK["fits"][0]
    writes = {"traffic": traffic(GIB, 3 * GIB)}
    assert given({"mode": "interleave", **writes}).wanted == "isolate"
    assert given({**fits, **writes}).wanted == "fast"
    assert given({"mode": "slow", "memory": fits["memory"], **writes}).wanted == "isolate"


NODES = [0, 1, 2, 3]  # both tiers on both sockets


@pytest.mark.parametrize("rule", ["fits", "killed", "room"])
@pytest.mark.parametrize(
    ("request_text", "nodes", "knows"),
    [
        ("", NODES, True),
        ("", None, True),
        (",socket=all", [2, 3], True),
        (",socket=all", [], True),
        (",socket=local", NODES, True),  # a node with one socket
        (",socket=local", [0, 2], False),
        (",socket=remote", [1, 3], False),
        (",fast=2G,socket=local", [2], False),
        (",socket=local", [], False),
        ("", [0], False),  # as if a cpuset leaves only node 0
    ],
)
def test_the_capacity_is_that_of_the_jobs_sockets(rule, request_text, nodes, knows):
    """The record has figures of all sockets: nothing is known of a part of them."""
    made = copy.deepcopy(SPEAK[rule][0])
    for one, of_tier in zip(made["memory"]["tiers"], ([0, 1], [2, 3])):
        one["nodes"] = of_tier
    whole = record(1, **made)
    whole["request"] += request_text
    whole["plan"] = None if nodes is None else {**whole["plan"], "nodes": nodes}
    said = rules.opinion(Figures(whole)).advice
    assert (said and said.rule) == (rule if knows else None)


MIXED = {"mode": "interleave", "memory": two_tiers(0, 12 * GIB)}  # fast would have done
# no rule speaks, and with fast the job would be killed
LARGE = {"mode": "interleave", "memory": two_tiers(13 * GIB, 9 * GIB)}
SMALL = {"mode": "interleave", "memory": two_tiers(MIB, 0)}  # no rule speaks, and fast would have done
UNSPILLED = {"mode": "spill", "memory": two_tiers(GIB, 0)}
WRITTEN = {"mode": "spill", "memory": two_tiers(13 * GIB, 40 * GIB), "traffic": traffic(GIB, 3 * GIB)}
FULL = {"mode": "spill", "memory": two_tiers(15 * GIB, 40 * GIB)}
REGRET, CALM = SPEAK["regret"][0], {"mode": "migrate", "migration": migrated(regret=0.01)}
# What is special about a job's nodes: (a part of each node's record, (rule, advised mode, nodes on which it holds)).
RUNS = {
    "one that fast cannot hold": ([MIXED] * 63 + [LARGE], None),
    "one without advice that fast can hold": ([MIXED, SMALL, MIXED], ("fits", "fast", ["n1", "n3"])),
    "one that is full and does not spill": ([MIXED, {"mode": "interleave", "memory": two_tiers(15 * GIB, MIB)}], None),
    "one that was not measured": ([MIXED, {**MIXED, "memory": None}], None),
    "one that was killed": ([MIXED, {**MIXED, "exit_code": 137}], None),
    "one whose capacity is not known": ([MIXED, {**MIXED, "memory": two_tiers(GIB, GIB, None)}], None),
    "one that spilled": ([FULL, UNSPILLED], None),
    "none that spilled": ([UNSPILLED, UNSPILLED], ("unspilled", "fast", ["n1", "n2"])),
    "one that ran full": ([SPEAK["killed"][0], {"mode": "fast"}, {"mode": "fast"}], ("killed", "spill", ["n1"])),
    "one with room left": ([LARGE, SPEAK["room"][0], LARGE], ("room", "spill", ["n2"])),
    "one with page cache": ([FULL, FULL, SPEAK["cache"][0]], ("cache", "migrate", ["n3"])),
    "half that write": ([WRITTEN, FULL], None),
    "more that write": ([WRITTEN, FULL, WRITTEN], ("writes", "isolate", ["n1", "n3"])),
    "half with regret": ([REGRET, CALM], None),
    "more with regret": ([REGRET, REGRET, CALM], ("regret", "spill", ["n1", "n2"])),
    "some that write, most that can be fast": ([WRITTEN, UNSPILLED, UNSPILLED], None),
}


@pytest.mark.parametrize("run", RUNS)
def test_on_how_many_nodes_a_rule_has_to_hold(run, tmp_path):
    """The view counts the same nodes as rules.advise_run, which show and the job's own page use."""
    parts, expected = RUNS[run]
    found = [record(1, **copy.deepcopy(part), node=f"n{number}") for number, part in enumerate(parts, 1)]
    said = rules.advise_run(found)
    assert (said and (said[0].rule, said[0].wanted, said[1])) == expected
    write(tmp_path, *found, record(2, mode="off"))
    answer = json.loads(helper("hybridmem-report", "--records", tmp_path, "--view", "advice", "--json").stdout)
    rows = [(row["job"], row["rule"], row["wanted"], row["nodes"], row["node_hours"]) for row in answer["rows"]]
    of_job = expected and [("1", *expected[:2], len(expected[2]), 1.0 * len(expected[2]))]
    assert rows == (of_job or []) and answer["rows_left_out"] == 0


def test_the_man_page_says_on_how_many_nodes_a_rule_has_to_hold():
    text = (Path(__file__).resolve().parents[2] / "site-docs" / "man" / "hybridmem-report.1").read_text()
    listed = re.findall(r"^\.TP\n\.B (\w+)\n(all|any|most): .* \(wants ", text, re.MULTILINE)
    assert listed == [(rule.name, rule.needs) for rule in rules.RULES]


@pytest.fixture
def contrary(tmp_path):
    """A job of four nodes: fast would have done on two of them, and would not be enough on the others."""
    some = {"mode": "interleave", "memory": two_tiers(0, 12 * GIB)}
    more = {"mode": "interleave", "memory": two_tiers(9 * GIB, 10 * GIB), "elapsed_s": 7200.0}
    parts = (("n1", some), ("n2", more), ("n3", some), ("n4", {**more, "memory": two_tiers(9 * GIB, 9 * GIB)}))
    write(tmp_path, *(record(1, **copy.deepcopy(part), node=node) for node, part in parts))
    return tmp_path


def test_a_job_of_contrary_nodes_gets_one_advice_not_fast(contrary):
    done = helper("hybridmem-report", "--records", contrary, "--view", "advice", "--json")
    [row] = json.loads(done.stdout)["rows"]
    assert (row["rule"], row["wanted"], row["nodes"], row["node_hours"]) == ("room", "spill", 2, 4.0)
    assert row["why"].startswith("9.0 GiB of 16.0 GiB fast memory was used at most, with 10.0 GiB")
    text = helper("hybridmem-show", "--records", contrary, "1").stdout
    [line] = [line for line in text.splitlines() if line.startswith("  advice")]
    assert "spill fills the fast tier first (node n2, and 1 more of its nodes)" in line


def test_the_view_has_a_row_for_each_job_with_advice(tmp_path):
    mixed = {"mode": "interleave", "memory": two_tiers(0, 12 * GIB)}
    write(
        tmp_path,
        record(1, **copy.deepcopy(mixed), node="n1"),
        record(1, **copy.deepcopy(mixed), node="n2", traffic=traffic(0, 9 * GIB)),
        record(2, mode="off"),
        record(3, mode="slow", memory=two_tiers(0, 12 * GIB), traffic=traffic(0, 9 * GIB)),
        record(4, **copy.deepcopy(SPEAK["profiled"][0])),  # a job that would gain by guidance
    )
    done = helper("hybridmem-report", "--records", tmp_path, "--view", "advice", "--json")
    rows = json.loads(done.stdout)["rows"]
    assert [(row["job"], row["rule"], row["wanted"], row["nodes"], row["node_hours"]) for row in rows] == [
        ("1", "fits", "fast", 2, 2.0),
        ("3", "writes", "isolate", 1, 1.0),
        ("4", "profiled", "guided", 1, 1.0),
    ]
    text = helper("hybridmem-report", "--records", tmp_path, "--view", "advice").stdout
    assert "peak 12.0 GiB of 16.0 GiB" in text
