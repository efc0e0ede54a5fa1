# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem sites show, plan and check, with a profile whose figures are known."""

import json
from pathlib import Path

import jsonschema
import pytest
from installed import helper

TOP = Path(__file__).resolve().parents[2]
PROFILE = TOP / "tests" / "fixtures" / "sites" / "stencil.json"
SCHEMA = json.loads((TOP / "site-docs" / "sites.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
A, B, C, D, SMALL = (f"{number:016x}" for number in (0xA1, 0xB2, 0xC3, 0xD4, 0xE5))
MIB = 1 << 20
TOPOLOGY = TOP / "tests" / "fixtures" / "topology"


def give_accesses(site, number):
    """Has a site of a profile so many accesses, all of them sampled reads."""
    site.update(reads=number, writes=0, accesses=number, samples=number, confidence={"low": 0, "high": 1})


def sites(*words, status=0):
    return helper("hybridmem-sites", *words, status=status)


def changed(tmp_path, change):
    """The profile with a change, as a file."""
    profile = json.loads(PROFILE.read_text())
    change(profile)
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(profile))
    return path


def objects(schema, path="profile"):
    """The schemas of all objects, with their places."""
    if schema.get("type") == "object":
        yield path, schema
    for name, part in schema.get("properties", {}).items():
        yield from objects(part, f"{path}.{name}")
    for part in schema.get("oneOf", [schema["items"]] if "items" in schema else []):
        yield from objects(part, f"{path}[]")


def test_the_schema_requires_and_describes_each_key():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    found = dict(objects(SCHEMA))
    assert len(found) == 11
    for place, schema in found.items():
        assert schema["additionalProperties"] is False
        assert sorted(schema["required"]) == sorted(schema["properties"]), place
        assert all("description" in part or "items" in part for part in schema["properties"].values()), place


def test_show_has_the_profile_in_the_form_of_the_schema():
    shown = json.loads(sites("show", "--json", PROFILE).stdout)
    VALIDATOR.validate(shown)
    assert shown == json.loads(PROFILE.read_text())
    for site in shown["sites"]:
        assert {"id", "frames", "allocations", "peak_bytes", "mean_bytes", "accesses", "confidence"} <= set(site)


def test_show_lists_the_most_used_first():
    lines = sites("show", PROFILE).stdout.splitlines()
    assert lines[0] == "5 sites, 100.0 MiB at their peak, in 12.5 s"
    assert lines[1] == "1000 samples by clock; 5.0 % of the accesses were to memory of none of these sites"
    assert [line.split()[0] for line in lines[4:]] == [A, B, C, D, SMALL]
    assert lines[4].split() == [
        *(A, "1", "10.0", "MiB", "-", "10.0", "MiB", "12.2", "s", "40.0", "%", "37.0", "to", "43.1"),
        *("stencil+0x11e9", "<", "stencil+0x1270"),
    ]
    assert lines[8].endswith("all of up to 64 B")


def test_the_page_has_the_curve_and_the_sites(tmp_path):
    path = tmp_path / "page.html"
    assert sites("show", "--html", path, PROFILE).stdout == ""
    text = path.read_text()
    # A's 10 MiB and 15 of B's 40 MiB have 40 % and 15/40 of 35 %
    assert "25.0 MiB of fast memory, 25 % of the sites&#x27; peaks, can serve 53.1 % of the accesses" in text
    assert text.count("data-tip=") == 64 and 'data-tip="100.0 MiB: accesses 95.0 %"' in text
    for site in json.loads(PROFILE.read_text())["sites"]:
        assert site["id"] in text
    assert "stencil+0x11e9 &lt; stencil+0x1270" in text and "37.0 to 43.1 %" in text
    assert "http:" not in text and "https:" not in text and "src=" not in text
    assert sites("show", "--html", "-", PROFILE).stdout == text


def test_the_page_has_the_slices_of_the_most_used_sites(tmp_path):
    def change(profile):
        for site in profile["sites"][:2]:
            site["slices"] = {"step_bytes": None, "extent_bytes": None, "accesses": [0.0] * 31 + [8.0], "samples": 8.0}
        profile["sites"][1]["slices"].update(step_bytes=MIB, extent_bytes=5 * MIB // 2, accesses=[6.0, 0.0, 2.0])

    path = changed(tmp_path, change)
    VALIDATOR.validate(json.loads(path.read_text()))
    text = sites("show", "--html", "-", path).stdout
    assert 'data-tip="97 to 100 % of each allocation: of its accesses 100.0 %"' in text
    assert 'data-tip="2.0 MiB to 2.5 MiB: of its accesses 25.0 %"' in text and text.count("data-tip=") == 64 + 3


def test_the_page_escapes_what_a_profile_has(tmp_path):
    def change(profile):
        profile["program"]["command"] = profile["objects"][0]["path"] = "</p><script>alert(1)</script>"
        profile["sampling"]["source"] = "<b>clock"
        profile["start"] = "<i>2026"

    text = sites("show", "--html", "-", changed(tmp_path, change)).stdout
    assert text.count("<script") == 1 and "<b>" not in text and "<i>" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_the_page_of_a_profile_without_accesses_says_why(tmp_path):
    def change(profile):
        profile["sampling"].update(source=None, why="perf is <not> here", samples=None, elsewhere=None, lost=None)
        for site in profile["sites"]:
            site.update(reads=None, writes=None, samples=None, accesses=None, confidence=None)

    text = sites("show", "--html", "-", changed(tmp_path, change)).stdout
    assert "Accesses are not known: perf is &lt;not&gt; here" in text and "data-tip=" not in text


def test_a_page_that_cannot_be_written(tmp_path):
    done = sites("show", "--html", tmp_path / "none" / "page.html", PROFILE, status=1)
    assert f"--html {tmp_path}/none/page.html: it cannot be written" in done.stderr
    done = sites("show", "--html", "page.html", "--json", PROFILE, status=2)
    assert done.stderr == "hybridmem sites show: --html and --json exclude each other: give one\n"


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


def lived(first, end, most):
    """A series of a site that has `most` bytes from one part of the time to another."""
    return [most if first <= part < end else 0 for part in range(32)]


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


def touched(profile, *slices):
    """Of A, B and D all is touched, of C, which has 20 MiB, only some slices."""
    profile["resident_peak_bytes"] = 85 * MIB
    for site in profile["sites"][:4]:
        is_part = site["id"] == C and slices
        size = site["peak_bytes"] * len(slices) // 32 if is_part else site["peak_bytes"]
        numbers = list(slices) if is_part else list(range(32))
        site["resident"] = {"peak_bytes": size, "mean_bytes": 1.0, "series": lived(0, 32, size), "slices": numbers}


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


def test_an_old_profile_without_series_is_read(tmp_path):
    def change(profile):
        del profile["resident_peak_bytes"]
        for site in profile["sites"]:
            del site["series"], site["alive"], site["resident"]

    shown = json.loads(sites("show", "--json", changed(tmp_path, change)).stdout)
    assert shown == json.loads(PROFILE.read_text())


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
    assert f"guide 1 of these sites stay in the slow tier with hybridmem sites guide: {why}" in text
    assert "guide" not in sites("plan", PROFILE, "--fast", "100%").stdout


def test_a_plan_without_accesses_is_refused(tmp_path):
    def change(profile):
        profile["sampling"].update(source=None, why="perf is not allowed here", samples=None, elsewhere=None, lost=None)
        for site in profile["sites"]:
            site.update(reads=None, writes=None, samples=None, accesses=None, confidence=None)

    path = changed(tmp_path, change)
    VALIDATOR.validate(json.loads(path.read_text()))
    done = sites("plan", "--fast", "25%", path, status=1)
    assert done.stderr == f"hybridmem sites plan: {path} has no accesses to plan by: perf is not allowed here\n"
    assert "accesses were not sampled: perf is not allowed here" in sites("show", path).stdout


def test_a_run_too_short_for_samples_is_told_from_one_without_a_source(tmp_path):
    """The profile's `why` says why there was no better source, and not why this one has no samples."""

    def change(profile):
        profile["sampling"].update(source="clock", why="perf: no PMU", samples=0, elsewhere=0)
        profile["elapsed_s"] = 0.0175
        for site in profile["sites"]:
            site.update(reads=None, writes=None, samples=None, accesses=None, confidence=None)

    path = changed(tmp_path, change)
    VALIDATOR.validate(json.loads(path.read_text()))
    why = "clock took no sample in 0.0175 s: the program has to run for longer"
    done = sites("plan", "--fast", "25%", path, status=1)
    assert done.stderr == f"hybridmem sites plan: {path} has no accesses to plan by: {why}\n"
    assert f"accesses were not sampled: {why}" in sites("show", path).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "sites: a command is missing. Try 'hybridmem sites --help'."),
        (["shw"], "sites: unexpected word 'shw'. Try 'hybridmem sites --help'."),
        (
            ["diff", PROFILE],
            "sites diff: two profiles are needed, as in: hybridmem sites diff old.json new.json",
        ),
        (["diff", PROFILE, PROFILE, "c"], "sites diff: unexpected word 'c'. Try 'hybridmem sites diff --help'."),
        (["diff", PROFILE, "/none"], "sites diff: /none: No such file or directory"),
        (["show"], "sites show: the profile is missing: name one that hybridmem sites run has made"),
        (["show", PROFILE, "more"], "sites show: unexpected word 'more'. Try 'hybridmem sites show --help'."),
        (["show", "/none"], "sites show: /none: No such file or directory"),
        (["show", "/"], "sites show: /: no profile, as it is not a file"),
        (["check", "/dev/zero"], "sites check: /dev/zero: no profile, as it is not a file"),
        (
            ["plan", PROFILE],
            "sites plan: --fast is missing: say how large the fast tier is, as in --fast 25% or --fast 4G",
        ),
        (
            ["plan", PROFILE, "--fast", "1G", "--packer", "best"],
            'sites plan: --packer: "best" is no packer: use gain, thermos, hotset or knapsack',
        ),
    ],
)
def test_wrong_usage(words, said):
    assert sites(*words, status=2).stderr == f"hybridmem {said}\n"


