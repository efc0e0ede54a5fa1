# SPDX-License-Identifier: Apache-2.0
"""Tests the store of profiles: hybridmem sites record puts them there, list shows them, guide takes the newest."""

import fcntl
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path

import pytest
from guiding import FAST, NODES, TWO_NODES, all_slow, compiled, misfits, policies, profile_of
from installed import LIBEXEC, check_root, helper, with_mounts
from siteprofiles import VALIDATOR, by_peak
from sysfstree import NOBODY

AS_NOBODY = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
BY_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


@pytest.fixture
def home(tmp_path):
    return {"XDG_DATA_HOME": "", "HOME": str(tmp_path)}


@pytest.fixture
def folder(tmp_path, profile):
    """The folder of the program's build in the user's store."""
    return tmp_path / ".local/share/hybridmem/profiles" / json.loads(profile.read_text())["program"]["build_id"]


def put(folder, profile, name, seconds, kind=None):
    """A copy of the profile, of this age and kind of input."""
    folder.mkdir(parents=True, exist_ok=True)
    path, made = folder / name, json.loads(profile.read_text())
    made["program"]["input_class"] = kind
    path.write_text(json.dumps(made))
    os.utime(path, (seconds, seconds))
    return path


def guide(program, env, *options, status=0):
    words = ("--nodes", NODES, "--fast", "11M", *options, "--", program, "where")
    return helper("hybridmem-sites", "guide", *words, env=env, status=status)


# As a task does: a shell has itself recorded, and then becomes the program.
TASK = """
exec 3> "$1"
shift
started=$("$LIBEXEC/hybridmem-sites" record OPTIONS --name "$1" --pid $$ -- "$2" "$3") || exit 99
export RECORDER="$(sed -n 's/^recorder //p' <<< "$started")"
export HYBRIDMEM_SITES="$(sed -n 's/^HYBRIDMEM_SITES //p' <<< "$started")" LD_PRELOAD="$LIBRARY"
exec "$2" "$3" 3>&-
"""


def record(env, name, *program, options="", mounts=""):
    """Runs the program as a task that is profiled, with these options of the recorder, as a shell has them. Returns the
    recorder's last line, the program's exit status, and what was said. Whether a line before says that there were no
    samples, is as it happens."""
    result = Path(env["HOME"]) / "result"
    os.mkfifo(result)
    os.chown(result, NOBODY, NOBODY)
    library = LIBEXEC.parents[1] / "lib" / "hybridmem" / "libhybridmem-sites.so"
    env = {**os.environ, **env, "LIBEXEC": str(LIBEXEC), "LIBRARY": str(library)}
    words = with_mounts(mounts, *BY_NOBODY, "bash", "-c", TASK.replace("OPTIONS", options), "task", result, name)
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*words, *program], env=env, **pipes) as task:
        lines = result.read_text()  # ends when the recorder, which has it longest, has ended
        said = task.communicate()[1]
    result.unlink()
    return lines.splitlines(keepends=True)[-1] if lines else "", task.returncode, said


@pytest.fixture
def of_nobody():
    """The environment of a user who is not root, with a home where this user finds programs, too."""
    path = Path(tempfile.mkdtemp(prefix="home-"))
    os.chown(path, NOBODY, NOBODY)
    yield {"XDG_DATA_HOME": "", "HOME": str(path)}
    shutil.rmtree(path)


def built(of_nobody, name, *words, text=None):
    return compiled(Path(of_nobody["HOME"]) / name, *words, text=text)


def recorded(of_nobody):
    return list(Path(of_nobody["HOME"]).glob(".local/share/hybridmem/profiles/*/*.json"))


def test_tasks_of_a_step_have_one_profile(of_nobody):
    probe = built(of_nobody, "probe")
    for number in (1, 2):
        line, status, said = record(of_nobody, "7.0", probe, "where", options="--input-class large")
        [path] = recorded(of_nobody)
        assert (line, status, said) == (f"profile {path}\n", 0, "")
        made = json.loads(path.read_text())
        VALIDATOR.validate(made)
        assert made["processes"] == number and made["exit_code"] is None and path.name == "7.0.json"
        assert made["program"]["input_class"] == "large"
        assert made["program"]["command"] == f"{probe} where" and set(by_peak(made)) >= set(range(1, 10))
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert {site["allocations"] for site in by_peak(made).values()} == {number}


