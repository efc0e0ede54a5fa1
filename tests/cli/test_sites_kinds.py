# SPDX-License-Identifier: Apache-2.0
"""Tests that what hybridmem sites run counts and plan chooses is what guide places, for each kind of allocation
(kinds-probe.c)."""

import json

import pytest
from guiding import FAST, HERE, SLOW, compiled, guide, profiled
from siteprofiles import MIB, give_accesses, give_sampling

KIB = 1 << 10
# Bytes that the site of each kind has.
KINDS = {
    "zeroed": 2 * MIB,
    "aligned_to_64k": 200 * KIB,
    "aligned_to_4m": 3 * MIB,
    "aligned_to_1g": 5 * MIB,
    "small_aligned": 20 * KIB,
    "grown": 6 * MIB,
    "mapped": MIB,
    "small_mapped": 64 * KIB,
    "populated": 7 * MIB,
    "remapped": 10 * MIB,
    "shrunk": 11 * MIB,
}
BEFORE = 12 * MIB  # what becomes "shrunk" is another site's memory before
# As in kinds-probe.c: allocations in an order, of which one of some is made twice.
ORDERED, AGAIN, SIZE = 400, 8, 8192
STEP = 131072  # bytes of a slice


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("probe") / "kinds", source=HERE / "kinds-probe.c")


def record(probe, path, *words):
    profile = profiled(probe, path, *words)
    give_sampling(profile, samples=100)
    return profile


@pytest.fixture(scope="module")
def recorded(probe, tmp_path_factory):
    return record(probe, tmp_path_factory.mktemp("profile") / "kinds.json")


def with_accesses(recorded, path, sizes):
    """The profile, in which the sites of these sizes have all accesses."""
    found = set()
    for site in recorded["sites"]:
        is_used = bool(site["frames"]) and site["peak_bytes"] in sizes
        found |= {site["peak_bytes"]} if is_used else set()
        give_accesses(site, 100 if is_used else 0)
        site["slices"] = site["series"] = site["resident"] = None
    assert found == {*sizes}
    path.write_text(json.dumps(recorded))
    return path


def placed(probe, path):
    """The kinds that are in the fast tier."""
    done = guide(path, probe, options=["--fast", "64M"])
    found = dict(line.split() for line in done.stdout.splitlines())
    assert set(found.values()) <= {FAST, SLOW} and done.stderr == ""
    return {kind for kind, policy in found.items() if policy == FAST}


@pytest.mark.parametrize("kind", KINDS)
def test_of_all_kinds_the_chosen_one_is_placed(tmp_path, probe, recorded, kind):
    assert placed(probe, with_accesses(recorded, tmp_path / "profile.json", {KINDS[kind]})) == {kind}


def test_a_mapping_that_is_moved_is_one_allocation_and_one_of_a_file_none(recorded):
    counts = {site["peak_bytes"]: site["allocations"] for site in recorded["sites"] if site["frames"]}
    assert counts[10 * MIB] == 1 and 9 * MIB not in counts and 13 * MIB not in counts


def test_a_realloc_is_an_allocation_of_its_own_site_also_where_it_need_not_move(tmp_path, probe, recorded):
    assert placed(probe, with_accesses(recorded, tmp_path / "profile.json", {BEFORE})) == set()
    assert placed(probe, with_accesses(recorded, tmp_path / "both.json", {BEFORE, KINDS["shrunk"]})) == {"shrunk"}


CALLS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
long syscall(long number, ...)
{
    long word[6];
    va_list more;
    va_start(more, number);
    for (int i = 0; i < 6; i++)
        word[i] = va_arg(more, long);
    va_end(more);
    if (number == SYS_mbind)
        fprintf(stderr, "mbind %ld %ld\\n", word[1], word[5]);
    long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return next(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}
"""


@pytest.mark.parametrize(("kind", "flags"), [("populated", 2), ("mapped", 0)])
def test_pages_that_are_there_before_the_mapping_is_placed_are_moved(tmp_path, probe, recorded, kind, flags):
    """They are in the slow tier. Here both tiers are one, so the call is looked at: 2 is MPOL_MF_MOVE."""
    path = with_accesses(recorded, tmp_path / "profile.json", {KINDS[kind]})
    calls = compiled(tmp_path / "calls.so", "-shared", "-fPIC", "-ldl", text=CALLS)
    script = f"LD_PRELOAD=$LD_PRELOAD:{calls} exec {probe}"
    done = guide(path, "sh", "-c", script, options=["--fast", "64M", "--any-build"])
    assert done.stderr.splitlines() == [f"mbind {KINDS[kind]} {flags}"]


@pytest.mark.parametrize(("what", "most"), [("reallocs", ORDERED), ("mappings", ORDERED + ORDERED // AGAIN)])
def test_the_order_of_small_allocations_has_each_realloc_and_mapping(tmp_path, probe, what, most):
    path = tmp_path / "profile.json"
    profile = with_accesses(record(probe, path, what), path, {most * SIZE})
    made = json.loads(profile.read_text())
    (site,) = (site for site in made["sites"] if site["accesses"])
    count = ORDERED + ORDERED // AGAIN
    assert site["allocations"] == count
    used = [50 * (number in (2, 24)) for number in range(-(-count * SIZE // STEP))]
    site["slices"] = {"step_bytes": STEP, "extent_bytes": count * SIZE, "accesses": used}
    path.write_text(json.dumps(made))
    policies = [line.split()[1] for line in guide(path, probe, what, options=["--fast", "240K"]).stdout.splitlines()]
    places = [number + number // AGAIN + 1 for number in range(ORDERED)]  # of the last time that each is made
    slices = {place: (place * SIZE + SIZE // 2) // STEP for place in places}
    assert policies == [FAST if slices[place] in (2, 24) else SLOW for place in places]
