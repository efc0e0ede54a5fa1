# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem sources: what works here and why the rest does not, on machines with and without a PMU."""

import errno
import functools
import json
import re
import socket
import subprocess

import pytest
from installed import LIBEXEC, helper
from noperf import no_perf_events
from terminal import on_terminal

PROGRAM = "hybridmem-sources"
AUTO_NONE = "source=auto takes none"
KEYS = {"name", "usable", "reason", "how", "knows_writes", "knows", "needs", "cost"}


def sources(*words):
    """The JSON object. The exit status must agree with it."""
    command = [LIBEXEC / PROGRAM, "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    shown = json.loads(done.stdout)
    assert done.returncode == (0 if shown["auto_in_step"] else 1)
    return shown


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--nonsense"], "--nonsense"),
        (["--config"], "requires an argument"),
        (["extra"], "unexpected word 'extra'"),
        (["--config", "/nonexistent/hybridmem.conf"], "/nonexistent"),
    ],
)
def test_refuses_bad_words_and_files(words, text):
    done = helper(PROGRAM, *words, status=2)
    assert text in done.stderr
    assert done.stdout == ""


def test_each_source_works_or_says_why_not():
    shown = sources()
    assert [source["name"] for source in shown["sources"]] == ["perf", "clock", "damon", "idle", "faults"]
    for source in shown["sources"]:
        assert set(source) == KEYS
        assert (source["reason"] is None) == source["usable"]
        assert source["reason"] is None or len(source["reason"]) > 10
        assert (source["knows_writes"] is not None) == source["usable"]
        assert source["knows"] and source["needs"] and source["cost"]


def test_auto_takes_the_first_that_works():
    shown = sources()
    assert shown["auto"] == next((source["name"] for source in shown["sources"] if source["usable"]), None)


@pytest.mark.parametrize(("number", "in_step"), [(errno.EACCES, "clock"), (errno.EPERM, None)])
def test_a_source_that_root_opens_in_a_step_is_named(configure, tmp_path, number, in_step):
    """For perf_event_paranoid of 3, and not for a filter of system calls, which refuses root, too."""
    refuse = functools.partial(no_perf_events, number)
    command = [LIBEXEC / PROGRAM, "--config", configure(f'run_dir = "{tmp_path}"\n')]
    shown, text = (
        subprocess.run([*command, *words], preexec_fn=refuse, capture_output=True, text=True, check=False)
        for words in (["--json"], [])
    )
    found = json.loads(shown.stdout)
    assert (found["auto"], found["auto_in_step"]) == (None, in_step)
    assert shown.returncode == text.returncode == (0 if in_step else 1)
    assert ("  but      root opens it for the migrator of a step" in text.stdout) == bool(in_step)
    last = text.stdout.splitlines()[-1]
    assert last.startswith(f"source=auto takes {in_step} in a step of isolate or migrate" if in_step else AUTO_NONE)


def test_the_text_says_what_the_json_says():
    shown = sources()
    text = helper(PROGRAM, status=0 if shown["auto_in_step"] else 1).stdout
    for source in shown["sources"]:
        state = "works here" if source["usable"] else "does not work here"
        assert f"{source['name']:8} {state}\n" in text
        assert f"  because  {source['reason']}\n" in text or source["usable"]
        assert f"  watches  {source['how']}\n" in text or not source["how"]
    assert re.search(rf"\nsource=auto takes {shown['auto_in_step'] or 'none'}\b.*\n\Z", text)


def test_the_brokers_socket_is_where_the_configuration_says(configure, tmp_path):
    shown = sources("--config", configure(f'run_dir = "{tmp_path}"\n'))
    (damon,) = (source for source in shown["sources"] if source["name"] == "damon")
    assert not damon["usable"]
    assert f"{tmp_path}/damon.sock" in damon["reason"]


def test_without_a_broker_the_text_says_how_to_ask_in_a_job(configure, tmp_path):
    """The text does not say that nothing would be moved, as the broker starts with the job. A broker that runs and
    fails is another case."""
    config = configure(f'run_dir = "{tmp_path}"\n')
    hint = "\n           srun --hybrid-mem=migrate hybridmem sources\n"
    command = [LIBEXEC / PROGRAM, "--config", config]

    def text():
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    taken = sources("--config", config)["auto"]
    last = f"source=auto takes {taken or 'none while no broker runs: see damon, above'}\n"
    assert hint in text() and text().endswith(last)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:  # not a broker
        other.bind(f"{tmp_path}/damon.sock")
        assert hint not in text()
        assert text().endswith(f"source=auto takes {taken or 'none: nothing would be moved'}\n")


@pytest.mark.parametrize("columns", [60, 80])
def test_lines_fit_a_terminal(columns):
    """The command to be copied fits, too, although it is never broken into lines."""
    done = subprocess.run([LIBEXEC / PROGRAM], capture_output=True, text=True, check=False)
    lines = on_terminal(columns, LIBEXEC / PROGRAM, status=done.returncode)
    assert max(map(len, lines)) <= columns < max(map(len, done.stdout.splitlines()))
    assert " ".join(lines).split() == done.stdout.split()
