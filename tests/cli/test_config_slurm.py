# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem config check: what Slurm has to be set to."""

import pytest
from installed import helper
from slurmsite import VERSION, any_status


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
        ("555", "5min", "ok      {} is 555 s, more than fsdax_wipe_limit"),
        ("555 sec", "5min", "ok      {} is 555 s, more than fsdax_wipe_limit"),
        (
            "554",
            "5min",
            "change  {} is 554 s: fsdax_wipe_limit is 300 s in hybridmem.conf, and must be more than 0 s, "
            "and at least 255 s less than {}",
        ),
        (
            "60",
            "5min",
            "change  {} is 60 s: fsdax_wipe_limit is 300 s in hybridmem.conf, and must be more than 0 s, "
            "and at least 255 s less than {}",
        ),
    ],
)
def test_wipes_end_before_slurm_ends_them(site, configure, name, value, limit, said):
    site.settings[name] = value
    path = configure(f"fsdax_wipe_limit = {limit}")
    lines = [line for line in any_status(site, "--config", path) if f" {name} is " in line]
    assert lines == ([said.format(name, name)] if said else [])


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("77", "ok      PrologEpilogTimeout is 77 s"),
        (
            "76",
            "change  PrologEpilogTimeout is 76 s: it must be more than 76 s (slurm.conf), as our prolog and epilog "
            "take so long where a file server does not answer, and Slurm then drains the node",
        ),
    ],
)
def test_slurm_waits_as_long_as_a_hook_does(site, value, said):
    site.settings["PrologEpilogTimeout"] = value
    assert said in any_status(site)


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
        ("PrEpPlugins", "prep/own", "PrEpPlugins is prep/own: prep/script must be in it (slurm.conf)"),
        ("PrologFlags", "Alloc", "PrologFlags is Alloc: Contain must be in it (slurm.conf)"),
        ("PrologFlags", "Container", "PrologFlags is Container: Contain must be in it (slurm.conf)"),
        (
            "PrologFlags",
            "Alloc,Contain,RunInJob",
            "PrologFlags is Alloc,Contain,RunInJob: RunInJob must not be in it (slurm.conf), as Slurm (24.05 to 26.05) "
            "runs no prolog and no epilog of plugins with it",
        ),
        (
            "SLURM_VERSION",
            "21.08.1",
            f"Slurm is 21.08.1, and the plugin is built for {VERSION}: build hybridmem again with this Slurm's headers",
        ),
        (
            "SLURM_CONF",
            None,
            "plugstack.conf is not found, as scontrol names no SLURM_CONF: check that scontrol works here",
        ),
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


def test_slurm_conf_names_another_plugstack(site):
    other = site.folder / "spank.conf"
    other.write_text("optional hybridmem.so\n")
    (site.folder / "plugstack.conf").unlink()
    site.settings["PlugStackConfig"] = str(other)
    assert f"ok      {other} loads {site.folder}/plugins/hybridmem.so" in any_status(site)
    site.settings["PlugStackConfig"] = "(null)"
    assert f"change  {site.folder}/plugstack.conf does not load the plugin" in "\n".join(site.check())


def test_the_plugin_has_another_configuration(site, configure):
    path, stack = configure(""), site.folder / "plugstack.conf"
    for given, is_other in (("", False), (f" config={path}", False), (" x config=/other.conf", True)):
        stack.write_text(f"optional hybridmem.so{given}\n")
        notes = [line for line in any_status(site, "--config", path) if "/other.conf" in line]
        said = f"note    {stack} gives the plugin config=/other.conf, and {path} is checked here: "
        assert [line.startswith(said) for line in notes] == [True] * is_other


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
