# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem sites plan, with a profile whose figures are known."""

import json

import pytest
from siteprofiles import (
    MIB,
    PROFILE,
    SMALL,
    TOP,
    VALIDATOR,
    A,
    B,
    C,
    D,
    changed,
    lived,
    remove_accesses,
    sites,
    touched,
)

TOPOLOGY = TOP / "tests" / "fixtures" / "topology"
# The packer, the capacity, the sites, and the share that the fast tier serves
PLANS = [
    ("knapsack", "25%", [A], 0.4),
    ("knapsack", "50M", [A, B], 0.75),
    ("hotset", "25%", [A, B], 0.21875),  # 25 MiB find no room: at the worst A's and 15 MiB of B's
    ("thermos", "25%", [A], 0.4),  # B is worth less than what it may displace
    ("thermos", "50%", [A, B], 0.75),
    ("thermos", "100%", [A, B, C, D], 0.95),
    ("thermos", "0%", [], 0),
    ("gain", "25%", [A, B], 0.53125),  # B has the 15 MiB that A leaves
    ("gain", "50M", [A, B], 0.75),
    ("gain", "100%", [A, B, C, D], 0.95),
]


@pytest.mark.parametrize(("packer", "fast", "ids", "share"), PLANS)
def test_plans(packer, fast, ids, share):
    plan = json.loads(sites("plan", PROFILE, "--fast", fast, "--packer", packer, "--json").stdout)
    peaks = {site["id"]: site["peak_bytes"] for site in json.loads(PROFILE.read_text())["sites"]}
    assert plan["packer"] == packer and plan["fast"] == ids
    limited = plan["limited"] or {"id": None, "bytes": None}
    assert limited["bytes"] == (15 * MIB if (packer, fast) == ("gain", "25%") else None)
    peaks[limited["id"]] = limited["bytes"]
    assert plan["fast_bytes"] == sum(peaks[name] for name in ids)
    assert plan["capacity_bytes"] == (50 * MIB if fast == "50M" else int(fast[:-1]) * MIB)
    assert plan["expected_share"] == pytest.approx(share)
    assert plan["expected_share"] <= plan["bound_share"] + 1e-9


def test_a_plan_says_why():
    text = sites("plan", PROFILE, "--fast", "25%").stdout
    assert "expected  53.1 % of the accesses served by the fast tier; no choice that fits has more than 53.1 %" in text
    assert f"limit     site {B} has at most 15.0 MiB of its 40.0 MiB there" in text
    whys = {line.split()[0]: line for line in text.splitlines() if line.startswith("0000")}
    assert "accesses per byte" in whys[A] and " fast " in whys[A]
    assert "what the others leave" in whys[B] and " part " in whys[B]
    assert "others are worth more" in whys[C]
    assert "its accesses are not known" in whys[SMALL]


def test_sites_that_live_one_after_the_other_share_the_capacity(tmp_path):
    def change(profile):
        for site, (first, end) in zip(profile["sites"], [(0, 32), (0, 16), (16, 32), (16, 32)]):
            site["series"] = lived(first, end, site["peak_bytes"])

    path = changed(tmp_path, change)
    VALIDATOR.validate(json.loads(path.read_text()))
    plans = {
        name: json.loads(sites("plan", "--json", "--fast", "60M", "--packer", name, path).stdout)
        for name in ("gain", "thermos", "knapsack")
    }
    # A always, and B before C and D
    assert plans["gain"]["fast"] == [A, B, C, D] and plans["gain"]["expected_share"] == pytest.approx(0.95)
    assert plans["gain"]["fast_bytes"] == 59 * MIB
    assert all(plan["expected_share"] <= 0.95 for plan in plans.values())
    assert plans["knapsack"]["expected_share"] < 0.95 and plans["gain"]["bound_share"] == pytest.approx(0.95)


def test_sites_of_which_one_begins_when_the_other_has_ended_share_the_capacity(tmp_path):
    """Also in the part of the time that has the end of B, which is in the fast tier, and the beginning of C."""

    def change(profile, knows):
        for site, (first, end), alive in zip(
            profile["sites"], [(0, 32), (0, 17), (16, 32)], [(0, 1), (0, 0.51), (0.51, 1)]
        ):
            site["series"] = lived(first, end, site["peak_bytes"])
            site["alive"] = dict(zip(("from", "to"), alive)) if knows else None

    plans = []
    for knows in False, True:
        path = changed(tmp_path, lambda profile, knows=knows: change(profile, knows))
        VALIDATOR.validate(json.loads(path.read_text()))
        plans.append(json.loads(sites("plan", "--json", "--fast", "50M", path).stdout))
    assert not {A, B, C} <= set(plans[0]["fast"]) and set(plans[1]["fast"]) == {A, B, C}
    assert plans[1]["expected_share"] > plans[0]["expected_share"] and plans[1]["fast_bytes"] == 50 * MIB


