# SPDX-License-Identifier: Apache-2.0
"""Tests what hybridmem replay prints and explains, and how it shows its progress."""

import itertools
import json
import re

import pytest
from installed import LIBEXEC, helper
from replaying import (
    COLUMNS,
    SCORE,
    SVG,
    TINY,
    algorithms,
    draw,
    replay,
    replay_shipped,
    shipped,
    two_halves,
    without_time,
)
from terminal import with_errors_on_terminal


def test_the_json(trace):
    result = replay(trace(TINY), "--fast", "50%", "--seed", "7", "--algorithm", "bins", "--bins", "16")
    inputs = {
        "trace": str(trace(TINY)),
        "app": "tiny & <small>",
        "pages": 4,
        "phases": 3,
        "phase_accesses": None,
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
    """A header may contain anything: none of its bytes moves a cursor, or breaks the JSON or the picture."""
    path = trace(b"# app: a\xff\x1b[2J\xc3\n" + TINY.encode())
    result = replay(path, "--fast", "50%")
    assert result["app"] == "tiny & <small>"  # the last header counts
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
    assert lines[9].startswith("Samples: 0, one in 65536 raw accesses; deciding took 0.0")
    assert lines[10] == "0 % of the possible gain from first touch to the static oracle was reached."


def test_the_table_says_how_much_was_gained(trace):
    done = helper("hybridmem-replay", trace(two_halves(64, 10)), "--fast", "50%")
    share = re.search(r"^(\d+) % of the possible gain", done.stdout, re.MULTILINE)
    assert 75 <= int(share[1]) <= 100
    even = COLUMNS + "".join(f"0,{page:x},1,0,1,0\n" for page in range(10))
    done = helper("hybridmem-replay", trace(even))
    assert "There is nothing to gain here: the static oracle is no better than first touch.\n" in done.stdout


def table_of(lines):
    return [re.split(r" {2,}", line)[1:] for line in lines[3:7]]


def test_a_dash_where_there_are_no_writes_to_memory(trace):
    """A dash is shown where the JSON has null: there is no share of nothing. Nouns are singular for 1."""
    rows = "0,1000,10,0,5,0\n0,1001,1000000,0,50000,0\n1,1001,1000000,0,50000,0\n"
    lines = helper("hybridmem-replay", trace(COLUMNS + rows), "--fast", "50%").stdout.splitlines()
    assert lines[0].endswith(": 2 pages (8.0 KiB) in 2 phases; fast tier 50 %: 1 page (4.0 KiB)")
    assert [row[3] for row in table_of(lines)] == ["-"] * 4
    assert all(row[1].endswith(" %") and row[2].endswith(" %") for row in table_of(lines))
    assert len({len(line) for line in lines[2:7]}) == 1
    assert "nan" not in "".join(lines[1:])


def test_dashes_where_there_are_no_accesses_to_memory(trace):
    lines = helper("hybridmem-replay", trace(COLUMNS + "0,1,5,5,0,0\n"), "--fast", "100%").stdout.splitlines()
    assert lines[0].endswith(": 1 page (4.0 KiB) in 1 phase; fast tier 100 %: 1 page (4.0 KiB)")
    assert table_of(lines) == [["-", "-", "100.0 %", "-", "0"]] * 4
    assert len({len(line) for line in lines[2:7]}) == 1
    assert lines[-1] == "There is nothing to gain here: the trace has no accesses to memory."


def test_a_name_from_the_file(trace):
    done = helper("hybridmem-replay", trace(TINY.replace("# app", "# other"), "solver.v2.trace"))
    assert done.stdout.startswith("solver: 4 pages")


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
    """Moves are explained in the phase at whose end they are decided: here the second at the latest."""
    words = (trace(two_halves(64, 10)), "--fast", "50%", "--explain")
    early = [region for phase in (0, 1) for region in replay(*words, phase)["regions"]]
    assert any(verdict.startswith("promoted") and start >= 0x9000 << 12 for start, verdict in starts(early))
    assert any(verdict.startswith("demoted") and start < 0x9000 << 12 for start, verdict in starts(early))
    late = replay(*words, 9)["regions"]
    assert not any(region["verdict"].startswith("promoted") for region in late)
    hot = [region for region in late if int(region["start"], 16) >= 0x9000 << 12]
    assert sum(region["fast_pages"] for region in hot) >= 60


def test_explained_for_people():
    words = (shipped("AMG"), "--fast", "25%", "--explain", "3")
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


def test_progress_on_a_terminal_only(trace):
    program = LIBEXEC / "hybridmem-replay"
    result, seen = with_errors_on_terminal(program, shipped("AMG"), "--json")
    assert without_time(json.loads(result)) == without_time(replay_shipped("AMG", 10))
    assert "reading the trace" in seen and "phase 1 of 24" in seen and "phase 24 of 24" in seen
    assert seen.endswith("\r\x1b[K")
    assert with_errors_on_terminal(program, trace(TINY), "--json")[1] == ""
    assert helper("hybridmem-replay", shipped("AMG")).stderr == ""
