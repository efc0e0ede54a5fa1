# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem top without a running migrator. test-view.c tests the screen, tests/system a running migrator."""

import os
import re
import subprocess

import pytest
from installed import LIBEXEC, PREFIX


def top(*words, job=None):
    """Runs the command in a network namespace of its own, where it sees no migrator, not even one that tests/bench/day
    runs meanwhile."""
    env = {name: value for name, value in os.environ.items() if name != "SLURM_JOB_ID"}
    if job:
        env["SLURM_JOB_ID"] = job
    command = ["unshare", "--net", LIBEXEC / "hybridmem-top", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--interval", "5"], '--interval: "5" has no unit: write ms, s, min or h after it, as in 10s\n'),
        (["--interval", "fast"], '--interval: "fast" is not a time: write digits and ms, s, min or h, as in 10s\n'),
        (["--interval", "10ms"], '--interval: "10ms" is not a time of 100ms to 1h\n'),
        (["--interval", "2h"], '--interval: "2h" is not a time of 100ms to 1h\n'),
        (["x"], '"x" is no job: write JOBID or JOBID.STEP'),
        (["0"], '"0" is no job'),
        (["1."], '"1." is no job'),
        (["1.batsch"], '"1.batsch" is no job'),
        (["1.0", "2.0"], "unexpected word '2.0'"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_wrong_words(words, text):
    done = top(*words)
    assert done.returncode == 2
    assert text in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "job", "text"),
    [
        ([], None, "no migrator of yours runs on this node"),
        ([], "4711", "no migrator of job 4711 runs on this node"),
        (["4711.batch"], None, "no migrator of job 4711.batch runs on this node"),
        (["--json", "4711"], None, "no migrator of job 4711"),
    ],
)
def test_no_migrator(words, job, text):
    done = top(*words, job=job)
    assert done.returncode == 1
    assert text in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(("words", "job", "which"), [(["4711.batch"], None, "4711.batch"), ([], "4711", "4711")])
def test_the_way_to_another_node_is_that_of_the_help(words, job, which):
    """The hint is the command of the help and the man page, for the job and the step that were named."""
    (shown,) = re.findall(r"^  (srun .*)$", top("--help").stdout, re.MULTILINE)
    assert shown in (PREFIX / "share" / "man" / "man1" / "hybridmem-top.1").read_text().replace("\\-", "-")
    meant = shown.replace("JOBID.STEP", which).replace("JOBID", "4711")
    said = top(*words, job=job).stderr
    assert said.endswith(f": {meant}\n") and "-w NODE" in said and said.count("\n") == 1