def test_a_hostile_profile_moves_no_cursor(tmp_path):
    def change(profile):
        profile["objects"][0]["path"] = "/tmp/\x1b[2J\u202e"
        profile["sites"][0]["frames"][0]["object"] = None

    text = sites("show", changed(tmp_path, change)).stdout
    assert "?[2J" in text and "\x1b" not in text and text.isascii()


def test_check_tells_builds_apart(tmp_path):
    assert sites("check", PROFILE).stdout == "a profile of 5 sites\n"
    done = sites("check", "--program", "/bin/true", PROFILE, status=1)
    assert f"{PROFILE} is of the build 2f0d9b6c5a7e4b3c8d1e0f9a8b7c6d5e4f3a2b1c, and /bin/true is " in done.stderr
    path = tmp_path / "torn.json"
    path.write_bytes(PROFILE.read_bytes()[:1000])
    done = sites("check", path, status=2)
    assert done.stderr.startswith(f"hybridmem sites check: {path}: no profile, as it is not JSON: line ")
    assert done.stderr.count("\n") == 1


def second_run(profile):
    """Four times as long; A twice as much and as hot, B gone, a new site of a new library, whose functions nobody has
    looked up, and a further function of the program."""
    profile.update(elapsed_s=50.0, processes=2, exit_code=3)
    profile["program"]["input_class"] = "large"
    profile["objects"].append({"build_id": "0a", "path": "/lib/libnew.so"})
    profile["objects"][0]["functions"].insert(0, {"name": "late", "offset": 1, "bytes": 2})
    a, b, c = profile["sites"][:3]
    a.update(peak_bytes=20 * MIB, mean_bytes=20.0 * MIB, allocations=3, lifetime_s=4.25, reads=600.0, samples=700.0)
    b.update(id="00000000000000ff", frames=[{"object": 2, "offset": 9}])
    c.update(mean_bytes=0.0, lifetime_s=None)


