# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem sites with programs of other kinds than the probe: in C++ and Fortran, with deep calls, with another
input than the profile's, and with a malloc of their own."""

import json
import subprocess

import pytest
from guiding import FAST, OWN_MALLOC, SLOW, compiled, guide, policies
from installed import helper
from siteprofiles import MIB, VALIDATOR, give_accesses, give_sampling
from test_sites_compile import CPP, FIELD


def built(path, compiler, suffix, text, *words):
    source = path.with_suffix(suffix)
    source.write_text(text)
    subprocess.run([compiler, *words, "-o", path, source], cwd=path.parent, check=True)
    return path


def profile_of(program, *words, options=(), said="", status=0):
    output = program.with_suffix(".json")
    done = helper("hybridmem-sites", "run", "-o", output, *options, "--", program, *words, status=status)
    assert done.stderr == said
    profile = json.loads(output.read_text())
    VALIDATOR.validate(profile)
    return profile


def by_peak(profile):
    """The frames of the sites of 1 MiB or more, by their peak in MiB."""
    return {site["peak_bytes"] / MIB: site["frames"] for site in profile["sites"] if site["peak_bytes"] >= MIB}


def test_a_program_in_cpp(tmp_path):
    """By all forms of operator new, and by the library's vectors, whose callers are told apart."""
    profile = profile_of(built(tmp_path / "operators", "g++", ".cc", CPP, "-O2", "-std=c++17"))
    found = by_peak(profile)
    assert set(found) == {1, 3, 5, 7, 9}
    allocating = {peak: profile["objects"][frames[0]["object"]]["path"] for peak, frames in found.items()}
    assert {peak for peak, path in allocating.items() if "libstdc++" in path} == {1, 3, 5, 7}, allocating


def test_a_program_in_fortran(tmp_path):
    """Callers of one subroutine that allocates for both are told apart."""
    program = built(tmp_path / "field", "gfortran", ".f90", FIELD, "-O2", "-fno-inline")
    assert set(by_peak(profile_of(program))) == {8 * 400000 / MIB, 8 * 800000 / MIB}


DEEP = """
#include <stdlib.h>
__attribute__((noinline)) static char *down(int calls, size_t bytes)
{
    char *memory = calls > 0 ? down(calls - 1, bytes) : malloc(bytes);
    memory[0]++;
    return memory;
}
int main(void)
{
    for (int calls = 1; calls <= 24; calls++)
        down(calls, (size_t)calls << 20);
    return 0;
}
"""


@pytest.mark.parametrize("pointers", ["-fomit-frame-pointer", "-fno-omit-frame-pointer"])
def test_a_site_has_ten_return_addresses_at_most(tmp_path, pointers):
    """So calls that are deeper than that, which have the same ten, are one site."""
    found = by_peak(profile_of(built(tmp_path / "deep", "gcc", ".c", DEEP, "-O1", pointers)))
    assert set(found) == {*range(1, 9), sum(range(9, 25))}
    assert [len(found[peak]) for peak in (7, 8, sum(range(9, 25)))] == [10] * 3
    assert all(len(frames) <= 10 for frames in found.values()) and len(found[1]) < 10


INPUTS = """
#include <stdlib.h>
#include "tell.h"
#define SITE(n) \\
    __attribute__((noinline)) static char *site_##n(void) \\
    { \\
        char *memory = malloc((size_t)n << 20); \\
        memory[0] = 1; \\
        return memory; \\
    }
SITE(1)
SITE(2)
SITE(3)
SITE(4)
static char *(*const sites[])(void) = {site_1, site_2, site_3, site_4};
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        tell(argv[i], sites[argv[i][0] - '1']());
    return 0;
}
"""


def test_a_profile_of_one_input_is_used_with_another(tmp_path):
    """Sites of both inputs are placed as the profile says, those of the new one alone as all other memory. A profile
    tells its input."""
    program = compiled(tmp_path / "inputs", text=INPUTS)
    profile = profile_of(program, "1", "2", "3", options=["--input-class", "small"])
    give_sampling(profile, samples=1250)
    for site in profile["sites"]:
        give_accesses(site, {1: 500, 2: 750}.get(site["peak_bytes"] / MIB, 0))
    path = tmp_path / "small.json"
    path.write_text(json.dumps(profile))
    assert policies(guide(path, program, "1", "2", "3")) == {"1": FAST, "2": FAST, "3": SLOW}
    assert policies(guide(path, program, "2", "3", "4")) == {"2": FAST, "3": SLOW, "4": SLOW}
    shown = json.loads(helper("hybridmem-sites", "show", "--json", path).stdout)
    assert shown["program"]["input_class"] == "small"


def test_a_program_with_a_malloc_of_its_own_is_run_and_a_line_says_so(tmp_path):
    """What it takes from the kernel by mmap is seen."""
    for large, seen in (("64 << 20", False), ("1 << 20", True)):
        program = compiled(tmp_path / "own", "-fno-builtin", f"-DLARGE={large}", text=OWN_MALLOC)
        said = f"hybridmem sites run: {program} has allocated nothing that was seen: it may have a malloc of its own\n"
        profile = profile_of(program, "a", "b", said="" if seen else said, status=2)
        assert profile["exit_code"] == 2 and set(by_peak(profile)) == ({3} if seen else set())
