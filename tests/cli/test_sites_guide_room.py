# SPDX-License-Identifier: Apache-2.0
"""Tests how hybridmem sites guide divides the fast tier among sites and size classes, also where they have more memory
than their profile says."""

import json

import pytest
from guiding import (
    FAST,
    HERE,
    SLOW,
    all_slow,
    changed_sites,
    compiled,
    guide,
    policies,
    profile_of,
    profiled,
)
from siteprofiles import MIB, give_accesses, give_sampling


def test_sites_that_have_grown_have_no_more_than_their_share(tmp_path, probe, profile):
    """By the profile all have room, of which the first to come, a mapping, leaves too little for a part of others."""
    small = {"peak_bytes": MIB // 2, "mean_bytes": MIB // 2, "series": None}
    old = changed_sites(profile, tmp_path / "old.json", lambda site: site.update(small))
    assert json.loads(old.read_text())["peak_bytes"] > 11 * MIB
    found = policies(guide(old, probe, "where", options=["--fast", "2432K"]))
    assert found == {**all_slow(), "9": FAST}


def test_memory_that_is_given_back_leaves_room(tmp_path, programs):
    program = programs("mappings")
    path = profile_of(program, tmp_path / "again.json", "again")
    hot = changed_sites(path, path, lambda site: give_accesses(site, 100))
    largest = {9 * MIB, 3 * MIB, 2 * MIB}
    assert {site["peak_bytes"] for site in json.loads(hot.read_text())["sites"] if site["frames"]} >= largest
    done = guide(hot, program, "again", options=["--fast", "15M"])
    assert policies(done) == {"grown": FAST, "mapped": FAST}


@pytest.mark.parametrize("fast", ["100%", "64M"])
@pytest.mark.parametrize("is_sliced", [False, True])
def test_memory_that_realloc_makes_larger_is_never_there_twice(tmp_path, fast, is_sliced):
    """Whether all of it has the fast tier, a part, or some of its slices."""
    grower = compiled(tmp_path / "grower", text=(HERE / "realloc-probe.c").read_text())
    path = profile_of(grower, tmp_path / "grown.json", "steps")
    slices = {
        "step_bytes": None,
        "extent_bytes": None,
        "accesses": [100 * (number in {0, 9, 10}) for number in range(32)],
    }
    hot = {"reads": 300, "accesses": 300, "samples": 300, "slices": slices if is_sliced else None}
    hot = changed_sites(path, path, lambda site: site.update(hot, series=None))
    assert "parts=" in guide(hot, grower, options=["--fast", fast, "--print"]).stdout or not is_sliced
    assert guide(hot, grower, "steps", options=["--fast", fast]).stderr == ""


def test_a_site_has_what_the_others_leave_and_no_more(tmp_path, probe, small_profile):
    """Also after it was freed: those that come after it find their room."""
    path = profile_of(probe, tmp_path / "part.json", "part")
    text = guide(path, probe, "part", options=["--fast", "5M", "--print"]).stdout
    (site,) = (site["id"] for site in json.loads(path.read_text())["sites"] if site["peak_bytes"] == 8 * MIB)
    assert f"limit={5 * MIB} limited={site}:{3 * MIB} sites=" in text
    found = policies(guide(path, probe, "part", options=["--fast", "5M"]))
    assert found == {**{f"large{i}": FAST if i < 3 else SLOW for i in range(8)}, "late": FAST}
    hot_class = json.loads(small_profile.read_text())
    for entry in hot_class["sites"]:
        entry["series"] = None  # the program is too short for times that are the same in each run
        if entry["class_bytes"] == 128:
            entry.update(reads=30000, accesses=30000, samples=30000)
    path.write_text(json.dumps(hot_class))
    done = guide(path, probe, "small", options=["--fast", "6M"])
    assert [line for line in done.stdout.splitlines() if "hot" in line] == [f"hot {FAST}", f"hot {FAST}", f"hot {SLOW}"]


def test_small_allocations_of_a_site_with_a_limit_are_no_other_sites_memory(tmp_path, probe):
    """Also where another site makes some of the same size in turn with it."""
    path = tmp_path / "twins.json"
    profile = profiled(probe, path, "twins")
    give_sampling(profile, samples=1250, elsewhere=50)
    numbers = iter((900, 300))
    for site in profile["sites"]:
        give_accesses(site, next(numbers) if site["peak_bytes"] == 400 * 8192 else 0)
        site["series"] = site["slices"] = None  # as above
    path.write_text(json.dumps(profile))
    lines = guide(path, probe, "twins", options=["--fast", "5M"]).stdout.splitlines()
    found = {name: [line.split()[1] for line in lines if line.startswith(name)] for name in ("first", "second")}
    fast, part = sorted(found.values(), key=lambda policies: -policies.count(FAST))
    assert fast == [FAST] * 400 and part[0] == FAST and part[-1] == SLOW
    assert 0 < part.count(FAST) * 8192 <= 5 * MIB - 400 * 8192


def test_small_allocations_of_the_chosen_sites_and_classes_have_the_fast_tier(probe, small_profile):
    """Others that are made in turn with them have the slow one."""
    found = guide(small_profile, probe, "small", options=["--fast", "64M"])
    slow = [f"cold {SLOW}", f"256 {SLOW}"]
    assert sorted(found.stdout.splitlines()) == sorted([f"hot {FAST}", f"128 {FAST}", *slow] * 3) and not found.stderr


def test_size_classes_are_those_of_the_program_of_the_profile(tmp_path, probe, small_profile):
    """Of another program none is chosen, which the program that is guided executes."""
    other = compiled(tmp_path / "other", "-DOTHER", "-O1")
    script = f"{other} small; exec {probe} small"
    lines = guide(small_profile, "sh", "-c", script, options=["--fast", "64M", "--any-build"]).stdout.splitlines()
    assert [line for line in lines[: len(lines) // 2] if line.startswith("128")] == [f"128 {SLOW}"] * 3
    assert [line for line in lines[len(lines) // 2 :] if line.startswith("128")] == [f"128 {FAST}"] * 3
