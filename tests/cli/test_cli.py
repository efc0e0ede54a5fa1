# SPDX-License-Identifier: Apache-2.0
"""Tests the command hybridmem: it finds its commands by a fixed path, and suggests what to type instead of a wrong
one."""

import os
import re
import subprocess

import pytest
from installed import LIBEXEC, PREFIX, has_memmode, has_ndctl, helper

COMMANDS = [
    "tiers",
    "plan",
    "show",
    "report",
    "export",
    "ingest",
    "top",
    "meter",
    "trace",
    "replay",
    "sites",
    "profile",
    "bench",
    "sources",
    "config",
    "reap",
    *(["namespace"] if has_ndctl else []),
    *(["memmode"] if has_memmode else []),
    "help",
]


def hybridmem(*words, status=0, **env):
    done = subprocess.run(
        [PREFIX / "bin" / "hybridmem", *words], capture_output=True, text=True, check=False, env={"LC_ALL": "C", **env}
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


def test_help_lists_the_commands_one_a_line():
    done = hybridmem("help")
    assert re.findall(r"^  (\w+) +\S", done.stdout, re.MULTILINE) == COMMANDS
    assert done.stderr == ""
    assert hybridmem("--help").stdout == hybridmem("-h").stdout == done.stdout


def test_no_command_is_wrong_usage():
    done = hybridmem(status=2)
    assert (done.stdout, done.stderr) == ("", hybridmem("help").stdout)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("help", "reap")])
def test_each_command_is_there_and_has_help(command):
    assert (LIBEXEC / f"hybridmem-{command}").exists()
    by_option, by_help = hybridmem(command, "--help"), hybridmem("help", command)
    assert by_option.stdout == by_help.stdout
    assert re.match(rf"usage: hybridmem {command}", by_option.stdout, re.IGNORECASE)


PROGRAMS = [
    "tiers",
    "plan",
    "top",
    "meter",
    "trace",
    "replay",
    "sites",
    "profile",
    "bench",
    "sources",
    "config",
    "spool",
]
PARTS = ["namespace", "memmode", "papi", "slurmenergy"]  # not every build has these
EXAMPLE = "  srun --jobid=JOBID --overlap --pty -N1 -n1 --hybrid-mem=off hybridmem top JOBID.STEP"


@pytest.mark.parametrize("program", PROGRAMS + [name for name in PARTS if (LIBEXEC / f"hybridmem-{name}").exists()])
def test_help_fits_a_terminal(program):
    """Help texts with the usual path of hybridmem.conf: lines fit 80 columns, except a command to be copied."""
    text = helper(f"hybridmem-{program}", "--help").stdout.replace(f"{PREFIX}/etc", "/etc")
    assert [line for line in text.splitlines() if len(line) > 80 and line != EXAMPLE] == []
    assert max(map(len, hybridmem("help").stdout.splitlines())) <= 80


@pytest.mark.parametrize("command", ["run", "show", "plan", "guide", "diff", "merge", "check", "list", "record"])
def test_help_of_a_command_of_sites_fits_a_terminal(command):
    text = helper("hybridmem-sites", command, "--help").stdout
    assert f"\n  {command} " in helper("hybridmem-sites", "--help").stdout
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_reap_is_done_by_hybridmem_job():
    assert hybridmem("reap", "extra", status=2).stderr.startswith("hybridmem reap: unexpected word 'extra'.")


def test_version_names_slurms():
    assert re.fullmatch(r"hybridmem \d+\.\d+\.\d+ for Slurm \d\d\.\d\d\.\d+\n", hybridmem("--version").stdout)
    assert hybridmem("-V").stdout == hybridmem("--version").stdout


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("plna", '"plna" is not a command: did you mean plan?'),
        ("tier", '"tier" is not a command: did you mean tiers?'),
        ("rep", '"rep" is not a command: did you mean report or replay or reap?'),
        ("shwo", '"shwo" is not a command: did you mean show?'),
        ("xyzzy", "\"xyzzy\" is not a command: 'hybridmem help' lists them"),
        ("Plan", '"Plan" is not a command: did you mean plan?'),
        ("--json", "\"--json\" is not a command: 'hybridmem help' lists them"),
        ("", "\"\" is not a command: 'hybridmem help' lists them"),
        ("../bin/hybridmem", "\"../bin/hybridmem\" is not a command: 'hybridmem help' lists them"),
        ("a\x1b[2J", "\"a?[2J\" is not a command: 'hybridmem help' lists them"),
        ("x" * 5000, f"\"{'x' * 32}\" is not a command: 'hybridmem help' lists them"),
    ],
)
def test_unknown_command(word, said):
    done = hybridmem(word, status=2)
    assert (done.stdout, done.stderr) == ("", f"hybridmem: {said}\n")


def test_the_status_and_words_of_a_command_pass_through():
    done = hybridmem("plan", "spil", status=2)
    assert done.stderr.startswith('hybridmem plan: --hybrid-mem=spil: unknown mode "spil": use off,')


def test_nothing_of_the_environment_chooses_the_program(tmp_path):
    trap = tmp_path / "hybridmem-plan"
    trap.write_text("#!/bin/sh\necho trapped\n")
    trap.chmod(0o755)
    env = {"PATH": str(tmp_path), "HYBRIDMEM_EXEC_PATH": str(tmp_path), "HYBRIDMEM_LIBEXEC": str(tmp_path)}
    done = subprocess.run(
        [PREFIX / "bin" / "hybridmem", "plan", "off"], capture_output=True, text=True, check=True, cwd=tmp_path, env=env
    )
    assert "Nothing is touched" in done.stdout and "trapped" not in done.stdout


@pytest.mark.parametrize("name", ["reap", "wipe@", "memmode", "export", "collect"])
def test_what_systemd_starts_is_installed_and_says_how_long_a_start_may_take(name):
    """systemd gives a start that ends for ever, and slurmd waits for some of them."""
    lines = (PREFIX / f"lib/systemd/system/hybridmem-{name}.service").read_text().splitlines()
    start = next(line for line in lines if line.startswith("ExecStart="))
    if name != "memmode":  # which is built only with libraries that may lack
        assert os.access(start.removeprefix("ExecStart=").split()[0], os.X_OK), start
    limits = [line for line in lines if line.startswith("TimeoutStartSec=")]
    assert len(limits) == ("Type=oneshot" in lines)