def test_merged_profiles(tmp_path):
    merged = tmp_path / "merged.json"
    sites("merge", "-o", merged, PROFILE, changed(tmp_path, second_run))
    profile = json.loads(merged.read_text())
    VALIDATOR.validate(profile)
    found = {site["id"]: site for site in profile["sites"]}
    assert set(found) == {A, B, C, D, SMALL, "00000000000000ff"}
    a, new = found[A], found["00000000000000ff"]
    assert (a["allocations"], a["peak_bytes"], a["reads"], a["samples"]) == (4, 20 * MIB, 900, 1100)
    assert a["mean_bytes"] == pytest.approx((10 * 12.5 + 20 * 50) / 62.5 * MIB)
    assert a["lifetime_s"] == pytest.approx((12.25 + 3 * 4.25) / 4)
    assert found[B]["mean_bytes"] == pytest.approx(40 * MIB * 12.5 / 62.5) and found[B]["samples"] == 350
    assert new["mean_bytes"] == pytest.approx(40 * MIB * 50 / 62.5)
    assert profile["objects"][new["frames"][0]["object"]] == {
        **{"build_id": "0a", "path": "/lib/libnew.so", "functions": []}
    }
    assert [function["name"] for function in profile["objects"][0]["functions"]] == ["late", "main", "_start"]
    assert found[C]["lifetime_s"] == 0.5 and found[SMALL]["accesses"] is None
    assert (profile["elapsed_s"], profile["processes"], profile["exit_code"]) == (62.5, 3, 3)
    assert profile["sampling"]["samples"] == 2000 and profile["sampling"]["elsewhere"] == 100
    assert profile["program"]["input_class"] == "small + large"


