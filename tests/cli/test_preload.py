# SPDX-License-Identifier: Apache-2.0
"""Tests the installed preload library with a program that calls all functions that the library replaces, and with
programs of the system."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from installed import PREFIX

LIBRARY = PREFIX / "lib" / "hybridmem" / "libhybridmem-preload.so"
NODES = "slow=0@0"  # every machine has a node 0
PLACED = "prefer=static:0"
DEADLOCK_S = 120  # a program that takes so long never ends
SUDO = [] if os.geteuid() == 0 else ["sudo", "-n"]
# The names of the probe's large allocations; small ones stay with libc.
LARGE = (
    "malloc calloc aligned_alloc memalign posix_memalign posix_memalign-gib realloc-up realloc-more reallocarray"
    " realloc-null parent inherited forked"
)


def run(*command, status=0, text=True, **env):
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=text,
        check=False,
        timeout=DEADLOCK_S,
        env={**os.environ, "LC_ALL": "C.UTF-8", **env},
    )
    assert done.returncode == status, f"{command} gave {done.returncode}:\n{done.stdout}{done.stderr}"
    return done


def preloaded(*command, size="1M", **options):
    env = {"LD_PRELOAD": str(LIBRARY), "HYBRIDMEM_ISOLATE_NODES": NODES, "HYBRIDMEM_ISOLATE_SIZE": size}
    return run(*command, **{**env, **options})


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    program = tmp_path_factory.mktemp("probe") / "probe"
    source = Path(__file__).parent / "preload-probe.c"
    run("gcc", "-O1", "-Wall", "-fno-builtin", "-rdynamic", "-pthread", "-o", program, source)
    return program


def policies(text):
    return dict(line.split(" ", 1) for line in text.splitlines())


def test_only_mallocs_kin_is_exported_and_only_libc_is_wanted():
    symbols = re.findall(r" [A-Z] (\w+)", run("nm", "-D", "--defined-only", LIBRARY).stdout)
    assert sorted(symbols) == sorted(
        [
            "__register_atfork",
            "aligned_alloc",
            "calloc",
            "free",
            "malloc",
            "malloc_usable_size",
            "memalign",
            "posix_memalign",
            "realloc",
        ]
    )
    assert {path.name for path in LIBRARY.parent.iterdir()} - {"libhybridmem-compile.so"} == {
        LIBRARY.name,
        "libhybridmem-guide.so",
        "libhybridmem-sites.so",
    }
    needed = re.findall(r"NEEDED.*\[(\S+)\]", run("readelf", "-d", LIBRARY).stdout)
    assert set(needed) <= {"libc.so.6", "libdl.so.2", "libpthread.so.0"}


def test_large_allocations_are_placed_and_all_else_is_libcs(probe):
    found = policies(preloaded(probe).stdout)
    assert found.pop("threads-and-fork") == "done"
    for name in LARGE.split():
        assert found.pop(name) == PLACED, name
    # small allocations, those that shrank below the limit, and the child, whose environment has a limit of 1G
    assert found == {"small": "default", "realloc-down": "default", "allocate_field": "default", "child": "default"}


def test_without_its_variables_the_library_does_nothing(probe):
    found = policies(run(probe, LD_PRELOAD=str(LIBRARY)).stdout)
    assert found.pop("threads-and-fork") == "done"
    assert set(found.values()) == {"default"}


def test_callers_decide_before_the_size(probe):
    found = policies(preloaded(probe, HYBRIDMEM_ISOLATE_CALLERS="slow=allocate_field").stdout)
    assert found["allocate_field"] == PLACED and found["malloc"] == PLACED
    found = policies(preloaded(probe, HYBRIDMEM_ISOLATE_CALLERS="fast=allocate_field", size="128K").stdout)
    assert found["allocate_field"] == "default" and found["malloc"] == PLACED


def test_a_caller_can_be_named_by_its_address(probe):
    """The return address of the call in allocate_field, from a disassembler."""
    text = run("objdump", "-d", "--no-show-raw-insn", "--disassemble=allocate_field", probe).stdout
    call, after = re.search(r"([0-9a-f]+):\s+call.*\n\s*([0-9a-f]+):", text).groups()
    rule = f"slow={probe.name}+0x{after}"
    assert policies(preloaded(probe, HYBRIDMEM_ISOLATE_CALLERS=rule).stdout)["allocate_field"] == PLACED
    rule = f"slow={probe.name}+0x{call}"
    assert policies(preloaded(probe, HYBRIDMEM_ISOLATE_CALLERS=rule).stdout)["allocate_field"] == "default"


@pytest.fixture(scope="module")
def grower(tmp_path_factory):
    program = tmp_path_factory.mktemp("grower") / "grower"
    run("gcc", "-O1", "-Wall", "-fno-builtin", "-rdynamic", "-o", program, Path(__file__).parent / "realloc-probe.c")
    return program


@pytest.mark.parametrize("how", ["steps", "changed", "elsewhere", "forked"])
def test_memory_that_realloc_makes_larger_is_never_there_twice(grower, how):
    preloaded(grower, how, HYBRIDMEM_ISOLATE_CALLERS="fast=grow_elsewhere")


@pytest.mark.parametrize("how", ["steps", "elsewhere"])
def test_realloc_needs_no_more_addresses_than_without_the_library(grower, how):
    """So many that 248 MiB cannot be there twice. Memory that a rule wants elsewhere then stays where it is."""
    limited = ("sh", "-c", f"ulimit -v 330000 && exec {grower} {how}")
    run(*limited)
    preloaded(*limited, HYBRIDMEM_ISOLATE_CALLERS="fast=grow_elsewhere")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HYBRIDMEM_ISOLATE_NODES", "0"),
        ("HYBRIDMEM_ISOLATE_SIZE", "lots"),
        ("HYBRIDMEM_ISOLATE_CALLERS", "main"),
    ],
)
def test_a_wrong_variable_is_said_and_leaves_all_as_it_is(probe, variable, value):
    done = preloaded(probe, "child", **{variable: value})
    assert policies(done.stdout) == {"child": "default"}
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"hybridmem: {variable}: ") and value in done.stderr


def test_a_python_program_that_allocates_in_many_ways():
    script = """
