# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of hybridmem replay: small traces, the shipped ones, and replays of both."""

import ctypes
import ctypes.util
import functools
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from installed import helper

TRACES = Path(__file__).resolve().parent.parent / "fixtures" / "traces"
APPS = ["AMG", "LULESH", "SNAP", "STREAM", "bfs"]
COLUMNS = "phase,page_hex,raw_reads,raw_writes,mem_reads,mem_writes\n"
SVG = "{http://www.w3.org/2000/svg}"
SCORE = {"amat", "share_mem", "share_raw", "slow_writes", "pages_moved"}

# Four pages in three phases. With --fast 50%, the fast tier has room for two of them.
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
    """The names of the algorithms, the default first."""
    text = helper("hybridmem-replay", "--help").stdout
    start, names = re.search(r"^(.*--algorithm NAME +)(.*?)\n  --", text, re.DOTALL | re.MULTILINE).groups()
    at = len(start.splitlines()[-1])  # further lines of the text about a name are indented more
    lines = [names.splitlines()[0], *(line[at:] for line in names.splitlines()[1:])]
    return [line.split()[0] for line in lines if not line.startswith(" ")]


def two_halves(n_pages, n_phases):
    """A trace: cold pages are touched first, then as many hot ones, which get nearly all accesses and writes to
    memory."""
    rows = [f"0,{page:x},1,0,1,0" for page in range(0x100, 0x100 + n_pages)]
    for phase in range(n_phases):
        if phase > 0:
            rows += [f"{phase},{page:x},100,0,10,0" for page in range(0x100, 0x100 + n_pages)]
        rows += [f"{phase},{page:x},4000000,1000000,40000,10000" for page in range(0x9000, 0x9000 + n_pages)]
    return COLUMNS + "\n".join(rows) + "\n"


def zstd(data):
    """Compresses to a frame by the library that the command links, so that the tests need no other program."""
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_compress.restype = library.ZSTD_compressBound.restype = ctypes.c_size_t
    room = library.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    frame = ctypes.create_string_buffer(room)
    size = library.ZSTD_compress(frame, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 3)
    return frame.raw[:size]


def without_time(result):
    return {key: value for key, value in result.items() if key not in ("decide_s", "trace")}


def draw(tmp_path, *words):
    """The root element of the picture that replay draws. No other file plot* is left in the folder."""
    path = tmp_path / "plot.svg"
    helper("hybridmem-replay", *words, "--plot", path)
    assert sorted(tmp_path.glob("plot*")) == [path]
    return ElementTree.parse(path).getroot()
