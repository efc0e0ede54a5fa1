# SPDX-License-Identifier: Apache-2.0
"""Tests that what hybridmem sites run counts and plan chooses is what guide places, for each kind of allocation
(kinds-probe.c)."""

import json

import pytest
from installed import helper
from test_sites import MIB
from test_sites_guide import FAST, HERE, SLOW, TELL, compiled, guide

KIB = 1 << 10
# Bytes that the site of each kind has.
KINDS = {
    "zeroed": 2 * MIB,
    "aligned_to_64k": 200 * KIB,
    "aligned_to_4m": 3 * MIB,
    "aligned_to_1g": 5 * MIB,
    "small_aligned": 20 * KIB,
    "grown": 6 * MIB,
}


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    text = (HERE / "kinds-probe.c").read_text()
    return compiled(tmp_path_factory.mktemp("probe") / "kinds", text=text.replace('#include "tell.h"\n', f"/*{TELL}"))


@pytest.fixture(scope="module")
def recorded(probe, tmp_path_factory):
    path = tmp_path_factory.mktemp("profile") / "kinds.json"
    helper("hybridmem-sites", "run", "-o", path, "--", probe)
    profile = json.loads(path.read_text())
    profile["sampling"].update(source="clock", why=None, samples=100, elsewhere=0, lost=0)
    return profile


def with_accesses(recorded, path, sizes):
    """The profile, in which the sites of these sizes have all accesses."""
    found = set()
    for site in recorded["sites"]:
        is_used = bool(site["frames"]) and site["peak_bytes"] in sizes
        found |= {site["peak_bytes"]} if is_used else set()
        number = 100 if is_used else 0
        site.update(reads=number, writes=0, accesses=number, samples=number, confidence={"low": 0, "high": 1})
        site["slices"] = site["series"] = None
    assert found == {*sizes}
    path.write_text(json.dumps(recorded))
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_of_all_kinds_the_chosen_one_is_placed(tmp_path, probe, recorded, kind):
    path = with_accesses(recorded, tmp_path / "profile.json", {KINDS[kind]})
    done = guide(path, probe, options=["--fast", "64M"])
    found = dict(line.split() for line in done.stdout.splitlines())
    assert found == {**dict.fromkeys(KINDS, SLOW), kind: FAST} and done.stderr == ""
