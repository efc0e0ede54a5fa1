# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem sites guide: which memory of a program (sites-probe.c) has which policy. Every machine has a node 0,
which is both tiers here: the fast tier's memory has a policy of its own, all other memory that of the process."""

import json
import os
import re
import signal
import subprocess
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path

import pytest
from installed import LIBEXEC, PREFIX, helper, with_mounts
from test_sites import MIB, give_accesses
from test_sites_run import misfits

HERE = Path(__file__).parent
NODES = "fast=0@0 slow=0@0"
FAST, SLOW = "prefer=static:0", "interleave=static:0"
# A mount that makes up a node 1, to online guidance, which wants two. A memory policy of it the kernel refuses.
TWO_NODES = """
node=/sys/devices/system/node
text=$(cat $node/node0/meminfo)
mount -t tmpfs none $node
mkdir $node/node0 $node/node1
echo "$text" > $node/node0/meminfo
echo "$text" > $node/node1/meminfo
echo 0-1 > $node/online
"""
HOT = {2: 750, 8: 250, 9: 200}  # accesses to the site with so many MiB


def compiled(path, *words, text=None):
    """A program, the probe or one of this text."""
    source = HERE / "sites-probe.c"
    if text:
        source = path.with_suffix(".c")
        source.write_text(text)
    subprocess.run(["gcc", "-O2", "-Wall", "-pthread", "-o", path, source, *words], check=True)
    return path


def profile_of(program, path, what="where"):
    """The program's profile. Its accesses are not those that were sampled, which differ, but HOT."""
    helper("hybridmem-sites", "run", "-o", path, "--", program, what)
    profile = json.loads(path.read_text())
    profile["sampling"].update(source="clock", why=None, samples=1250, elsewhere=50, lost=0)
    profile["resident_peak_bytes"] = None
    for site in profile["sites"]:
        give_accesses(site, HOT.get(site["peak_bytes"] / MIB, 0))
        site["slices"] = site["resident"] = None  # the probe touches hardly any of it
    path.write_text(json.dumps(profile))
    return path


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("probe") / "probe")


@pytest.fixture(scope="module")
def profile(probe, tmp_path_factory):
    return profile_of(probe, tmp_path_factory.mktemp("profile") / "probe.json")


def guide(profile, *words, options=("--fast", "10M"), nodes=NODES, **more):
    return helper("hybridmem-sites", "guide", "--nodes", nodes, *options, profile, "--", *words, **more)


def policies(done):
    assert done.stderr == ""
    return dict(line.split() for line in done.stdout.splitlines())


def all_slow():
    return {name: SLOW for name in [*"123456789", "stack"]}


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


def changed(profile, path, change):
    """The profile with `change` made to each site that has frames."""
    made = json.loads(profile.read_text())
    for site in made["sites"]:
        if site["frames"]:
            change(site)
    path.write_text(json.dumps(made))
    return path


