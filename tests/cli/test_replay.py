# SPDX-License-Identifier: Apache-2.0
"""hybridmem replay: figures that were worked out by hand, those of an independent simulation, and the goals."""

import ctypes
import ctypes.util
import functools
import itertools
import json
import os
import pty
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from installed import LIBEXEC, helper

TRACES = Path(__file__).resolve().parent.parent / "fixtures" / "traces"
APPS = ["AMG", "LULESH", "SNAP", "STREAM", "bfs"]
COLUMNS = "phase,page_hex,raw_reads,raw_writes,mem_reads,mem_writes\n"
SCORE = {"amat", "share_mem", "share_raw", "slow_writes", "pages_moved"}
SVG = "{http://www.w3.org/2000/svg}"

# Four pages in three phases; the fast tier of 50 % has two.
TINY = (
    "# app: tiny & <small>\n"
    + COLUMNS
    + "0,10,100,0,10,0\n0,11,50,50,5,5\n"
    + "1,20,200,100,100,50\n1,21,100,0,30,0\n"
    + "2,11,10,10,2,2\n2,20,200,100,100,60\n"
)


def shipped(app):
    return TRACES / f"{app}.trace.zst"


def replay(*words, **options):
    return json.loads(helper("hybridmem-replay", *words, "--json", **options).stdout)


@functools.cache
def replay_shipped(app, fast, seed=1, algorithm=None):
    words = ["--algorithm", algorithm] if algorithm else []
    return replay(shipped(app), "--fast", f"{fast}%", "--seed", seed, *words)


@functools.cache
def algorithms():
    """Their names, the default first."""
    text = helper("hybridmem-replay", "--help").stdout
    names = re.search(r"--algorithm NAME +(.*?)\n  --", text, re.DOTALL)[1]
    return [line.split()[0] for line in names.splitlines()]


@pytest.fixture(params=["default", "bins"])
def algorithm(request):
    return algorithms()[0] if request.param == "default" else request.param


