# SPDX-License-Identifier: Apache-2.0
"""Tests the modulefile with real Lmod."""

import re
import subprocess

import pytest
from installed import DATA, PREFIX

INSTALLED = DATA / "modulefiles"
OPTION = "SLURM_SPANK__SLURM_SPANK_OPTION_hybridmem_hybrid_mem"
BOOKKEEPING = re.compile(r"^(_ModuleTable|__LMOD_|LMOD_|_LMFILES_|LOADEDMODULES|MODULEPATH|_=|SHLVL|PWD)")


@pytest.fixture
def elsewhere(tmp_path):
    """A folder with a copy of the modulefile. Tests may change the copy. The modulefile sets PATH and the like, as the
    installation under test is outside of the system's folders."""
    (made,) = (INSTALLED / "hybridmem").glob("*.lua")
    copy = tmp_path / "modules" / "hybridmem" / made.name
    copy.parent.mkdir(parents=True)
    copy.write_text(made.read_text())
    return copy.parents[1]


def module(folder, script, env=None):
    """Runs a script in a new shell that has Lmod. Returns stdout and stderr in one text."""
    start = f". /etc/profile.d/lmod.sh; module use {folder}; "
    done = subprocess.run(
        ["bash", "-c", start + script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root", **(env or {})},
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def environments(folder, *cases):
    """Runs each case in a subshell of its own. Returns, for each case, the environment after each of its steps, without
    Lmod's own variables."""
    told = "echo ======; env -0 | sort -z | tr '\\n\\0' '\\r\\n'; "
    script = "".join("echo @@@@@@; (" + "".join(f"{step}; {told}" for step in case) + "); " for case in cases)
    found = [
        [variables(text) for text in part.split("======\n")[1:]] for part in module(folder, script).split("@@@@@@\n")
    ]
    assert [len(case) for case in found[1:]] == [len(case) for case in cases]
    return found[1:]


def variables(text):
    lines = [line for line in text.splitlines() if "=" in line and not BOOKKEEPING.match(line)]
    found = dict(line.split("=", 1) for line in lines)
    if "MANPATH" in found:  # Lmod adds a colon at the end, which says "and the system's pages" once more
        found["MANPATH"] = found["MANPATH"].rstrip(":")
    return found


def test_avail_whatis_show_help_and_load():
    version = next(INSTALLED.glob("hybridmem/*.lua")).stem
    text = module(INSTALLED, "module -t avail; module whatis hybridmem; module show hybridmem; module help hybridmem")
    assert f"hybridmem/{version}\n" in text
    for word in ("Name: hybridmem", f"Version: {version}", "Category: ", "Description: "):
        assert f": {word}" in text, word
    assert 'family("hybridmem")' in text and "sbatch --hybrid-mem=spill" in text
    text = module(
        INSTALLED, "module load hybridmem && module is-loaded hybridmem && module -t list && hybridmem --help"
    )
    assert f"hybridmem/{version}\n" in text and "usage" in text.lower()


def test_a_system_folder_is_not_moved_to_the_front(elsewhere):
    (path,) = elsewhere.glob("hybridmem/*.lua")
    text = path.read_text()
    assert f'prefix = "{PREFIX}"' in text
    path.write_text(text.replace(f'prefix = "{PREFIX}"', 'prefix = "/usr"'))
    ((before, loaded),) = environments(elsewhere, ["true", "module load hybridmem"])
    assert loaded == before


# What the user has set before, and the mode that is in force while the module is loaded.
BEFORE = {
    "true": None,
    f"export {OPTION}=fast": "fast",
    "export HYBRIDMEM_DEFAULT_MODE=": None,
    "export HYBRIDMEM_DEFAULT_MODE=spill,socket=local": "spill,socket=local",
    f"export {OPTION}=fast HYBRIDMEM_DEFAULT_MODE=spill": "spill",
}


def test_environment_is_the_same_after_load_and_unload(elsewhere):
    cases = [[set_up, "module load hybridmem", "module unload hybridmem"] for set_up in BEFORE]
    for mode, (before, loaded, after) in zip(BEFORE.values(), environments(elsewhere, *cases)):
        assert loaded["PATH"] == f"{PREFIX}/bin:" + before["PATH"]
        assert loaded["MANPATH"].startswith(f"{PREFIX}/share/man:")
        for name, folder in (
            ("CPATH", "include"),
            ("LIBRARY_PATH", "lib"),
            ("LD_LIBRARY_PATH", "lib"),
            ("PKG_CONFIG_PATH", "lib/pkgconfig"),
        ):
            assert loaded[name] == f"{PREFIX}/{folder}"
        assert loaded.get(OPTION) == mode
        assert after == before


def test_unload_restores_the_option_though_the_users_choice_has_changed(elsewhere):
    setup = f"export {OPTION}=fast HYBRIDMEM_DEFAULT_MODE=spill"
    steps = [setup, "module load hybridmem", "unset HYBRIDMEM_DEFAULT_MODE; module unload hybridmem"]
    ((_, loaded, after),) = environments(elsewhere, steps)
    assert loaded[OPTION] == "spill" and after[OPTION] == "fast"
    assert "HYBRIDMEM_MODULE_MODE" not in after


def test_the_sites_default_mode_and_the_users_own(elsewhere):
    (path,) = elsewhere.glob("hybridmem/*.lua")
    path.write_text(path.read_text().replace('site_default_mode = ""', 'site_default_mode = "interleave"'))
    steps = [
        "module load hybridmem",
        "module unload hybridmem",
        "export HYBRIDMEM_DEFAULT_MODE=slow; module load hybridmem",
    ]
    ((site, unloaded, own),) = environments(elsewhere, steps)
    assert (site[OPTION], unloaded.get(OPTION), own[OPTION]) == ("interleave", None, "slow")


def test_another_module_of_the_family_takes_its_place(elsewhere):
    """While hybridmem's module is loaded, the system's man pages are still found. Loading the other module unloads
    hybridmem's."""
    other = elsewhere / "othermem" / "1.lua"
    other.parent.mkdir()
    other.write_text('family("hybridmem")\n')
    text = module(
        elsewhere,
        "module load hybridmem; man -w ls; module load othermem; module -t list",
        {"LMOD_DISABLE_SAME_NAME_AUTOSWAP": "no"},
    )
    assert "/ls.1" in text and "othermem/1" in text.splitlines() and not re.search(r"^hybridmem/", text, re.MULTILINE)


def test_syntax(elsewhere):
    script = "module --checkSyntax load hybridmem; echo status $?"
    assert "status 0" in module(elsewhere, script)
    (path,) = elsewhere.glob("hybridmem/*.lua")
    path.write_text(path.read_text() + "this is not Lua\n")
    assert "status 0" not in module(elsewhere, script)
