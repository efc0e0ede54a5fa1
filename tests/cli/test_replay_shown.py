# SPDX-License-Identifier: Apache-2.0
"""Tests what hybridmem replay prints, explains and draws, and how it shows its progress."""

import itertools
import json
import os
import pty
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import terminal
from installed import LIBEXEC, helper
from replaying import APPS, COLUMNS, SCORE, TINY, algorithms, replay, replay_shipped, shipped, two_halves, without_time

SVG = "{http://www.w3.org/2000/svg}"


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
    assert lines[9].startswith("Samples: 0, one in 65536 raw accesses; decided in 0.0")
    assert lines[10] == "0 % of the possible gain was reached: from first touch to the static oracle."


def test_the_table_says_how_much_was_gained(trace):
    done = helper("hybridmem-replay", trace(two_halves(64, 10)), "--fast", "50%")
    share = re.search(r"^(\d+) % of the possible gain was reached", done.stdout, re.MULTILINE)
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


def words_of(root, group):
    return [text.text for text in root.iterfind(f"{SVG}g[@id='{group}']/{SVG}text")]


def count(path):
    """The number of rectangles in a path."""
    return path.get("d").count("z")


def test_the_figures_of_a_small_picture(trace, tmp_path):
    """The pages are in two segments, 10 and 11, then 20 and 21. The picture shows the hole between the segments."""
    far = TINY.replace(",20,", ",2000,").replace(",21,", ",2001,")
    result = replay(trace(far), "--fast", "50%", "--plot", tmp_path / "plot.svg")
    assert result["grid"]["rows"] == [
        {"start": start, "pages": 1, "segment": segment}
        for start, segment in (("0x10000", 0), ("0x11000", 0), ("0x2000000", 1), ("0x2001000", 1))
    ]
    keys = ("phase", "phases", "accesses", "fast_accesses", "row_accesses", "row_fast_pages")
    assert result["grid"]["columns"] == [
        dict(zip(keys, (0, 1, 20, 20, [10, 10, 0, 0], [1, 1, 0, 0]), strict=True)),
        dict(zip(keys, (1, 1, 180, 0, [0, 0, 150, 30], [1, 1, 0, 0]), strict=True)),
        dict(zip(keys, (2, 1, 164, 4, [0, 4, 160, 0], [1, 1, 0, 0]), strict=True)),
    ]


def test_a_small_picture(trace, tmp_path):
    """Without samples first touch stays: pages 10 and 11 are fast in all phases. The hole has no rows."""
    root = draw(tmp_path, trace(TINY), "--fast", "50%")
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert texts[0] == "tiny & <small>, fast tier 50 %"
    assert texts[1] == f"AMAT 2.84 with {algorithms()[0]}; first touch 2.84, static oracle 1.12"
    heat = root.find(f"{SVG}g[@id='heat']")
    # without access: 20 and 21 in phase 0, 10 and 11 in phase 1, 10 and 21 in phase 2; neighbours are one rectangle
    assert [count(path) for path in heat if path.get("class") == "empty"] == [4]
    # 10, 10, 150, 30, 4, 160 accesses: 10 and 11 have equal heat and share a rectangle, other cells have their own
    assert sum(count(path) for path in heat if path.get("class") != "empty") == 5
    (placement,) = root.findall(f"{SVG}path[@id='placement']")
    assert count(placement) == 3
    shares = root.find(f"{SVG}g[@id='shares']").findall(f"{SVG}rect")
    full = max(float(bar.get("height")) for bar in shares)
    assert [float(bar.get("height")) / full for bar in shares] == pytest.approx([1, 0, 4 / 164], abs=0.001)
    phases = [text.text for text in root.find(f"{SVG}g[@id='phases']")]
    assert phases == ["0", "1", "2", "phase"]
    assert words_of(root, "addresses")[:2] == ["address", "0x10000"]
    assert words_of(root, "sizes") == ["memory touched", "16.0 KiB"]
    assert "in the fast tier, as wide as its share of the row's pages" in words_of(root, "legend")


