# SPDX-License-Identifier: Apache-2.0
"""Tests the pictures of hybridmem replay: what they show, and how they are written."""

import json
import os
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import terminal
from installed import LIBEXEC, helper, with_mounts
from replaying import APPS, COLUMNS, SVG, TINY, algorithms, draw, replay, replay_shipped, shipped


def words_of(root, group):
    return [text.text for text in root.iterfind(f"{SVG}g[@id='{group}']/{SVG}text")]


def count(path):
    """The number of rectangles in a path."""
    return path.get("d").count("z")


def test_the_figures_of_a_small_picture(trace, tmp_path):
    """The pages are in two segments, 10 and 11, then 2000 and 2001, as the hole between them is large."""
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
    """Without samples no page moves: pages 10 and 11, which are touched first, are fast in all phases. The hole between
    pages 11 and 20 has no rows."""
    root = draw(tmp_path, trace(TINY), "--fast", "50%")
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert texts[0] == "tiny & <small>, fast tier 50 %"
    assert texts[1] == f"AMAT 2.84 with {algorithms()[0]}; first touch 2.84, static oracle 1.12"
    heat = root.find(f"{SVG}g[@id='heat']")
    # without access: 20 and 21 in phase 0, 10 and 11 in phase 1, 10 and 21 in phase 2; neighbours are one rectangle
    assert [count(path) for path in heat if path.get("class") == "empty"] == [4]
    # 10, 10, 150, 30, 4, 160 accesses: pages 10 and 11 have equal heat in phase 0 and share a rectangle, other cells
    # have their own
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
    program = with_mounts(f"mount --bind /dev/null {picture}", LIBEXEC / f"hybridmem-{command}")
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