def test_a_site_needs_room_for_what_it_touches(tmp_path):
    path = changed(tmp_path, lambda profile: touched(profile, *range(8)))
    VALIDATOR.validate(json.loads(path.read_text()))
    words = ("plan", "--fast", "15M", path)
    plan = json.loads(sites(*words, "--json", "--packer", "knapsack").stdout)
    assert plan["fast"] == [A, C] and plan["fast_bytes"] == 15 * MIB  # A's 10 MiB, and 5 of C's 20
    assert plan["expected_share"] == pytest.approx(0.55)
    assert plan["parts"] == [{"id": C, "slices": list(range(8)), "bytes": 5 * MIB}]
    text = sites(*words).stdout
    assert f"site {C} has 8 of its 32 slices there, 5.0 MiB of its 20.0 MiB" in text
    assert " fast " in next(line for line in text.splitlines() if line.startswith(C))
    assert json.loads(sites("plan", "--json", "--fast", "20%", path).stdout)["capacity_bytes"] == 17 * MIB
    page = sites("show", "--html", "-", path).stdout  # 84 MiB are used, and 1 MiB of small allocations
    assert 'data-tip="85.0 MiB: accesses 95.0 %"' in page and ">5.0 MiB<" in page


def written(profile):
    """B has more accesses per byte than C, but is read alone, and C is written alone."""
    for site, writes in zip(profile["sites"], (0, 0, 150, 0)):
        site.update(writes=writes, reads=site["accesses"] - writes)


def test_writes_count_as_much_more_as_they_cost(tmp_path):
    path = changed(tmp_path, written)
    words = ("plan", path, "--fast", "30M", "--json")
    assert json.loads(sites(*words).stdout)["fast"] == [A, B]
    plan = json.loads(sites(*words, "--topology", TOPOLOGY / "optane-2-sockets.xml").stdout)
    assert plan["write_cost"] > plan["read_cost"] > 1 and plan["bandwidth_mbs"] is None
    assert plan["fast"] == [A, C]
    assert plan["expected_share"] == pytest.approx(0.55)
    text = sites("plan", path, "--fast", "30M", "--topology", TOPOLOGY / "optane-2-sockets.xml").stdout
    assert f"costs {plan['read_cost']:.3g} times as much, a write to it {plan['write_cost']:.3g} times" in text


def test_both_tiers_serve_where_they_have_channels_of_their_own():
    words = ("plan", PROFILE, "--fast", "100%", "--topology", TOPOLOGY / "hbm-flat-snc4.xml")
    plan = json.loads(sites(*words, "--json").stdout)
    # 1600 and 560 GB/s: 74 % of the accesses to the fast tier would be best, and A and B have 75 %
    assert plan["fast"] == [A, B] and plan["bandwidth_mbs"] == pytest.approx(1600000 / 0.75)
    all_fast = json.loads(sites(*words, "--json", "--packer", "knapsack").stdout)
    assert all_fast["fast"] == [A, B, C, D] and all_fast["bandwidth_mbs"] < plan["bandwidth_mbs"]
    text = sites(*words).stdout
    assert "bandwidth 2133.3 GB/s of both tiers together" in text
    assert "the slow tier's bandwidth" in next(line for line in text.splitlines() if line.startswith(C))


def test_a_node_with_one_tier_has_no_costs():
    done = sites("plan", PROFILE, "--fast", "50%", "--topology", TOPOLOGY / "one-node.xml", status=1)
    assert done.stderr == "hybridmem sites plan: this node has one tier only: there are no costs to count\n"


def test_a_plan_says_what_the_guide_cannot_place(tmp_path):
    """A size class needs a program with a build-id."""
    path = tmp_path / "profile.json"
    made = json.loads(PROFILE.read_text())
    made["program"]["build_id"] = None
    small = next(site for site in made["sites"] if site["class_bytes"])
    small.update(reads=9.0, writes=0.0, accesses=9.0, samples=9.0, confidence={"low": 0.0, "high": 1.0})
    path.write_text(json.dumps(made))
    text = " ".join(sites("plan", path, "--fast", "100%").stdout.split())
    why = "the profile has a part of their size class, or no build-id"
    assert f"guide 1 of these sites stays in the slow tier with hybridmem sites guide: {why}" in text
    assert "guide" not in sites("plan", PROFILE, "--fast", "100%").stdout


def test_a_plan_without_accesses_is_refused(tmp_path):
    path = changed(tmp_path, lambda profile: remove_accesses(profile, why="perf is not allowed here"))
    VALIDATOR.validate(json.loads(path.read_text()))
    done = sites("plan", "--fast", "25%", path, status=1)
    assert done.stderr == f"hybridmem sites plan: {path} has no accesses to plan by: perf is not allowed here\n"
    assert "accesses were not sampled: perf is not allowed here" in sites("show", path).stdout


def test_a_run_too_short_for_samples_is_told_from_one_without_a_source(tmp_path):
    """The profile's `why` says why there was no better source, and not why this one has no samples."""

    def change(profile):
        remove_accesses(profile, source="clock", why="perf: no PMU", samples=0, elsewhere=0, lost=0)
        profile["elapsed_s"] = 0.0175

    path = changed(tmp_path, change)
    VALIDATOR.validate(json.loads(path.read_text()))
    why = "clock took no sample in 0.0175 s: the program has to run for longer"
    done = sites("plan", "--fast", "25%", path, status=1)
    assert done.stderr == f"hybridmem sites plan: {path} has no accesses to plan by: {why}\n"
    assert f"accesses were not sampled: {why}" in sites("show", path).stdout