@pytest.mark.parametrize(
    ("said", "length", "words"),
    [
        ("120 raw accesses per phase", 120, ["a phase has 120 accesses (loads and stores)"]),
        ("100000000", 100000000, ["a phase has 100,000,000 accesses (loads and stores)"]),
        ("18446744073709551615", None, []),
        ("many", None, []),
    ],
)
def test_the_picture_says_how_long_a_phase_is(trace, tmp_path, said, length, words):
    path = trace(f"# phase_accesses: {said}\n{TINY}")
    assert replay(path)["phase_accesses"] == length
    assert words_of(draw(tmp_path, path), "phases") == ["0", "1", "2", "phase", *words]


def test_a_picture_without_accesses_to_memory(trace, tmp_path):
    root = draw(tmp_path, trace(COLUMNS + "0,1,5,5,0,0\n"), "--fast", "100%")
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert texts[1] == "no accesses to memory"
    assert "accesses to memory that the fast tier served" in texts
    assert "nan" not in (tmp_path / "plot.svg").read_text()


def test_holes_take_no_room(trace, tmp_path):
    near = draw(tmp_path, trace(TINY))
    far = draw(tmp_path, trace(TINY.replace(",20,", ",7ffff0000,").replace(",21,", ",7ffff0001,")))
    assert abs(int(far.get("height")) - int(near.get("height"))) < 10
    assert words_of(far, "addresses") == ["address", "0x10000", "0x7ffff0000000"]
    assert words_of(far, "sizes") == ["memory touched", "8.0 KiB", "8.0 KiB"]


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


@pytest.mark.parametrize("is_there", [True, False])
def test_a_picture_behind_a_link(trace, tmp_path, is_there):
    link, target = tmp_path / "plot.svg", tmp_path / "elsewhere" / "target.svg"
    target.parent.mkdir()
    if is_there:
        target.write_text("old")
    link.symlink_to("elsewhere/target.svg")
    helper("hybridmem-replay", trace(TINY), "--plot", link)
    assert link.is_symlink() and list(target.parent.iterdir()) == [target]
    assert target.read_text().endswith("</svg>\n")


def test_plot_on_standard_output_by_its_name(trace, tmp_path):
    log, link = tmp_path / "log", tmp_path / "out"
    log.write_text("before\n")
    link.symlink_to("/proc/self/fd/1")
    with log.open("a") as stream:
        subprocess.run([LIBEXEC / "hybridmem-replay", trace(TINY), "--plot", link], stdout=stream, check=True)
    text = log.read_text()
    assert text.startswith("before\n") and "</svg>" in text and link.is_symlink()


def test_a_picture_goes_into_a_pipe(trace, tmp_path):
    path, copy = tmp_path / "plot.svg", tmp_path / "copy"
    os.mkfifo(path)
    with copy.open("wb") as out, subprocess.Popen(["cat", path], stdout=out) as reader:
        try:
            helper("hybridmem-replay", trace(TINY), "--plot", path)
            assert path.is_fifo() and reader.wait(timeout=20) == 0
        finally:
            reader.kill()
    assert copy.read_text().endswith("</svg>\n")
    path.unlink()
    path.mkdir()
    done = helper("hybridmem-replay", trace(TINY), "--plot", path, status=1)
    assert done.stderr == f"hybridmem replay: --plot {path}: it cannot be written: Is a directory\n"


def test_a_picture_that_cannot_be_written(trace, tmp_path):
    """The figures are printed all the same."""
    path = tmp_path / "none" / "plot.svg"
    done = helper("hybridmem-replay", trace(TINY), "--plot", path, status=1)
    assert done.stderr == f"hybridmem replay: --plot {path}: it cannot be written: No such file or directory\n"
    assert done.stdout.startswith("tiny & <small>: 4 pages")


