# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem replay --load: tiers whose latencies depend on their traffic."""

import re

import pytest
from installed import helper
from replaying import COLUMNS, SCORE, TINY, replay, replay_shipped, shipped, two_halves, without_time

# Channels of their own, as with CXL, or shared ones.
LOAD = "channels {}\nfast idle 80ns peak 200GB/s\nslow idle 150ns peak 150GB/s\n"
STREAM = "channels separate\nfast idle 100ns peak 240GB/s\nslow idle 250ns peak 100GB/s\n"
# A hot half and a cold one: the first page, the accesses of each page.
HALVES = ((0x100, "4000000,1000000,40000,10000"), (0x9000, "100,0,10,0"))
PLACEMENTS = ("first_touch", "static_oracle", "phase_oracle", "balanced_oracle")


@pytest.fixture(name="load")
def load_file(tmp_path):
    """Writes a file of tiers under load."""

    def write(text):
        path = tmp_path / "tiers.load"
        path.write_text(text)
        return path

    return write


def test_balance_wins_where_the_bandwidth_is_used_up(trace, load):
    """64 hot pages fit into the fast tier, and are 205 GB/s there: more than it serves. Both tiers serve them well."""
    words = (trace(two_halves(64, 20)), "--fast", "50%", "--load", load(LOAD.format("separate")))
    result = replay(*words, "--phase-time", "0.001s")
    hottest, best = result["static_oracle"], result["balanced_oracle"]
    assert hottest["share_mem"] > 0.99 and hottest["fast_ns"] > 800
    assert best["share_mem"] == pytest.approx(0.64, abs=0.01) and best["amat"] < hottest["amat"] / 4
    assert result["amat"] < hottest["amat"] / 3  # the first phase, which is served by first touch, included
    assert result["share_mem"] == pytest.approx(0.95 * 0.64, abs=0.02)
    bins = replay(*words, "--phase-time", "0.001s", "--algorithm", "bins")
    assert bins["amat"] > result["amat"] * 3  # hottest first
    calm = replay(*words, "--phase-time", "1s")
    assert calm["share_mem"] > 0.94
    assert calm["balanced_oracle"]["amat"] == pytest.approx(calm["static_oracle"]["amat"], rel=0.01)


def test_shared_channels_want_the_fast_tier_first(trace, load):
    words = (trace(two_halves(64, 20)), "--fast", "50%", "--load", load(LOAD.format("shared")))
    result = replay(*words, "--phase-time", "0.001s")
    assert result["balanced_oracle"]["share_mem"] > 0.99
    assert result["share_mem"] > 0.94


def test_stream_is_faster_with_a_balance(load):
    """STREAM's triad with a fast tier that has room for 90 % of its pages, but not the bandwidth."""
    result = replay(shipped("STREAM"), "--fast", "90%", "--load", load(STREAM), "--phase-time", "0.0055s")
    assert result["amat"] < 0.9 * min(result[name]["amat"] for name in ("first_touch", "static_oracle", "phase_oracle"))
    assert result["amat"] < 1.05 * result["balanced_oracle"]["amat"]


def test_the_trace_tells_the_phase_time(trace, load):
    path = load(LOAD.format("separate"))
    told = trace("# phase_seconds: 0.25 s\n" + TINY)
    result = replay(told, "--load", path)
    assert result["load"] == {
        "channels": "separate",
        "phase_s": 0.25,
        "fast": {"idle_ns": 80, "most_gbs": pytest.approx(190)},
        "slow": {"idle_ns": 150, "most_gbs": pytest.approx(142.5)},
    }
    assert (result["lat_read"], result["lat_write"]) == (None, None)
    assert replay(told, "--load", path, "--phase-time", "2s")["load"]["phase_s"] == 2
    assert set(result["first_touch"]) == SCORE | {"fast_ns", "slow_ns"}


def test_without_load_nothing_is_told_of_it():
    result = replay_shipped("SNAP", 10)
    assert not {"load", "balanced_oracle", "fast_ns", "slow_ns"} & set(result)
    assert "LATENCY" not in helper("hybridmem-replay", shipped("SNAP")).stdout


def test_the_text(trace, load):
    words = (trace(two_halves(64, 5)), "--fast", "50%", "--load", load(LOAD.format("shared")), "--phase-time", "0.5s")
    result, text = replay(*words), helper("hybridmem-replay", *words).stdout
    rows = {line[:20].strip(): re.findall(r"(\S+) ns", line) for line in text.splitlines() if line.endswith(" ns")}
    assert list(rows) == [
        "ours (regions)",
        *(name.replace("_", " ").replace("phase", "per-phase") for name in PLACEMENTS),
    ]
    for row, score in zip(rows.values(), (result, *(result[name] for name in PLACEMENTS)), strict=True):
        assert row == [f"{score[key]:.0f}" for key in ("fast_ns", "slow_ns") if score[key] is not None]
    assert "1 is the fast tier without load, 80 ns (slow: 150 ns)" in text
    assert "each phase of 0.5 s" in text and "with shared channels" in text
    assert "of the possible gain from first touch to the balanced oracle was reached" in text


def test_what_is_shed_is_explained(trace, load):
    """First touch puts the hot half into the fast tier, which has no bandwidth for all of it."""
    rows = [
        f"{phase},{page:x},{hits}" for phase in range(2) for first, hits in HALVES for page in range(first, first + 64)
    ]
    file = trace("\n".join([COLUMNS.strip(), *rows, ""]))
    words = (file, "--fast", "50%", "--load", load(LOAD.format("separate")), "--phase-time", "0.001s", "--explain", 0)
    assert "demoted: the fast tier serves more than its share" in helper("hybridmem-replay", *words).stdout


def test_a_seed_decides_under_load(load):
    words = (shipped("SNAP"), "--load", load(LOAD.format("separate")), "--phase-time", "0.002s")
    assert without_time(replay(*words)) == without_time(replay(*words))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--lat-read", "3"], "--lat-read and --lat-write do not go with --load, which has the latencies"),
        (["--phase-time", "0s"], '--phase-time: "0s" is no time: write more than 0, as in 0.25s'),
        (["--phase-time", "1"], '--phase-time: "1" is not a number of s: write the number and s, as in 2.5s'),
        ([], "--load: the trace does not say how long a phase takes: give --phase-time, as in --phase-time 0.25s"),
    ],
)
def test_wrong_usage(trace, load, words, said):
    done = helper("hybridmem-replay", trace(TINY), "--load", load(LOAD.format("shared")), *words, status=2)
    assert (done.stdout, done.stderr) == ("", f"hybridmem replay: {said}\n")


def test_a_phase_time_without_load(trace):
    done = helper("hybridmem-replay", trace(TINY), "--phase-time", "1s", status=2)
    assert done.stderr == "hybridmem replay: --phase-time is for --load alone: give both or none\n"


def test_wrong_files(trace, load, tmp_path):
    big = tmp_path / "big"
    big.write_text("#\n" * 40000)
    for path, said in (
        (load("channels separate\nfast 10GB/s\n"), ":2: neither a point nor idle and peak: write"),
        (tmp_path / "none", ": No such file or directory"),
        (tmp_path, " is no regular file"),
        (big, " is larger than 65536 bytes"),
    ):
        done = helper("hybridmem-replay", trace(TINY), "--load", path, "--phase-time", "1s", status=1)
        assert done.stdout == "" and done.stderr.startswith(f"hybridmem replay: {path}{said}")
