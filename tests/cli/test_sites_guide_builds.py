# SPDX-License-Identifier: Apache-2.0
"""Tests that hybridmem sites guide takes no profile of another build, and with --stale what one of an older build says
of this one."""

import json
import re
import subprocess

from guiding import (
    FAST,
    PROBE,
    SLOW,
    all_slow,
    compiled,
    guide,
    guided_by_size,
    policies,
    profile_of,
)
from siteprofiles import MIB


def test_a_profile_of_another_build_is_refused(tmp_path, probe, profile):
    other = compiled(tmp_path / "other", "-DOTHER", "-O1")
    done = guide(profile, other, "where", status=125)
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert re.search(
        rf"^hybridmem sites guide: {profile} is of the build \w{{40}}, and {other} is \w{{40}}: make a new ",
        done.stderr,
    )
    assert policies(guide(profile, other, "where", options=["--fast", "11M", "--any-build"])) == all_slow()


def test_without_running_it_no_option_is_advised_that_a_job_has_not(tmp_path, profile):
    other = compiled(tmp_path / "other", "-DOTHER", "-O1")
    said = guide(profile, other, options=["--fast", "1M", "--print"], status=125).stderr
    assert "make a new profile" in said and "--any-build" not in said


# A function that was not there before stands before all others, so none is where it was.
MOVED = "int moved(int n);\nint moved(int n)\n{\n    return n > 1 ? n * moved(n / 3) : 1;\n}\n"
CHANGED = """__attribute__((noinline)) static char *caller_7(void)
{
    char *memory = xmalloc(8 * MIB);
    memory[1] = memory[2];
    sum += (uint64_t)memory[0] * (uint64_t)memory[1];
    return memory;
}
"""


def test_sites_of_an_older_build_are_found_by_their_functions(tmp_path, probe, profile):
    """The function that allocates 8 MiB is another one in the last of the builds, so that its site is not found, and
    that of 9 MiB has the room."""
    source = MOVED + PROBE.read_text()
    later = compiled(tmp_path / "later", text=source)
    changed = compiled(tmp_path / "changed", text=source.replace("CALLER(7)\n", CHANGED))
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, later], check=True)
    stale = ("--fast", "11M", "--packer", "knapsack", "--stale")
    n = sum(bool(site["frames"]) for site in json.loads(profile.read_text())["sites"])
    for program, found, fast in ((probe, None, "28"), (later, n, "28"), (changed, n - 1, "29")):
        lines = guide(profile, program, options=[*stale, "--print"]).stdout.splitlines()
        assert lines[:-5] == ([f"stale_sites {n}", f"stale_found {found}"] if found else [])
        assert policies(guide(profile, program, "where", options=stale)) == {**all_slow(), **dict.fromkeys(fast, FAST)}
    done = guide(profile, stripped, "where", options=stale, status=125)
    assert f"is of another build, and {stripped} has none of its {n} sites: make a new profile\n" in done.stderr


def test_functions_with_one_name_are_not_taken_for_each_other(tmp_path):
    """In the old build two functions have the name, in the new one the first of them alone."""
    part = """#include <stdlib.h>
__attribute__((noinline)) static char *take(int n)
{
    char *memory = malloc((size_t)n << 20);
    memory[0] = 1;
    return memory;
}
char *PART(int n);
char *PART(int n)
{
    return take(n) + 1;
}
"""
    main = "char *one(int n);\nchar *two(int n);\nint main(void)\n{\n    return !one(2) + !two(3);\n}\n"
    parts = [tmp_path / "one.c", tmp_path / "two.c"]
    for path in parts:
        path.write_text(part.replace("PART", path.stem))
    old = compiled(tmp_path / "old", *parts, text=main)
    profile = profile_of(old, tmp_path / "profile.json")
    made = json.loads(profile.read_text())
    names = [function["name"] for found in made["objects"] for function in found["functions"]]
    assert "one" in names and "take" not in names
    parts[1].write_text(parts[1].read_text().replace("take", "other"))
    new = compiled(tmp_path / "new", *parts, text=main)
    done = guide(profile, new, options=["--fast", "11M", "--stale"], status=125)
    assert f"{new} has none of its " in done.stderr


def test_a_size_class_of_an_older_build_is_that_of_the_program(tmp_path, small_profile):
    later = compiled(tmp_path / "later", text=MOVED + PROBE.read_text())
    found = guide(small_profile, later, "small", options=["--fast", "64M", "--stale"])
    assert found.stdout.count(f"128 {FAST}") == 3 and found.stdout.count(f"hot {FAST}") == 3 and not found.stderr


def test_sites_are_found_where_a_library_was_updated(tmp_path):
    """The program is the same build, so this takes no --stale; what was not found is told."""
    text = "#include <stdlib.h>\nvoid *take(void);\nvoid *take(void)\n{\n    return malloc(3 << 20);\n}\n"
    library = compiled(tmp_path / "lib.so", "-shared", "-fPIC", "-fno-optimize-sibling-calls", text=text)
    main = """#include <stdlib.h>
#include "tell.h"
void *take(void);
int main(void)
{
    char *taken = take();
    taken[0] = 1;
    tell("taken", taken);
    return 0;
}
"""
    program = compiled(tmp_path / "program", library, text=main)
    assert guided_by_size(program, tmp_path, 3 * MIB).stdout == f"taken {FAST}\n"
    profile, options = tmp_path / "profile.json", ["--fast", "64M"]
    compiled(library, "-shared", "-fPIC", "-fno-optimize-sibling-calls", text=MOVED + text)
    n = sum(bool(site["frames"]) for site in json.loads(profile.read_text())["sites"])

    def told():
        return guide(profile, program, options=[*options, "--print"]).stdout.splitlines()[:2]

    assert told() == [f"stale_sites {n}", f"stale_found {n}"]
    assert guide(profile, program, options=options).stdout == f"taken {FAST}\n"
    compiled(library, "-shared", "-fPIC", text=text.replace("3 << 20", "(size_t)3 << rand() % 1 + 20"))
    assert told() == [f"stale_sites {n}", f"stale_found {n - 1}"]
    assert guide(profile, program, options=options).stdout == f"taken {SLOW}\n"


def test_a_profile_is_refused_where_updated_libraries_have_left_none_of_its_sites(tmp_path):
    """All of the program's memory comes by one function of the library, which has another size in its new build."""
    text = """#include <stdlib.h>
#include "tell.h"
int run(void);
int run(void)
{
    char *taken = malloc(3 << 20);
    taken[0] = 1;
    tell("taken", taken);
    return 0;
}
"""
    library = compiled(tmp_path / "lib.so", "-shared", "-fPIC", text=text)
    main = "int run(void);\nint main(void)\n{\n    return 2 * run();\n}\n"
    program = compiled(tmp_path / "program", library, text=main)
    assert FAST in guided_by_size(program, tmp_path, 3 * MIB).stdout
    profile, options = tmp_path / "profile.json", ["--fast", "64M"]
    n = sum(bool(site["frames"]) for site in json.loads(profile.read_text())["sites"])
    compiled(library, "-shared", "-fPIC", text=text.replace("3 << 20", "(size_t)3 << rand() % 1 + 20"))
    for words in ([], ["--print"]):
        done = guide(profile, program, options=[*options, *words], status=125)
        assert done.stdout == ""
        assert done.stderr == (
            f"hybridmem sites guide: {profile} is of other builds of the libraries, and {program} has none of its "
            f"{n} sites: make a new profile\n"
        )
    done = guide(profile, program, options=[*options, "--any-build"])
    assert done.stdout == f"taken {SLOW}\n"
