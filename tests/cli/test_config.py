# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem config: the values in use, and what a site is told to change."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from installed import LIBEXEC, PREFIX, helper, needs_papi, needs_slurmenergy

EXAMPLE = Path(__file__).resolve().parents[2] / "etc" / "hybridmem.conf"
INSTALLED = PREFIX / "etc" / "hybridmem" / "hybridmem.conf"
VERSION = re.search(r"for Slurm (\S+)", os.popen(f"{PREFIX}/bin/hybridmem --version").read())[1]
GOOD = {
    "ProctrackType": "proctrack/cgroup",
    "TaskPlugin": "task/cgroup,task/affinity",
    "PrologFlags": "Alloc,Contain,X11",
    "SLURM_VERSION": VERSION,
}


def show(path):
    return helper("hybridmem-config", "show", "--config", path).stdout


def test_show_can_be_read_again(configure):
    text = re.sub(r"^#(?=[a-z])", "", EXAMPLE.read_text(), flags=re.MULTILINE)
    first = show(configure(text.replace("ram = none", "ram = normal")))
    assert "ram = normal\n" in first and "fsdax_keep_quota = 107374182400\n" in first
    assert '    static_power = "76.8W"\n    read_energy = "12.5pJ/bit"\n    write_energy = "62.5pJ/bit"\n}\n' in first
    assert 'tier "dram" {' in first and 'default_mode = "spill"' in first and 'cluster = "mycluster"' in first
    assert show(configure(first)) == first


def test_the_example_is_the_built_in_values(configure):
    """The example as it is, and with each general word uncommented."""
    built_in = show(configure(""))
    assert show(configure(EXAMPLE.read_text())) == built_in
    words = [line[1:] for line in EXAMPLE.read_text().splitlines() if re.match(r"#[a-z_]+ = ", line)]
    assert len(words) == 27
    said = show(configure("\n".join(word for word in words if not word.startswith(("cluster", "fsdax_keep_quota")))))
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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is careful")
def test_root_believes_no_file_that_others_may_write(configure):
    path = configure("")
    path.chmod(0o666)
    done = helper("hybridmem-config", "check", "--file-only", "--config", path, status=1)
    assert done.stdout == f"change  {path} has mode 0666: others may write it; take that away with chmod go-w\n"


class Site:
    """A fake Slurm: scontrol prints `settings`, and plugstack.conf is beside its slurm.conf."""

    def __init__(self, folder):
        self.folder = folder
        self.settings = {**GOOD, "SLURM_CONF": f"{folder}/slurm.conf", "PluginDir": f"{folder}/none:{folder}/plugins"}
        self.status = 0
        (folder / "plugins").mkdir()
        (folder / "plugins" / "hybridmem.so").touch()
        (folder / "plugstack.conf").write_text("optional hybridmem.so\n")

    def check(self, *words, status=1):
        scontrol = self.folder / "scontrol"
        lines = [f"{name:<23} = {value}" for name, value in self.settings.items()]
        text = "\n".join(["Configuration data as of today", *lines])
        scontrol.write_text(
            f"#!/bin/sh\n[ \"$*\" = 'show config' ] || exit 9\ncat <<'END'\n{text}\nEND\nexit {self.status}\n"
        )
        scontrol.chmod(0o755)
        # The node itself (users, cgroups) can be anything here: only Slurm's lines are checked.
        done = helper("hybridmem-config", "check", "--scontrol", scontrol, *words, status=status)
        return done.stdout.splitlines()


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    return Site(folder)


def any_status(site, *words):
    try:
        return site.check(*words, status=0)
    except AssertionError:
        return site.check(*words, status=1)


def test_a_good_site(site):
    lines = any_status(site)
    for wanted in (
        f"ok      Slurm is {VERSION}, and the plugin is built for {VERSION}",
        "ok      ProctrackType is proctrack/cgroup",
        "ok      TaskPlugin is task/cgroup,task/affinity",
        "ok      PrologFlags is Alloc,Contain,X11",
        f"ok      {site.folder}/plugstack.conf loads {site.folder}/plugins/hybridmem.so",
    ):
        assert wanted in lines


@pytest.mark.parametrize("name", ["PrologEpilogTimeout", "PrologTimeout", "EpilogTimeout"])
@pytest.mark.parametrize(
    ("value", "limit", "said"),
    [
        ("65534", "5min", None),
        ("0", "5min", None),
        ("360", "5min", "ok      {} is 360 s, more than fsdax_wipe_limit"),
        ("360 sec", "5min", "ok      {} is 360 s, more than fsdax_wipe_limit"),
        (
            "359",
            "5min",
            "change  {} is 359 s: fsdax_wipe_limit is 300 s in hybridmem.conf, and must be more than 0 s, "
            "and 60 s less than that",
        ),
        (
            "60",
            "5min",
            "change  {} is 60 s: fsdax_wipe_limit is 300 s in hybridmem.conf, and must be more than 0 s, "
            "and 60 s less than that",
        ),
    ],
)
def test_wipes_end_before_slurm_ends_them(site, configure, name, value, limit, said):
    site.settings[name] = value
    path = configure(f"fsdax_wipe_limit = {limit}")
    lines = [line for line in any_status(site, "--config", path) if f" {name} is " in line]
    assert lines == ([said.format(name)] if said else [])