def by_looks(profile):
    """As DAMON's looks have it: reads and writes are not told apart, and 500 of the accesses may be more."""
    profile["sampling"].update(source="damon", saturated=500)
    for site in profile["sites"]:
        site.update(reads=None, writes=None, confidence=None)


def test_what_looks_do_not_tell_is_null(tmp_path):
    path, merged = changed(tmp_path, by_looks), tmp_path / "merged.json"
    before = {site["id"]: site["accesses"] for site in json.loads(PROFILE.read_text())["sites"]}
    text = sites("show", path).stdout
    assert "saturated: 50.0 % of the accesses were to memory in use at nearly every look, and may be more\n" in text
    sites("merge", "-o", merged, path, path)
    shown = [(json.loads(sites("show", "--json", path).stdout), 1), (json.loads(merged.read_text()), 2)]
    for profile, runs in shown:
        VALIDATOR.validate(profile)
        assert profile["sampling"]["saturated"] == 500 * runs
        for site in profile["sites"]:
            assert (site["reads"], site["writes"], site["confidence"]) == (None, None, None)
            assert site["accesses"] == (before[site["id"]] and before[site["id"]] * runs)
    plan = json.loads(sites("plan", "--fast", "50%", "--json", path).stdout)
    assert plan["fast"] == json.loads(sites("plan", "--fast", "50%", "--json", PROFILE).stdout)["fast"]


def without_samples(profile):
    profile["sampling"].update(source=None, why="no kdamond", unit=None, samples=None, elsewhere=None, lost=None)
    for site in profile["sites"]:
        site.update(reads=None, writes=None, samples=None, accesses=None, confidence=None, slices=None)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_profile_without_samples_adds_its_sizes_alone(tmp_path, is_first):
    """As that of a task for which there was no source, beside others of its step."""
    sampled, merged = json.loads(PROFILE.read_text()), tmp_path / "merged.json"
    both = [PROFILE, changed(tmp_path, without_samples)]
    sites("merge", "-o", merged, *(reversed(both) if is_first else both))
    profile = json.loads(merged.read_text())
    VALIDATOR.validate(profile)
    assert profile["sampling"] == sampled["sampling"] | {"why": "no kdamond"}
    found = {site["id"]: site for site in profile["sites"]}
    for site in sampled["sites"]:
        same = ("reads", "writes", "accesses", "samples", "confidence", "slices")
        assert {key: found[site["id"]][key] for key in same} == {key: site[key] for key in same}
        assert found[site["id"]]["allocations"] == 2 * site["allocations"]


def test_merged_series_have_the_most_of_each_part(tmp_path):
    def early(profile):
        for site in profile["sites"][:3]:
            site["series"] = lived(0, 20, 10 * MIB)
        profile["sites"][0]["alive"] = {"from": 0.01, "to": 0.6}
        profile["sites"][1]["alive"] = {"from": 0.02, "to": 0.61}

    def late(profile):
        second_run(profile)
        profile["sites"][0]["alive"] = {"from": 0.51, "to": 0.99}
        profile["sites"][0]["series"] = lived(16, 32, 20 * MIB)
        profile["sites"][1]["series"] = lived(8, 9, 40 * MIB)

    first, merged = tmp_path / "first.json", tmp_path / "merged.json"
    first.write_text(changed(tmp_path, early).read_text())
    sites("merge", "-o", merged, first, changed(tmp_path, late))
    profile = json.loads(merged.read_text())
    found = {site["id"]: site["series"] for site in profile["sites"]}
    alive = {site["id"]: site["alive"] for site in profile["sites"]}
    assert alive[A] == {"from": 0.01, "to": 0.99} and alive[B] == {"from": 0.02, "to": 0.61} and alive[C] is None
    assert found[A] == [10 * MIB] * 16 + [20 * MIB] * 16
    assert found[B] == lived(0, 20, 10 * MIB) and found["00000000000000ff"] == lived(8, 9, 40 * MIB)
    assert found[C] is None  # not known of one run


