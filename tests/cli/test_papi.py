# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem-papi: the components of this machine's PAPI, and software events, which need no hardware counters."""

import json
import re
import signal
import subprocess

import pytest
from installed import LIBEXEC, helper, needs_papi

pytestmark = needs_papi

PROGRAM = LIBEXEC / "hybridmem-papi"
CLOCK = "--event=perf::CPU-CLOCK"
USED = ["perf_event_uncore", "powercap", "rapl"]

# libpfm may not know this machine's CPU, and PAPI then has no events of perf at all, the software ones included. With
# this library loaded, perf's own events pass for those of a CPU.
SOME_CPU = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <perfmon/pfmlib.h>

pfm_err_t pfm_get_pmu_info(pfm_pmu_t pmu, pfm_pmu_info_t *info)
{
    pfm_err_t (*real)(pfm_pmu_t, pfm_pmu_info_t *) = dlsym(RTLD_NEXT, "pfm_get_pmu_info");
    pfm_err_t result = real(pmu, info);
    if (result == PFM_SUCCESS && pmu == PFM_PMU_PERF_EVENT)
        info->type = PFM_PMU_TYPE_CORE;
    return result;
}
"""


@pytest.fixture(scope="module")
def some_cpu(tmp_path_factory):
    """Variables with which PAPI has software events on any CPU. Where it knows the CPU, it has them without any, and
    none with the library, as a CPU has events of one kind."""
    asked = subprocess.run([PROGRAM, "--read", "--interval=10ms", "--count=1", CLOCK], capture_output=True, check=False)
    if asked.returncode == 0:
        return {}
    library = tmp_path_factory.mktemp("cpu") / "cpu.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=SOME_CPU, text=True, check=True)
    return {"LD_PRELOAD": str(library), "ASAN_OPTIONS": "verify_asan_link_order=0"}


def started(env, *words):
    return subprocess.Popen(
        [PROGRAM, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"LC_ALL": "C.UTF-8", **env},
    )


def until_ready(process):
    """The lines before the first reading."""
    lines = []
    while not lines or not lines[-1].startswith("ready"):
        lines.append(process.stdout.readline())
        assert lines[-1], process.stderr.read()
    return lines


def readings(text):
    lines = [line.split() for line in text.splitlines() if line.startswith("read ")]
    return [[int(word) for word in words[1:]] for words in lines]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "say --list or --read. Try"),
        (["--list", "--read"], "say --list or --read. Try"),
        (["--json"], "say --list or --read. Try"),
        (["--read", "--json"], "--json goes with --list"),
        (["--list", "--count=1"], "--interval, --ask, --count and --event go with --read"),
        (["--list", CLOCK], "--interval, --ask, --count and --event go with --read"),
        (["--read", "--ask", "--interval=1s"], "--ask or --interval, not both"),
        (["--read", "--interval=1"], '--interval: "1" has no unit: write ms, s, min or h after it, as in 10s'),
        (["--read", "--interval=9ms"], '--interval: "9ms" is not a time of 10ms to 1h'),
        (["--read", "--interval=2h"], '--interval: "2h" is not a time of 10ms to 1h'),
        (["--read", "--count=0"], '--count: "0"'),
        (["--read", "--count=-1"], '--count: "-1"'),
        (["--read", *[CLOCK] * 33], "--event: more than 32"),
        (["--read", "now"], "unexpected word 'now'. Try 'hybridmem papi --help'."),
    ],
)
def test_wrong_words(words, said):
    done = helper("hybridmem-papi", *words, status=2)
    assert done.stderr.startswith(f"hybridmem papi: {said}") and done.stdout == ""
    assert done.stderr.count("\n") == 1


def test_each_component_is_in_or_out_with_a_reason():
    listed = json.loads(helper("hybridmem-papi", "--list", "--json").stdout)
    components = {component["name"]: component for component in listed["components"]}
    assert re.fullmatch(r"\d+\.\d+\.\d+", listed["papi"])
    assert list(components)[:3] == USED == [name for name in components if components[name]["used"]]
    assert "perf_event" in components
    for component in components.values():
        assert component["in"] == (component["reason"] is None)
        assert component["events"] == [] or (component["in"] and component["used"])
        assert component["in"] or component["reason"].strip()
    text = helper("hybridmem-papi", "--list").stdout
    rows = re.findall(r"^(\w+) +(in|out)\b *(.*)$", text, re.MULTILINE)
    assert [row[0] for row in rows] == list(components)
    for name, state, remark in rows:
        assert (state == "in") == components[name]["in"]
        assert remark == (components[name]["reason"] or ("" if components[name]["used"] else "nothing of it is used"))


def test_software_events_count(some_cpu):
    events = [CLOCK, "--event=perf::PAGE-FAULTS"]
    done = helper("hybridmem-papi", "--read", "--interval=10ms", "--count=3", *events, env=some_cpu)
    lines = done.stdout.splitlines()
    assert lines[0] == f"papi 1 {json.loads(helper('hybridmem-papi', '--list', '--json').stdout)['papi']}"
    assert [line.split()[1] for line in lines if line.startswith("component ")] == USED
    assert [line for line in lines if line.startswith(("event", "ready"))] == [
        "event 0 count - - 1 0 perf::CPU-CLOCK",
        "event 1 count - - 1 0 perf::PAGE-FAULTS",
        "ready 2",
    ]
    got = readings(done.stdout)
    assert len(got) == 3 and lines[-3:] == [line for line in lines if line.startswith("read ")]
    for before, after in zip(got, got[1:], strict=False):
        assert after[0] > before[0] and after[1] > before[1] and after[2] >= before[2]


def test_it_reads_when_it_is_asked_and_ends_when_nobody_asks(some_cpu):
    process = started(some_cpu, "--read", "--ask", CLOCK)
    until_ready(process)
    got = []
    for _ in range(3):
        process.stdin.write("\n")
        process.stdin.flush()
        got += readings(process.stdout.readline())
    assert got[0][0] < got[1][0] < got[2][0] and got[0][1] < got[1][1] < got[2][1]
    rest, errors = process.communicate(timeout=60)
    assert (process.returncode, rest, errors) == (0, "", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_end_it(number, some_cpu):
    process = started(some_cpu, "--read", "--interval=1h", CLOCK)
    until_ready(process)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


def test_it_ends_with_its_input_and_with_its_output(some_cpu):
    process = started(some_cpu, "--read", "--interval=1h", CLOCK)
    until_ready(process)
    process.stdin.close()
    assert process.wait(timeout=60) == 0
    process = started(some_cpu, "--read", "--interval=10ms", CLOCK)
    until_ready(process)
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr.read() == ""


def test_an_empty_input_that_is_no_pipe_does_not_end_it(some_cpu):
    words = ["--read", "--interval=10ms", "--count=2", CLOCK]
    done = helper("hybridmem-papi", *words, env=some_cpu, stdin=subprocess.DEVNULL)
    assert len(readings(done.stdout)) == 2


def test_events_that_papi_does_not_have():
    for name in ("perf::NO-SUCH", "powercap:::ENERGY_UJ:ZONE4000", "", "x" * 2000):
        done = helper("hybridmem-papi", "--read", f"--event={name}", status=1)
        assert done.stderr.startswith(f'hybridmem papi: PAPI has no event "{name[:128]}" here: ')
        assert done.stdout == ""
        asked = helper("hybridmem-papi", "--read", "--ask", f"--event={name}", status=1)
        assert asked.stdout == "error " + done.stderr.removeprefix("hybridmem papi: ")
