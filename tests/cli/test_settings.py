# SPDX-License-Identifier: Apache-2.0
"""Tests what Python programs read of hybridmem.conf through hybridmem-config."""

import sys

import pytest
from installed import DATA, LIBEXEC

sys.path.insert(0, str(DATA / "python"))
from hybridmem import failure, settings

CONFIG = str(LIBEXEC / "hybridmem-config")


def test_words_of_a_file(configure):
    read = settings.read(
        CONFIG,
        configure(
            'record_dir = "/a b/c"\nsummary_field = AdminComment\nsummary_rate = 7\ncollect_wait = 2min\n'
            'tier "dram" { read_latency = 80 }\n'
        ),
    )
    assert [read.text(word) for word in ("record_dir", "summary_field", "spool_dir")] == [
        *("/a b/c", "AdminComment", "/var/lib/hybridmem/spool"),
    ]
    assert (read.number("summary_rate"), read.seconds("collect_wait")) == (7, 120)
    assert read.option("cluster") == "" and "read_latency" not in read.words
    assert settings.read(CONFIG, configure("cluster = c1\n")).option("cluster") == "c1"


def test_a_wrong_file_is_told_as_it_is(configure):
    path = configure("summary_rate = 0\n")
    with pytest.raises(failure.Failure) as failed:
        settings.read(CONFIG, path)
    assert str(failed.value) == f'{path}:1: summary_rate: "0" is not a number of 1 to 6000'


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 3", "{program} show failed with status 3"),
        ("echo why >&2; exit 1", "why"),
        ("echo 'other = 1'", "{program} show names no record_dir; use --records"),
        (None, "cannot run {program}: No such file or directory; use --records"),
    ],
)
def test_a_program_that_does_not_answer(tmp_path, script, said):
    program = tmp_path / "config"
    if script:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    with pytest.raises(failure.Failure) as failed:
        settings.read(str(program), instead="; use --records").text("record_dir")
    assert str(failed.value) == said.format(program=program)


@pytest.mark.parametrize("value", ["", "5", "5m", "-5s", "5s ", "9999999999s"])
def test_a_value_that_is_no_time(value):
    with pytest.raises(failure.Failure, match="which is not understood here"):
        settings.Settings({"collect_wait": value}, "config").seconds("collect_wait")
