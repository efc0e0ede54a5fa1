# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem sites guide --online: without a profile."""

import subprocess

import pytest
from guiding import TWO_NODES, all_slow
from installed import LIBEXEC, helper, with_mounts


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--fast", "25%"], "with --online, --fast is a size, as in --fast 4G"),
        (["--fast", "4M", "--stale"], "--online needs no profile"),
        (["--fast", "4M", "app.json"], "with --online there is no profile: give the program after --"),
        ([], "--fast is missing"),
    ],
)
def test_online_takes_no_profile(words, why):
    done = helper("hybridmem-sites", "guide", "--online", *words, "--", "true", status=2)
    assert done.stdout == ""
    assert done.stderr.startswith(f"hybridmem sites guide: {why}") and done.stderr.count("\n") == 1


def guide_online(nodes, *program):
    words = ("guide", "--online", "--nodes", nodes, "--fast", "64M", "--", *program)
    command = with_mounts(TWO_NODES, LIBEXEC / "hybridmem-sites", *words)
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_online_the_program_has_the_fast_tier_until_more_is_known(probe):
    done = guide_online("fast=0 slow=1", probe, "where")
    assert done.returncode == 0
    assert dict(line.split() for line in done.stdout.splitlines()) == dict.fromkeys(all_slow(), "interleave=static:0")
    why = "hybridmem sites guide: no site was placed: no evidence: "
    assert done.stderr.startswith(why) and done.stderr.count("\n") == 1
    assert guide_online("fast=0 slow=1", "sh", "-c", "exit 7").returncode == 7


@pytest.mark.parametrize("others", [0, 48])
def test_online_a_site_that_grows_gets_what_is_left_of_the_fast_tier(programs, others):
    """What is above that has the slow tier's policy, which the kernel refuses here: it has that of the process."""
    done = guide_online("fast=0 slow=1", programs("online"), "grow", "200", str(others))
    assert done.returncode == 0, done.stderr
    assert 1 <= int(done.stdout) <= 64 - others


def test_online_nothing_runs_without_the_fast_tier(probe):
    done = guide_online("fast=1 slow=0", probe, "where")
    assert (done.returncode, done.stdout) == (125, "")
    why = "the memory policy interleave of nodes 1 cannot be set: Invalid argument"
    assert done.stderr == f"hybridmem sites guide: {why}\n"
