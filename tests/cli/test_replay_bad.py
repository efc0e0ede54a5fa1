# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem replay with wrong words and traces."""

import pytest
from installed import helper
from replaying import COLUMNS, TINY, algorithms, zstd

PERIODS = "a number of 1 to 1000000000000"
LATENCY = "is not a multiple of the fast tier's latency: write a number of 1 to 1000, as in 2.5"
OTHER = '--plot: "x.{}" is the name of another kind of picture: only SVG is drawn, so name it x.svg'


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--fast", "10"], '--fast: "10" is not a percentage: write a number and %, as in 2.5%'),
        (["--fast", "101%"], '--fast: "101%" is more than 100%'),
        (["--fast", "-1%"], '--fast: "-1%" is not a percentage: write a number and %, as in 2.5%'),
        (["--fast", ""], '--fast: "" is not a percentage: write a number and %, as in 2.5%'),
        (["--period", "0"], f'--period: "0" is not {PERIODS}'),
        (["--period", "64K"], f'--period: "64K" is not {PERIODS}'),
        (["--period", "1000000000001"], f'--period: "1000000000001" is not {PERIODS}'),
        (["--period", "1e3"], f'--period: "1e3" is not {PERIODS}'),
        (
            ["--sample", "both"],
            '--sample: "both" cannot be sampled: use raw (loads and stores) or mem (accesses to memory)',
        ),
        (["--bins", "15"], '--bins: "15" is not a number of 16 to 1048576'),
        (["--bins", "1048577"], '--bins: "1048577" is not a number of 16 to 1048576'),
        (["--lat-read", "0.9"], f'--lat-read: "0.9" {LATENCY}'),
        (["--lat-read", "nan"], f'--lat-read: "nan" {LATENCY}'),
        (["--lat-write", "1e3"], f'--lat-write: "1e3" {LATENCY}'),
        (["--lat-write", "5."], f'--lat-write: "5." {LATENCY}'),
        (["--lat-write", "0x5"], f'--lat-write: "0x5" {LATENCY}'),
        (["--lat-write", "1001"], f'--lat-write: "1001" {LATENCY}'),
        (["--seed", "-1"], '--seed: "-1" is not a number of 0 to 9223372036854775807'),
        (
            ["--seed", "9223372036854775808"],
            '--seed: "9223372036854775808" is not a number of 0 to 9223372036854775807',
        ),
        (["--explain", "last"], '--explain: "last" is not a number of 0 to 4294967295'),
        (["--explain", "3"], "--explain: there is no phase 3: the trace has phases 0 to 2"),
        (["--plot", ""], '--plot: "" is not a file: name the picture to write, as in plot.svg'),
        (["--plot", "/tmp/"], '--plot: "/tmp/" is not a file: name the picture to write, as in plot.svg'),
        (
            ["--plot", "a.b/c.d.PNG"],
            '--plot: "a.b/c.d.PNG" is the name of another kind of picture: only SVG is drawn, so name it a.b/c.d.svg',
        ),
        *((["--plot", f"x.{kind}"], OTHER.format(kind)) for kind in ("png", "jpg", "jpeg", "pdf", "gif", "eps")),
        (["more"], "there is more than one trace: give one"),
    ],
)
def test_wrong_usage(trace, words, said):
    done = helper("hybridmem-replay", trace(TINY), *words, status=2)
    assert (done.stdout, done.stderr) == ("", f"hybridmem replay: {said}\n")


@pytest.mark.parametrize("name", ["magic", "bin", "binss", ""])
def test_no_such_algorithm(trace, name):
    done = helper("hybridmem-replay", trace(TINY), "--algorithm", name, status=2)
    known = f'"{name}" is not an algorithm: use one of {", ".join(algorithms())}'
    assert (done.stdout, done.stderr) == ("", f"hybridmem replay: --algorithm: {known}\n")
    assert "bins" in algorithms()


@pytest.mark.parametrize("words", [[], [""]])
def test_no_trace(words):
    done = helper("hybridmem-replay", *words, status=2)
    assert done.stderr == "hybridmem replay: the trace is missing: give one, as in: hybridmem replay app.trace.zst\n"


@pytest.mark.parametrize("words", [["--nonsense"], ["--fast"], ["--json=1"]])
def test_unknown_options_point_to_the_help(trace, words):
    done = helper("hybridmem-replay", trace(TINY), *words, status=2)
    assert done.stdout == "" and done.stderr.endswith("Try 'hybridmem replay --help'.\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 0),
        ("phase,page\n", 1),
        (COLUMNS, 1),
        (COLUMNS + "0,10,1,1,1\n", 2),
        (COLUMNS + "0,10,1,1,1,1,1\n", 2),
        (COLUMNS + "0,xyz,1,1,1,1\n", 2),
        (COLUMNS + "0,10,1,1,1,-1\n", 2),
        (COLUMNS + "0,10,1,1,1,4294967296\n", 2),
        (COLUMNS + "1,10,1,1,1,1\n", 2),
        (COLUMNS + "0,10,1,1,1,1\n0,10,1,1,1,1\n", 3),
        (COLUMNS + "0,10,1,1,1,1\n0,0f,1,1,1,1\n", 3),
        (COLUMNS + "0,10,1,1,1,1\n1,10,1,1,1,1\n0,11,1,1,1,1\n", 4),
    ],
)
def test_malformed_traces(trace, text, line):
    path = trace(text)
    done = helper("hybridmem-replay", path, status=1)
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"hybridmem replay: {path}:{line}: ")


def test_a_cut_archive(trace):
    path = trace(zstd(TINY.encode() * 100)[:-5])
    done = helper("hybridmem-replay", path, status=1)
    assert done.stdout == "" and done.stderr.startswith(f"hybridmem replay: {path}: ")


def test_a_trace_that_is_not_there(tmp_path):
    done = helper("hybridmem-replay", tmp_path / "none", status=1)
    said = f"hybridmem replay: {tmp_path / 'none'}: No such file or directory\n"
    assert (done.stdout, done.stderr) == ("", said)
