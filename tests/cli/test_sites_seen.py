# SPDX-License-Identifier: Apache-2.0
"""Tests what hybridmem sites run sees of programs whose allocations are known (sites-*.c)."""

import math
import os
import re
from pathlib import Path

import pytest
from installed import helper
from noperf import no_perf_events
from siteprofiles import MIB, by_peak, skip_without_samples

CALLERS = 8  # of xmalloc; caller n allocates n + 1 MiB
ROUNDING = 1e-6  # of a share


def ids(profile):
    return {site["id"] for site in profile["sites"]}


def test_a_profile_says_when_a_site_has_memory(programs, sites_run):
    """The program goes on when the recorder has looked, so a machine that stalls makes the run longer only. All that
    the two sites can have in common is the time between two looks, which is one slot of the recording: 20 ms, or twice
    as much as long as the run has more than 256."""
    # Samples would add looks.
    profile, _ = sites_run(programs("looks"), "phases", preexec_fn=no_perf_events, timeout=60)
    found = by_peak(profile)
    first, second = ({part for part, size in enumerate(found[peak]["series"]) if size} for peak in (9, 11))
    slot = 0.02
    while profile["elapsed_s"] / slot >= 256:
        slot *= 2
    assert slot / profile["elapsed_s"] < 1 / 16
    assert max(first) - min(second) <= 32 * slot / profile["elapsed_s"] + 1
    assert {max(found[peak]["series"]) for peak in (9, 11)} == {9 * MIB, 11 * MIB}
    assert min(first) <= max(first) < max(second)
    early, late = (found[peak]["alive"] for peak in (9, 11))
    assert 0 < early["from"] < early["to"] <= late["from"] < late["to"] <= 1


def test_a_profile_says_what_was_touched(programs, sites_run, tmp_path):
    """Of a mapping of 8 MiB a quarter, of one of 9 MiB nothing, of one of 3 MiB all, and a shared one counts in full.
    The program goes on when the recorder has looked. Linux before 6.7 does not tell the zero page, which it reads, from
    others."""
    tells_zero = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (6, 7)
    zero = 0 if tells_zero else os.sysconf("SC_PAGE_SIZE") / MIB
    profile, _ = sites_run(
        programs("looks"), "untouched", options=["--overhead=50%"], preexec_fn=no_perf_events, timeout=60
    )
    found = {peak: site["resident"] for peak, site in by_peak(profile).items()}
    assert {peak: found[peak]["peak_bytes"] / MIB for peak in (3, 5, 8, 9)} == {3: 3, 5: 5, 8: 2, 9: zero}
    assert found[8]["slices"] == list(range(4, 12)) and found[5]["slices"] is None
    assert 0 < found[8]["mean_bytes"] <= 2 * MIB and max(found[8]["series"]) == 2 * MIB
    assert 10 * MIB <= profile["resident_peak_bytes"] < 11 * MIB < profile["peak_bytes"]
    shown = helper("hybridmem-sites", "show", tmp_path / "profile.json").stdout
    assert re.search(r"^5 sites, 25\.0 MiB at their peak, 10\.\d MiB of it resident, in ", shown)
    assert re.search(r" 8\.0 MiB +2\.0 MiB ", shown)


def test_callers_of_one_wrapper_are_told_apart(probe, sites_run):
    profile, done = sites_run(probe, "hot", "0.3")
    assert (done.stdout, done.stderr) == ("", "")
    sites = by_peak(profile)
    assert sorted(sites) == list(range(1, CALLERS + 1))
    assert len({site["frames"][0]["offset"] for site in sites.values()}) == 1  # in xmalloc
    assert len({site["frames"][1]["offset"] for site in sites.values()}) == CALLERS
    names = {Path(profile["objects"][site["frames"][1]["object"]]["path"]) for site in sites.values()}
    assert names == {probe}
    assert all(site["allocations"] == 1 and site["mean_bytes"] <= site["peak_bytes"] for site in sites.values())
    assert profile["peak_bytes"] == 36 * MIB


