# SPDX-License-Identifier: Apache-2.0
"""Tests the command hybridmem meter: its arguments, the list of sources, and the figures as text and as JSON."""

import json
import os
import pty
import re
import signal
import subprocess
import termios
from pathlib import Path

import pytest
from installed import check_root, helper, with_mounts
from sysfstree import METER, sources
from terminal import on_terminal

PROGRAM = "hybridmem-meter"
TOPOLOGY = Path(__file__).resolve().parent.parent / "fixtures" / "topology"
SOURCES = ["powercap", "perf-energy", "perf-imc", "perf-amd", "grace-cpus", "cxl", "resctrl", "papi", "slurm"]
SOURCE_KEYS = {"name", "usable", "reason", "measures", "covers", "unit", "wraps", "needs", "counters"}
COUNTER_KEYS = {"name", "quantity", "unit", "socket", "kind"}
ENERGY_KEYS = {"name", "quantity", "socket", "joules", "watts", "source", "reason"}
TRAFFIC_KEYS = {"name", "quantity", "tier", "kind", "bytes", "bytes_per_s", "source", "reason"}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--nonsense"], "unrecognized option '--nonsense'. Try 'hybridmem meter --help'."),
        (["-lx"], "unrecognized option '-l'. Try"),
        (["--count"], "option '--count' requires an argument. Try"),
        (["--list=1"], "option '--list=1' takes no argument. Try"),
        (["--s", "x"], "unrecognized option '--s'. Try"),
        (["--list", "--topology", "x"], "--list does not go with --topology"),
        (["--list", "--count", "3"], "--list does not go with --count"),
        (["--step", "--list"], "--list does not go with --step"),
        (["--list", "--interval", "1"], "--list does not go with --interval"),
        (["--list", "--config", "x"], "--list does not go with --config"),
        (["extra"], "unexpected word 'extra'"),
        (["--interval", "0"], '--interval: "0" is not a time of 100ms to 1h'),
        (["--interval", "99ms"], '--interval: "99ms" is not a time of 100ms to 1h'),
        (["--interval", "2h"], '--interval: "2h" is not a time of 100ms to 1h'),
        (["--interval", "1.5"], '--interval: "1.5" is not a time of 100ms to 1h'),
        (["--interval", "-1"], '--interval: "-1" is not a time of 100ms to 1h'),
        (["--count", "0"], '--count: "0" is not a number of 1 to'),
        (["--count", "1x"], '--count: "1x" is not a number of 1 to'),
        (["--sysfs", ""], '--sysfs: "" names nothing: name a file or folder, or leave --sysfs out'),
        (["--resctrl", ""], '--resctrl: "" names nothing: name a file or folder, or leave --resctrl out'),
        (["--sysfs", "/nonexistent"], "/nonexistent: No such file or directory"),
        (["--sysfs", "/etc/passwd"], "/etc/passwd: Not a directory"),
        (["--resctrl", "/nonexistent"], "/nonexistent: No such file or directory"),
        (["--config", "/nonexistent"], "/nonexistent"),
        (["--topology", "/nonexistent"], "/nonexistent"),
    ],
)
def test_refuses_bad_words_and_files(words, text):
    done = helper(PROGRAM, *words, status=2)
    assert text in done.stderr and done.stderr.startswith("hybridmem meter: ") and done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_machine_without_counters(sysfs):
    shown = sources(sysfs)
    assert list(shown) == SOURCES
    for source in shown.values():
        assert set(source) == SOURCE_KEYS
        assert not source["usable"] and source["counters"] == []
        assert len(source["reason"]) > 20
    assert shown["papi"]["reason"] == "PAPI is not asked: hybridmem meter without --sysfs asks it"
    assert "the folder of the resctrl group: No such file or directory" in shown["resctrl"]["reason"]
    done = helper(PROGRAM, "--sysfs", sysfs.folder, "--json", status=1)
    assert done.stderr == "hybridmem meter: no source of counters works here: hybridmem meter --list says why\n"
    assert done.stdout == ""


def test_this_machine_has_each_source_or_says_why_not():
    """Which counters this machine has is not checked."""
    done = subprocess.run([METER, "--list", "--json"], capture_output=True, text=True, check=False)
    shown = json.loads(done.stdout)["sources"]
    assert [source["name"] for source in shown] == SOURCES
    for source in shown:
        assert (source["reason"] is None) == source["usable"] == bool(source["counters"])


def test_the_text_of_the_list_says_what_the_json_says(sysfs):
    sysfs.zone("intel-rapl:0", "package-0", 5)
    text = helper(PROGRAM, "--list", "--sysfs", sysfs.folder).stdout
    for source in sources(sysfs).values():
        state = "works here" if source["usable"] else "does not work here"
        assert f"{source['name']:12} {state}\n" in text
        assert f"  because   {source['reason']}\n" in text or source["usable"]
        assert f"  covers    {source['covers']}\n  unit      {source['unit']}\n  wraps     {source['wraps']}\n" in text
        for counter in source["counters"]:
            assert set(counter) == COUNTER_KEYS
            assert counter["name"] in text


