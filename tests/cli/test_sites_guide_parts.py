# SPDX-License-Identifier: Apache-2.0
"""Tests which parts of a site, and of a mapping, have the fast tier with hybridmem sites guide."""

import json
import re
from pathlib import Path

import pytest
from guiding import (
    FAST,
    SLOW,
    guide,
    made_hot,
    policies,
    profile_of,
)
from installed import helper
from siteprofiles import MIB, give_accesses

# Of the probe's site with so many bytes: bytes of a slice, and of all, and the slices that are used
SLICED = {**dict.fromkeys((9 * MIB, 18 * MIB), (None, None, {0, 30, 31})), 400 * 8192: (131072, 400 * 8192, {2, 24})}


def sliced(probe, path, what):
    path = profile_of(probe, path, what)
    profile = json.loads(path.read_text())
    for site in profile["sites"]:
        step, extent, used = SLICED.get(site["peak_bytes"], (None, None, {}))
        accesses = [500 * (number in used) for number in range(-(-extent // step) if step else 32)]
        give_accesses(site, sum(accesses))
        site["series"] = None
        site["slices"] = {"step_bytes": step, "extent_bytes": extent, "accesses": accesses} if used else None
    path.write_text(json.dumps(profile))
    return path


def test_the_most_used_slices_of_a_site_have_the_fast_tier(tmp_path, probe):
    """Slices of a mapping, and of small allocations in their order. The guest's tests have those of large ones, as a
    machine with one node has them all there."""
    path = sliced(probe, tmp_path / "sliced.json", "slices")
    plan = json.loads(helper("hybridmem-sites", "plan", "--json", "--fast", "1120K", path).stdout)
    assert sorted(part["slices"] for part in plan["parts"]) == [[0, 30, 31], [2, 24]]
    assert plan["expected_share"] > 0.75 and plan["fast_bytes"] == 1120 << 10 and plan["limited"] is None
    lines = [line.split() for line in guide(path, probe, "slices", options=["--fast", "1120K"]).stdout.splitlines()]
    mapped, small = ([policy == FAST for name, policy in lines if name == wanted] for wanted in ("mapped", "small"))
    assert {number for number, is_fast in enumerate(mapped) if is_fast} == {0, 30, 31}
    assert {number // 16 for number, is_fast in enumerate(small) if is_fast} == {2, 24} and sum(small) == 32


def test_what_is_touched_of_a_site_has_the_fast_tier(tmp_path, probe):
    """By a packer that takes whole sites: the slices that were touched, for which there is room, and not the others,
    which the program touches in this run only."""
    path = profile_of(probe, tmp_path / "touched.json", "slices")
    profile = json.loads(path.read_text())
    touched = {4, 5, 6, 31}
    for site in profile["sites"]:
        is_it = site["peak_bytes"] == 9 * MIB
        give_accesses(site, int(is_it))
        site["series"] = None
        if is_it:
            parts = [MIB] * 32
            site["resident"] = {"peak_bytes": MIB, "mean_bytes": MIB, "series": parts, "slices": sorted(touched)}
    path.write_text(json.dumps(profile))
    options = ["--fast", "1152K", "--packer", "knapsack"]
    lines = [line.split() for line in guide(path, probe, "slices", options=options).stdout.splitlines()]
    mapped = [policy == FAST for name, policy in lines if name == "mapped"]
    assert {number for number, is_fast in enumerate(mapped) if is_fast} == touched


def test_a_mapping_that_has_got_larger_has_the_slices_in_front(tmp_path, probe):
    path = sliced(probe, tmp_path / "larger.json", "slices")
    profile = json.loads(path.read_text())
    for site in profile["sites"]:
        if site["peak_bytes"] == 9 * MIB:
            site.update(peak_bytes=6 * MIB, mean_bytes=6.0 * MIB)
        else:
            site.update(reads=0, writes=0, accesses=0, samples=0, slices=None)
    path.write_text(json.dumps(profile))
    lines = [line.split() for line in guide(path, probe, "slices", options=["--fast", "640K"]).stdout.splitlines()]
    mapped = [policy == FAST for name, policy in lines if name == "mapped"]
    assert {number for number, is_fast in enumerate(mapped) if is_fast} == {0, 30}  # and not 31


@pytest.mark.parametrize("packer", ["gain", "hotset"])
def test_a_mapping_for_which_there_is_no_room_has_its_beginning_in_the_fast_tier(tmp_path, probe, packer):
    """Where the packer gives its site a limit, and where it lets the sites have more than there is."""
    path = profile_of(probe, tmp_path / "larger.json", "slices")
    hot = made_hot(path, path, lambda site: site["peak_bytes"] == 9 * MIB)
    lines = guide(hot, probe, "slices", options=["--fast", "3M", "--packer", packer]).stdout.splitlines()
    mapped = [policy == FAST for name, policy in (line.split() for line in lines) if name == "mapped"]
    assert mapped == [True] * 10 + [False] * 22


@pytest.mark.parametrize(("fast", "wanted"), [("2M", "#.##.."), ("32M", "######")])
def test_a_mapping_with_fast_slices_can_be_moved(tmp_path, programs, fast, wanted):
    """The kernel moves memory of one policy only. What it grows by has the policy of its end, as far as the limit goes,
    and all that is counted of that is given back, so that there is room for the next mapping."""
    program = programs("mappings")
    path = sliced(program, tmp_path / "remapped.json", "remapped")
    lines = guide(path, program, "remapped", options=["--fast", fast]).stdout.splitlines()
    assert "".join(".#"[line.split()[1] == FAST] for line in lines) == wanted * 3


def test_a_mapping_with_a_fast_part_grows_in_place_and_is_moved_as_without_guide(tmp_path, programs):
    """The kernel refuses both for memory of two policies, as it has them where the limit is reached."""
    program = programs("mappings")
    path = profile_of(program, tmp_path / "stays.json", "stays")
    hot = made_hot(path, path, lambda site: site["peak_bytes"] < 64 * MIB)
    assert policies(guide(hot, program, "stays", options=["--fast", "10M"])) == {"start": FAST, "end": SLOW}


@pytest.mark.skipif(
    not re.search(r"^Hugepagesize: +2048 kB$", Path("/proc/meminfo").read_text(), re.M), reason="no huge pages of 2 MiB"
)
def test_a_mapping_of_huge_pages_has_its_beginning_in_the_fast_tier(tmp_path, programs):
    """The kernel refuses a policy that ends within such a page. What it leaves has the other mapping's beginning."""
    program = programs("mappings")
    path = profile_of(program, tmp_path / "huge.json", "huge")
    hot = made_hot(path, path, lambda site: site["peak_bytes"] >= 9 * MIB)
    done = guide(hot, program, "huge", options=["--fast", "52736K", "--packer", "hotset"])
    assert policies(done) == {"start": FAST, "end": SLOW, "other": FAST}