def test_the_memory_that_is_used_has_the_accesses(probe, sites_run):
    profile, _ = sites_run(probe, "hot", "1")
    skip_without_samples(profile)
    accesses = {peak: site["accesses"] for peak, site in by_peak(profile).items()}
    everything = sum(accesses.values()) + profile["sampling"]["elsewhere"]
    count = profile["sampling"]["samples"]
    assert count >= 20  # as few as a busy machine may take in a second

    def least(share):
        """What a share is at least in all but one of 30000 runs, by the number of samples."""
        return share - 4 * math.sqrt(share * (1 - share) / count)

    # Of the time, a part is that of the probe's beginning; of what is left, caller 7's has a fifth to a quarter
    assert accesses[2] + accesses[8] > least(0.85) * everything
    assert accesses[2] > least(0.6) * everything
    assert accesses[8] > max(least(0.15), 0) * everything
    for site in profile["sites"]:
        share, bounds = site["accesses"] / everything, site["confidence"]
        assert bounds["low"] - ROUNDING <= share <= bounds["high"] + ROUNDING


def test_sites_that_share_pages_are_told_apart(probe, sites_run):
    profile, _ = sites_run(probe, "neighbours")
    skip_without_samples(profile)
    hot, cold = (
        next(site for site in profile["sites"] if site["frames"] and site["peak_bytes"] == 400 * size)
        for size in (8192, 10240)
    )
    assert hot["samples"] >= 20  # as few as a busy machine may take in a second
    assert cold["samples"] < 0.1 * hot["samples"]  # but for those of the probe's beginning


def test_sites_are_the_same_in_each_run(programs, sites_run):
    assert ids(sites_run(programs("ends"), "lives")[0]) == ids(sites_run(programs("ends"), "lives")[0])