@pytest.mark.skipif(os.geteuid() != 0, reason="hides a program in a mount namespace")
@pytest.mark.parametrize("command", ["replay", "bench"])
def test_figures_stay_where_nothing_can_draw(trace, tmp_path, command):
    """The program that draws cannot be run here, as on a node without Python."""
    picture, path = LIBEXEC / "hybridmem-picture", tmp_path / "plot.svg"
    words = {"replay": [trace(TINY)], "bench": ["--sizes", "1M", "--repetitions", "1", "--threads", "1"]}[command]
    hidden = 'mount --bind /dev/null "$1"; shift; exec "$@"'
    program = ["unshare", "--mount", "sh", "-c", hidden, "sh", picture, LIBEXEC / f"hybridmem-{command}"]
    done = subprocess.run(
        [*program, *words, "--plot", path, "--json"], capture_output=True, text=True, check=False, cwd="/"
    )
    said = f"it is drawn by Python 3, but {picture} cannot be run: Permission denied"
    assert (done.returncode, done.stderr) == (1, f"hybridmem {command}: --plot {path}: {said}\n")
    figures = json.loads(done.stdout)
    assert len(figures["results"]) == 3 if command == "bench" else len(figures["grid"]["columns"]) == 3
    assert not path.exists()


@pytest.mark.parametrize("name", ["-x.svg", "--help", "--", "-1"])
def test_a_picture_whose_name_is_like_an_option(trace, tmp_path, name):
    done = helper("hybridmem-replay", trace(TINY), "--plot", name, cwd=tmp_path)
    assert done.stdout.startswith("tiny & <small>: 4 pages")
    assert (tmp_path / name).read_text().endswith("</svg>\n")


@pytest.mark.parametrize("name", ["png.svg", "a.png.svg", "png", "a.pdf/plot", "plot.", "plot.xml"])
def test_a_picture_whose_name_is_of_no_other_kind(trace, tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    helper("hybridmem-replay", trace(TINY), "--plot", name, cwd=tmp_path)
    assert (tmp_path / name).read_text().endswith("</svg>\n")


@pytest.mark.parametrize("words", [[], ["--json"], ["--explain", "1"]])
def test_plot_on_standard_output(trace, tmp_path, words):
    """Standard output has nothing but the picture. The figures are on standard error."""
    done = helper("hybridmem-replay", trace(TINY), *words, "--plot", "-", cwd=tmp_path)
    assert ElementTree.fromstring(done.stdout).tag == f"{SVG}svg" and not (tmp_path / "-").exists()
    if "--json" in words:
        assert len(json.loads(done.stderr)["grid"]["columns"]) == 3
    else:
        assert done.stderr.startswith("tiny & <small>: 4 pages") and ("Decided at" in done.stderr) == bool(words)


def test_figures_on_standard_error_fit_its_terminal(trace):
    aside = ("sh", "-c", 'exec "$@" 2>&1 >/dev/null', "sh")
    lines = terminal.on_terminal(60, *aside, LIBEXEC / "hybridmem-replay", trace(TINY), "--plot", "-")
    assert lines[0].startswith("tiny & <small>: 4 pages") and max(map(len, lines)) <= 60


def test_plot_on_standard_output_that_is_full(trace):
    with Path("/dev/full").open("wb") as full:
        words = [LIBEXEC / "hybridmem-replay", trace(TINY), "--plot", "-"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "hybridmem replay: standard output: No space left on device"


@pytest.mark.parametrize(
    ("command", "figures", "said"),
    [
        ("bench", "no JSON", "the figures of the picture cannot be read: "),
        ("bench", "{}", "standard input has no figures to draw: KeyError('results')\n"),
        ("bench", '{"results": []}', "standard input has no figures to draw: ValueError("),
        ("replay", "[]", "standard input has no figures to draw: TypeError("),
        ("replay", '{"grid": {"rows": [], "columns": []}}', "standard input has no figures to draw: IndexError("),
    ],
)
def test_a_picture_of_wrong_figures_is_refused(tmp_path, command, figures, said):
    path = tmp_path / "plot.svg"
    done = helper("hybridmem-picture", command, path, status=1, input=figures)
    assert done.stderr.startswith(f"hybridmem {command}: {said}") and len(done.stderr.splitlines()) == 1
    assert not path.exists()


# Progress


def on_terminal(*words):
    """Standard output, and what a terminal got as standard error."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([LIBEXEC / "hybridmem-replay", *words], stdout=subprocess.PIPE, stderr=theirs) as child:
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 4096):
                seen += part
        except OSError:  # EIO: no writer is left
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
