# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem replay with tiers that the user names."""

import pytest
from installed import helper
from replaying import APPS, COLUMNS, SCORE, TINY, replay, shipped

THREE = ("--tier", "a:25%:100ns:100ns", "--tier", "b:25%:200ns:300ns", "--tier", "c:rest:400ns:1000ns")
HBM_DRAM_CXL = ("--tier", "hbm:10%:90ns:90ns", "--tier", "dram:30%:120ns:130ns", "--tier", "cxl:rest:300ns:400ns")
TWO = ("--tier", "fast:10%:80ns:80ns", "--tier", "slow:rest:160ns:400ns")
HOW = "write NAME:SIZE:READ:WRITE, as in hbm:10%:90ns:100ns, or cxl:rest:250ns:300ns"


def moves_of(score):
    return {(move["from"], move["to"]): move["pages"] for move in score["moves"]}


def test_three_tiers_by_hand(trace):
    """Expected values are sums over the rows of TINY: one page in a and b each, two in c."""
    result = replay(trace(TINY), *THREE)
    assert result["tiers"] == [
        {"name": "a", "pages": 1, "read_ns": 100, "write_ns": 100},
        {"name": "b", "pages": 1, "read_ns": 200, "write_ns": 300},
        {"name": "c", "pages": 2, "read_ns": 400, "write_ns": 1000},
    ]
    assert (result["lat_read"], result["lat_write"], result["fast"], result["fast_pages"]) == (None, None, 0.25, 1)
    first = result["first_touch"]  # pages 10; 11; 20 and 21
    assert first["amat"] == pytest.approx((10 + 7 * 2 + 7 * 3 + 230 * 4 + 110 * 10) / 364)
    assert [tier["share_mem"] for tier in first["tier_shares"]] == pytest.approx([10 / 364, 14 / 364, 340 / 364])
    assert [tier["share_writes"] for tier in first["tier_shares"]] == pytest.approx([0, 7 / 117, 110 / 117])
    assert first["moves"] == []
    # most accesses have pages 20, then 21; page 11 gains more than 21 in b, as it is written
    assert result["static_oracle"]["amat"] == pytest.approx((310 + 30 * 2 + 7 * 4 + 7 * 10 + 10 * 4) / 364)
    assert result["least_cost_oracle"]["amat"] == pytest.approx((310 + 7 * 2 + 7 * 3 + 30 * 4 + 10 * 4) / 364)
    # pages 10 and 11; then 20 and 21, which are new; then 20 and 11
    best = result["phase_oracle"]
    assert moves_of(best) == {("a", "c"): 1, ("b", "c"): 2, ("c", "b"): 1}
    served = 10 + (5 * 2 + 5 * 3) + 150 + 30 * 2 + 160 + (2 * 2 + 2 * 3)
    assert best["amat"] == pytest.approx((served + 64 * (11 + 2 * 12 + 7)) / 364)
    assert best["pages_moved"] == 4


@pytest.mark.parametrize("app", ["LULESH", "SNAP"])
def test_two_named_tiers_are_fast_and_slow(app):
    named, plain = replay(shipped(app), *TWO), replay(shipped(app), "--fast", "10%")
    for key in ("first_touch", "static_oracle", "phase_oracle"):
        assert {name: named[key][name] for name in SCORE} == plain[key]
    assert {name: named[name] for name in SCORE} == {name: plain[name] for name in SCORE}
    assert moves_of(named) == {("fast", "slow"): plain["demoted"], ("slow", "fast"): plain["promoted"]}
    assert plain["promoted"] > 0
    assert named["least_cost_oracle"]["amat"] <= plain["static_oracle"]["amat"]


def test_three_tiers_are_used(trace):
    """Pages whose heat differs ten times from kind to kind go to the tier of their rank, although the coldest were
    touched first."""
    rows = []
    for phase in range(12):
        for kind, raw in enumerate((40_000, 400_000, 4_000_000)):
            rows += [f"{phase},{0x1000 * (kind + 1) + page:x},{raw},0,{raw // 20},0" for page in range(64)]
    third = ("--tier", "a:33.4%:100ns:100ns", "--tier", "b:33.4%:200ns:200ns", "--tier", "c:rest:400ns:400ns")
    result = replay(trace(COLUMNS + "\n".join(rows) + "\n"), *third, "--explain", "10")
    first, best, ours = result["first_touch"]["amat"], result["least_cost_oracle"]["amat"], result["amat"]
    assert (first - ours) / (first - best) > 0.75
    hottest = max(result["regions"], key=lambda region: region["priority"])
    assert hottest["tier_pages"][0] >= 60 and hottest["tier_pages"][1] + hottest["tier_pages"][2] <= 4
    assert hottest["slow_pages"] == sum(hottest["tier_pages"][1:])
    assert result["pages_moved"] == sum(moves_of(result).values()) == result["promoted"] + result["demoted"]


@pytest.mark.parametrize("app", APPS)
def test_three_tiers_of_recorded_programs(app):
    """No worse than first touch, and no better than what is best."""
    result = replay(shipped(app), *HBM_DRAM_CXL)
    assert result["least_cost_oracle"]["amat"] <= result["static_oracle"]["amat"]
    assert result["least_cost_oracle"]["amat"] < result["amat"] <= 1.01 * result["first_touch"]["amat"]
    for score in (result, result["first_touch"], result["static_oracle"], result["least_cost_oracle"]):
        assert sum(tier["share_mem"] for tier in score["tier_shares"]) == pytest.approx(1)


def test_what_is_shown(trace):
    text = helper("hybridmem-replay", trace(TINY), *THREE, "--explain", "2").stdout
    assert "\n  b: 1 page (4.0 KiB), 200 ns to read, 300 ns to write\n" in text
    assert "\nPLACEMENT                   AMAT          A          B          C  PAGES MOVED\n" in text
    assert "\nfirst touch                5.673      2.7 %      3.8 %     93.4 %            0\n" in text
    assert "\nPages moved: none.\n" in text and "AMAT: 1 is a read from a.\n" in text
    assert "to the least-cost oracle" in text or "the least-cost oracle is" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--tier", "a"], f'--tier: "a" is no tier: {HOW}'),
        (["--tier", "a:10%:1ns:1ns"], "--tier: there is one tier: give two or more, fastest first"),
        (
            ["--tier", "a:10%:1ns:1ns", "--tier", "b:20%:2ns:2ns"],
            "--tier: b is the last tier, and has no room for all: write rest instead of its size",
        ),
        (
            [*TWO, "--lat-read", "2"],
            "--tier does not go with --fast, --lat-read, --lat-write or --load: leave these out",
        ),
        ([*TWO, "--fast", "2%"], "--tier does not go with --fast, --lat-read, --lat-write or --load: leave these out"),
        ([*THREE, "--algorithm", "bins"], "algorithm: bins knows two tiers, and there are 3: use regions"),
        ([*THREE, "--algorithm", "memtis"], "algorithm: memtis knows two tiers, and there are 3: use regions"),
    ],
)
def test_wrong_usage(trace, words, said):
    done = helper("hybridmem-replay", trace(TINY), *words, status=2)
    assert (done.stdout, done.stderr) == ("", f"hybridmem replay: {said}\n")