def test_allocations_and_their_ends(programs, sites_run):
    profile, _ = sites_run(programs("ends"), "lives")
    places = sorted((site["allocations"], site["peak_bytes"] // MIB) for site in profile["sites"] if site["frames"])
    # caller 0, calloc and realloc, caller 1 and aligned_alloc, posix_memalign, mmap
    assert places == sorted([(10, 1), (1, 3), (1, 3), (1, 2), (1, 2), (1, 1), (1, 8)])
    small = {site["class_bytes"]: site for site in profile["sites"] if not site["frames"]}
    assert small[64]["allocations"] >= 500 and small[128]["allocations"] >= 500
    assert small[128]["peak_bytes"] >= 500 * 100
    assert all(site["accesses"] is None and site["lifetime_s"] is None for site in small.values())
    assert profile["left_out"] == 0


def test_threads(programs, sites_run):
    profile, _ = sites_run(programs("forks"), "threads")
    counts = sorted(site["allocations"] for site in profile["sites"] if site["frames"])
    assert counts == [4, 800]
    assert all(site["peak_bytes"] <= 4 * MIB for site in profile["sites"])


def test_children(programs, sites_run):
    """A child's memory is its own; what it has from its parent is not counted twice."""
    profile, _ = sites_run(programs("forks"), "forks")
    assert profile["processes"] == 4
    assert {peak: site["allocations"] for peak, site in by_peak(profile).items()} == {4: 1, 5: 3}
    assert profile["peak_bytes"] == 9 * MIB


@pytest.mark.parametrize("what", ["exec", "close"])
def test_a_program_that_executes_another_or_closes_all(programs, sites_run, what):
    profile, _ = sites_run(programs("ends"), what)
    assert ids(profile) >= ids(sites_run(programs("ends"), "lives")[0])
    assert profile["processes"] == (2 if what == "exec" else 1)


def test_a_program_that_is_executed_after_others_is_watched(programs, sites_run):
    """As by wrapper scripts: the recorder keeps the file of the last program that a process executes."""
    profile, _ = sites_run(programs("looks"), "chain", "3", timeout=60)
    assert profile["processes"] == 4
    assert by_peak(profile)[3]["allocations"] == 1


def test_a_handler_that_forks_in_an_allocation(programs, sites_run):
    profile, done = sites_run(programs("forks"), "handler", timeout=20)
    assert (done.stdout, done.stderr) == ("", "")
    assert profile["processes"] >= 1


def test_a_fork_that_waits_for_a_lock_of_the_programs(programs, sites_run):
    profile, done = sites_run(programs("forks"), "orders", timeout=20)
    assert (done.stdout, done.stderr) == ("", "")
    assert profile["processes"] >= 1


def test_a_child_of_a_process_with_threads_meets_no_new_site(programs, sites_run):
    """A thread that the child does not have may have the loader's lock, as here. The child's two are left out."""
    profile, done = sites_run(programs("forks"), "loader", timeout=20)
    assert profile["left_out"] == 2
    assert re.search(r"as their site was new in a child of a process with threads, .*: 2\n$", done.stderr)


def test_a_limit_of_files_does_not_end_the_program(programs, sites_run):
    profile, done = sites_run(programs("ends"), "limit")
    assert profile["left_out"] > 0
    assert done.stderr.endswith(f"as there was no room: {profile['left_out']}\n") and done.stderr.count("\n") == 1


def test_a_call_that_unmaps_nothing(programs, sites_run):
    assert sites_run(programs("mappings"), "mappings")[0]["peak_bytes"] == 8 * MIB


def test_a_program_that_cuts_off_the_recording(programs, sites_run):
    profile, done = sites_run(programs("looks"), "cut")
    said = "has cut off the recording: the profile has only a part of what it did"
    assert done.stderr == f"hybridmem sites run: {programs('looks')} {said}\n"
    assert profile["sites"] == []


def test_mappings_that_grow(programs, sites_run):
    """They stay allocations of their sites, which end once."""
    profile, _ = sites_run(programs("mappings"), "remapped")
    site = by_peak(profile)[18]
    assert (site["allocations"], profile["peak_bytes"] // MIB) == (3, 18)
    assert 0 < site["lifetime_s"] < profile["elapsed_s"] / 3
    assert 9 * MIB * site["lifetime_s"] < site["mean_bytes"] * profile["elapsed_s"] / 3 < 18 * MIB * site["lifetime_s"]


def test_a_mapping_that_is_moved_leaves_its_addresses_to_other_sites(programs, sites_run):
    """To those of another thread, too, which has them before mremap returns."""
    assert by_peak(sites_run(programs("mappings"), "races")[0])[300]["allocations"] == 300


def test_a_mapping_whose_addresses_stay_its_own_is_two(programs, sites_run):
    """Where mremap fails, nothing has changed."""
    profile, _ = sites_run(programs("mappings"), "stays")
    assert by_peak(profile)[32]["allocations"] == 2 and 16 not in by_peak(profile)


def test_mremap_is_no_place_where_a_thread_is_cancelled(programs, sites_run):
    """As the notes of what it has not moved outgrow their file."""
    profile, _ = sites_run(programs("mappings"), "cancelled")
    pages = 3500  # each is one more allocation that the notes have, all but the last
    assert by_peak(profile)[pages * 4096 / MIB]["allocations"] == pages and profile["left_out"] == 0


def test_a_mapping_that_has_grown_has_no_slices(probe, sites_run):
    """It is placed by its first size, so its slices would not be where they were seen."""
    sites = by_peak(sites_run(probe, "grows")[0])
    assert sites[4]["slices"] and sites[8]["accesses"] > 0 and not sites[8]["slices"]


def test_memory_that_realloc_has_made_larger_has_no_slices(probe, sites_run):
    """Each new size has other slices, and all of it would be placed anew. What was small had none."""
    sites = by_peak(sites_run(probe, "sizes")[0])
    assert sites[4]["slices"] and sites[8]["accesses"] > 0 and not sites[8]["slices"]
    assert sites[4]["resident"]["slices"] and not sites[8]["resident"]["slices"]


def test_small_is_what_the_user_says(programs, sites_run):
    profile, _ = sites_run(programs("ends"), "lives", options=["--least", "64", "--input-class", "tiny"])
    assert profile["least_bytes"] == 64 and profile["program"]["input_class"] == "tiny"
    assert any(site["allocations"] == 500 for site in profile["sites"] if site["frames"])