def test_sites_that_have_grown_have_no_more_than_their_share(tmp_path, probe, profile):
    """By the profile all have room, of which the first to come, a mapping, leaves too little for a part of others."""
    small = {"peak_bytes": MIB // 2, "mean_bytes": MIB // 2, "series": None}
    old = changed(profile, tmp_path / "old.json", lambda site: site.update(small))
    assert json.loads(old.read_text())["peak_bytes"] > 11 * MIB
    found = policies(guide(old, probe, "where", options=["--fast", "2432K"]))
    assert found == {**all_slow(), "9": FAST}


def test_memory_that_is_given_back_leaves_room(tmp_path, probe):
    path = profile_of(probe, tmp_path / "again.json", "again")
    hot = changed(path, path, lambda site: site.update(reads=100, accesses=100, samples=100))
    largest = {9 * MIB, 3 * MIB, 2 * MIB}
    assert {site["peak_bytes"] for site in json.loads(hot.read_text())["sites"] if site["frames"]} >= largest
    done = guide(hot, probe, "again", options=["--fast", "15M"])
    assert policies(done) == {"grown": FAST, "mapped": FAST}


@pytest.mark.parametrize("fast", ["100%", "64M"])
@pytest.mark.parametrize("is_sliced", [False, True])
def test_memory_that_realloc_makes_larger_is_never_there_twice(tmp_path, fast, is_sliced):
    """Whether all of it has the fast tier, a part, or some of its slices."""
    grower = compiled(tmp_path / "grower", text=(HERE / "realloc-probe.c").read_text())
    path = profile_of(grower, tmp_path / "grown.json", "steps")
    slices = {
        "step_bytes": None,
        "extent_bytes": None,
        "accesses": [100 * (number in {0, 9, 10}) for number in range(32)],
    }
    hot = {"reads": 300, "accesses": 300, "samples": 300, "slices": slices if is_sliced else None}
    hot = changed(path, path, lambda site: site.update(hot, series=None))
    assert "parts=" in guide(hot, grower, options=["--fast", fast, "--print"]).stdout or not is_sliced
    assert guide(hot, grower, "steps", options=["--fast", fast]).stderr == ""


def test_a_site_has_what_the_others_leave_and_no_more(tmp_path, probe, small):
    """Also after it was freed: those that come after it find their room."""
    path = profile_of(probe, tmp_path / "part.json", "part")
    text = guide(path, probe, "part", options=["--fast", "5M", "--print"]).stdout
    (site,) = (site["id"] for site in json.loads(path.read_text())["sites"] if site["peak_bytes"] == 8 * MIB)
    assert f"limit={5 * MIB} limited={site}:{3 * MIB} sites=" in text
    found = policies(guide(path, probe, "part", options=["--fast", "5M"]))
    assert found == {**{f"large{i}": FAST if i < 3 else SLOW for i in range(8)}, "late": FAST}
    hot_class = json.loads(small.read_text())
    for entry in hot_class["sites"]:
        entry["series"] = None  # the program is too short for times that are the same in each run
        if entry["class_bytes"] == 128:
            entry.update(reads=30000, accesses=30000, samples=30000)
    path.write_text(json.dumps(hot_class))
    done = guide(path, probe, "small", options=["--fast", "6M"])
    assert [line for line in done.stdout.splitlines() if "hot" in line] == [f"hot {FAST}", f"hot {FAST}", f"hot {SLOW}"]


def test_small_allocations_of_a_site_with_a_limit_are_no_other_sites_memory(tmp_path, probe):
    """Also where another site makes some of the same size in turn with it."""
    path = tmp_path / "twins.json"
    helper("hybridmem-sites", "run", "-o", path, "--", probe, "twins")
    profile = json.loads(path.read_text())
    profile["sampling"].update(source="clock", why=None, samples=1250, elsewhere=50, lost=0)
    numbers = iter((900, 300))
    for site in profile["sites"]:
        give_accesses(site, next(numbers) if site["peak_bytes"] == 400 * 8192 else 0)
        site["series"] = site["slices"] = None  # as above
    path.write_text(json.dumps(profile))
    lines = guide(path, probe, "twins", options=["--fast", "5M"]).stdout.splitlines()
    found = {name: [line.split()[1] for line in lines if line.startswith(name)] for name in ("first", "second")}
    fast, part = sorted(found.values(), key=lambda policies: -policies.count(FAST))
    assert fast == [FAST] * 400 and part[0] == FAST and part[-1] == SLOW
    assert 0 < part.count(FAST) * 8192 <= 5 * MIB - 400 * 8192


# Of the probe's site with so many bytes: bytes of a slice, and of all, and the slices that are used
SLICED = {**dict.fromkeys((9 * MIB, 18 * MIB), (None, None, {0, 30, 31})), 400 * 8192: (131072, 400 * 8192, {2, 24})}


def sliced(probe, path, what):
    path = profile_of(probe, path, what)
    profile = json.loads(path.read_text())
    for site in profile["sites"]:
        step, extent, used = SLICED.get(site["peak_bytes"], (None, None, {}))
        accesses = [500 * (number in used) for number in range(-(-extent // step) if step else 32)]
        site.update(reads=sum(accesses), accesses=sum(accesses), samples=sum(accesses), series=None)
        site["slices"] = {"step_bytes": step, "extent_bytes": extent, "accesses": accesses} if used else None
    path.write_text(json.dumps(profile))
    return path


def test_the_most_used_slices_of_a_site_have_the_fast_tier(tmp_path, probe):
    """Slices of a mapping, and of small allocations in their order. The guest's tests have those of large ones, as a
    machine with one node has them all there."""
    path = sliced(probe, tmp_path / "sliced.json", "slices")
    plan = json.loads(helper("hybridmem-sites", "plan", "--json", "--fast", "1120K", path).stdout)
    assert sorted(part["slices"] for part in plan["parts"]) == [[0, 30, 31], [2, 24]]
    assert plan["expected_share"] > 0.75 and plan["fast_bytes"] == 1120 << 10 and plan["limited"] is None
    lines = [line.split() for line in guide(path, probe, "slices", options=["--fast", "1120K"]).stdout.splitlines()]
    mapped, small = ([policy == FAST for name, policy in lines if name == wanted] for wanted in ("mapped", "small"))
    assert {number for number, is_fast in enumerate(mapped) if is_fast} == {0, 30, 31}
    assert {number // 16 for number, is_fast in enumerate(small) if is_fast} == {2, 24} and sum(small) == 32


def test_what_is_touched_of_a_site_has_the_fast_tier(tmp_path, probe):
    """By a packer that takes whole sites: the slices that were touched, for which there is room, and not the others,
    which the program touches in this run only."""
    path = profile_of(probe, tmp_path / "touched.json", "slices")
    profile = json.loads(path.read_text())
    touched = {4, 5, 6, 31}
    for site in profile["sites"]:
        is_it = site["peak_bytes"] == 9 * MIB
        site.update(reads=int(is_it), accesses=int(is_it), samples=int(is_it), series=None)
        if is_it:
            parts = [MIB] * 32
            site["resident"] = {"peak_bytes": MIB, "mean_bytes": MIB, "series": parts, "slices": sorted(touched)}
    path.write_text(json.dumps(profile))
    options = ["--fast", "1152K", "--packer", "knapsack"]
    lines = [line.split() for line in guide(path, probe, "slices", options=options).stdout.splitlines()]
    mapped = [policy == FAST for name, policy in lines if name == "mapped"]
    assert {number for number, is_fast in enumerate(mapped) if is_fast} == touched


def test_a_mapping_that_has_got_larger_has_the_slices_in_front(tmp_path, probe):
    path = sliced(probe, tmp_path / "larger.json", "slices")
    profile = json.loads(path.read_text())
    for site in profile["sites"]:
        if site["peak_bytes"] == 9 * MIB:
            site.update(peak_bytes=6 * MIB, mean_bytes=6.0 * MIB)
        else:
            site.update(reads=0, writes=0, accesses=0, samples=0, slices=None)
    path.write_text(json.dumps(profile))
    lines = [line.split() for line in guide(path, probe, "slices", options=["--fast", "640K"]).stdout.splitlines()]
    mapped = [policy == FAST for name, policy in lines if name == "mapped"]
    assert {number for number, is_fast in enumerate(mapped) if is_fast} == {0, 30}  # and not 31


@pytest.mark.parametrize("packer", ["gain", "hotset"])
def test_a_mapping_for_which_there_is_no_room_has_its_beginning_in_the_fast_tier(tmp_path, probe, packer):
    """Where the packer gives its site a limit, and where it lets the sites have more than there is."""
    path = profile_of(probe, tmp_path / "larger.json", "slices")
    hot = changed(path, path, lambda site: site.update(accesses=int(site["peak_bytes"] == 9 * MIB)))
    hot = changed(path, path, lambda site: site.update(reads=site["accesses"], samples=site["accesses"]))
    lines = guide(hot, probe, "slices", options=["--fast", "3M", "--packer", packer]).stdout.splitlines()
    mapped = [policy == FAST for name, policy in (line.split() for line in lines) if name == "mapped"]
    assert mapped == [True] * 10 + [False] * 22


@pytest.mark.parametrize(("fast", "wanted"), [("2M", "#.##.."), ("32M", "######")])
def test_a_mapping_with_fast_slices_can_be_moved(tmp_path, probe, fast, wanted):
    """The kernel moves memory of one policy only. What it grows by has the policy of its end, as far as the limit goes,
    and all that is counted of that is given back, so that there is room for the next mapping."""
    path = sliced(probe, tmp_path / "remapped.json", "remapped")
    lines = guide(path, probe, "remapped", options=["--fast", fast]).stdout.splitlines()
    assert "".join(".#"[line.split()[1] == FAST] for line in lines) == wanted * 3


def test_a_mapping_with_a_fast_part_grows_in_place_and_is_moved_as_without_guide(tmp_path, probe):
    """The kernel refuses both for memory of two policies, as it has them where the limit is reached."""
    path = profile_of(probe, tmp_path / "stays.json", "stays")
    hot = changed(path, path, lambda site: site.update(accesses=int(site["peak_bytes"] < 64 * MIB)))
    hot = changed(path, path, lambda site: site.update(reads=site["accesses"], samples=site["accesses"]))
    assert policies(guide(hot, probe, "stays", options=["--fast", "10M"])) == {"start": FAST, "end": SLOW}


@pytest.mark.skipif(
    not re.search(r"^Hugepagesize: +2048 kB$", Path("/proc/meminfo").read_text(), re.M), reason="no huge pages of 2 MiB"
)
def test_a_mapping_of_huge_pages_has_its_beginning_in_the_fast_tier(tmp_path, probe):
    """The kernel refuses a policy that ends within such a page. What it leaves has the other mapping's beginning."""
    path = profile_of(probe, tmp_path / "huge.json", "huge")
    hot = changed(path, path, lambda site: site.update(accesses=int(site["peak_bytes"] >= 9 * MIB)))
    hot = changed(path, path, lambda site: site.update(reads=site["accesses"], samples=site["accesses"]))
    done = guide(hot, probe, "huge", options=["--fast", "52736K", "--packer", "hotset"])
    assert policies(done) == {"start": FAST, "end": SLOW, "other": FAST}


def test_a_program_is_guided_wherever_it_is_started_from(probe, profile):
    """By a script, which has no build-id, by another program, and with libraries of the user's before malloc."""
    wanted = {**all_slow(), "2": FAST, "8": FAST}
    script = profile.with_name("script")
    script.write_text(f"#!/bin/sh\n{probe} where\n")
    script.chmod(0o755)
    assert policies(guide(profile, script)) == wanted
    options = ["--fast", "10M", "--any-build"]
    assert policies(guide(profile, "sh", "-c", f"true; {probe} where; true", options=options)) == wanted


SMALL = {("frames", 400 * 8192): 600, ("class", 128): 300}  # accesses to small allocations


@pytest.fixture(scope="module")
def small(probe, tmp_path_factory):
    """A profile of the probe's small allocations: those of one caller and of one size class are hot."""
    path = tmp_path_factory.mktemp("small") / "small.json"
    helper("hybridmem-sites", "run", "-o", path, "--", probe, "small")
    profile = json.loads(path.read_text())
    profile["sampling"].update(source="clock", why=None, samples=1000, elsewhere=100, lost=0)
    for site in profile["sites"]:
        key = ("frames", site["peak_bytes"]) if site["frames"] else ("class", site["class_bytes"])
        give_accesses(site, SMALL.get(key, 0))
        site["slices"] = None  # of the samples that there were by chance
    path.write_text(json.dumps(profile))
    return path


def test_small_allocations_of_the_chosen_sites_and_classes_have_the_fast_tier(probe, small):
    """Others that are made in turn with them have the slow one."""
    found = guide(small, probe, "small", options=["--fast", "64M"])
    slow = [f"cold {SLOW}", f"256 {SLOW}"]
    assert sorted(found.stdout.splitlines()) == sorted([f"hot {FAST}", f"128 {FAST}", *slow] * 3) and not found.stderr


def test_size_classes_are_those_of_the_program_of_the_profile(tmp_path, probe, small):
    """Of another program none is chosen, which the program that is guided executes."""
    other = compiled(tmp_path / "other", "-DOTHER", "-O1")
    script = f"{other} small; exec {probe} small"
    lines = guide(small, "sh", "-c", script, options=["--fast", "64M", "--any-build"]).stdout.splitlines()
    assert [line for line in lines[: len(lines) // 2] if line.startswith("128")] == [f"128 {SLOW}"] * 3
    assert [line for line in lines[len(lines) // 2 :] if line.startswith("128")] == [f"128 {FAST}"] * 3


def test_settings_for_the_programs_own_jemalloc_are_not_for_the_arenas(probe, small):
    env = {**os.environ, "MALLOC_CONF": "stats_print:true,abort_conf:true,none:1"}
    done = guide(small, probe, "small", options=["--fast", "64M"], env=env)
    assert done.stderr == "" and done.stdout.count(FAST) == 6


AT_ONCE = [
    "lives",
    "threads",
    "forks",
    "handler",
    "limit",
    "mappings",
    "close",
    "exec",
    "churns",
    "few",
    "ends",
    "loader",
    "orders",
]
LATE = ["cancels", "nests"]  # the arenas begin in main: no size class is chosen, of which there is memory before it


@pytest.mark.parametrize("what", [*AT_ONCE, *LATE])
def test_programs_that_do_unusual_things_go_on(probe, tmp_path_factory, what):
    """All of their memory is chosen."""
    path = tmp_path_factory.mktemp("run") / "profile.json"
    helper("hybridmem-sites", "run", "-o", path, "--", probe, "lives" if what == "exec" else what)
    made = json.loads(path.read_text())
    made["sampling"].update(source="clock", why=None, samples=1, elsewhere=0, lost=0)
    for site in made["sites"]:
        give_accesses(site, int(what not in LATE or bool(site["frames"])))
    path.write_text(json.dumps(made))
    done = guide(path, probe, what, options=["--fast", "1G"], timeout=20)
    assert (done.stdout, done.stderr) == ("", "")


TELL = (HERE / "sites-probe.c").read_text().split("/* Prints the memory policy")[1].split("/*\n * Three of four")[0]


def guided_by_size(program, tmp_path, size):
    """Profiles the program, and runs it with the sites of this peak in the fast tier."""
    path = tmp_path / "profile.json"
    helper("hybridmem-sites", "run", "-o", path, "--", program)
    made = json.loads(path.read_text())
    made["sampling"].update(source="clock", why=None, samples=1, elsewhere=0, lost=0)
    for site in made["sites"]:
        give_accesses(site, int(site["peak_bytes"] == size))
        site["resident"] = None  # all of it is to be placed
    path.write_text(json.dumps(made))
    return guide(path, program, options=["--fast", "64M"])


OWN_MALLOC = f"""#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifndef LARGE
#define LARGE (1 << 20)
#endif
static char room[16 << 20];
static size_t used;
void *malloc(size_t bytes)
{{
    if (bytes >= LARGE)
        return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    used += (bytes + 15) & ~(size_t)15;
    return used <= sizeof(room) ? room + used - ((bytes + 15) & ~(size_t)15) : NULL;
}}
void free(void *memory) {{ (void)memory; }}
void *calloc(size_t count, size_t bytes) {{ return malloc(count * bytes); }}
void *realloc(void *memory, size_t bytes)
{{
    char *moved = malloc(bytes);
    return memory && moved ? memmove(moved, memory, bytes) : moved;
}}
/*{TELL}
int main(int argc, char **argv)
{{
    char *volatile large = malloc(3 << 20), *volatile small = malloc(200000);
    large[0] = small[0] = 1;
    tell("large", large);
    printf("%s\\n", small >= room && small < room + sizeof(room) ? "its own" : "another's");
    free(small);
    (void)argv;
    return argc - 1;
}}
"""


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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/*{TELL}
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


def test_a_profile_of_another_build_is_refused(tmp_path, probe, profile):
    other = compiled(tmp_path / "other", "-DOTHER", "-O1")
    done = guide(profile, other, "where", status=125)
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert re.search(
        rf"^hybridmem sites guide: {profile} is of the build \w{{40}}, and {other} is \w{{40}}: make a new ",
        done.stderr,
    )
    assert policies(guide(profile, other, "where", options=["--fast", "11M", "--any-build"])) == all_slow()


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
    source = MOVED + (HERE / "sites-probe.c").read_text()
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


def test_a_size_class_of_an_older_build_is_that_of_the_program(tmp_path, small):
    later = compiled(tmp_path / "later", text=MOVED + (HERE / "sites-probe.c").read_text())
    found = guide(small, later, "small", options=["--fast", "64M", "--stale"])
    assert found.stdout.count(f"128 {FAST}") == 3 and found.stdout.count(f"hot {FAST}") == 3 and not found.stderr


def test_sites_are_found_where_a_library_was_updated(tmp_path):
    """The program is the same build, so this takes no --stale; what was not found is told."""
    text = "#include <stdlib.h>\nvoid *take(void);\nvoid *take(void)\n{\n    return malloc(3 << 20);\n}\n"
    library = compiled(tmp_path / "lib.so", "-shared", "-fPIC", "-fno-optimize-sibling-calls", text=text)
    main = f"""#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void *take(void);
/*{TELL}
int main(void)
{{
    char *taken = take();
    taken[0] = 1;
    tell("taken", taken);
    return 0;
}}
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


def test_without_running_it_no_option_is_advised_that_a_job_has_not(tmp_path, profile):
    other = compiled(tmp_path / "other", "-DOTHER", "-O1")
    said = guide(profile, other, options=["--fast", "1M", "--print"], status=125).stderr
    assert "make a new profile" in said and "--any-build" not in said


def test_a_profile_without_accesses_is_refused(tmp_path, probe):
    path = tmp_path / "profile.json"
    helper("hybridmem-sites", "run", "-o", path, "--", probe, "where")
    made = json.loads(path.read_text())
    made["sampling"].update(source=None, why="perf is not allowed", samples=None, elsewhere=None, lost=None)
    for site in made["sites"]:
        site.update(reads=None, writes=None, samples=None, accesses=None, confidence=None)
    path.write_text(json.dumps(made))
    done = guide(path, probe, "where", status=125)
    assert done.stdout == ""
    assert done.stderr == f"hybridmem sites guide: {path} has no accesses to choose sites by: perf is not allowed\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--fast", "25%"], "with --online, --fast is a size, as in --fast 4G"),
        (["--fast", "4M", "--stale"], "--online needs no profile"),
        (["--fast", "4M", "app.json"], "with --online there is no profile: give the program after --"),
        ([], "--fast is missing"),
    ],
)
def test_online_takes_no_profile(words, why):
    done = helper("hybridmem-sites", "guide", "--online", *words, "--", "true", status=2)
    assert done.stdout == ""
    assert done.stderr.startswith(f"hybridmem sites guide: {why}") and done.stderr.count("\n") == 1


def guide_online(nodes, *program):
    words = ("guide", "--online", "--nodes", nodes, "--fast", "64M", "--", *program)
    command = with_mounts(TWO_NODES, LIBEXEC / "hybridmem-sites", *words)
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_online_the_program_has_the_fast_tier_until_more_is_known(probe):
    done = guide_online("fast=0 slow=1", probe, "where")
    assert done.returncode == 0
    assert dict(line.split() for line in done.stdout.splitlines()) == dict.fromkeys(all_slow(), "interleave=static:0")
    why = "hybridmem sites guide: no site was placed: no evidence: "
    assert done.stderr.startswith(why) and done.stderr.count("\n") == 1
    assert guide_online("fast=0 slow=1", "sh", "-c", "exit 7").returncode == 7


def test_online_nothing_runs_without_the_fast_tier(probe):
    done = guide_online("fast=1 slow=0", probe, "where")
    assert (done.returncode, done.stdout) == (125, "")
    why = "the memory policy interleave of nodes 1 cannot be set: Invalid argument"
    assert done.stderr == f"hybridmem sites guide: {why}\n"
