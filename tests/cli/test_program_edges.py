# SPDX-License-Identifier: Apache-2.0
"""Tests what the commands in Python have in common: lines on standard error begin with the command's name and have it
once; output that cannot be written is an error; an empty name is no folder; help texts fit 80 columns."""

import subprocess
from pathlib import Path

import pytest
from installed import LIBEXEC, PREFIX, helper
from makerecords import record, write


@pytest.fixture
def words(tmp_path):
    """Words that make each command print a result."""
    write(tmp_path / "records", record(7))
    chosen = ("--records", tmp_path / "records")
    return {
        "report": ("hybridmem-report", *chosen),
        "report json": ("hybridmem-report", "--json", *chosen),
        "view": ("hybridmem-report", "--view", "jobs", *chosen),
        "csv": ("hybridmem-report", "--csv", *chosen),
        "show": ("hybridmem-show", *chosen, "7"),
        "show json": ("hybridmem-show", "--json", *chosen, "7"),
        "export": ("hybridmem-export", "prometheus", *chosen, "--node", "n1", "--since", "2025-01-01"),
        "help": ("hybridmem-ingest", "--help"),
        "collect help": ("hybridmem-collect", "--help"),
    }


NAMES = ("report", "report json", "view", "csv", "show", "show json", "export", "help", "collect help")


def name_of(program):
    return program if program == "hybridmem-collect" else program.replace("-", " ", 1)


@pytest.mark.parametrize("command", NAMES)
def test_output_without_room_is_an_error(words, command):
    program, *rest = words[command]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run([LIBEXEC / program, *rest], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    said = f"{name_of(program)}: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_output_longer_than_pythons_buffer_without_room_is_an_error(tmp_path):
    """Here a write fails before the end, not only the flush at the end."""
    write(tmp_path, *(record(7, node=f"n{i}") for i in range(30)))
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        command = [LIBEXEC / "hybridmem-show", "--json", "--records", tmp_path, "7"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "hybridmem show: standard output: No space left on device\n")


@pytest.mark.parametrize("command", NAMES)
def test_output_that_is_closed_is_an_error(words, command):
    program, *rest = words[command]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", LIBEXEC / program, *rest], stderr=subprocess.PIPE, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, f"{name_of(program)}: standard output: it is not open\n")


def test_a_configuration_that_is_wrong_has_one_name_in_front(tmp_path, configure):
    """The name is that of the command that asked, without that of the program which reads the file."""
    wrong = configure("nonsense = 3\n")
    config = tmp_path / "config"
    config.write_text(f"#!/bin/sh\nexec {LIBEXEC}/hybridmem-config show --config {wrong}\n")
    config.chmod(0o755)
    done = helper("hybridmem-collect", "--once", "--config", wrong, status=1)
    assert done.stderr.startswith(f'hybridmem-collect: {wrong}:1: unknown word "nonsense"')
    assert done.stderr.count("hybridmem") == 1 + str(wrong).count("hybridmem")
    for package, name in (
        ("report", "hybridmem report"),
        ("summary", "hybridmem show"),
        ("export", "hybridmem export"),
    ):
        words = {"summary": ["7"], "export": ["prometheus"]}.get(package, [])
        engine = ', ""' if package != "export" else ""
        code = (
            f"import sys; sys.path.insert(0, {str(PREFIX / 'share/hybridmem/python')!r}); "
            f"from hybridmem import program, {package}; "
            f"sys.exit(program.run({name!r}, {package}.main, {str(config)!r}{engine}))"
        )
        done = subprocess.run(["python3", "-c", code, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and done.stderr.startswith(f'{name}: {wrong}:1: unknown word "nonsense"')
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("show", "--records", "", "1"),
        ("show", "--records=", "1"),
        ("report", "--records", ""),
        ("report", "--history", ""),
        ("report", "--history", "h", "--engine", ""),
        ("export", "prometheus", "--records", ""),
        ("ingest", "--history", ""),
        ("ingest", "--history", "h", "--records", ""),
    ],
    ids=" ".join,
)
def test_an_empty_name_is_no_folder(words):
    """An empty name may come from a variable that is not set: it does not mean the folder of hybridmem.conf."""
    program, *rest = words
    option = next(word for word, value in zip(rest, [*rest[1:], ""]) if value == "" or word.endswith("="))
    said = f'hybridmem {program}: {option.rstrip("=")}: "" is no folder\n'
    assert helper(f"hybridmem-{program}", *rest, status=2).stderr == said


@pytest.mark.parametrize("program", ["show", "report", "export", "ingest", "collect"])
def test_help_texts_fit_eighty_columns(program):
    text = helper(f"hybridmem-{program}", "--help").stdout
    assert max(map(len, text.splitlines())) <= 80 and "Exit status: 0" in " ".join(text.split())