def test_the_newest_profile_of_each_input_is_kept(of_nobody, profile):
    """Of the oldest ones that have to go, those go first of which there is a newer one of the same input."""
    probe = built(of_nobody, "probe")
    record(of_nobody, "9.0", probe, "where", options="--input-class common")
    [path] = recorded(of_nobody)
    kinds = ("rare", "common", None, *5 * ["common"])
    for number, kind in enumerate(kinds):
        put(path.parent, profile, f"{number}.0.json", 100 + number, kind)
    record(of_nobody, "10.0", probe, "where", options="--input-class common")
    kept = {path.stem for path in recorded(of_nobody)}
    assert kept == {"0.0", "2.0", "4.0", "5.0", "6.0", "7.0", "9.0", "10.0"}
    for number in range(11, 18):
        put(path.parent, profile, f"{number}.0.json", 200 + number, f"kind {number}")
    record(of_nobody, "20.0", probe, "where")
    assert {path.stem for path in recorded(of_nobody)} == {"10.0", *(f"{number}.0" for number in range(11, 18))} - {
        "11.0"
    } | {"20.0"}


def test_a_recorder_is_no_child_and_outlives_a_signal(of_nobody):
    """The program sends signals to the recorder, as Slurm and users do to all processes of a job, and has no child."""
    text = """
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
int main(int argc, char **argv)
{
    (void)argc;
    free(malloc(1 << 20));
    if (waitpid(-1, NULL, 0) != -1)
        return 9;
    const int signals[] = {SIGTERM, SIGUSR1, SIGALRM, SIGXCPU, SIGRTMIN + 1};
    for (int i = 0; i < 5; i++)
        if (kill(atoi(getenv(argv[1])), signals[i]) != 0)
            return 8;
    return 3;
}
"""
    program = built(of_nobody, "signals", text=text)
    line, status, _ = record(of_nobody, "1.2", program, "RECORDER")
    assert status == 3 and line.startswith("profile ") and line.endswith("/1.2.json\n")


def test_a_task_starts_while_another_keeps_its_profile(of_nobody):
    """The one holds the lock of the build's folder, and what starts does not wait for it."""
    probe = built(of_nobody, "probe")
    record(of_nobody, "1.0", probe, "where")
    [path] = recorded(of_nobody)
    with path.with_name(".lock").open() as lock, subprocess.Popen(["sleep", "600"], **AS_NOBODY) as task:
        fcntl.flock(lock, fcntl.LOCK_EX)
        words = ("record", "--name", "2.0", "--pid", task.pid, "--", probe)
        started = helper("hybridmem-sites", *words, env=of_nobody, **AS_NOBODY).stdout
        task.kill()
    assert started.startswith(f"profile {path.with_name('2.0.json')}\n")


def test_a_recorder_that_guides_has_its_memory_in_the_slow_tier(of_nobody):
    probe = built(of_nobody, "probe")
    with subprocess.Popen(["sleep", "600"], **AS_NOBODY) as task:
        words = ("--guide", "fast=1 slow=0", "--fast", "4M", "--name", "3.0", "--pid", str(task.pid), "--", probe)
        command = with_mounts(TWO_NODES, *BY_NOBODY, LIBEXEC / "hybridmem-sites", "record", *words)
        try:
            said = subprocess.run(command, env=of_nobody, capture_output=True, text=True, check=True).stdout
            maps = Path(f"/proc/{re.search(r'recorder (.+)', said)[1]}/numa_maps").read_text().splitlines()
        finally:
            task.kill()
    assert {line.split()[1] for line in maps} == {"interleave=static:0"}


def test_a_mapping_that_is_placed_online_is_one_for_mremap(of_nobody):
    """Its bytes are no whole number of pages. There is no room in the fast tier, so its policy is of the slow one."""
    text = """#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tell.h"
int main(void)
{
    dup2(2, 1);
    char *mapped = mmap(NULL, 200000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tell("first", mapped);
    tell("last", mapped + 199999);
    return mremap(mapped, 200000, 900000, MREMAP_MAYMOVE) == MAP_FAILED ? errno : 0;
}
"""
    program = built(of_nobody, "mapped", text=text)
    options = "--guide 'fast=1 slow=0' --fast 4K"
    line, status, said = record(of_nobody, "4.0", program, options=options, mounts=TWO_NODES)
    assert said == f"first {FAST}\nlast {FAST}\n"  # what has a policy of its own
    assert status == 0 and line.startswith("profile ")