import array, ctypes, multiprocessing, re, threading
blocks = [bytearray(2 << 20) for _ in range(20)]
for i, block in enumerate(blocks):
    block[-1] = i
grown = bytearray()
for i in range(64):
    grown += bytes([i]) * (1 << 17)
assert [grown[i << 17] for i in range(64)] == list(range(64))
threads = [threading.Thread(target=lambda: [bytearray(4 << 20) for _ in range(30)]) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
def child(n):
    return sum(bytearray(3 << 20)) + n
with multiprocessing.get_context("fork").Pool(3) as pool:
    assert pool.map(child, range(6)) == list(range(6))
assert [block[-1] for block in blocks] == list(range(20))
print(len(re.findall("prefer=static:0", open("/proc/self/numa_maps").read())))
"""
    assert int(preloaded(sys.executable, "-c", script).stdout) >= 20
    assert int(run(sys.executable, "-c", script).stdout) == 0


def test_programs_of_the_system_do_what_they_did(tmp_path):
    lines = tmp_path / "lines"
    lines.write_text("".join(f"{(i * 7919) % 1000003:07d} some words to sort\n" for i in range(40000)))
    archive = tmp_path / "archive"
    for command in (
        ("sort", lines),
        ("sort", "--parallel=4", "-S", "64M", "-r", lines),
        ("sha256sum", lines),
        ("xz", "-T2", "-c", lines),
        ("awk", "{ n[$1] = $0 } END { print length(n) }", lines),
        ("bash", "-c", f"x=$(cat {lines}); echo ${{#x}} | cat"),
        ("tar", "--create", "--file", archive, "--directory", tmp_path, "lines"),
        ("gcc", "-O2", "-S", "-o", "-", Path(__file__).parent / "preload-probe.c"),
    ):
        assert shutil.which(command[0]), command[0]
        assert preloaded(*command, text=False, size="128K").stdout == run(*command, text=False).stdout


def test_another_malloc_between_the_library_and_libc_stays(tmp_path):
    """What is not placed comes from the other allocator (such as jemalloc), and is freed by it."""
    source = tmp_path / "other.c"
    source.write_text(
        "#include <unistd.h>\n#include <stdlib.h>\n#include <string.h>\n#include <malloc.h>\n"
        "static char heap[64 << 20] __attribute__((aligned(4096))); static size_t used;\n"
        "void *memalign(size_t a, size_t n) { used = (used + a - 1) / a * a + 16;"
        " if (a > 16) used = (used + a - 1) / a * a; *(size_t *)(heap + used - 16) = n;"
        " void *p = heap + used; used += n; return p; }\n"
        "void *malloc(size_t n) { return memalign(16, n); }\n"
        "void *calloc(size_t a, size_t b) { return memset(malloc(a * b), 0, a * b); }\n"
        "size_t malloc_usable_size(void *p) { return p ? *(size_t *)((char *)p - 16) : 0; }\n"
        "void free(void *p) { if (p && ((char *)p < heap || (char *)p >= heap + sizeof(heap)))"
        ' { write(2, "not mine\\n", 9); _exit(9); } }\n'
        "void *realloc(void *p, size_t n) { void *q = malloc(n); size_t o = malloc_usable_size(p);"
        " if (p) { memcpy(q, p, o < n ? o : n); free(p); } return q; }\n"
        "void *aligned_alloc(size_t a, size_t n) { return memalign(a, n); }\n"
        "int posix_memalign(void **p, size_t a, size_t n) { *p = memalign(a, n); return 0; }\n"
    )
    other = tmp_path / "libother.so"
    run("gcc", "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", other, source)
    script = "a = bytearray(8 << 20); b = bytearray(100); a += b'x'; print(len(a))"
    done = preloaded(sys.executable, "-S", "-c", script, LD_PRELOAD=f"{LIBRARY}:{other}")
    assert done.stdout == "8388609\n" and done.stderr == ""


WRAPPER = "#!/bin/sh\n# A user's wrapper.\nset -e\nmkdir -p {folder}\nexec nice env OTHER=1 {program} child $1\n"


@pytest.mark.parametrize(("size", "policy"), [(32 << 20, PLACED), ((32 << 20) - 1, "default")])
def test_what_a_wrapper_starts_has_the_library_and_the_rules(probe, tmp_path, size, policy):
    """A wrapper passes both on in its environment. The limit is the default one, 32 MiB."""
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(WRAPPER.format(folder=tmp_path / "results", program=probe))
    wrapper.chmod(0o755)
    env = {"LD_PRELOAD": str(LIBRARY), "HYBRIDMEM_ISOLATE_NODES": NODES}
    assert policies(run(wrapper, size, **env).stdout) == {"child": policy}
    assert policies(run(wrapper, size).stdout) == {"child": "default"}
    for without in ("LD_PRELOAD=", "-uLD_PRELOAD", "-uHYBRIDMEM_ISOLATE_NODES", "-i"):
        assert policies(run("env", without, probe, "child", size, **env).stdout) == {"child": "default"}


def compiled(folder, name, text, *options):
    source = folder / f"{name}.c"
    source.write_text(text)
    run("gcc", *options, "-o", folder / name, source)
    return folder / name


def test_what_a_static_program_starts_has_the_library_and_the_rules(probe, tmp_path):
    program = compiled(
        tmp_path,
        "static",
        "#include <unistd.h>\nint main(int c, char **v) { return execv(v[1], v + 1) + c; }\n",
        "-static",
    )
    assert policies(preloaded(program, probe, "child").stdout) == {"child": PLACED}


def test_setuid_programs_and_what_they_start_are_without_the_library(tmp_path):
    """The loader ignores the library if user and effective user differ, and removes it from the environment."""
    program = compiled(
        tmp_path,
        "other",
        "#define _GNU_SOURCE\n#include <link.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
        "static int look(struct dl_phdr_info *of, size_t size, void *found) { (void)size;"
        ' *(int *)found |= strstr(of->dlpi_name, "libhybridmem-preload") != 0; return 0; }\n'
        "int main(void) { int found = 0; dl_iterate_phdr(look, &found);"
        ' printf("%s\\n", found ? "loaded" : "not loaded"); fflush(stdout);'
        ' return system("echo ${LD_PRELOAD-none}"); }\n',
    )
    assert preloaded(program).stdout == f"loaded\n{LIBRARY}\n"
    run(*SUDO, "chown", "nobody", program)
    run(*SUDO, "chmod", "u+s", program)
    assert preloaded(program).stdout == "not loaded\nnone\n"


def with_own_malloc(folder):
    """A program that is linked with a malloc without malloc_usable_size (own-malloc.c)."""
    source, library = Path(__file__).parent / "own-malloc.c", folder / "libown.so"
    run("gcc", "-O1", "-Wall", "-fno-builtin", "-shared", "-fPIC", "-o", library, source)
    text = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
    char *large = malloc(200000), *grows = strcpy(malloc(8), "grows");
    memset(large, 1, 200000);
    grows = realloc(grows, 300000);
    puts(grows);
    free(grows);
    free(large);
    return 0;
}
"""
    return compiled(folder, "own", text, "-Wl,--no-as-needed", library, f"-Wl,-rpath,{folder}")


def test_a_malloc_that_tells_no_sizes(tmp_path):
    assert preloaded(with_own_malloc(tmp_path), size="128K").stdout == "grows\n"


def test_static_programs_are_left_alone(tmp_path):
    text = "#include <stdlib.h>\nint main(void) { char *p = malloc(1 << 25); return !p; }\n"
    assert preloaded(compiled(tmp_path, "static", text, "-static")).stderr == ""