SPOOL = f"{LIBEXEC}/hybridmem-spool"
DATABASE = "accounting_storage/slurmdbd"


def summary_lines(site, configure, settings, text="summary_field = SystemComment\n"):
    """The lines of check about summaries; the spool folder is `spool` beside the site's slurm.conf."""
    site.settings.update(settings)
    path = configure(f'spool_dir = "{site.folder}/spool"\n{text}')
    names = ("EpilogSlurmctld", "AccountingStorageType", "spool_dir")
    return [line for line in any_status(site, "--config", path) if line.split(maxsplit=2)[1] in names]


def test_summaries_want_nothing_where_there_are_none(site, configure):
    assert summary_lines(site, configure, {}, "") == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, f"change  EpilogSlurmctld is not set, and leaves no summaries: make it {SPOOL} (slurm.conf)"),
        (
            {"EpilogSlurmctld": "(null)"},
            f"change  EpilogSlurmctld is not set, and leaves no summaries: make it {SPOOL} (slurm.conf)",
        ),
        (
            {"EpilogSlurmctld": "/none/epilog"},
            f"change  EpilogSlurmctld is /none/epilog, and leaves no summaries: have it call {SPOOL} (slurm.conf)",
        ),
        ({"EpilogSlurmctld": SPOOL}, f"ok      EpilogSlurmctld is {SPOOL}"),
        # from Slurm 24.05 on
        ({"EpilogSlurmctld[0]": "/none/epilog", "EpilogSlurmctld[1]": SPOOL}, f"ok      EpilogSlurmctld is {SPOOL}"),
        ({"EpilogSlurmctld": "{script}"}, "ok      EpilogSlurmctld is {script}, which has hybridmem-spool"),
        (
            {"EpilogSlurmctldTimeout": SPOOL},
            f"change  EpilogSlurmctld is not set, and leaves no summaries: make it {SPOOL}",
        ),
    ],
)
def test_slurmctlds_epilog(site, configure, settings, said):
    script = site.folder / "epilog"
    script.write_text("#!/bin/sh\n/opt/hybridmem-spool\n")
    settings = {name: value.replace("{script}", str(script)) for name, value in settings.items()}
    first = summary_lines(site, configure, {"AccountingStorageType": DATABASE, **settings})[0]
    assert first.startswith(said.replace("{script}", str(script)))


@pytest.mark.parametrize("value", ["accounting_storage/none", "(null)", None])
def test_summaries_want_a_database(site, configure, value):
    said = summary_lines(site, configure, {} if value is None else {"AccountingStorageType": value})
    assert said[1] == (
        f"change  AccountingStorageType is {value or 'not set'}, which has no field for summaries: use {DATABASE}, or "
        "summary_field = none in hybridmem.conf"
    )
    assert f"ok      AccountingStorageType is {DATABASE}" in summary_lines(
        site, configure, {"AccountingStorageType": DATABASE}
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize(
    ("mode", "owner", "said"),
    [
        (
            None,
            0,
            "change  spool_dir {path}: No such file or directory: make it with install -d -o slurm -m 0700 {path}",
        ),
        (0o700, 64030, "ok      spool_dir {path} belongs to slurm"),
        (
            0o700,
            0,
            "change  spool_dir {path} must be a folder of SlurmUser that nobody else may write: chown slurm {path}",
        ),
        (0o770, 64030, "change  spool_dir {path} must be a folder of SlurmUser that nobody else may write: "),
    ],
)
def test_the_spool_folder_on_slurmctlds_host(site, configure, mode, owner, said):
    path = site.folder / "spool"
    if mode is not None:
        path.mkdir()
        path.chmod(mode)
        os.chown(path, owner, -1)
    settings = {"SlurmUser": "slurm(64030)", "SlurmctldHost[0]": "other(10.0.0.1)"}
    assert not any("spool_dir" in line for line in summary_lines(site, configure, settings))
    settings["SlurmctldHost[1]"] = f"{os.uname().nodename}(10.0.0.2)"
    assert summary_lines(site, configure, settings)[-1].startswith(said.format(path=path))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            "ProctrackType",
            "proctrack/linuxproc",
            "ProctrackType is proctrack/linuxproc: proctrack/cgroup must be in it (slurm.conf)",
        ),
        ("ProctrackType", None, "ProctrackType is not set: proctrack/cgroup must be in it (slurm.conf)"),
        ("TaskPlugin", "task/cgroup", "TaskPlugin is task/cgroup: task/affinity must be in it (slurm.conf)"),
        ("TaskPlugin", "task/affinity", "TaskPlugin is task/affinity: task/cgroup must be in it (slurm.conf)"),
        ("PrologFlags", "Alloc", "PrologFlags is Alloc: Contain must be in it (slurm.conf)"),
        ("PrologFlags", "Container", "PrologFlags is Container: Contain must be in it (slurm.conf)"),
        (
            "SLURM_VERSION",
            "21.08.1",
            f"Slurm is 21.08.1, and the plugin is built for {VERSION}: build hybridmem again with this Slurm's headers",
        ),
        ("SLURM_CONF", None, "plugstack.conf is not found, as scontrol names no SLURM_CONF: check that it works here"),
    ],
)
def test_a_setting_that_must_change(site, name, value, said):
    site.settings[name] = value
    if value is None:
        del site.settings[name]
    assert f"change  {said}" in site.check()


