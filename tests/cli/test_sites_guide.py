# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem sites guide: which memory of programs (sites-*.c) has which policy, and that they run as
ever."""

import json
import os
import re
import signal
import subprocess
from fnmatch import fnmatchcase as fnmatch

import pytest
from guiding import (
    FAST,
    NODES,
    OWN_MALLOC,
    all_slow,
    compiled,
    guide,
    guided_by_size,
    misfits,
    policies,
    profiled,
)
from installed import PREFIX, helper
from siteprofiles import MIB, give_accesses, give_sampling, remove_accesses


def test_the_library_exports_what_it_replaces_and_wants_only_libc():
    library = PREFIX / "lib" / "hybridmem" / "libhybridmem-guide.so"
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    allocating = "aligned_alloc calloc free hybridmem_site malloc malloc_usable_size memalign posix_memalign realloc"
    mapping = "__register_atfork dlclose mmap mmap64 mremap munmap"
    assert sorted(re.findall(r" [A-Z] (\w+)", symbols)) == sorted(f"{allocating} {mapping}".split())
    needed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"NEEDED.*\[(\S+)\]", needed)) <= {"libc.so.6", "libdl.so.2", "libpthread.so.0"}


def test_the_chosen_sites_have_the_fast_tier_and_all_else_the_slow_one(probe, profile):
    """They are callers of one function that allocates for all."""
    assert policies(guide(profile, probe, "where")) == {**all_slow(), "2": FAST, "8": FAST}
    found = policies(guide(profile, probe, "where", options=["--fast", "2M", "--packer", "knapsack"]))
    assert found == {**all_slow(), "2": FAST}
    everything = {**all_slow(), "2": FAST, "8": FAST, "9": FAST}
    assert policies(guide(profile, probe, "where", options=["--fast", "100%"])) == everything
    assert policies(guide(profile, probe, "where", options=["--fast", "0"])) == all_slow()


def test_what_was_chosen_can_be_printed(probe, profile):
    lines = guide(profile, probe, "where", options=["--fast", "10M", "--print"]).stdout.splitlines()
    assert lines[:4] == [f"profile {profile}", "packer gain", f"fast_bytes {10 * MIB}", "expected_share 0.800000"]
    ids = sorted(site["id"] for site in json.loads(profile.read_text())["sites"] if site["peak_bytes"] / MIB in (2, 8))
    assert lines[4:] == [f"HYBRIDMEM_GUIDE fast=0@0 slow=0@0 limit={10 * MIB} sites={','.join(ids)}"]


def test_a_program_is_guided_wherever_it_is_started_from(probe, profile):
    """By a script, which has no build-id, by another program, and with libraries of the user's before malloc."""
    wanted = {**all_slow(), "2": FAST, "8": FAST}
    script = profile.with_name("script")
    script.write_text(f"#!/bin/sh\n{probe} where\n")
    script.chmod(0o755)
    assert policies(guide(profile, script)) == wanted
    options = ["--fast", "10M", "--any-build"]
    assert policies(guide(profile, "sh", "-c", f"true; {probe} where; true", options=options)) == wanted


def test_settings_for_the_programs_own_jemalloc_are_not_for_the_arenas(probe, small_profile):
    env = {**os.environ, "MALLOC_CONF": "stats_print:true,abort_conf:true,none:1"}
    done = guide(small_profile, probe, "small", options=["--fast", "64M"], env=env)
    assert done.stderr == "" and done.stdout.count(FAST) == 6


# What programs do, by the names of sites-NAME.c
UNUSUAL = {
    "ends": ["lives", "limit", "close", "exec", "few", "ends", "cancels"],
    "forks": ["threads", "forks", "handler", "churns", "loader", "orders", "nests"],
    "mappings": ["mappings"],
}
LATE = ["cancels", "nests"]  # the arenas begin in main: no size class is chosen, of which there is memory before it


@pytest.mark.parametrize(("name", "what"), [(name, what) for name, done in UNUSUAL.items() for what in done])
def test_programs_that_do_unusual_things_go_on(programs, tmp_path, name, what):
    """All of their memory is chosen."""
    program, path = programs(name), tmp_path / "profile.json"
    made = profiled(program, path, "lives" if what == "exec" else what)
    give_sampling(made, samples=1)
    for site in made["sites"]:
        give_accesses(site, int(what not in LATE or bool(site["frames"])))
    path.write_text(json.dumps(made))
    done = guide(path, program, what, options=["--fast", "1G"], timeout=20)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_program_with_a_malloc_of_its_own(tmp_path):
    """Its malloc is the one that is called, and of its mappings those of the chosen site are in the fast tier."""
    done = guided_by_size(compiled(tmp_path / "own", "-fno-builtin", text=OWN_MALLOC), tmp_path, 3 * MIB)
    assert (done.stdout, done.stderr) == (f"large {FAST}\nits own\n", "")


