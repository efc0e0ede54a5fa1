# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem config check: what the node has to have."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from installed import LIBEXEC, PREFIX, helper, needs_papi, needs_slurmenergy, with_mounts


@pytest.mark.skipif(os.geteuid() != 0, reason="the folders must be root's")
@pytest.mark.parametrize(
    ("mode", "owner", "said"),
    [
        (0o751, 0, "ok      record_dir {path} belongs to root, mode 0751"),
        (0o755, 0, "change  record_dir {path} has mode 0755: chmod 0751 {path}"),
        (0o750, 0, "change  record_dir {path} has mode 0750: chmod 0751 {path}"),
        (0o751, 12345, "change  record_dir {path} belongs to user 12345: chown root {path}"),
        (
            None,
            0,
            "change  record_dir {path}: No such file or directory: "
            "make it with install -d -o root -g root -m 0751 {path}",
        ),
    ],
)
def test_the_records_folder(site, configure, tmp_path, mode, owner, said):
    path = tmp_path / "records"
    if mode is not None:
        path.mkdir()
        os.chown(path, owner, 0)
        path.chmod(mode)
    config = configure(f'record_dir = "{path}"\nrecord_group = root\n')
    lines = helper("hybridmem-config", "check", "--config", config, "--scontrol", site.folder / "none", status=1).stdout
    assert said.format(path=path) in lines.splitlines()
    assert "ok      record_group root exists" in lines.splitlines()


def test_groups_that_have_rules(site, configure):
    """A node that does not know a group cannot tell whom its rule concerns, so the rule applies to all users without a
    rule of their own."""
    config = configure('group "root" { modes = { fast } }\ngroup "no-such-group" { modes = { fast } }\n')
    lines = helper("hybridmem-config", "check", "--config", config, "--scontrol", site.folder / "none", status=1).stdout
    said = [line.split(":")[0] for line in lines.splitlines() if ", which has a rule, " in line]
    assert said == [
        "ok      group root, which has a rule, exists",
        "change  group no-such-group, which has a rule, does not exist here, so this node cannot tell who is in it",
    ]


def test_folders_that_cannot_be_looked_at(site, configure, tmp_path):
    """Making the folder is not advised, as it would not help."""
    (tmp_path / "file").touch()
    below = tmp_path / "file" / "below"
    config = configure(f'record_dir = "{below}"\n')
    lines = helper("hybridmem-config", "check", "--config", config, "--scontrol", site.folder / "none", status=1).stdout
    assert f"change  record_dir {below} cannot be looked at: Not a directory" in lines.splitlines()
    site.settings.update({"SlurmUser": "slurm(64030)", "SlurmctldHost[0]": os.uname().nodename})
    config = configure(f'spool_dir = "{below}"\nsummary_field = SystemComment\n')
    said = [line for line in site.check("--config", config) if "spool_dir" in line]
    assert said == [f"change  spool_dir {below} cannot be looked at: Not a directory"]


@pytest.mark.parametrize(
    ("text", "word", "said"),
    [
        (
            '\ntier "fast" { static_power = 20W\n nodes = "1000" }\n',
            "change",
            "3: tier fast names node 1000, which is not there: ",
        ),
        (
            '\n\nchannels "a+b" { kind = shared }\n',
            "note",
            "3: channels a+b: no two tiers here have these names or kinds: ignored; here ",
        ),
        (
            '\ntier "nosuch" {\n static_power = 20W }\n',
            "note",
            "3: tier nosuch is ignored: it lists no nodes, no tier here has its name, and there is not exactly one "
            "tier of its kind; here are ",
        ),
    ],
)
def test_tiers_that_this_node_does_not_have(configure, tmp_path, text, word, said):
    """Values that are valid in form but not on this node."""
    config = configure(text)
    words = ("hybridmem-config", "check", "--config", config)
    assert helper(*words, "--file-only").stdout == f"ok      {config}\n"
    lines = helper(*words, "--scontrol", tmp_path / "none", status=1).stdout.splitlines()
    assert sum(line.startswith(f"{word:7} {config}:{said}") for line in lines) == 1
    assert f"ok      the tiers of {config} are on this node" not in lines


def test_tiers_that_this_node_has(configure, tmp_path):
    name = json.loads(helper("hybridmem-tiers", "--json").stdout)["tiers"][0]["name"]
    words = ("hybridmem-config", "check", "--scontrol", tmp_path / "none")
    config = configure(f'tier "{name}" {{ static_power = 20W }}\n')
    lines = helper(*words, "--config", config, status=1).stdout.splitlines()
    assert f"ok      the tiers of {config} are on this node" in lines
    assert "the tiers of" not in helper(*words, "--config", configure(""), status=1).stdout


LOAD = "channels separate\nfast idle 80ns peak 200GB/s\nslow idle 250ns peak 90GB/s\n"


