# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem sites show and check, with a profile whose figures are known."""

import json

import jsonschema
import pytest
from siteprofiles import MIB, PROFILE, SCHEMA, SMALL, VALIDATOR, A, B, C, D, changed, remove_accesses, sites


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
    assert lines[0] == "5 sites, 100.0 MiB at their peak, in 12.5 s, of the input small"
    assert lines[1] == "1000 samples by clock; 5.0 % of the accesses were to memory of none of these sites"
    assert [line.split()[0] for line in lines[4:]] == [A, B, C, D, SMALL]
    assert lines[4].split() == [
        *(A, "1", "10.0", "MiB", "-", "10.0", "MiB", "12.2", "s", "40.0", "%", "37.0", "to", "43.1"),
        *("stencil+0x11e9", "<", "stencil+0x1270"),
    ]
    assert lines[8].endswith("all of up to 64 B")


def test_a_profile_of_one_site_is_told_in_the_singular(tmp_path):
    def change(profile):
        del profile["sites"][1:]
        profile["sampling"]["samples"] = 1
        profile["program"]["input_class"] = None

    path = changed(tmp_path, change)
    assert sites("check", path).stdout == "a profile of 1 site\n"
    lines = sites("show", path).stdout.splitlines()
    assert lines[0] == "1 site, 100.0 MiB at its peak, in 12.5 s"
    assert lines[1].startswith("1 sample by clock; ")


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
        profile["program"]["input_class"] = "<u>small"

    text = sites("show", "--html", "-", changed(tmp_path, change)).stdout
    assert text.count("<script") == 1 and "<b>" not in text and "<i>" not in text and ", input &lt;u&gt;small" in text
    assert "&lt;script&gt;alert(1)" in text


def test_the_page_of_a_profile_without_accesses_says_why(tmp_path):
    path = changed(tmp_path, lambda profile: remove_accesses(profile, why="perf is <not> here"))
    text = sites("show", "--html", "-", path).stdout
    assert "Accesses are not known: perf is &lt;not&gt; here" in text and "data-tip=" not in text


def test_a_page_that_cannot_be_written(tmp_path):
    done = sites("show", "--html", tmp_path / "none" / "page.html", PROFILE, status=1)
    assert f"--html {tmp_path}/none/page.html: it cannot be written" in done.stderr
    done = sites("show", "--html", "page.html", "--json", PROFILE, status=2)
    assert done.stderr == "hybridmem sites show: --html and --json exclude each other: give one\n"


def test_an_old_profile_without_series_is_read(tmp_path):
    def change(profile):
        del profile["resident_peak_bytes"]
        for site in profile["sites"]:
            del site["series"], site["alive"], site["resident"]

    shown = json.loads(sites("show", "--json", changed(tmp_path, change)).stdout)
    assert shown == json.loads(PROFILE.read_text())


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
