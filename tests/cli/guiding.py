# SPDX-License-Identifier: Apache-2.0
"""What tests of hybridmem sites guide share. Every machine has a node 0, which is both tiers here: the fast tier's
memory has a policy of its own, all other memory that of the process."""

import json
import re
import shutil
import subprocess
from pathlib import Path

from installed import helper
from siteprofiles import MIB, give_accesses, give_sampling

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
PROBE = HERE / "sites-probe.c"
OWN_MALLOC = """#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "tell.h"
#ifndef LARGE
#define LARGE (1 << 20)
#endif
static char room[16 << 20];
static size_t used;
void *malloc(size_t bytes)
{
    if (bytes >= LARGE)
        return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    used += (bytes + 15) & ~(size_t)15;
    return used <= sizeof(room) ? room + used - ((bytes + 15) & ~(size_t)15) : NULL;
}
void free(void *memory) { (void)memory; }
void *calloc(size_t count, size_t bytes) { return malloc(count * bytes); }
void *realloc(void *memory, size_t bytes)
{
    char *moved = malloc(bytes);
    return memory && moved ? memmove(moved, memory, bytes) : moved;
}
int main(int argc, char **argv)
{
    char *volatile large = malloc(3 << 20), *volatile small = malloc(200000);
    large[0] = small[0] = 1;
    tell("large", large);
    printf("%s\\n", small >= room && small < room + sizeof(room) ? "its own" : "another's");
    free(small);
    (void)argv;
    return argc - 1;
}
"""


def compiled(path, *words, source=PROBE, text=None):
    """A program, of this source or text."""
    if text:
        source = path.with_suffix(".c")
        source.write_text(text)
    subprocess.run(["gcc", "-O2", "-Wall", "-pthread", "-I", HERE, "-o", path, source, *words], check=True)
    return path


def misfits(folder):
    """Programs that return 3 and cannot have our libraries, and why. The other loader is a copy of the usual one."""
    source = folder / "misfit.c"
    source.write_text("int main(void) { return 3; }\n")
    found = subprocess.run(["readelf", "-l", "/bin/sh"], capture_output=True, text=True, check=True).stdout
    loader = folder / "ld.so"
    shutil.copy(re.search(r"interpreter: (.+)]", found)[1], loader)
    for name, option, why in (
        ("static", "-static", "is linked statically"),
        (
            "other",
            f"-Wl,--dynamic-linker={loader}",
            f"starts by another loader than hybridmem ({loader}), and so with another libc",
        ),
        ("asan", "-fsanitize=address", r"is linked with libasan.so.*, which has to be the first library"),
    ):
        path = folder / name
        subprocess.run(["gcc", option, "-o", path, source], check=True)
        yield path, why


def profiled(program, path, *words):
    """The profile of a run of the program, which gets its accesses from a test."""
    helper("hybridmem-sites", "run", "-o", path, "--", program, *words)
    return json.loads(path.read_text())


def profile_of(program, path, what="where"):
    """The program's profile. Its accesses are not those that were sampled, which differ, but HOT."""
    profile = profiled(program, path, what)
    give_sampling(profile, samples=1250, elsewhere=50)
    profile["resident_peak_bytes"] = None
    for site in profile["sites"]:
        give_accesses(site, HOT.get(site["peak_bytes"] / MIB, 0))
        site["slices"] = site["resident"] = None  # the probe touches hardly any of it
    path.write_text(json.dumps(profile))
    return path


def changed_sites(profile, path, change):
    """The profile with `change` made to each site that has frames."""
    made = json.loads(profile.read_text())
    for site in made["sites"]:
        if site["frames"]:
            change(site)
    path.write_text(json.dumps(made))
    return path


def made_hot(profile, path, is_hot):
    """The profile, in which such sites have an access each, and no others."""
    return changed_sites(profile, path, lambda site: give_accesses(site, int(is_hot(site))))


def guide(profile, *words, options=("--fast", "10M"), nodes=NODES, **more):
    return helper("hybridmem-sites", "guide", "--nodes", nodes, *options, profile, "--", *words, **more)


def policies(done):
    assert done.stderr == "", done.stderr
    return dict(line.split() for line in done.stdout.splitlines())


def all_slow():
    return {name: SLOW for name in [*"123456789", "stack"]}


def guided_by_size(program, tmp_path, size):
    """Profiles the program, and runs it with the sites of this peak in the fast tier."""
    path = tmp_path / "profile.json"
    made = profiled(program, path)
    give_sampling(made, samples=1)
    for site in made["sites"]:
        give_accesses(site, int(site["peak_bytes"] == size))
        site["resident"] = None  # all of it is to be placed
    path.write_text(json.dumps(made))
    return guide(path, program, options=["--fast", "64M"])
