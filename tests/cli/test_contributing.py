# SPDX-License-Identifier: Apache-2.0
"""Tests the examples of CONTRIBUTING.md: they are applied to a copy of the tree, built, and used."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from installed import PREFIX

PROJECT = Path(__file__).resolve().parents[2]
PATCHES = PROJECT / "tests" / "contributing"
TOPOLOGY = PROJECT / "tests" / "fixtures" / "topology" / "optane-2-sockets.xml"
PATCHED = ("core", "meter", "migrator")  # the patches change the Makefile.am of each
# Targets that the three commands need, in the order of the floors.
PARTS = {
    "base": ["all"],
    "core": ["libcore.la", "libdiscover.la"],
    "meter": ["libcounters.la"],
    "migrator": ["libsource.la", "libranks.la"],
    "cli": ["hybridmem-plan", "hybridmem-sources", "hybridmem-meter"],
}
# Without optimization the build is faster.
FLAGS = ["CFLAGS=-O0", "HM_CFLAGS=-std=gnu11 -Wall -Wextra -Werror -fvisibility=hidden", "HM_LDFLAGS="]


def run(command, folder, status=0, **options):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, **options)
    assert done.returncode == status, f"{command} gave {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def copy_sources(top):
    """Copies the tracked files that a build of helpers/ needs, and what bootstrap made. Files keep their times, so that
    make does not repeat what bootstrap has done."""
    tracked = run(["git", "ls-files", "-z", "--", "helpers", "*.am", "*.ac"], PROJECT).rstrip("\0").split("\0")
    made = ["configure", "aclocal.m4", "config.h.in", "build-aux", "m4"]
    made += [str(Path(name).with_suffix(".in")) for name in tracked if name.endswith("Makefile.am")]
    names = [name for name in [*tracked, *made] if (PROJECT / name).exists()]
    run(["cp", "-rp", "--parents", "-t", str(top), *names], PROJECT)


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    """The folder with the commands of the patched copy, configured like the tree under test."""
    top = tmp_path_factory.mktemp("contributing")
    copy_sources(top)
    for patch in ("mode", "source", "meter"):
        run(["patch", "-s", "-p1", "-i", PATCHES / f"{patch}.patch"], top)
    run(["automake", "--foreign", *(f"helpers/{folder}/Makefile" for folder in PATCHED)], top)
    build = top / "build" / "native"
    build.mkdir(parents=True)
    run(["cp", "-p", PREFIX.parent / "native" / "config.status", "."], build)
    makefiles = [f"helpers/{folder}/Makefile" for folder in PARTS]
    run(["./config.status", "-q", "config.h", "libtool", "depfiles", *makefiles], build)
    for folder, targets in PARTS.items():
        run(["make", "-s", "-j2", *FLAGS, *targets], build / "helpers" / folder)
    return build / "helpers" / "cli"


def test_the_mode_nearest_has_a_plan(commands):
    words = ["./hybridmem-plan", "nearest,socket=local", "--json", "--topology", TOPOLOGY, "--cpus", "0"]
    made = json.loads(run(words, commands))
    assert (made["mode"], made["policy"], made["nodes"]) == ("nearest", "bind", [0, 2])
    assert made["reason"] == "Memory comes from nodes 0,2, the nearest one first, whatever its tier."
    modes = {
        mode["name"]: mode for mode in json.loads(run(["./hybridmem-plan", "--modes", "--json"], commands))["modes"]
    }
    assert (modes["nearest"]["keys"], modes["nearest"]["wants"]) == (["socket"], ["placement"])
    assert re.search(r"^  nearest +memory", run(["./hybridmem-plan", "--help"], commands), re.MULTILINE)


def test_the_source_marks_is_listed_and_asked_for(commands):
    done = subprocess.run(["./hybridmem-sources", "--json"], cwd=commands, capture_output=True, text=True, check=False)
    names = [source["name"] for source in json.loads(done.stdout)["sources"]]
    assert names.index("marks") < names.index("faults")
    words = ["./hybridmem-plan", "migrate,source=marks", "--json", "--topology", TOPOLOGY]
    assert json.loads(run(words, commands))["migration"]["source"] == "marks"


def test_the_meter_hwmon_finds_its_counter(commands, tmp_path):
    sensor = tmp_path / "class" / "hwmon" / "hwmon0"
    sensor.mkdir(parents=True)
    (sensor / "energy1_input").write_text("5\n")
    listed = json.loads(run(["./hybridmem-meter", "--list", "--json", "--sysfs", tmp_path], commands))
    (hwmon,) = (source for source in listed["sources"] if source["name"] == "hwmon")
    assert [counter["name"] for counter in hwmon["counters"]] == ["class/hwmon/hwmon0/energy1_input"]


def test_the_text_names_the_patches():
    text = (PROJECT / "CONTRIBUTING.md").read_text()
    assert set(re.findall(r"\]\(tests/contributing/(\S+)\)", text)) == {path.name for path in PATCHES.iterdir()}
    for path in re.findall(r"\]\(([^)]+)\)", text):
        assert (PROJECT / path).exists(), path
