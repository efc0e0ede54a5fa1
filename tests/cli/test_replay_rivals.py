# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem replay with the policies of other systems."""

import re

import pytest
from installed import LIBEXEC, helper
from replaying import TRACES, algorithms, replay, replay_shipped, shipped, two_halves, without_time

RIVALS = ["hemem", "memtis", "colloid", "arms"]
GUIDE = TRACES.parent.parent.parent / "site-docs" / "user-guide.md"


def test_ours_come_first():
    assert algorithms() == ["regions", "bins", *RIVALS]


@pytest.mark.parametrize("rival", RIVALS)
def test_no_job_can_have_one(rival):
    request = f"migrate,algorithm={rival}"
    done = helper("hybridmem-plan", request, status=2)
    said = f'--hybrid-mem={request}: algorithm wants regions or bins, not "{rival}"'
    assert done.stderr == f"hybridmem plan: {said}\n"
    words = ["--pid", "1", "--fast-nodes", "0", "--slow-nodes", "1", "--algorithm", rival]
    assert f'--algorithm: "{rival}" is no algorithm' in helper("hybridmem-migrator", *words, status=2).stderr


def test_the_migrator_does_not_link_them():
    texts = [(LIBEXEC / f"hybridmem-{name}").read_bytes() for name in ("replay", "migrator")]
    assert [b"for comparison: HeMem" in text for text in texts] == [True, False]


@pytest.mark.parametrize("rival", RIVALS)
def test_what_is_hot_is_found(trace, rival):
    """Hot pages that get many samples in each phase are in the fast tier from the third phase on, or half of those that
    are left in each phase come into it."""
    words = (trace(two_halves(64, 10)), "--fast", "50%", "--algorithm", rival)
    result = replay(*words)
    assert result["algorithm"] == rival
    assert result["share_mem"] > 0.75 and result["promoted"] >= 60
    assert without_time(replay(*words)) == without_time(result)
    lines = helper("hybridmem-replay", *words).stdout.splitlines()
    assert lines[3].split()[:2] == [rival, f"{result['amat']:.3f}"]
    assert "ours" not in "".join(lines)


def test_it_says_who_is_worse():
    done = helper("hybridmem-replay", shipped("STREAM"), "--fast", "25%", "--algorithm", "memtis")
    assert re.search(r"; memtis is [\d.]+ % worse than first touch\.\n", done.stdout)


def test_the_figures_of_the_guide():
    """One row of its table; all of them are made in the same way."""
    row = re.search(r"^\| AMG \| 25% \| (.*) \|$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)[1]
    results = [replay_shipped("AMG", 25, algorithm=name) for name in ("regions", *RIVALS)]
    ours = results[0]
    amats = [ours["first_touch"]["amat"], ours["static_oracle"]["amat"], *(result["amat"] for result in results)]
    assert [float(cell) for cell in row.split(" | ")] == pytest.approx(amats, abs=0.0051)