@pytest.mark.parametrize(
    ("files", "loads"),
    [
        ({"plugstack.conf": "required hybridmem.so conf=/x\n"}, "plugstack.conf"),
        ({"plugstack.conf": "# a\n\n  \toptional\t hybridmem.so\n"}, "plugstack.conf"),
        (
            {
                "plugstack.conf": "include plugstack.conf.d/*.conf\n",
                "plugstack.conf.d/a.conf": "optional hybridmem.so\n",
            },
            "plugstack.conf.d/a.conf",
        ),
        (
            {
                "plugstack.conf": "include {folder}/p/*\n",
                "p/a": "optional other.so\n",
                "p/b": "optional hybridmem.so\n",
            },
            "p/b",
        ),
        ({"plugstack.conf": "#optional hybridmem.so\n"}, None),
        ({"plugstack.conf": "optional nothybridmem.so\n"}, None),
        ({"plugstack.conf": "optional\n"}, None),
        ({"plugstack.conf": "include plugstack.conf\n"}, None),
        ({"plugstack.conf": ""}, None),
    ],
)
def test_plugstack(site, files, loads):
    for name, text in files.items():
        path = site.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("{folder}", str(site.folder)))
    lines = any_status(site)
    if loads:
        assert f"ok      {site.folder}/{loads} loads {site.folder}/plugins/hybridmem.so" in lines
    else:
        assert (
            f'change  {site.folder}/plugstack.conf does not load the plugin: add the line "optional hybridmem.so"'
            in lines
        )


def test_a_plugin_that_is_not_there(site):
    (site.folder / "plugins" / "hybridmem.so").unlink()
    assert (
        f"change  {site.folder}/plugstack.conf loads hybridmem.so, which is not there "
        f"(PluginDir {site.folder}/none:{site.folder}/plugins): install the plugin on this node"
    ) in site.check()


def test_scontrol_that_fails_or_is_missing(site):
    site.status = 1
    (line,) = [line for line in site.check() if "scontrol" in line]
    assert line.startswith(f"change  Slurm's settings are not known, as {site.folder}/scontrol show config failed: ")
    done = helper("hybridmem-config", "check", "--scontrol", site.folder / "none", status=1)
    assert (
        f"change  Slurm's settings are not known, as scontrol is not at {site.folder}/none: "
        "install Slurm's commands, or say --scontrol FILE"
    ) in done.stdout.splitlines()


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
            "3: channels a+b are of no two tiers here by name or kind: ignored; here ",
        ),
        (
            '\ntier "nosuch" {\n static_power = 20W }\n',
            "note",
            "3: tier nosuch lists no nodes, and no tier here has that name or kind: ignored; here are ",
        ),
    ],
)
def test_tiers_that_this_node_has_not(configure, tmp_path, text, word, said):
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
    hidden = f'mount --bind /dev/null {program} && exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", hidden, "sh", LIBEXEC / words[0], *words[1:]]
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
    hidden = 'for p in hybridmem-papi hybridmem-slurmenergy; do mount --bind /dev/null "$1/$p"; done; shift; exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", hidden, "sh", LIBEXEC, LIBEXEC / "hybridmem-config", *words]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    told = [line.split()[1] for line in shown.splitlines() if f"meter_programs = {chosen} asks" in line]
    assert told == [f"{LIBEXEC / name}:" for name in asked]
    shown = helper("hybridmem-config", *words, status=1).stdout
    for name in asked:
        assert f"ok      {LIBEXEC / name} is there, for meter_programs = {chosen}\n" in shown


def test_the_preload_library(tmp_path):
    """Reports what isolate needs and this node does not have."""
    library = PREFIX / "lib" / "hybridmem" / "libhybridmem-preload.so"
    words = ("hybridmem-config", "check", "--scontrol", tmp_path / "none")
    assert f"ok      {library} is there, for isolate" in helper(*words, status=1).stdout.splitlines()
    # An empty folder hides the library for this command only, as other tests need it.
    hidden = f'mount -t tmpfs none {library.parent} && exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", hidden, "sh", LIBEXEC / words[0], *words[1:]]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    wrong = "No such file or directory: isolate is refused without it: install hybridmem as a whole"
    assert f"change  {library}: {wrong}" in lines
