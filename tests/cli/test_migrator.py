# SPDX-License-Identifier: Apache-2.0
"""Tests the command line of hybridmem-migrator. What the program does is tested in the guest
(tests/system/test_migrator.py)."""

import os

import pytest
from installed import LIBEXEC, helper

NODES = ["--fast-nodes", "0", "--slow-nodes", "1"]


def test_help_names_what_there_is():
    out = helper("hybridmem-migrator", "--help").stdout
    for word in ("--cgroup", "--cap", "--phase-samples", "Algorithms:", "bins", "Sources, best first", "faults"):
        assert word in out, word
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "--cgroup or --pid"),
        (["--cgroup", "/sys/fs/cgroup/x"], "--fast-nodes"),
        (["--cgroup", "/sys/fs/cgroup/x", "--pid", "1", *NODES], "either --cgroup or --pid"),
        (["--pid", "1", *NODES, "--job", "7"], "--job and --step"),
        (["--pid", "1", *NODES, "--uid", "7"], "--uid and --gid"),
        (["--pid", "1", *NODES, "--uid", "4294967295", "--gid", "7"], '--uid: "4294967295"'),
        (["--pid", "1", *NODES, "extra"], 'unknown word "extra"'),
        (["--pid", "1", *NODES, "--capital", "1G"], 'unknown word "--capital"'),
        (["--pid", "1", *NODES, "--cap"], "--cap wants a value: SIZE|PERCENT%"),
        (["--pid", "0", *NODES], '--pid: "0"'),
        (["--pid", "x", *NODES], '--pid: "x"'),
        (["--pid", "1", *NODES, "--cap", "17E"], '--cap: "17E"'),
        (["--pid", "1", *NODES, "--cap", "101%"], '--cap: "101%"'),
        (["--pid", "1", *NODES, "--reserve", "-1"], '--reserve: "-1"'),
        (["--pid", "1", *NODES, "--source", "ebs"], '--source: "ebs" is no source: use auto, '),
        (["--pid", "1", *NODES, "--algorithm", "magic"], '--algorithm: "magic"'),
        (["--pid", "1", *NODES, "--bins", "15"], '--bins: "15"'),
        (["--pid", "1", *NODES, "--interval", "9ms"], '--interval: "9ms"'),
        (["--pid", "1", *NODES, "--interval", "25h"], '--interval: "25h"'),
        (["--pid", "1", *NODES, "--interval", "10"], '--interval: "10"'),
        (["--pid", "1", *NODES, "--phase-samples", "0"], '--phase-samples: "0"'),
        (["--pid", "1", *NODES, "--overhead", "1"], '--overhead: "1"'),
        (["--pid", "1", *NODES, "--rate", "200MB"], '--rate: "200MB"'),
        (["--pid", "1", *NODES, "--end", "soon"], '--end: "soon"'),
        (["--pid", "1", *NODES, "--lat-read", "0.9"], '--lat-read: "0.9"'),
        (["--pid", "1", *NODES, "--lat-write=nan"], '--lat-write: "nan"'),
        (["--pid", "1", *NODES, "--lat-write=1e3"], '--lat-write: "1e3"'),
        (
            ["--pid", "1", *NODES, "--middle-tier", "2:1:1:1"],
            '--middle-tier: "2:1:1:1" is no tier: write LIST, LIST:READ or LIST:READ:WRITE',
        ),
        (["--pid", "1", *NODES, "--middle-tier", "2:"], '--middle-tier: "" is not a latency'),
        (["--pid", "1", *NODES, "--middle-tier", ":1:1"], "--middle-tier: "),
        (["--pid", "1", *NODES, "--middle-tier", "2:1:0.5"], '--middle-tier: "0.5" is not a latency'),
        (
            ["--pid", "1", *NODES, "--middle-tier", "2:1:9"],
            '"2:1:9" (latencies 1, 9) is slower than the slow tier (2, 5)',
        ),
        (
            ["--pid", "1", *NODES, "--middle-tier", "2:1.5:1.5", "--middle-tier", "3:1:2"],
            '"3:1:2" (latencies 1, 2) is faster than the tier before it (1.5, 1.5): give the fastest first',
        ),
        (["--pid", "1", *NODES, "--algorithm", "bins", "--middle-tier", "2"], "--algorithm bins knows two tiers"),
        (["--pid", "1", *NODES, *(["--middle-tier", "2"] * 7)], '--middle-tier: "2" is one tier too many: at most 8'),
        (["--pid", "1", *NODES, "--progress-fd", "70000"], '--progress-fd: "70000"'),
        (["--pid", "1", "--fast-nodes", "0-", "--slow-nodes", "1"], "--fast-nodes: "),
    ],
)
def test_a_word_that_is_wrong_is_named(words, named):
    done = helper("hybridmem-migrator", *words, status=2)
    assert done.stderr.startswith("hybridmem-migrator: ") and done.stderr.count("\n") == 1
    assert named in done.stderr


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--pid", "1", "--fast-nodes", "0", "--slow-nodes", "0"], "node 0 is in two tiers"),
        (["--pid", "1", *NODES, "--middle-tier", "0"], "node 0 is in two tiers: name it in one of --fast-nodes, "),
        (["--pid", "1", "--fast-nodes", "0", "--slow-nodes", "1023"], "no node 1023"),
        (["--cgroup", "/tmp", *NODES], "/sys/fs/cgroup"),
        (["--pid", str(os.getpid()), *NODES, "--progress-fd", "0"], "is no progress file"),
    ],
)
def test_what_this_machine_does_not_have(words, named):
    done = helper("hybridmem-migrator", *words, status=1)
    assert named in done.stderr and done.stderr.count("\n") == 1


def test_no_user_reads_the_programs_that_run_outside_of_their_job():
    for name in ("hybridmem-migrator", "hybridmem-decode"):
        assert (LIBEXEC / name).stat().st_mode & 0o777 == 0o711, name