def test_lines_as_text(sysfs):
    sysfs.zone("intel-rapl:0", "package-0", 10)
    words = ("--sysfs", sysfs.folder, "--count", "2", "--interval", "100ms")
    lines = helper(PROGRAM, *words).stdout.splitlines()
    legend = [line for line in lines if line.startswith("# ")]
    assert re.fullmatch(r"# package-0 +powercap", legend[0])
    more = r" \.\.\. \(hybridmem meter --list says more\)"
    assert re.fullmatch(r"# memory, platform +- powercap: has no such counter here; .*" + more, legend[1])
    assert re.fullmatch(r"# (\w+ read, \w+ write(, )?)+ +- perf-imc: the kernel has no PMU .*" + more, legend[2])
    assert len(legend) == 3 and max(map(len, legend)) < 180
    shown = [line for line in lines if line not in legend]
    assert len(shown) == 2
    for line in shown:
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  package-0 0\.0 W  memory -  platform -  ", line)


def test_a_reason_once_on_a_terminal(sysfs):
    """The reason is cut at the end of a word, with a note where there is more."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    sysfs.zone("intel-rapl:0", "package-0", 10)
    command = [METER, "--sysfs", sysfs.folder, "--topology", TOPOLOGY / "optane-2-sockets.xml", "--count", "1"]
    subprocess.run([*command, "--interval", "100ms"], stdout=theirs, check=True)
    os.close(theirs)
    shown = b""
    try:
        while more := os.read(ours, 4096):
            shown += more
    except OSError:  # EIO: no writer is left
        os.close(ours)
    *_, screen = shown.decode().split("\033[2J")
    lines = [re.sub(" +", " ", line) for line in screen.splitlines()]
    assert all(len(line) <= 80 for line in screen.splitlines())
    assert lines[2].startswith("package-0 ")
    assert lines[3:] == [
        "memory - powercap: has no such counter here ...",
        "platform - as memory",
        "dram read - perf-imc: the kernel has no PMU uncore_imc ...",
        "pmem read - as dram read",
        "dram write - as dram read",
        "pmem write - as dram read",
        "(hybridmem meter --list says more)",
    ]


@pytest.mark.parametrize("columns", [60, 80])
def test_the_list_fits_a_terminal(sysfs, columns):
    """Further lines of a text are indented below its first line. In a pipe, each text is one line."""
    sysfs.zone("intel-rapl:0", "package-0", 10)
    words = (METER, "--list", "--sysfs", sysfs.folder)
    lines, whole = on_terminal(columns, *words), helper(PROGRAM, *words[1:]).stdout
    assert max(map(len, lines)) <= columns < max(map(len, whole.splitlines()))
    assert " ".join(lines).split() == whole.split()
    hanging = [line for line in lines if line.startswith(" " * 11)]
    assert hanging and all(re.match(r" {12}\S", line) for line in hanging)
    assert on_terminal(132, *words) == whole.splitlines()


def test_json_has_the_keys_of_the_man_page(sysfs):
    sysfs.zone("intel-rapl:0", "package-0", 10)
    done = helper(PROGRAM, "--sysfs", sysfs.folder, "--json", "--count", "2", "--interval", "100ms")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 2
    for line in lines:
        assert set(line) == {"time", "node", "seconds", "energy", "traffic"}
        assert line["seconds"] > 0
        assert all(set(flow) == ENERGY_KEYS for flow in line["energy"])
        assert all(set(flow) == TRAFFIC_KEYS for flow in line["traffic"]) and line["traffic"]
        for flow in line["energy"]:
            assert (flow["joules"] is None) == (flow["watts"] is None) == (flow["reason"] is not None)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(sysfs, number):
    sysfs.zone("intel-rapl:0", "package-0", 10)
    command = [METER, "--json", "--interval", "100ms", "--sysfs", sysfs.folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        first = json.loads(process.stdout.readline())
        process.send_signal(number)
        rest, said = process.communicate(timeout=20)
    assert first["energy"][0]["joules"] == 0
    assert process.returncode == 0 and said == ""
    assert all(json.loads(line)["node"] == first["node"] for line in rest.splitlines())


def test_powercap_in_a_mount_namespace():
    """Without --sysfs, the meter reads /sys. The folder /sys/class with this machine's own zones is hidden, for this
    command only."""
    check_root()
    make = (
        "mount -t tmpfs none /sys/class && zone=/sys/class/powercap/intel-rapl:0 && mkdir -p $zone && "
        "echo package-0 >$zone/name && echo 1000 >$zone/max_energy_range_uj && echo 5 >$zone/energy_uj"
    )
    command = with_mounts(make, METER, "--list", "--json")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    shown = {source["name"]: source for source in json.loads(done.stdout)["sources"]}
    counters = [counter["name"] for counter in shown["powercap"]["counters"]]
    assert counters == ["class/powercap/intel-rapl:0/energy_uj"]
