# SPDX-License-Identifier: Apache-2.0
"""Tests that every command fails with the same message if it cannot write its output, for example to a full disk, and
gives no message if the reader of a pipe has gone. What the commands in Python print besides their help is tested in
test_program_edges.py."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from installed import LIBEXEC, PREFIX, has_ndctl, has_papi, has_slurmenergy
from replaying import TINY
from sysfstree import Sysfs

TOPOLOGY = Path(__file__).resolve().parent.parent / "fixtures" / "topology" / "optane-2-sockets.xml"
COMMANDS = [
    "bench",
    "config",
    "export",
    "ingest",
    "meter",
    "plan",
    "profile",
    "replay",
    "report",
    "show",
    "sites",
    "sources",
    "tiers",
    "top",
    "trace",
]
PARTS = [("namespace", has_ndctl), ("papi", has_papi), ("slurmenergy", has_slurmenergy)]
PRESENT = [name for name, is_there in PARTS if is_there]
BENCH = ("bench", "--sizes", "1M", "--repetitions", "1", "--threads", "1", "--kernels", "copy")
METER = ("meter", "--sysfs", "SYSFS")

# The command's name in the message, and the words that make it print.
ROWS = [
    ("hybridmem", [PREFIX / "bin" / "hybridmem", "--help"]),
    ("hybridmem", [PREFIX / "bin" / "hybridmem", "help"]),
    ("hybridmem", [PREFIX / "bin" / "hybridmem", "--version"]),
    ("hybridmem reap", [PREFIX / "bin" / "hybridmem", "reap", "--help"]),
    ("hybridmem-job", ["job", "begin", "--help"]),
    ("hybridmem-migrator", ["migrator", "--help"]),
    ("hybridmem-collect", ["collect", "--help"]),
    ("hybridmem spool", ["spool", "--help"]),
    *((f"hybridmem {name}", [name, "--help"]) for name in COMMANDS + PRESENT),
    *((f"hybridmem {name}", [PREFIX / "bin" / "hybridmem", "help", name]) for name in COMMANDS),
    *((f"hybridmem {name}", [name, "--version"]) for name in ("bench", "replay", "tiers")),
    ("hybridmem bench", [*BENCH]),
    ("hybridmem bench", [*BENCH, "--json"]),
    ("hybridmem config", ["config", "show", "--config", "CONFIG"]),
    ("hybridmem config", ["config", "check", "--file-only", "--config", "CONFIG"]),
    ("hybridmem meter", [*METER, "--list"]),
    ("hybridmem meter", [*METER, "--list", "--json"]),
    ("hybridmem meter", [*METER, "--topology", TOPOLOGY, "--count", "1", "--interval", "100ms"]),
    ("hybridmem meter", [*METER, "--topology", TOPOLOGY, "--count", "1", "--interval", "100ms", "--json"]),
    ("hybridmem plan", ["plan", "off"]),
    ("hybridmem plan", ["plan", "off", "--json"]),
    ("hybridmem replay", ["replay", "TRACE"]),
    ("hybridmem replay", ["replay", "TRACE", "--explain", "2"]),
    ("hybridmem replay", ["replay", "TRACE", "--json"]),
    ("hybridmem sources", ["sources"]),
    ("hybridmem sources", ["sources", "--json"]),
    ("hybridmem tiers", ["tiers", "--topology", TOPOLOGY]),
    ("hybridmem tiers", ["tiers", "--topology", TOPOLOGY, "--json"]),
]
if has_ndctl:
    ROWS += [("hybridmem namespace", ["namespace", *words]) for words in (["list", "--json"], ["check"])]
if has_papi:
    ROWS += [("hybridmem papi", ["papi", *words]) for words in (["--list"], ["--list", "--json"], ["--read"])]


@pytest.fixture
def command(tmp_path, trace, configure):
    """Gives a function that makes a command line from the words of a row: SYSFS, TRACE and CONFIG stand for files."""
    Sysfs(tmp_path).zone("intel-rapl:0", "package-0", 10)
    files = {"SYSFS": tmp_path, "TRACE": trace(TINY), "CONFIG": configure("record_group = root\n")}

    def make(words):
        first, *rest = words
        return [LIBEXEC / f"hybridmem-{first}" if isinstance(first, str) else first, *(files.get(w, w) for w in rest)]

    return make


def run(words, path):
    with Path(path).open("w", encoding="utf-8") as output:
        done = subprocess.run([*map(str, words)], stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize(("name", "words"), ROWS, ids=[" ".join([name, *map(str, words[1:])]) for name, words in ROWS])
def test_a_full_disk_is_told_in_one_line(command, name, words):
    assert run(command(words), "/dev/full") == (1, f"{name}: standard output: No space left on device\n")


@pytest.mark.parametrize(("name", "words"), ROWS, ids=[" ".join([name, *map(str, words[1:])]) for name, words in ROWS])
def test_a_reader_that_has_gone_is_no_error(command, name, words):
    # hybridmem-papi --read serves another program, and ends normally when that program has gone
    ended = 0 if "--read" in words else -signal.SIGPIPE
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*map(str, command(words))], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (ended, "")


def test_one_of_the_outputs_is_longer_than_a_buffer(command, tmp_path):
    """On a full disk, printing this one fails, not only the flush at the end."""
    assert run(command([*METER, "--list", "--json"]), tmp_path / "list") == (0, "")
    assert (tmp_path / "list").stat().st_size > 4096
