# SPDX-License-Identifier: Apache-2.0
"""Tests that ^C ends the commands in Python by the signal, without a message, at any time. Here one of their modules
sends the signal, at a known place."""

import shutil
import signal
import subprocess
from pathlib import Path

import engine
import pytest
from installed import DATA, LIBEXEC
from makerecords import record, write

PROGRAMS = ["collect", "export", "ingest", "report", "show"]
SEND = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"


@pytest.fixture(autouse=True)
def not_ignored():
    """The process that runs the tests may ignore SIGINT, as background jobs do, and child processes would inherit
    that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def changed(tmp_path):
    """Gives a function that makes a changed program: one of its modules has additional code before or after its own."""

    def make(program, module, before="", after=""):
        package = tmp_path / "python" / "hybridmem"
        shutil.copytree(DATA / "python" / "hybridmem", package)
        path = package / f"{module}.py"
        path.write_text(before + path.read_text() + after)
        script = (LIBEXEC / f"hybridmem-{program}").read_text()
        assert f'"{DATA}/python"' in script
        made = tmp_path / f"hybridmem-{program}"
        made.write_text(script.replace(f'"{DATA}/python"', f'"{tmp_path}/python"'))
        made.chmod(0o755)
        return made

    return make


def run(*words, **options):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, **options)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_signal_while_modules_are_imported(changed, program):
    """The signal comes in a module that all programs import early."""
    command = changed(program, "records", before=SEND)
    assert run(command, "--help") == (-signal.SIGINT, "", "")


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_runs_in_the_background_goes_on(changed, program):
    command = changed(program, "records", before=SEND)
    code, out, said = run("sh", "-c", 'trap "" INT; exec "$@"', "sh", command, "--help")
    assert (code, said) == (0, "") and out.startswith("usage: hybridmem")


HALF_A_TABLE = """
import os, signal

def main(*_):
    print("half a table")
    os.kill(os.getpid(), signal.SIGINT)
"""


def test_output_that_is_not_written_yet_is_dropped(changed, tmp_path):
    """Standard output is a full disk. Nothing is written to it, so that there is no error either."""
    command = changed("report", "report", after=HALF_A_TABLE)
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run([command], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


# Replaces whole.finish, which a draft goes through before it gets its name.
BEFORE_ITS_NAME = "\nimport signal\n\n\ndef finish(*_):\n    os.kill(os.getpid(), signal.SIGINT)\n"


@pytest.mark.parametrize("program", ["report", "show", "export"])
def test_an_unfinished_file_is_removed(changed, tmp_path, program):
    write(tmp_path / "records", record(7))
    out = tmp_path / "out"
    out.mkdir()
    words = {
        "report": ["--html", out / "page.html"],
        "show": ["--html", out / "page.html", "7"],
        "export": ["prometheus", "--output", out / "metrics.prom", "--node", "n1"],
    }[program]
    command = changed(program, "whole", after=BEFORE_ITS_NAME)
    assert run(command, "--records", tmp_path / "records", *words) == (-signal.SIGINT, "", "")
    assert list(out.iterdir()) == []


def test_a_history_has_nothing_of_an_ingest_that_was_ended(changed, tmp_path):
    write(tmp_path / "records", record(7))
    history = tmp_path / "history"
    command = changed("ingest", "whole", after=BEFORE_ITS_NAME)
    words = ("--engine", engine.folder(), "--records", tmp_path / "records", "--history", history)
    assert run(command, *words) == (-signal.SIGINT, "", "")
    assert [path.name for path in history.rglob("*") if path.is_file()] == [".lock"]
    assert list(history.glob(".ingest.*")) == []
    assert engine.ingest(tmp_path / "records", history).stdout == "1 record taken, in 1 day\n"