@pytest.fixture
def trace(tmp_path):
    def write(text, name="app.trace"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def two_halves(n_pages, n_phases):
    """Cold pages are touched first, then as many hot ones: nearly all accesses to memory, and writes, are theirs."""
    rows = [f"0,{page:x},1,0,1,0" for page in range(0x100, 0x100 + n_pages)]
    for phase in range(n_phases):
        if phase > 0:
            rows += [f"{phase},{page:x},100,0,10,0" for page in range(0x100, 0x100 + n_pages)]
        rows += [f"{phase},{page:x},4000000,1000000,40000,10000" for page in range(0x9000, 0x9000 + n_pages)]
    return COLUMNS + "\n".join(rows) + "\n"


def zstd(data):
    """A frame, by the library that the command links: the tests then need no other program."""
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_compress.restype = library.ZSTD_compressBound.restype = ctypes.c_size_t
    room = library.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    frame = ctypes.create_string_buffer(room)
    size = library.ZSTD_compress(frame, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 3)
    return frame.raw[:size]


def without_time(result):
    return {key: value for key, value in result.items() if key not in ("decide_s", "trace")}


# By hand


def test_first_touch_and_the_oracles_by_hand(trace):
    """What is expected is written as sums over the rows of TINY: 364 accesses to memory, 117 of them writes."""
    result = replay(trace(TINY), "--fast", "50%")
    assert result["first_touch"] == {  # pages 10 and 11
        "amat": pytest.approx((24 + 230 * 2 + 110 * 5) / 364),
        "share_mem": pytest.approx((10 + 10 + 4) / 364),
        "share_raw": pytest.approx((100 + 100 + 20) / 920),
        "slow_writes": pytest.approx((50 + 60) / 117),
        "pages_moved": 0,
    }
    assert result["static_oracle"] == {  # pages 20 and 21
        "amat": pytest.approx((340 + 17 * 2 + 7 * 5) / 364),
        "share_mem": pytest.approx((100 + 50 + 30 + 100 + 60) / 364),
        "share_raw": pytest.approx((300 + 100 + 300) / 920),
        "slow_writes": pytest.approx((5 + 2) / 117),
        "pages_moved": 0,
    }
    # 10 and 11; then 20 and 21, which are new and need no promotion; then 20 and 11
    assert result["phase_oracle"] == {
        "amat": pytest.approx((364 + 1 * 64 * 3 + 3 * 64 * 6) / 364),
        "share_mem": 1,
        "share_raw": 1,
        "slow_writes": 0,
        "pages_moved": 4,
    }


def test_latencies_by_hand(trace):
    result = replay(trace(TINY), "--fast", "50%", "--lat-read", "1.5", "--lat-write", "10")
    assert result["first_touch"]["amat"] == pytest.approx((24 + 230 * 1.5 + 110 * 10) / 364)
    assert result["static_oracle"]["amat"] == pytest.approx((340 + 17 * 1.5 + 7 * 10) / 364)
    assert result["phase_oracle"]["amat"] == pytest.approx((364 + 1 * 64 * 2.5 + 3 * 64 * 11) / 364)


@pytest.mark.parametrize(
    ("fast", "pages", "share"),
    [
        ("0%", 0, 0),
        ("24.9%", 0, 0),
        ("25%", 1, 310 / 364),
        ("50%", 2, 340 / 364),
        ("99.99%", 3, 354 / 364),
        ("100%", 4, 1),
    ],
)
def test_the_fast_tier_is_rounded_down(trace, fast, pages, share):
    result = replay(trace(TINY), "--fast", fast)
    assert result["fast_pages"] == pages
    assert result["fast"] == pytest.approx(float(fast[:-1]) / 100)
    assert result["static_oracle"]["share_mem"] == pytest.approx(share)


def test_percentages_of_round_numbers_lose_no_page(trace):
    """29 % of 100 pages are 29, though 0.29 * 100 is below 29 in binary."""
    rows = "".join(f"0,{page:x},1,0,1,0\n" for page in range(100))
    for percent in range(0, 101):
        result = replay(trace(COLUMNS + rows), "--fast", f"{percent}%")
        assert result["fast_pages"] == percent
        assert result["static_oracle"]["share_mem"] == pytest.approx(percent / 100)


def test_no_sample_no_move(trace):
    """920 raw accesses are too few for one sample of 65536."""
    result = replay(trace(TINY), "--fast", "50%")
    assert (result["samples"], result["pages_moved"], result["promoted"], result["demoted"]) == (0, 0, 0, 0)
    assert {key: result[key] for key in SCORE} == result["first_touch"]


@pytest.mark.parametrize(("sample", "accesses"), [("raw", 920), ("mem", 364)])
def test_a_period_of_one_samples_all(trace, sample, accesses):
    assert replay(trace(TINY), "--period", "1", "--sample", sample)["samples"] == accesses


def test_nothing_to_share(trace):
    """Without accesses to memory there is no AMAT and no share of them: not known, instead of 0."""
    result = replay(trace(COLUMNS + "0,1,5,5,0,0\n"), "--fast", "100%")
    for score in (result, result["first_touch"], result["static_oracle"], result["phase_oracle"]):
        assert (score["amat"], score["share_mem"], score["slow_writes"], score["share_raw"]) == (None, None, None, 1)


def test_what_is_hot_is_found(trace, algorithm):
    """The first phase is served by first touch, the second by what was sampled of it, at the latest the third."""
    path = trace(two_halves(64, 10))
    result = replay(path, "--fast", "50%", "--algorithm", algorithm)
    assert result["first_touch"]["share_mem"] < 0.01
    assert result["share_mem"] > 0.75 and result["slow_writes"] < 0.25
    assert 100 <= result["pages_moved"] <= 160
    assert result["pages_moved"] == result["promoted"] + result["demoted"]
    swaps = 64 * 3 * result["promoted"] + 64 * 6 * result["demoted"]
    total = 64 + 64 * 9 * 10 + 64 * 10 * 50000
    writes = 64 * 10 * 10000
    slow_writes = result["slow_writes"] * writes
    slow_reads = (1 - result["share_mem"]) * total - slow_writes
    assert result["amat"] == pytest.approx((total + slow_reads + 4 * slow_writes + swaps) / total)


# Independent figures: share of memory accesses, slow writes, AMAT of first touch, static and per-phase oracle.
REFERENCE = """
AMG 10     0.170/0.356/1.90 0.285/0.394/1.80 0.327/0.317/1.87
AMG 25     0.183/0.297/1.88 0.558/0.337/1.51 0.633/0.235/1.75
AMG 50     0.394/0.150/1.64 0.930/0.189/1.11 0.976/0.105/1.14
LULESH 10  0.038/0.989/2.71 0.663/0.344/1.60 0.698/0.324/1.68
LULESH 25  0.134/0.927/2.57 0.770/0.259/1.43 0.805/0.228/1.62
LULESH 50  0.855/0.192/1.29 0.864/0.171/1.26 0.901/0.119/1.53
SNAP 10    0.165/0.750/2.52 0.394/0.692/2.24 0.408/0.665/2.30
SNAP 25    0.276/0.608/2.28 0.511/0.544/1.99 0.635/0.293/2.38
SNAP 50    0.457/0.382/1.89 0.690/0.327/1.61 0.894/0.051/2.81
STREAM 10  0.128/0.852/2.61 0.128/0.852/2.61 0.138/0.829/2.67
STREAM 25  0.319/0.630/2.22 0.319/0.630/2.22 0.329/0.616/2.28
STREAM 50  0.568/0.381/1.76 0.570/0.378/1.76 0.591/0.353/1.86
bfs 10     0.443/0.078/1.59 0.756/0.002/1.24 0.757/0.001/1.25
bfs 25     0.489/0.078/1.55 0.844/0.001/1.16 0.848/0.000/1.40
bfs 50     0.567/0.078/1.47 0.937/0.000/1.06 0.944/0.000/1.32
"""
ROWS = [line.split() for line in REFERENCE.strip().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_the_reference_figures(row):
    """To 1 %; the small ones to half of their last digit."""
    result = replay_shipped(row[0], int(row[1]))
    for key, figures in zip(("first_touch", "static_oracle", "phase_oracle"), row[2:], strict=True):
        share, slow_writes, amat = map(float, figures.split("/"))
        found = result[key]
        assert found["share_mem"] == pytest.approx(share, rel=0.01, abs=0.00051), key
        assert found["slow_writes"] == pytest.approx(slow_writes, rel=0.01, abs=0.00051), key
        assert found["amat"] == pytest.approx(amat, rel=0.01), key
        assert set(found) == SCORE


# What is printed


def test_the_json(trace):
    result = replay(trace(TINY), "--fast", "50%", "--seed", "7", "--algorithm", "bins", "--bins", "16")
    inputs = {
        "trace": str(trace(TINY)),
        "app": "tiny & <small>",
        "pages": 4,
        "phases": 3,
        "fast": 0.5,
        "fast_pages": 2,
        "algorithm": "bins",
        "period": 65536,
        "sample": "raw",
        "bins": 16,
        "lat_read": 2,
        "lat_write": 5,
        "seed": 7,
    }
    assert {key: result.pop(key) for key in inputs} == inputs
    scores = {"first_touch", "static_oracle", "phase_oracle"}
    assert set(result) == SCORE | scores | {"promoted", "demoted", "samples", "decide_s", "peak_bytes"}
    assert all(set(result[key]) == SCORE for key in scores)


def test_the_json_where_the_header_says_nothing(trace):
    assert replay(trace(TINY.replace("# app", "# other")))["app"] is None


def test_names_that_are_not_text(trace, tmp_path):
    """A header may hold anything: no byte of it moves a cursor, breaks the JSON or the picture."""
    path = trace(b"# app: a\xff\x1b[2J\xc3\n" + TINY.encode())
    result = replay(path, "--fast", "50%")
    assert result["app"] == "tiny & <small>"  # the last one counts
    path = trace(TINY.encode().replace(b"tiny", b"a\xff\x1b[2J\xc3\x01"))
    assert replay(path)["app"] == "a?\x1b[2J?\x01 & <small>"
    assert helper("hybridmem-replay", path).stdout.startswith("a??[2J?? & <small>: 4 pages")
    texts = [text.text for text in draw(tmp_path, path).iter(f"{SVG}text")]
    assert texts[0] == "a??[2J?? & <small>, fast tier 10 %"


def test_the_table(trace):
    path = trace(TINY)
    done = helper("hybridmem-replay", path, "--fast", "50%")
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "tiny & <small>: 4 pages (16.0 KiB) in 3 phases; fast tier 50 %: 2 pages (8.0 KiB)"
    assert re.split(r" {2,}", lines[2]) == [
        "PLACEMENT",
        "AMAT",
        "MEMORY ACCESSES",
        "RAW ACCESSES",
        "SLOW WRITES",
        "PAGES MOVED",
    ]
    table = [re.split(r" {2,}", line) for line in lines[3:7]]
    assert table == [
        [f"ours ({algorithms()[0]})", "2.841", "6.6 %", "23.9 %", "94.0 %", "0"],
        ["first touch", "2.841", "6.6 %", "23.9 %", "94.0 %", "0"],
        ["static oracle", "1.124", "93.4 %", "76.1 %", "6.0 %", "0"],
        ["per-phase oracle", "4.692", "100.0 %", "100.0 %", "0.0 %", "4"],
    ]
    assert len({len(line) for line in lines[2:7]}) == 1
    assert lines[9].startswith("Samples: 0, one in 65536 raw accesses; decided in 0.0")
    assert lines[10] == "0 % of the possible gain was reached: from first touch to the static oracle."


def test_the_table_says_how_much_was_gained(trace):
    done = helper("hybridmem-replay", trace(two_halves(64, 10)), "--fast", "50%")
    share = re.search(r"^(\d+) % of the possible gain was reached", done.stdout, re.MULTILINE)
    assert 75 <= int(share[1]) <= 100
    even = COLUMNS + "".join(f"0,{page:x},1,0,1,0\n" for page in range(10))
    done = helper("hybridmem-replay", trace(even))
    assert "There is nothing to gain here: the static oracle is no better than first touch.\n" in done.stdout


def test_a_name_from_the_file(trace):
    done = helper("hybridmem-replay", trace(TINY.replace("# app", "# other"), "solver.v2.trace"))
    assert done.stdout.startswith("solver: 4 pages")


# Samples


def test_a_seed_decides():
    first = replay_shipped("LULESH", 10)
    assert without_time(replay(shipped("LULESH"), "--fast", "10%", "--seed", "1")) == without_time(first)
    others = [replay_shipped("LULESH", 10, seed) for seed in (2, 3)]
    assert any(other["samples"] != first["samples"] for other in others)
    for other in others:
        assert other["samples"] == pytest.approx(first["samples"], rel=0.02)
        assert other["first_touch"] == first["first_touch"]


def test_one_in_65536_raw_accesses():
    assert replay_shipped("AMG", 10)["samples"] == pytest.approx(2572895197 / 65536, rel=0.02)


def test_sampling_memory_accesses():
    words = (shipped("LULESH"), "--fast", "10%", "--sample", "mem")
    accesses = 182711533 + 61432977
    assert replay(*words)["samples"] == pytest.approx(accesses / 65536, rel=0.06)
    assert replay(*words, "--period", "8192")["samples"] == pytest.approx(accesses / 8192, rel=0.03)


def test_longer_periods_have_fewer_samples():
    result = replay(shipped("bfs"), "--fast", "10%", "--period", "1000000")
    assert result["samples"] == pytest.approx(1554265854 / 1000000, rel=0.1) and result["period"] == 1000000


def test_bins_can_be_chosen():
    few, many = (replay(shipped("SNAP"), "--algorithm", "bins", "--bins", n) for n in (16, 1000))
    assert few["amat"] != many["amat"]
    assert few["peak_bytes"] < many["peak_bytes"]


def test_plain_or_compressed(trace):
    text = two_halves(40, 5).encode()
    plain = helper("hybridmem-replay", trace(text, "a"), "--explain", "2", "--json").stdout
    packed = helper("hybridmem-replay", trace(zstd(text), "b"), "--explain", "2", "--json").stdout
    assert without_time(json.loads(packed)) == without_time(json.loads(plain))
    assert json.loads(plain)["regions"]


def test_memory_does_not_grow_with_the_trace(trace):
    """Pages strewn over 1 TiB: what the decision code holds stays below 8 MiB."""
    rows = [f"{phase},{page:x},70000,0,70,0" for phase in range(3) for page in range(0, 1 << 28, 1 << 13)]
    result = replay(trace(COLUMNS + "\n".join(rows) + "\n"))
    assert result["pages"] == 1 << 15 and result["samples"] > 50000
    assert 0 < result["peak_bytes"] < 8 << 20
    for app in APPS:
        assert 0 < replay_shipped(app, 10)["peak_bytes"] < 8 << 20


# Explaining and drawing


def check_regions(regions, capacity):
    assert regions
    for region in regions:
        assert set(region) == {
            *("start", "end", "fast_pages", "slow_pages", "reads", "writes", "noise", "priority", "phases", "verdict")
        }
        assert int(region["start"], 16) < int(region["end"], 16)
        pages = (int(region["end"], 16) - int(region["start"], 16)) >> 12
        assert 0 <= region["fast_pages"] + region["slow_pages"] <= pages
        assert region["verdict"]
    for one, next_one in itertools.pairwise(regions):
        assert int(one["end"], 16) <= int(next_one["start"], 16)
    assert sum(region["fast_pages"] for region in regions) <= capacity


def starts(regions):
    return [(int(region["start"], 16), region["verdict"]) for region in regions]


def test_explained_as_json(algorithm):
    words = (shipped("LULESH"), "--fast", "10%", "--algorithm", algorithm)
    result = replay(*words, "--explain", "4")
    regions = result.pop("regions")
    check_regions(regions, 3678)
    assert without_time(result) == without_time(replay(*words))
    accesses = sum(region["reads"] + region["writes"] for region in regions)
    assert accesses == pytest.approx(130000000, rel=0.3)
    assert all(region["phases"] <= 5 for region in regions)


def test_explained_hot_pages_are_promoted(trace):
    """Moves are explained in the phase at whose end they are decided: not later than the second."""
    words = (trace(two_halves(64, 10)), "--fast", "50%", "--explain")
    early = [region for phase in (0, 1) for region in replay(*words, phase)["regions"]]
    assert any(verdict.startswith("promoted") and start >= 0x9000 << 12 for start, verdict in starts(early))
    assert any(verdict.startswith("demoted") and start < 0x9000 << 12 for start, verdict in starts(early))
    late = replay(*words, 9)["regions"]
    assert not any(region["verdict"].startswith("promoted") for region in late)
    hot = [region for region in late if int(region["start"], 16) >= 0x9000 << 12]
    assert sum(region["fast_pages"] for region in hot) >= 60


def test_explained_for_people():
    words = (shipped("bfs"), "--fast", "25%", "--explain", "3")
    regions = replay(*words)["regions"]
    head, list_of_regions, sums = helper("hybridmem-replay", *words).stdout.split("\n\n")[-3:]
    assert head.startswith("Decided at the end of phase 3; reads, writes and their noise are raw accesses expected")
    title, *rows = list_of_regions.splitlines()
    assert title.split() == ["ADDRESSES", "PAGES", "FAST", "SLOW", "READS", "WRITES", "NOISE", "PRIORITY", "VERDICT"]
    assert [row.split()[0] for row in rows] == [
        f"{int(region['start'], 16):012x}-{int(region['end'], 16):012x}" for region in regions
    ]
    for row, region in zip(rows, regions, strict=True):
        assert [int(cell) for cell in row.split()[2:4]] == [region["fast_pages"], region["slow_pages"]]
        assert row.endswith(region["verdict"])
    assert sum(int(line.split()[0]) for line in sums.splitlines()) == len(regions)


def draw(tmp_path, *words):
    path = tmp_path / "plot.svg"
    helper("hybridmem-replay", *words, "--plot", path)
    assert sorted(tmp_path.glob("plot*")) == [path]
    return ElementTree.parse(path).getroot()


def count(path):
    """The rectangles of a path."""
    return path.get("d").count("z")


def test_a_small_picture(trace, tmp_path):
    """Without samples first touch holds: pages 10 and 11 are fast in all phases, and the hole has no rows."""
    root = draw(tmp_path, trace(TINY), "--fast", "50%")
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert texts[0] == "tiny & <small>, fast tier 50 %"
    assert texts[1] == f"AMAT 2.84 with {algorithms()[0]}; first touch 2.84, static oracle 1.12"
    heat = root.find(f"{SVG}g[@id='heat']")
    # none: 20 and 21 in phase 0, 10 and 11 in phase 1, 10 and 21 in phase 2; neighbours are one rectangle
    assert [count(path) for path in heat if path.get("class") == "empty"] == [4]
    # 10, 10, 150, 30, 4, 160 accesses: equal heat of 10 and 11 is one rectangle, and each other cell its own
    assert sum(count(path) for path in heat if path.get("class") != "empty") == 5
    (placement,) = root.findall(f"{SVG}path[@id='placement']")
    assert count(placement) == 3
    shares = root.find(f"{SVG}g[@id='shares']").findall(f"{SVG}rect")
    full = max(float(bar.get("height")) for bar in shares)
    assert [float(bar.get("height")) / full for bar in shares] == pytest.approx([1, 0, 4 / 164], abs=0.001)
    phases = [text.text for text in root.find(f"{SVG}g[@id='phases']")]
    assert phases == ["0", "1", "2", "phase"]
    assert "10000" in [text.text for text in root.find(f"{SVG}g[@id='addresses']")]


def test_holes_take_no_room(trace, tmp_path):
    near = draw(tmp_path, trace(TINY))
    far = draw(tmp_path, trace(TINY.replace(",20,", ",7ffff0000,").replace(",21,", ",7ffff0001,")))
    assert abs(int(far.get("height")) - int(near.get("height"))) < 10
    addresses = [text.text for text in far.find(f"{SVG}g[@id='addresses']")]
    assert addresses == ["10000", "7ffff0000000"]


@pytest.mark.parametrize("app", APPS)
def test_pictures_of_the_traces(tmp_path, app):
    root = draw(tmp_path, shipped(app), "--fast", "25%")
    assert int(root.get("width")) < 1200 and int(root.get("height")) < 1100
    n_phases = replay_shipped(app, 25)["phases"]
    assert len(root.find(f"{SVG}g[@id='shares']").findall(f"{SVG}rect")) == n_phases
    assert sum(count(path) for path in root.find(f"{SVG}g[@id='heat']")) >= n_phases
    assert count(root.find(f"{SVG}path[@id='placement']")) >= n_phases - 1
    assert (tmp_path / "plot.svg").stat().st_size < 300000
    text = (tmp_path / "plot.svg").read_text()
    assert "prefers-color-scheme:dark" in text and "href" not in text and "url(" not in text


def test_many_phases_and_pages_stay_a_picture(trace, tmp_path):
    rows = [f"{phase},{0x1000 * (page // 50) + page:x},9,1,{page + 1},1" for phase in range(500) for page in range(600)]
    root = draw(tmp_path, trace(COLUMNS + "\n".join(rows) + "\n"))
    assert int(root.get("width")) < 1200 and int(root.get("height")) < 1100
    assert len(root.find(f"{SVG}g[@id='shares']").findall(f"{SVG}rect")) == 120


def test_a_picture_replaces_another_at_once(trace, tmp_path):
    path = tmp_path / "plot.svg"
    path.write_text("old")
    path.chmod(0o600)
    helper("hybridmem-replay", trace(TINY), "--plot", path, umask=0o027)
    assert path.read_text().endswith("</svg>\n") and path.stat().st_mode & 0o777 == 0o640


def test_a_picture_that_cannot_be_written(trace, tmp_path):
    path = tmp_path / "none" / "plot.svg"
    done = helper("hybridmem-replay", trace(TINY), "--plot", path, status=1)
    said = f"hybridmem replay: --plot {path}: it cannot be written there: No such file or directory\n"
    assert (done.stdout, done.stderr) == ("", said)


# What is wrong

PERIODS = "a number of 1 to 1000000000000"
LATENCY = "is not a latency in those of the fast tier: write a number of 1 to 1000, as in 2.5"


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


def test_no_trace():
    done = helper("hybridmem-replay", status=2)
    assert done.stderr == "hybridmem replay: the trace is missing, as in: hybridmem replay app.trace.zst\n"


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


def test_a_full_disk_is_told(trace):
    command = [LIBEXEC / "hybridmem-replay", trace(TINY), "--json"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "hybridmem replay: standard output cannot be written\n")


# How far it is


def on_terminal(*words):
    """Standard output, and what a terminal got as standard error."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([LIBEXEC / "hybridmem-replay", *words], stdout=subprocess.PIPE, stderr=theirs) as child:
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 4096):
                seen += part
        except OSError:  # EIO: all writers are gone
            pass
        out = child.stdout.read()
    os.close(ours)
    assert child.returncode == 0
    return json.loads(out), seen.decode()


def test_progress_on_a_terminal_only(trace):
    result, seen = on_terminal(shipped("AMG"), "--json")
    assert without_time(result) == without_time(replay_shipped("AMG", 10))
    assert "reading the trace" in seen and "phase 1 of 24" in seen and "phase 24 of 24" in seen
    assert seen.endswith("\r\x1b[K")
    assert on_terminal(trace(TINY), "--json")[1] == ""
    assert helper("hybridmem-replay", shipped("AMG")).stderr == ""


SEEDS = (1, 2, 3)


@pytest.mark.parametrize(("fast", "amat"), [(10, 1.96), (25, 1.75), (50, 1.43)])
def test_the_goal_of_the_mean(fast, amat):
    """One command for all traces: the mean over them, and over seeds."""
    results = [replay_shipped(app, fast, seed) for app in APPS for seed in SEEDS]
    assert sum(result["amat"] for result in results) / len(results) <= amat


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fast", [10, 25, 50])
@pytest.mark.parametrize("app", APPS)
def test_never_worse_than_first_touch(app, fast, seed):
    result = replay_shipped(app, fast, seed)
    assert result["amat"] <= 1.01 * result["first_touch"]["amat"]