def test_the_file_of_the_tiers_under_load(configure, tmp_path):
    """Each job's migrator reads it, as the job's user."""
    tiers = len(json.loads(helper("hybridmem-tiers", "--json").stdout)["tiers"])
    ending = "is for the fast and the slow tier of this node" if tiers > 1 else "this node has one tier"
    with tempfile.TemporaryDirectory() as folder:
        place, path = Path(folder), Path(folder) / "tiers.load"
        words = ("check", "--config", configure(f'load = "{path}"\n'), "--scontrol", tmp_path / "none")

        def said(text, folder_mode=0o755, mode=0o644):
            path.write_text(text)
            place.chmod(folder_mode)
            path.chmod(mode)
            lines = helper("hybridmem-config", *words, status=1).stdout.splitlines()
            (line,) = [line for line in lines if f" load {path}" in line]
            return line

        line = said(LOAD)
        assert line.startswith(f"{'ok' if tiers > 1 else 'note':7} load {path} is read, ") and ending in line
        none = "without its figures no job is balanced"
        line = said(LOAD.replace("ns peak", " peak"))
        assert line.startswith(f"change  load {path}:2: ") and line.endswith(f"; {none}")
        shut = f"change  load {path}: not all users may"
        assert said(LOAD, 0o700) == f"{shut} enter {place}, as their migrators must: chmod a+x {place}"
        assert said(LOAD, mode=0o600) == f"{shut} read {path}, as their migrators must: chmod a+r {path}"
        path.unlink()
        lines = helper("hybridmem-config", *words, status=1).stdout.splitlines()
        assert f"change  load {path}: No such file or directory; {none}" in lines


def test_a_group_that_does_not_exist(configure, tmp_path):
    config = configure("record_group = nosuchgroup\n")
    lines = helper("hybridmem-config", "check", "--config", config, "--scontrol", tmp_path / "none", status=1).stdout
    assert (
        "change  record_group nosuchgroup does not exist: groupadd --system nosuchgroup, or name another one" in lines
    )


@pytest.mark.parametrize("zone", ["movable", "normal"])
def test_what_brings_slow_memory_online(configure, tmp_path, zone):
    program = LIBEXEC / "hybridmem-namespace"
    none = ("hybridmem-config", "check", "--scontrol", tmp_path / "none")
    assert str(program) not in helper(*none, status=1).stdout
    words = (*none, "--config", configure(f"ram = {zone}\n"))
    assert f"ok      {program} is there, for ram = {zone}" in helper(*words, status=1).stdout.splitlines()
    command = with_mounts(f"mount --bind /dev/null {program}", LIBEXEC / words[0], *words[1:])
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    wrong = f"Permission denied: ram = {zone} does nothing without it: build hybridmem with libndctl and libdaxctl"
    assert f"change  {program}: {wrong}" in lines


def test_what_counts_the_traffic_of_jobs(configure, tmp_path):
    mounted = tmp_path / "resctrl"
    words = ("hybridmem-config", "check", "--scontrol", tmp_path / "none")
    assert "resctrl" not in helper(*words, status=1).stdout
    words = (*words, "--config", configure(f'resctrl = yes\nresctrl_dir = "{mounted}"\n'))
    otherwise = f"mount -t resctrl resctrl {mounted}, or say no"
    shown = helper(*words, status=1).stdout
    assert "No such file or directory (resctrl is not mounted, or monitors nothing)" in shown and otherwise in shown
    features = mounted / "info" / "L3_MON" / "mon_features"
    features.parent.mkdir(parents=True)
    features.write_text("llc_occupancy\n")
    assert "no mbm_: the processor counts no memory traffic: mount" in helper(*words, status=1).stdout
    features.write_text("llc_occupancy\nmbm_total_bytes\n")
    assert f"ok      resctrl on {mounted} counts memory traffic" in helper(*words, status=1).stdout.splitlines()


@needs_papi
@needs_slurmenergy
@pytest.mark.parametrize(
    ("chosen", "asked"), [("papi", ["hybridmem-papi"]), ("all", ["hybridmem-papi", "hybridmem-slurmenergy"])]
)
def test_the_programs_of_the_monitor(configure, tmp_path, chosen, asked):
    """A chosen program that is not installed is reported."""
    words = ["check", "--scontrol", tmp_path / "none", "--config", configure(f"meter_programs = {chosen}\n")]
    hide = f"for p in hybridmem-papi hybridmem-slurmenergy; do mount --bind /dev/null {LIBEXEC}/$p; done"
    command = with_mounts(hide, LIBEXEC / "hybridmem-config", *words)
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    told = [line.split()[1] for line in shown.splitlines() if f"meter_programs = {chosen} asks" in line]
    assert told == [f"{LIBEXEC / name}:" for name in asked]
    shown = helper("hybridmem-config", *words, status=1).stdout
    for name in asked:
        assert f"ok      {LIBEXEC / name} is there, for meter_programs = {chosen}\n" in shown


def test_the_preload_library(tmp_path):
    """The check reports what isolate needs and this node does not have."""
    library = PREFIX / "lib" / "hybridmem" / "libhybridmem-preload.so"
    words = ("hybridmem-config", "check", "--scontrol", tmp_path / "none")
    assert f"ok      {library} is there, for isolate" in helper(*words, status=1).stdout.splitlines()
    command = with_mounts(f"mount -t tmpfs none {library.parent}", LIBEXEC / words[0], *words[1:])
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    wrong = "No such file or directory: isolate is refused without it: install hybridmem as a whole"
    assert f"change  {library}: {wrong}" in lines
