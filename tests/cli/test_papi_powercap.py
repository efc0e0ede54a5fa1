# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem-papi and the meter with PAPI's component powercap, and compares it with our own reader of powercap.
Both read the same made-up tree of /sys/class, whose counters move and wrap between readings.

Debian's PAPI has no powercap: tests/lib/build-papi builds a PAPI with it. In a private mount namespace that PAPI
replaces Debian's, and the tree replaces /sys/class."""

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from installed import LEAKS, LIBEXEC, check_root, needs_papi, with_mounts
from sysfstree import METER, RANGE, Sysfs

pytestmark = needs_papi

PROGRAM = LIBEXEC / "hybridmem-papi"
BUILD = Path(__file__).resolve().parents[1] / "lib" / "build-papi"
DRAM_RANGE = 65712999613
# What each counter has before each reading; both wrap.
PACKAGES = [RANGE - 900, RANGE - 200, 300, 300, 1100, 1100, 1, 1200]
DRAMS = [30000000000, 30000000500, 30000000500, 30000000501, DRAM_RANGE - 10, 700, 1400, 1400]


@pytest.fixture(scope="module")
def library():
    subprocess.run([BUILD], check=True)
    path = subprocess.run([BUILD, "--print-path"], capture_output=True, text=True, check=True).stdout.strip()
    assert Path(path).exists()
    return path


