# SPDX-License-Identifier: Apache-2.0
"""A profile whose figures are known (stencil.json), and what tests of hybridmem sites make of profiles."""

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


def give_accesses(site, number):
    """Has a site of a profile so many accesses, all of them sampled reads."""
    site.update(reads=number, writes=0, accesses=number, samples=number, confidence={"low": 0, "high": 1})


def give_sampling(profile, samples, elsewhere=0):
    """Has a profile say that a clock has taken so many samples."""
    profile["sampling"].update(source="clock", why=None, samples=samples, elsewhere=elsewhere, lost=0)


def remove_accesses(profile, **sampling):
    """Has a profile without accesses, which says this of how they were sampled."""
    profile["sampling"].update(dict.fromkeys(("source", "samples", "elsewhere", "lost")) | sampling)
    for site in profile["sites"]:
        site.update(reads=None, writes=None, samples=None, accesses=None, confidence=None)


def by_peak(profile):
    """The sites that are places in the code, by their peak in MiB."""
    return {site["peak_bytes"] / MIB: site for site in profile["sites"] if site["frames"]}


def skip_without_samples(profile):
    """Where the kernel refuses all sources, the profile says why."""
    if profile["sampling"]["source"] is None:
        assert profile["sampling"]["why"]
        pytest.skip(f"no source of samples: {profile['sampling']['why']}")


def sites(*words, status=0):
    return helper("hybridmem-sites", *words, status=status)


def changed(tmp_path, change):
    """The profile with a change, as a file."""
    profile = json.loads(PROFILE.read_text())
    change(profile)
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(profile))
    return path


def lived(first, end, most):
    """A series of a site that has `most` bytes from one part of the time to another."""
    return [most if first <= part < end else 0 for part in range(32)]


def touched(profile, *slices):
    """Of A, B and D all is touched, of C, which has 20 MiB, only some slices."""
    profile["resident_peak_bytes"] = 85 * MIB
    for site in profile["sites"][:4]:
        is_part = site["id"] == C and slices
        size = site["peak_bytes"] * len(slices) // 32 if is_part else site["peak_bytes"]
        numbers = list(slices) if is_part else list(range(32))
        site["resident"] = {"peak_bytes": size, "mean_bytes": 1.0, "series": lived(0, 32, size), "slices": numbers}