def test_what_cannot_be_recorded_is_said(of_nobody):
    probe = built(of_nobody, "probe")
    script = probe.with_name("script")
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    unfit = [(of_nobody, path, f"{path} {why}: its allocations cannot be seen") for path, why in misfits(probe.parent)]
    without = built(of_nobody, "without", "-Wl,--build-id=none", text="int main(void) { return 0; }\n")
    no_place = {**of_nobody, "XDG_DATA_HOME": "/proc/none"}
    for env, program, why in (
        (of_nobody, script, "is no program with a build-id"),
        *unfit,
        (of_nobody, without, "has no build-id: link it with -Wl,--build-id"),
        (no_place, probe, "no profile can be kept in /proc/none/hybridmem/profiles/"),
    ):
        words = ("record", "--name", "1.0", "--pid", os.getpid(), "--", program)
        done = helper("hybridmem-sites", *words, env=env, **AS_NOBODY)
        assert done.stdout == "" and fnmatch(done.stderr, f"*{why}*") and done.stderr.count("\n") == 1
    check_root()
    assert "root keeps no profiles" in helper("hybridmem-sites", *words[:-1], probe, env=of_nobody).stderr
    assert not recorded(of_nobody)


def test_wrong_words_are_refused(probe):
    for words in (["--name", "a/b"], ["--name", ""], ["--pid", "0"], ["--overhead", "51%"], ["--name", "a"]):
        helper("hybridmem-sites", "record", *words, "--", probe, status=2)
    helper("hybridmem-sites", "list", "more", status=2)


def test_the_newest_profile_of_the_build_is_taken(probe, profile, home, folder, tmp_path):
    shared = tmp_path / "shared"
    none = guide(probe, home, "--shared", shared, status=125)
    assert "there is no profile of the build " in none.stderr and none.stdout == ""
    assert none.stderr.endswith("; a job of --hybrid-mem=profile makes one\n")
    of_site = put(shared / folder.name, profile, "site.json", 900)
    words = ("--shared", shared, "--print")
    assert guide(probe, home, *words).stdout.splitlines()[0] == f"profile {of_site}"
    put(folder, profile, "1.0.json", 100)
    newest = put(folder, profile, "2.0.json", 300)
    put(folder, profile, "3.0.json", 200)
    assert guide(probe, home, *words).stdout.splitlines()[0] == f"profile {newest}"
    found = policies(guide(probe, home, "--packer", "knapsack", "--shared", shared))
    assert found != all_slow()


def test_the_newest_profile_of_the_kind_of_input_is_taken(probe, profile, home, folder, tmp_path):
    """Also one that the site shares, before the user's own of another. Where there is none, the newest of any."""
    shared = tmp_path / "shared"
    put(folder, profile, "1.0.json", 100, "small")
    small = put(folder, profile, "2.0.json", 200, "small")
    merged = put(folder, profile, "3.0.json", 300, "medium + large")
    newest = put(folder, profile, "4.0.json", 400)
    huge = put(shared / folder.name, profile, "site.json", 50, "huge")
    words = ("--shared", shared, "--print")
    told = [f"input {kind}" for kind in ("small", "medium + large", "medium + large", "huge")]
    wanted = zip(("small", "medium", "large", "huge"), (small, merged, merged, huge), told, strict=True)
    for kind, path, line in wanted:
        lines = guide(probe, home, "--input-class", kind, *words).stdout.splitlines()
        assert lines[:2] == [line, f"profile {path}"]
    for options in (words, ("--input-class", "other", *words)):
        assert guide(probe, home, *options).stdout.splitlines()[0] == f"profile {newest}"
    newest.unlink()
    other = compiled(tmp_path / "probe", "-g")
    assert f"profile {small}" in guide(other, home, "--input-class", "small", "--stale", *words).stdout.splitlines()
    assert f"profile {merged}" in guide(other, home, "--stale", *words).stdout.splitlines()
    done = helper("hybridmem-sites", "guide", "--fast=1M", "--input-class=small", small, probe, env=home, status=2)
    assert "the profile is of an input of its own: leave out --input-class" in done.stderr