class Tree(Sysfs):
    """A /sys. Commands see its folder `class` as /sys/class. They also see an Intel processor, as PAPI looks for
    powercap on no other."""

    def __init__(self, folder, library):
        super().__init__(folder)
        self.cpuinfo = folder / "cpuinfo"
        vendor = re.compile(r"^(vendor_id\s*: ).*$", re.M)
        self.cpuinfo.write_text(vendor.sub(r"\1GenuineIntel", Path("/proc/cpuinfo").read_text()))
        used = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout
        self.library, self.replaced = library, re.search(r"libpapi\.so\S* => (\S+)", used).group(1)

    def zone(self, path, name, energy_uj, most=RANGE):
        """Makes a zone like the kernel's, with all files that PAPI opens. Returns a function that sets its counter."""
        for limit in (0, 1):
            for part in ("max_power_uw", "power_limit_uw", "time_window_us"):
                self.write(f"class/powercap/{path}/constraint_{limit}_{part}", 1000)
        self.write(f"class/powercap/{path}/enabled", 1)
        return super().zone(path, name, energy_uj, most)

    def command(self, *words):
        pairs = ((self.cpuinfo, "/proc/cpuinfo"), (self.folder / "class", "/sys/class"), (self.library, self.replaced))
        return with_mounts(" && ".join(f"mount --bind {ours} {theirs}" for ours, theirs in pairs), *words)

    @contextlib.contextmanager
    def run(self, *words):
        process = subprocess.Popen(
            self.command(*words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", **LEAKS},
        )
        try:
            yield process
            assert process.communicate(timeout=60) == ("", "")
            assert process.returncode == 0
        finally:
            process.kill()
            process.communicate()


@pytest.fixture
def tree(library):
    check_root()
    with tempfile.TemporaryDirectory(prefix="hm-papi.") as name:
        yield Tree(Path(name), library)


def ask(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline()


def steps(values, modulus):
    return [(after - before) % modulus for before, after in zip(values, values[1:], strict=False)]


def test_both_readers_count_the_same(tree):
    move_package = tree.zone("intel-rapl:0", "package-0", PACKAGES[0])
    # In the kernel's tree, a part of a package is in the package's folder and beside it, one of them as a link. PAPI
    # finds one of them, our reader the other.
    move_dram = tree.zone("intel-rapl:0:0", "dram", DRAMS[0], DRAM_RANGE)
    tree.zone("intel-rapl:0:1", "core", 5)
    (tree.folder / "class" / "powercap" / "intel-rapl:0" / "intel-rapl:0:0").symlink_to("../intel-rapl:0:0")
    raw, metered = [], []
    with tree.run(PROGRAM, "--read", "--ask") as papi, tree.run(METER, "--step", "--json") as meter:
        lines = [papi.stdout.readline() for _ in range(7)]
        assert [line.split()[:2] for line in lines[1:4]] == [
            ["component", name] for name in ("perf_event_uncore", "powercap", "rapl")
        ]
        assert lines[2] == "component powercap in\n" and lines[6] == "ready 2\n"
        assert lines[4:6] == [
            f"event 0 package-energy - 0 uJ {RANGE + 1} powercap:::ENERGY_UJ:ZONE0\n",
            f"event 1 memory-energy - 0 uJ {DRAM_RANGE + 1} powercap:::ENERGY_UJ:ZONE0_SUBZONE0\n",
        ]
        for package, dram in zip(PACKAGES, DRAMS, strict=True):
            move_package(package)
            move_dram(dram)
            raw.append([int(word) for word in ask(papi).split()[2:]])
            energy = {flow["name"]: flow for flow in json.loads(ask(meter))["energy"]}
            metered.append([energy["package-0"], energy["memory-0"]])
    assert raw == [list(values) for values in zip(PACKAGES, DRAMS, strict=True)]
    for zone, values, modulus in ((0, PACKAGES, RANGE + 1), (1, DRAMS, DRAM_RANGE + 1)):
        ours = [flows[zone] for flows in metered]
        assert {flow["source"] for flow in ours} == {"powercap"}
        papis = steps([reading[zone] for reading in raw], modulus)
        assert papis == steps(values, modulus)
        # A step that is too large for the time counts as a reset for the meter, and is unknown.
        known = [(flow["joules"], step) for flow, step in zip(ours[1:], papis, strict=True) if step < 10**6]
        assert len(known) >= 5
        assert sum(joules for joules, _ in known) == pytest.approx(sum(step for _, step in known) / 1e6)


def test_the_meter_takes_from_papi_what_nobody_else_has(tree):
    move_package = tree.zone("intel-rapl:0", "package-0", 10**11)
    # not inside the package, so our own reader does not find it
    move_dram = tree.zone("intel-rapl:0:0", "dram", DRAM_RANGE - 100, DRAM_RANGE)
    with tree.run(METER, "--step", "--json") as meter:

        def step():
            return {flow["name"]: flow for flow in json.loads(ask(meter))["energy"]}

        first = step()
        assert (first["package-0"]["source"], first["memory-0"]["source"]) == ("powercap", "papi")
        assert "first value" in first["memory-0"]["reason"]
        move_dram(200)
        assert step()["memory-0"]["joules"] == pytest.approx(301e-6)
        still = step()["memory-0"]
        assert (still["joules"], still["reason"]) == (0, None)
        children = Path(f"/proc/{meter.pid}/task/{meter.pid}/children").read_text().split()
        (child,) = (int(pid) for pid in children)
        assert Path(f"/proc/{child}/exe").resolve() == PROGRAM.resolve()
        os.kill(child, signal.SIGKILL)
        move_package(10**11 + 500)
        then = step()
        name = "powercap:::ENERGY_UJ:ZONE0_SUBZONE0"
        assert then["memory-0"]["joules"] is None
        assert then["memory-0"]["reason"] == f"{name}: hybridmem-papi was killed by signal 9"
        assert then["package-0"]["joules"] == pytest.approx(500e-6)
        assert not Path(f"/proc/{child}").exists()
        assert "killed by signal 9" in step()["memory-0"]["reason"]


def test_papi_is_ended_if_none_of_its_counters_is_needed(tree):
    tree.zone("intel-rapl:0", "package-0", 10**11)
    with tree.run(METER, "--step", "--json") as meter:
        assert {flow["name"]: flow for flow in json.loads(ask(meter))["energy"]}["package-0"]["source"] == "powercap"
        assert Path(f"/proc/{meter.pid}/task/{meter.pid}/children").read_text() == ""
    done = subprocess.run(tree.command(METER, "--list", "--json"), capture_output=True, text=True, check=True)
    shown = {source["name"]: source for source in json.loads(done.stdout)["sources"]}
    assert [counter["name"] for counter in shown["papi"]["counters"]] == ["powercap:::ENERGY_UJ:ZONE0"]


def test_a_zone_that_papi_cannot_read_has_no_value(tree):
    tree.zone("intel-rapl:0", "package-0", 10**11)
    gone = tree.folder / "class" / "powercap" / "intel-rapl:0" / "energy_uj"
    with tree.run(PROGRAM, "--read", "--ask") as papi:
        while papi.stdout.readline() != "ready 1\n":
            pass
        assert ask(papi).split()[2:] == [str(10**11)]
        gone.write_text("")  # as if the kernel did not let anyone read it: PAPI then returns the previous value
        assert ask(papi).split()[2:] == ["-"]
        gone.write_text(f"{10**11 + 7}\n")
        assert ask(papi).split()[2:] == [str(10**11 + 7)]
