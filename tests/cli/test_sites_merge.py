# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem sites merge and diff, with profiles whose figures are known."""

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
    remove_accesses(profile, why="no kdamond", unit=None)
    for site in profile["sites"]:
        site["slices"] = None


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
    assert lines[0] == "1 site came, 1 went, and 2 of 4 that stayed changed"
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
