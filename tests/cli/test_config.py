# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem config: the values in use, and what is wrong with the file."""

import os
import re
from pathlib import Path

import pytest
from installed import PREFIX, helper

EXAMPLE = Path(__file__).resolve().parents[2] / "etc" / "hybridmem.conf"
INSTALLED = PREFIX / "etc" / "hybridmem" / "hybridmem.conf"


def show(path):
    return helper("hybridmem-config", "show", "--config", path).stdout


def test_what_show_prints_is_a_file_with_the_same_values(configure):
    text = re.sub(r"^#(?=[a-z])", "", EXAMPLE.read_text(), flags=re.MULTILINE)
    first = show(configure(text.replace("ram = none", "ram = normal")))
    assert "ram = normal\n" in first and "fsdax_keep_quota = 107374182400\n" in first
    assert '    static_power = "76.8W"\n    read_energy = "12.5pJ/bit"\n    write_energy = "62.5pJ/bit"\n}\n' in first
    assert 'tier "dram" {' in first and 'default_mode = "spill"' in first and 'cluster = "mycluster"' in first
    assert "fair_share = equal\n" in first and 'qos "urgent" {\n    weight = 3\n}\n' in first
    assert show(configure(first)) == first


def test_the_example_is_the_built_in_values(configure):
    """The example as it is, and with each word outside of sections uncommented that has a built-in value."""
    built_in = show(configure(""))
    assert show(configure(EXAMPLE.read_text())) == built_in
    words = [line[1:] for line in EXAMPLE.read_text().splitlines() if re.match(r"#[a-z_]+ = ", line)]
    assert len(words) == 35
    without = ("cluster ", "profile_dir ", "load ", "fsdax_keep_quota ", "reboot_program ")
    said = show(configure("\n".join(word for word in words if not word.startswith(without))))
    assert said == built_in


def test_an_installed_file_is_the_example():
    assert INSTALLED.read_text() == EXAMPLE.read_text()
    assert helper("hybridmem-config", "check", "--file-only").stdout == f"ok      {INSTALLED}\n"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["chekc"],
        ["check", "show"],
        ["show", "--file-only"],
        ["show", "--scontrol", "/bin/true"],
        ["check", "--nonsense"],
    ],
)
def test_wrong_usage(words):
    assert helper("hybridmem-config", *words, status=2).stderr.endswith("Try 'hybridmem config --help'.\n")


@pytest.mark.parametrize(("words", "wrong"), [(["chekc"], "chekc"), (["check", "show"], "show")])
def test_a_wrong_word_is_named(words, wrong):
    said = helper("hybridmem-config", *words, status=2).stderr
    assert said == f"hybridmem config: unexpected word '{wrong}'. Try 'hybridmem config --help'.\n"


def test_a_path_that_root_does_not_take_is_explained(tmp_path):
    (tmp_path / "b.conf").touch()
    done = helper("hybridmem-config", "check", "--file-only", "--config", "b.conf", status=1, cwd=tmp_path)
    said = "root takes no path that depends on the current folder: write the whole one, from / on"
    assert done.stdout == f'change  "b.conf": {said}\n'


def test_a_file_that_is_asked_for_must_be_there(tmp_path):
    done = helper("hybridmem-config", "check", "--file-only", "--config", tmp_path / "none", status=1)
    assert done.stdout == f"change  {tmp_path}/none: No such file or directory\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('partition "a" { modes = { fast }\n default_mode = "spill,socket=local" }\n', 2),
        ('\n\npartition "a" { default_mode = "spill,socket=local"\n\n modes = { fast,\n slow } }\n', 3),
        ('partition "a" { modes = { fast, spill } default_mode = "spill,socket=local" }\n', None),
        ('partition "a" { modes = { fast } default_mode = off }\n', None),
        ('partition "a" { modes = { dram } default_mode = dram }\n', None),
        ('partition "a" { default_mode = "spill" }\npartition "b" { modes = { fast } }\n', None),
    ],
)
def test_a_default_that_its_partition_forbids(configure, text, line):
    path = configure(text)
    done = helper("hybridmem-config", "check", "--file-only", "--config", path, status=0 if line is None else 1)
    said = (
        f'change  {path}:{line}: partition "a": default_mode: "spill,socket=local" is not among the partition\'s own '
        "modes, and so never used: add its mode to them, or name one of them\n"
    )
    assert done.stdout == (f"ok      {path}\n" if line is None else said)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root checks who may write the file")
def test_root_believes_no_file_that_others_may_write(configure):
    path = configure("")
    path.chmod(0o666)
    done = helper("hybridmem-config", "check", "--file-only", "--config", path, status=1)
    assert done.stdout == f"change  {path} has mode 0666: others may write it; take that away with chmod go-w\n"