def test_merged_profiles_have_the_most_that_was_touched(tmp_path):
    """Of a profile that does not say it, nothing is known of both."""

    def second(profile):
        touched(profile, 7, 8, 9)
        profile["resident_peak_bytes"] = 99 * MIB

    def old(profile):
        del profile["resident_peak_bytes"]
        for site in profile["sites"]:
            del site["resident"]

    files = {name: tmp_path / f"{name}.json" for name in ("first", "second", "old", "both", "all")}
    for name, change in ("first", lambda profile: touched(profile, 3, 7)), ("second", second), ("old", old):
        files[name].write_text(changed(tmp_path, change).read_text())
    sites("merge", "-o", files["both"], files["first"], files["second"])
    sites("merge", "-o", files["all"], files["both"], files["old"])
    both, merged = (json.loads(files[name].read_text()) for name in ("both", "all"))
    resident = {site["id"]: site["resident"] for site in both["sites"]}
    assert resident[C]["slices"] == [3, 7, 8, 9] and resident[C]["peak_bytes"] == 20 * MIB * 3 // 32
    assert resident[C]["series"] == lived(0, 32, 20 * MIB * 3 // 32) and resident[SMALL] is None
    assert both["resident_peak_bytes"] == 99 * MIB
    assert merged["resident_peak_bytes"] is None and not any(site["resident"] for site in merged["sites"])


def test_merged_slices_are_those_of_the_runs_that_use_the_site(tmp_path):
    def sliced(step, *accesses, samples=4):
        return {
            "step_bytes": step,
            "extent_bytes": step * len(accesses),
            "accesses": list(accesses),
            "samples": samples,
        }

    def first(profile):
        a, b, c = profile["sites"][:3]
        a["slices"], b["slices"], c["slices"] = sliced(2**60, 2**60), sliced(1000, 1), sliced(MIB, 1, 2, 3)

    def second(profile):
        a, b, c = profile["sites"][:3]
        a["slices"], b["slices"] = sliced(MIB, 5, 6), sliced(1500, 1)
        c.update(reads=0, writes=0, accesses=0, samples=0)

    before, merged = tmp_path / "first.json", tmp_path / "merged.json"
    before.write_text(changed(tmp_path, first).read_text())
    sites("merge", "-o", merged, before, changed(tmp_path, second))
    found = {site["id"]: site["slices"] for site in json.loads(merged.read_text())["sites"]}
    assert found[A] == sliced(2**60, 2**60, samples=8) and found[C] == sliced(MIB, 1, 2, 3)
    assert found[B] is None  # no slice of one is a multiple of the other's
    sites("merge", "-o", tmp_path / "again.json", changed(tmp_path, second), before)
    found = {site["id"]: site["slices"] for site in json.loads((tmp_path / "again.json").read_text())["sites"]}
    assert found[C] == sliced(MIB, 1, 2, 3)


def counted(profile):
    """As hybridmem profile mbi makes it: bytes that were counted, and bounds that do not follow from samples."""
    profile["sampling"].update(source="mbi", unit=None, samples=None)
    for site in profile["sites"]:
        site["samples"] = None


def test_the_bounds_of_counted_bytes_are_kept_and_those_of_several_runs_are_the_widest(tmp_path):
    def second(profile):
        counted(profile)
        a, b, c = profile["sites"][:3]
        a["confidence"] = {"low": 0.3, "high": 0.41}
        b["id"] = "00000000000000ff"
        c["confidence"] = None

    first, merged = tmp_path / "first.json", tmp_path / "merged.json"
    first.write_text(changed(tmp_path, counted).read_text())
    before = {site["id"]: site["confidence"] for site in json.loads(PROFILE.read_text())["sites"]}
    shown = json.loads(sites("show", "--json", first).stdout)
    VALIDATOR.validate(shown)
    assert {site["id"]: site["confidence"] for site in shown["sites"]} == before
    sites("merge", "-o", merged, first, changed(tmp_path, second))
    found = {site["id"]: site["confidence"] for site in json.loads(merged.read_text())["sites"]}
    assert found[A] == {"low": 0.3, "high": before[A]["high"]}
    assert found[B] == found["00000000000000ff"] == {"low": 0, "high": before[B]["high"]}
    assert found[C] is None  # not known of one run


@pytest.mark.parametrize("bounds", [{"low": 0.5, "high": 0.4}, {"low": 0.5, "high": 1.1}])
def test_bounds_of_counted_bytes_that_are_none_are_refused(tmp_path, bounds):
    def change(profile):
        counted(profile)
        profile["sites"][0]["confidence"] = bounds

    path = changed(tmp_path, change)
    said = f"hybridmem sites show: {path}: sites[0].confidence has to be bounds from 0 to 1, or null\n"
    assert sites("show", path, status=2).stderr == said


def other_input(profile):
    """A as hot, but for chance: 20 more of 1000 samples hit it; B larger; C hotter; D gone, a new site in its place."""
    a, b, c, d = profile["sites"][:4]
    profile["sampling"]["elsewhere"] = 0.0
    a.update(samples=420.0, reads=320.0)
    b.update(samples=330.0, reads=280.0, peak_bytes=50 * MIB)
    c.update(samples=200.0, reads=200.0, writes=0.0)
    d.update(id="00000000000000ff")


def test_what_differs_between_two_profiles(tmp_path):
    path = changed(tmp_path, other_input)
    diff = json.loads(sites("diff", "--json", PROFILE, path).stdout)
    assert (diff["same_build"], diff["matched_by_name"], diff["without_names"], diff["same"]) == (True, 0, 0, 2)
    found = {site["what"]: site for site in diff["sites"]}
    assert set(found) == {"came", "went", "peak", "accesses"} and len(diff["sites"]) == 4
    all_new = 420 + 330 + 200 + 50
    assert found["came"]["old"] is None
    assert found["came"]["new"] == {"id": "00000000000000ff", "peak_bytes": 29 * MIB, "share": 50 / all_new}
    assert (found["went"]["old"]["id"], found["went"]["new"]) == (D, None)
    assert (found["peak"]["old"]["peak_bytes"], found["peak"]["new"]["peak_bytes"]) == (40 * MIB, 50 * MIB)
    assert (found["accesses"]["old"]["id"], found["accesses"]["new"]["share"]) == (C, 200 / all_new)
    lines = sites("diff", PROFILE, path).stdout.splitlines()
    assert lines[0] == "1 sites came, 1 went, and 2 of 4 that stayed changed"
    rows = {line.split()[0]: " ".join(line.split()) for line in lines[3:]}
    assert rows[B].startswith(f"{B} peak 40.0 MiB 50.0 MiB 35.0 % 33.0 % stencil+")
    assert rows[D].startswith(f"{D} went 29.0 MiB - 5.0 % - stencil+")


def test_a_profile_does_not_differ_from_itself():
    assert json.loads(sites("diff", "--json", PROFILE, PROFILE).stdout)["sites"] == []
    assert sites("diff", PROFILE, PROFILE).stdout == "0 sites came, 0 went, and 0 of 5 that stayed changed\n"


def test_other_builds_without_names_are_told(tmp_path):
    def rebuild(profile):
        profile["program"]["build_id"] = profile["objects"][0]["build_id"] = "0b"
        for i, site in enumerate(profile["sites"][:4]):
            site["id"] = f"{i + 1:016x}"

    done = sites("diff", PROFILE, changed(tmp_path, rebuild))
    assert done.stdout.splitlines()[1] == (
        "these are different builds: 0 sites were matched by the names of functions, and 8 could not be told by names"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: p["program"].update(build_id="0b"), "is of the build 0b, and those before it of 2f0d9b6c5a7e"),
        (lambda p: p["sampling"].update(source="perf"), "has samples by perf, and those before it by clock"),
        (lambda p: p.update(least_bytes=64), "was made with --least 64, and those before it with 4096"),
    ],
)
def test_what_cannot_be_merged(tmp_path, change, said):
    other, output = changed(tmp_path, change), tmp_path / "merged.json"
    done = sites("merge", "-o", output, PROFILE, other, status=1)
    assert f"hybridmem sites merge: {other} {said}" in done.stderr and not output.exists()
    assert "no profile" in sites("merge", "-o", output, PROFILE, TOP / "README.md", status=2).stderr