def test_what_an_input_is_called_is_one_plain_line(probe, profile, home, folder):
    """A shared profile may say anything."""
    put(folder, profile, "1.0.json", 100, "a\nHYBRIDMEM_GUIDE \x1b[2Jé" + 100 * "x")
    lines = guide(probe, home, "--shared", "/none", "--print").stdout.splitlines()
    assert lines[0] == "input a?HYBRIDMEM_GUIDE ?[2J??" + 39 * "x" and len(lines) == 6
    said = helper("hybridmem-sites", "list", env=home).stdout
    assert said.endswith(f"  {lines[0].replace('input', 'input:')}\n") and said.count("\n") == 1


def test_a_profile_of_another_build_is_named(home, folder, profile, tmp_path):
    """The program of the profile is the probe; this one has its name, and another content."""
    other = compiled(tmp_path / "probe", text="int main(void) { return 0; }\n")
    older, stale = put(folder, profile, "1.0.json", 100), put(folder, profile, "2.0.json", 200)
    said = guide(other, home, "--shared", "/none", status=125).stderr
    assert f"; {stale} is of another build of it: make a new profile\n" in said and str(older) not in said
    named = compiled(tmp_path / "named", text="int main(void) { return 1; }\n")
    assert "another build" not in guide(named, home, "--shared", "/none", status=125).stderr


def test_the_newest_profile_of_an_older_build_is_taken_if_it_may_be(home, folder, profile, tmp_path):
    """Where there is one of this build, that is taken, even if it is older."""
    later = compiled(tmp_path / "probe", "-g")
    put(folder, profile, "1.0.json", 100)
    stale = put(folder, profile, "2.0.json", 200)
    words = ("--shared", "/none", "--stale", "--print")
    done = guide(later, home, *words)
    assert f"profile {stale}" in done.stdout.splitlines() and done.stderr == ""
    made = json.loads(profile_of(later, tmp_path / "later.json").read_text())
    own = put(folder.with_name(made["program"]["build_id"]), tmp_path / "later.json", "3.0.json", 50)
    lines = guide(later, home, *words).stdout.splitlines()
    assert lines[0] == f"profile {own}"


def test_a_script_has_no_profile_of_its_own(home, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert "has no build-id, by which its profile could be found" in guide(script, home, status=125).stderr
    done = guide(script, home, "--print")
    assert done.stdout == "" and "is a script, and has no profile of its own" in done.stderr


def test_profiles_are_listed(probe, profile, home, folder):
    assert helper("hybridmem-sites", "list", env=home).stdout.startswith("no profile in ")
    old, new = put(folder, profile, "1.0.json", 100), put(folder, profile, "2.0.json", 86400, "large")
    torn = put(folder, profile, "3.0.json", 50)
    torn.write_text("{")
    os.utime(torn, (50, 50))
    lines = helper("hybridmem-sites", "list", env=home).stdout.splitlines()
    assert lines[:2] == [
        f"1970-01-02T00:00:00Z  {new}  {probe} where  input: large",
        f"1970-01-01T00:01:40Z  {old}  {probe} where",
    ]
    assert lines[2].startswith(f"1970-01-01T00:00:50Z  {torn}  {torn}: ") and len(lines) == 3


def test_a_listed_profile_moves_no_cursor_and_begins_no_line(profile, home, folder):
    """Those of the shared store are of others."""
    path = put(folder, profile, "1.0.json", 100)
    made = json.loads(path.read_text())
    made["program"]["command"] = "./é \x1b[2J\n2026-01-01 \x9b1A\x7f"
    path.write_text(json.dumps(made))
    path = path.rename(path.with_name("\x1b[2J.json"))
    [line] = helper("hybridmem-sites", "list", env=home).stdout.splitlines()
    assert line.endswith(f"  {path.parent}/?[2J.json  ./é ?[2J?2026-01-01 ?1A?")
