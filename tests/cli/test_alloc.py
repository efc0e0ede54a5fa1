# SPDX-License-Identifier: Apache-2.0
"""Tests the installed libhybridmem: what it exports, and programs in C, C++ and Fortran that use it as its man page
shows."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from installed import PREFIX

PAGE = Path(__file__).resolve().parents[2] / "site-docs" / "man" / "hybridmem.3"
LIBRARY = PREFIX / "lib" / "libhybridmem.so"
PUBLIC = {"hm_alloc", "hm_alloc_reason", "hm_free", "hm_where", "hm_where_run"}


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


def package(*words):
    return run(
        "pkg-config", *words, "hybridmem", env={**os.environ, "PKG_CONFIG_PATH": f"{PREFIX}/lib/pkgconfig"}
    ).split()


def sanitizers():
    """Options for programs that link a library built with sanitizers."""
    return ["-fsanitize=address,undefined"] if "__asan_init" in run("nm", "-D", LIBRARY) else []


def example(name):
    """The text of an example of the man page."""
    found = re.search(rf'^\.\\" {re.escape(name)}\n(.*?)^\.fi$', PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return found[1].replace("\\e", "\\").replace("\\-", "-")


def build(folder, compiler, source, text, *words):
    path = folder / source
    path.write_text(text)
    run(compiler, *sanitizers(), "-o", folder / "program", *words, path, *package("--cflags", "--libs"), cwd=folder)
    return folder / "program"


def start(program):
    return run(program, env={"LD_LIBRARY_PATH": f"{PREFIX}/lib"})


def test_only_the_public_functions_are_exported():
    symbols = re.findall(r" [A-Z] (\w+)@@HYBRIDMEM_0\.1", run("nm", "-D", "--defined-only", LIBRARY))
    assert set(symbols) == PUBLIC
    header = (PREFIX / "include" / "hybridmem.h").read_text()
    assert {name for name in PUBLIC if re.search(rf"\b{name}\(", header)} == PUBLIC
    for name in PUBLIC:
        assert re.search(rf"\b{name}\b", PAGE.read_text())


@pytest.mark.parametrize(("compiler", "standard"), [("gcc", "-std=c99"), ("gcc", "-std=c11"), ("g++", "-std=c++11")])
def test_the_header_stands_alone(tmp_path, compiler, standard):
    text = "#include <hybridmem.h>\nint main(void) { hm_free(hm_alloc(1000000, HM_ALLOC_SPILL, NULL)); return 0; }\n"
    source = "program.c" if compiler == "gcc" else "program.cc"
    start(build(tmp_path, compiler, source, text, standard, "-Wall", "-Wextra", "-pedantic", "-Werror"))


@pytest.mark.parametrize(("compiler", "standard"), [("gcc", "-std=c99"), ("g++", "-std=c++20")])
def test_the_example_in_c_and_cxx(tmp_path, compiler, standard):
    text = example("example.c")
    source = "example.c"
    if compiler == "g++":  # C++ needs a cast that C does not
        text = re.sub(r"= hm_alloc", "= (double *)hm_alloc", text)
        source = "example.cc"
    output = start(build(tmp_path, compiler, source, text, standard, "-Wall", "-Werror"))
    placed_bytes = sum(int(count) for count in re.findall(r"^node \d+: (\d+) bytes$", output, re.MULTILINE))
    assert 80000000 <= placed_bytes < 80000000 + 4096


def test_the_example_in_fortran(tmp_path):
    module = package("--variable=fortransource")[0]
    assert Path(module).read_text() == (PAGE.parents[2] / "helpers" / "alloc" / "hybridmem.f90").read_text()
    words = ("-Wall", "-Werror", "-std=f2018", module)
    output = start(build(tmp_path, "gfortran", "example.f90", example("example.f90"), *words))
    first, *rest = output.split()
    assert float(first) == 1e7
    assert 0 < int(rest[-1]) < 80000000 + 4096


def test_the_module_of_fortran_has_the_layout_of_the_header(tmp_path):
    """Compares sizes and constants of both interfaces."""
    types = ("hm_alloc_hint", "hm_alloc_node", "hm_alloc_where", "hm_alloc_run")
    constants = re.findall(r"^\s+(HM_ALLOC_\w+) = \d", (PREFIX / "include" / "hybridmem.h").read_text(), re.MULTILINE)
    assert len(constants) == 7
    c_text = "#include <hybridmem.h>\n#include <stdio.h>\nint main(void) {\n"
    c_text += "".join(f'printf("%zu\\n", sizeof(struct {name}));\n' for name in types)
    c_text += "".join(f'printf("%d\\n", {name});\n' for name in [*constants, "HM_ALLOC_NODES"]) + "return 0; }\n"
    f_text = "program sizes\nuse hybridmem\nuse, intrinsic :: iso_c_binding\nimplicit none\n"
    f_text += "".join(f"type({name}) :: a{i}\n" for i, name in enumerate(types))
    f_text += "".join(f"print *, c_sizeof(a{i})\n" for i in range(len(types)))
    f_text += "".join(f"print *, {name}\n" for name in [*constants, "HM_ALLOC_NODES"]) + "end program sizes\n"
    module = package("--variable=fortransource")[0]
    for folder in ("c", "f"):
        (tmp_path / folder).mkdir()
    in_c = start(build(tmp_path / "c", "gcc", "sizes.c", c_text)).split()
    assert in_c == start(build(tmp_path / "f", "gfortran", "sizes.f90", f_text, module)).split()


def test_reasons_and_errors_are_said(tmp_path):
    text = """#include <errno.h>
#include <hybridmem.h>
#include <stdio.h>
int main(void)
{
    char *memory = hm_alloc(1 << 20, (enum hm_alloc_policy)9, NULL);
    printf("%d %d %s\\n", memory == NULL, errno == EINVAL, hm_alloc_reason());
    memory = hm_alloc(1000, HM_ALLOC_SLOW, NULL);
    printf("%d %s\\n", memory != NULL, hm_alloc_reason());
    hm_free(memory);
    return 0;
}
"""
    assert start(build(tmp_path, "gcc", "program.c", text)).splitlines() == [
        "1 1 policy 9 is not known: use HM_ALLOC_SPILL to HM_ALLOC_INTERLEAVE",
        "1 sizes below 131072 bytes are left to malloc",
    ]