def test_a_library_that_is_loaded_and_unloaded(tmp_path):
    library = compiled(
        tmp_path / "lib.so",
        "-shared",
        "-fPIC",
        text="#include <stdlib.h>\nvoid *take(void) { return malloc(1 << 20); }\n",
    )
    text = f"""#include <dlfcn.h>
#include <stdlib.h>
#include "tell.h"
int main(void)
{{
    for (int i = 0; i < 3; i++) {{
        void *library = dlopen("{library}", RTLD_NOW);
        void *(*take)(void) = (void *(*)(void))dlsym(library, "take");
        char *memory = take();
        memory[0] = 1;
        tell("loaded", memory);
        free(memory);
        dlclose(library);
    }}
    return 0;
}}
"""
    program = compiled(tmp_path / "loads", "-ldl", text=text)
    assert guided_by_size(program, tmp_path, MIB).stdout == f"loaded {FAST}\n" * 3


def test_programs_that_cannot_have_the_library_run_as_ever(tmp_path, profile):
    for path, why in misfits(tmp_path):
        done = guide(profile, path, status=3)
        said = f"hybridmem sites guide: {path} {why}: it runs, and its memory is not guided\n"
        assert fnmatch(done.stderr, said)


def test_the_command_becomes_the_program(profile):
    """A process that waited would have memory in the fast tier."""
    hybridmem = PREFIX / "bin" / "hybridmem"
    command = [hybridmem, "sites", "guide", "--nodes", NODES, "--any-build", "--fast", "11M", profile]
    with subprocess.Popen([*command, "--", "sh", "-c", "echo $$"], stdout=subprocess.PIPE, text=True) as started:
        assert started.communicate(timeout=60)[0] == f"{started.pid}\n"
    assert started.returncode == 0


def test_the_program_keeps_its_status_input_and_output(probe, profile):
    assert guide(profile, probe, "status", status=7).stderr == ""
    assert guide(profile, probe, "abort", status=-signal.SIGABRT).stderr == ""
    done = guide(
        profile, "sh", "-c", "cat; echo $1 >&2", "sh", "word", input="text", options=["--fast=1M", "--any-build"]
    )
    assert (done.stdout, done.stderr) == ("text", "word\n")


@pytest.mark.parametrize(
    "text", ["", "fast=0", "fast=x slow=0 sites=0000000000000001", f"{NODES} sites=1", "x" * 100000]
)
def test_a_table_that_is_none_guides_nothing(probe, text):
    """The program runs as without the library."""
    library = PREFIX / "lib" / "hybridmem" / "libhybridmem-guide.so"
    env = {**os.environ, "LD_PRELOAD": str(library), "HYBRIDMEM_GUIDE": text}
    done = subprocess.run([probe, "where"], capture_output=True, text=True, check=True, env=env)
    assert policies(done) == dict.fromkeys(all_slow(), "default")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["PROFILE", "--", "true"], 2, "--fast is missing: say how large the fast tier is, as in --fast 4G"),
        (["--fast", "1G"], 2, "the profile and the program are missing, as in: app.json -- ./app; or -- ./app alone"),
        (
            ["--fast", "1G", "PROFILE", "--"],
            2,
            "the program is missing: give it after the profile, as in: app.json -- ./app",
        ),
        (
            ["--fast", "1G", "--nodes", "fast=x", "PROFILE", "--", "true"],
            2,
            '--nodes: "fast=x" is wrong: write fast=NODE,... slow=NODE,..., each node as NODE or NODE@SOCKET',
        ),
        (["--fast", "1G", "PROFILE", "--", "/none"], 127, "/none cannot be run: No such file or directory"),
        (
            ["--fast", "1G", "--any-build", "--nodes", "fast=0", "PROFILE", "--", "true"],
            125,
            "memory cannot be guided here: a tier has no node",
        ),
        (["--fast", "1G", "/dev/zero", "--", "true"], 125, "/dev/zero: no profile, as it is not a file"),
        (["--fast", "1G", "PIPE", "--", "true"], 125, "PIPE: no profile, as it is not a file"),
    ],
)
def test_refusals(tmp_path, profile, words, status, said):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = [{"PROFILE": profile, "PIPE": pipe}.get(word, word) for word in words]
    done = helper("hybridmem-sites", "guide", *words, status=status, timeout=20)
    assert done.stderr == f"hybridmem sites guide: {said.replace('PIPE', str(pipe))}\n"


def test_a_profile_without_accesses_is_refused(tmp_path, probe):
    path = tmp_path / "profile.json"
    made = profiled(probe, path, "where")
    remove_accesses(made, why="perf is not allowed")
    path.write_text(json.dumps(made))
    done = guide(path, probe, "where", status=125)
    assert done.stdout == ""
    assert done.stderr == f"hybridmem sites guide: {path} has no accesses to choose sites by: perf is not allowed\n"
