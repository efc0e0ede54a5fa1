# SPDX-License-Identifier: Apache-2.0
"""Tests programs that hybridmem-cc and hybridmem-c++ compile: sites by the ids that these give them."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from guiding import FAST, HERE, PROBE, all_slow, guide, policies
from installed import PREFIX, helper, needs_llvm
from siteprofiles import MIB, VALIDATOR, give_accesses, give_sampling

CALLERS = {number + 1 for number in range(8)}  # of xmalloc: the MiB that each allocates
pytestmark = needs_llvm


def compiler(name, *words, status=0, cwd=None):
    command = [PREFIX / "bin" / name, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == status, done.stderr
    return done


def built(path, *words, source=PROBE, name="hybridmem-cc"):
    compiler(name, "-O2", "-pthread", "-Werror", "-o", path, source, *words)
    return path


def profile_of(program, *words):
    output = program.with_suffix(".json")
    done = helper("hybridmem-sites", "run", "-o", output, "--", program, *words)
    assert done.stderr == ""
    profile = json.loads(output.read_text())
    VALIDATOR.validate(profile)
    return profile


def by_peak(profile):
    return {site["peak_bytes"] / MIB: site["id"] for site in profile["sites"] if site["frames"]}


def is_whole():
    """Has the linker's LLVM the whole program with -flto?"""
    return int(re.search(r"of LLVM (\d+) does", compiler("hybridmem-cc", "--help").stdout)[1]) >= 15


ONCE = """
#include <stdlib.h>
#define F __attribute__((noinline)) static
F char *run(const unsigned char *code, size_t bytes)
{
    static const void *const table[] = {&&end, &&make, &&larger};
    char *memory = NULL;
    goto *table[*code++];
make:
    memory = malloc(bytes);
    memory[0] = 1;
    goto *table[*code++];
larger:
    bytes *= 2;
    goto *table[*code++];
end:
    return memory;
}
F char *labelled(size_t bytes)
{
    char *memory = malloc(bytes);
    __asm__ volatile("of_assembler: nop");
    memory[0] = 1;
    return memory;
}
int main(void)
{
    static const unsigned char one[] = {1, 0}, two[] = {2, 1, 0};
    char *a = run(one, 1 << 20), *b = run(two, 1 << 20), *c = labelled(4 << 20), *d = labelled(8 << 20);
    return a[0] + b[0] + c[0] + d[0] == 4 ? 0 : 1;
}
"""


@pytest.fixture
def folder(tmp_path):
    """With the probe's source, so that its name has no folder in it."""
    (tmp_path / "probe.c").write_text(PROBE.read_text())
    for name in ("sites-probe.h", "tell.h"):
        shutil.copy(HERE / name, tmp_path)
    return tmp_path


def test_callers_of_one_wrapper_are_told_apart_by_copies(tmp_path):
    program = built(tmp_path / "probe", "-fhybridmem-context=2")
    assert set(by_peak(profile_of(program, "hot", "0"))) == CALLERS
    alone = by_peak(profile_of(built(tmp_path / "alone", "-fhybridmem-context=1"), "hot", "0"))
    assert set(alone) == {sum(CALLERS)}


def test_the_default_is_paths_of_four_functions(tmp_path):
    """main's three calls lead by one function each to xmalloc's caller: paths of four functions tell them apart, paths
    of three do not."""
    source = tmp_path / "deep.c"
    source.write_text(
        "#include <stdlib.h>\n#define F __attribute__((noinline))\n"
        "F static char *last(size_t n) { char *m = malloc(n << 20); m[0] = 1; return m; }\n"
        "F static char *next(size_t n) { char *m = last(n); m[1] = 1; return m; }\n"
        "F static char *first(size_t n) { char *m = next(n); m[2] = 1; return m; }\n"
        "int main(void) { return first(1)[0] + first(2)[0] + first(4)[0] == 3 ? 0 : 1; }\n"
    )
    assert set(by_peak(profile_of(built(tmp_path / "four", source=source)))) == {1, 2, 4}
    assert set(by_peak(profile_of(built(tmp_path / "three", "-fhybridmem-context=3", source=source)))) == {7}


def test_callers_in_other_files_are_told_apart_at_the_link(tmp_path):
    """By LLVM 15 and later. Earlier ones tell apart what is in one source file, as without -flto."""
    (tmp_path / "x.c").write_text(
        "#include <stdlib.h>\n__attribute__((noinline)) char *take(size_t n)\n"
        "{\n    char *m = malloc(n << 20);\n    m[0] = 1;\n    return m;\n}\n"
    )
    (tmp_path / "main.c").write_text(
        "#include <stdlib.h>\nchar *take(size_t n);\n"
        "int main(void) { return take(1)[0] + take(2)[0] + take(4)[0] == 3 ? 0 : 1; }\n"
    )
    found = {}
    for flag in ("-fno-lto", "-flto"):
        for name in ("x", "main"):
            compiler("hybridmem-cc", "-O2", "-Werror", flag, "-c", f"{name}.c", cwd=tmp_path)
        compiler("hybridmem-cc", "-O2", "-Werror", flag, "x.o", "main.o", "-o", "whole", cwd=tmp_path)
        found[flag] = set(by_peak(profile_of(tmp_path / "whole")))
    assert found == {"-fno-lto": {7}, "-flto": {1, 2, 4} if is_whole() else {7}}


def test_ids_do_not_hang_on_the_order_of_linking(tmp_path):
    """The linker, which has the whole program with -flto, renames functions of one name."""
    for name, size in (("x", 1), ("y", 2)):
        (tmp_path / f"{name}.c").write_text(
            "#include <stdlib.h>\n__attribute__((noinline)) static char *take(size_t n)\n"
            "{\n    char *m = malloc(n << 20);\n    m[0] = 1;\n    return m;\n}\n"
            f"char *{name}(void);\nchar *{name}(void) {{ return take({size}); }}\n"
        )
    (tmp_path / "main.c").write_text(
        "char *x(void), *y(void);\nint main(void) { return x()[0] + y()[0] == 2 ? 0 : 1; }\n"
    )
    words = ["-O1", "-Werror", "-flto"]
    for name in ("x", "y", "main"):
        compiler("hybridmem-cc", *words, "-c", f"{name}.c", cwd=tmp_path)
    found = []
    for order in (["x.o", "y.o"], ["y.o", "x.o"]):
        program = tmp_path / "-".join(order)
        if is_whole():
            compiler("hybridmem-cc", *words, "main.o", *order, "-o", program, cwd=tmp_path)
        else:  # LLVM's own linker is not needed then, and may be missing
            files = [Path(name).with_suffix(".c") for name in ("main.o", *order)]
            compiler("hybridmem-cc", "-O1", *files, "-o", program, cwd=tmp_path)
        found.append(by_peak(profile_of(program)))
    assert found[0] == found[1] and set(found[0]) == {1, 2}


def test_functions_that_cannot_be_copied_work_as_ever(tmp_path):
    """A copy would jump into the function itself, where a table has the addresses of its labels, or have a label of
    assembler code twice. Clang's sanitizer of functions has data before their code."""
    source = tmp_path / "once.c"
    source.write_text(ONCE)
    done = compiler("hybridmem-cc", "-O2", "-fhybridmem-report", "-o", tmp_path / "once", source)
    assert ": 2 sites, 0 copies of functions," in done.stderr
    assert set(by_peak(profile_of(tmp_path / "once"))) == {1 + 2, 4 + 8}
    (tmp_path / "operators.cc").write_text(CPP)
    for flag in ("-fsanitize=undefined", "-fprofile-instr-generate"):
        compiler("hybridmem-c++", "-O1", "-std=c++17", flag, "-c", "operators.cc", cwd=tmp_path)


def test_ids_stay_where_the_code_stays(folder):
    """Over a rebuild with debug information, and with a function more that allocates."""
    old = profile_of(built(folder / "old"), "hot", "0")
    source = folder / "probe.c"
    added = "void *unrelated(size_t bytes);\nvoid *unrelated(size_t bytes)\n{\n    return calloc(2, bytes);\n}\n\n"
    source.write_text(source.read_text().replace("static double cpu_s", added + "static double cpu_s"))
    words = ["-O2", "-g", "-pthread", "probe.c", "-o"]
    compiler("hybridmem-cc", *words, "new", cwd=folder)
    source.write_text(PROBE.read_text())
    compiler("hybridmem-cc", *words, "again", cwd=folder)
    again, new = (profile_of(folder / name, "hot", "0") for name in ("again", "new"))
    assert len({profile["program"]["build_id"] for profile in (old, again, new)}) == 3
    assert by_peak(again) == by_peak(new) and set(by_peak(new)) == CALLERS


def test_a_limit_of_growth_is_kept_and_said(tmp_path):
    path = tmp_path / "probe"
    words = ["-O2", "-pthread", "-Werror", "-fhybridmem-context=2", "-o", path, PROBE]
    done = compiler("hybridmem-cc", "-fhybridmem-growth=0", "-fhybridmem-report", *words)
    said = rf"hybridmem: {PROBE}: \d+ sites, 0 copies of functions, the code grows by 0.0 %\n"
    said += rf"hybridmem: {PROBE}: call paths are not told apart at \d+ calls: the code would grow by more than 0 % "
    assert re.fullmatch(said + r"\(-fhybridmem-growth=PERCENT\)\n", done.stderr), done.stderr
    assert set(by_peak(profile_of(path, "hot", "0"))) == {sum(CALLERS)}
    done = compiler("hybridmem-cc", "-fhybridmem-growth=60", "-fhybridmem-report", *words)
    copies, growth = re.search(r" (\d+) copies of functions, the code grows by ([\d.]+) %\n", done.stderr).groups()
    assert int(copies) >= 8 and 0 < float(growth) <= 60
    assert set(by_peak(profile_of(path, "hot", "0"))) == CALLERS


def test_a_program_runs_without_hybridmem(tmp_path):
    ends, program = (built(tmp_path / name, source=HERE / f"sites-{name}.c") for name in ("ends", "forks"))
    subprocess.run([ends, "lives"], check=True)
    for what in ("threads", "forks", "handler"):
        subprocess.run([program, what], check=True)
    needed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    assert "NEEDED" in needed and "hybridmem" not in needed


CPP = """
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>
static const std::size_t MIB = 1 << 20;
static void *volatile sink;
struct alignas(256) Wide { char bytes[MIB]; };
template <typename T> __attribute__((noinline)) static std::vector<T> *made(std::size_t bytes)
{
    return new std::vector<T>(bytes / sizeof(T), T(1));
}
int main()
{
    std::unique_ptr<char[]> array(new char[3 * MIB]);
    std::unique_ptr<Wide> wide(new Wide);
    std::unique_ptr<char> silent(new (std::nothrow) char);
    std::unique_ptr<std::vector<double>> numbers(made<double>(5 * MIB)), others(made<double>(7 * MIB));
    volatile std::size_t too_much = std::size_t(1) << 62;
    for (void *kept : {static_cast<void *>(array.get()), static_cast<void *>(wide.get())})
        sink = kept; /* else the compiler needs no memory for them */
    *silent = 1;
    try {
        char *volatile none = new char[too_much];
        return none != nullptr;
    } catch (const std::bad_alloc &) {
        char *last = static_cast<char *>(std::malloc(9 * MIB));
        sink = last;
        std::printf("%d\\n", last && (*numbers)[1] + (*others)[2] == 2);
    }
    return 0;
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_operators_of_cpp(tmp_path, level):
    """Frames begin with the function of the C++ library, then the program's."""
    source = tmp_path / "operators.cc"
    source.write_text(CPP)
    words = (level, "-g", "-std=c++17", "-fhybridmem-context=2")
    program = built(tmp_path / "operators", *words, source=source, name="hybridmem-c++")
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "1\n"
    again = built(tmp_path / "again", *words, "-DAGAIN", source=source, name="hybridmem-c++")
    first, second = by_peak(profile_of(program)), by_peak(profile_of(again))
    assert first == second and {1, 3, 9} <= set(first)
    # at -O0 two vectors' memory comes from one function of the library's header
    assert {5, 7} <= set(first) or (level == "-O0" and 12 in first)


def test_an_exception_leaves_no_id_behind(tmp_path):
    """Of a call that throws, in a function that sees no exceptions: what the library allocates then has its stack."""
    (tmp_path / "take.c").write_text("#include <stdlib.h>\nvoid *take(size_t n) { return malloc(n); }\n")
    subprocess.run(["gcc", "-c", "take.c"], cwd=tmp_path, check=True)
    source = tmp_path / "throws.cc"
    source.write_text(
        '#include <new>\nextern "C" void *take(std::size_t);\n'
        "static volatile std::size_t none = std::size_t(1) << 62;\nstatic char *volatile kept;\n"
        "__attribute__((noinline)) static void larger() { kept = new char[none]; }\n"
        "int main()\n{\n    try {\n        larger();\n    } catch (const std::bad_alloc &) {\n"
        "        return take(3 << 20) ? 0 : 1;\n    }\n    return 1;\n}\n"
    )
    frames = {}
    for level in ("-O0", "-O2"):
        words = (level, "-fhybridmem-context=1", tmp_path / "take.o")
        profile = profile_of(built(tmp_path / level[1:], *words, source=source, name="hybridmem-c++"))
        frames[level] = [len(site["frames"]) for site in profile["sites"] if site["peak_bytes"] == 3 * MIB]
    # larger's id stands for two frames, a stack has main's callers, too
    assert all(len(found) == 1 and found[0] > 2 for found in frames.values()), frames


def test_people_read_functions_and_lines_of_sites_with_ids(tmp_path):
    program = built(tmp_path / "probe", "-g", "-fhybridmem-context=2")
    profile_of(program, "hot", "0")
    text = helper("hybridmem-sites", "show", program.with_suffix(".json")).stdout
    assert re.search(r" xmalloc \(sites-probe.h:\d+\) < caller_3 \(sites-probe.c:\d+\)$", text, re.MULTILINE)
    assert "main" not in text  # the id does not stand for it


def test_a_program_with_ids_is_guided_also_when_it_is_built_anew(folder):
    compiler("hybridmem-cc", "-O2", "-pthread", "probe.c", "-o", "old", cwd=folder)
    profile = profile_of(folder / "old", "where")
    give_sampling(profile, samples=1000)
    for site in profile["sites"]:
        give_accesses(site, {2: 750, 8: 250}.get(site["peak_bytes"] / MIB, 0))
    path = folder / "old.json"
    path.write_text(json.dumps(profile))
    compiler("hybridmem-cc", "-O2", "-g", "-pthread", "probe.c", "-o", "new", cwd=folder)
    wanted = {**all_slow(), "2": FAST, "8": FAST}
    assert policies(guide(path, folder / "old", "where")) == wanted
    for option in ("--any-build", "--stale"):
        assert policies(guide(path, folder / "new", "where", options=["--fast", "11M", option])) == wanted
    n = sum(bool(site["frames"]) for site in profile["sites"])
    assert sum(site["given"] for site in profile["sites"]) >= 8
    lines = guide(path, folder / "new", options=["--fast", "11M", "--stale", "--print"]).stdout.splitlines()
    assert lines[:2] == [f"stale_sites {n}", f"stale_found {n}"]


LIBRARY = """
#include <stdlib.h>
static _Thread_local char much[3 << 10]; /* of the little room for what has a fixed place, a late library gets less */
void *take(size_t bytes);
void *take(size_t bytes)
{
    much[bytes % sizeof(much)]++;
    return malloc(bytes);
}
"""
PROGRAM = """
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *(*take)(size_t) = library ? (void *(*)(size_t))dlsym(library, "take") : NULL;
    void *volatile own = malloc((size_t)5 << 20);
    return own && take && take((size_t)3 << 20) ? 0 : 1;
}
"""


@pytest.mark.parametrize("with_ids", [("library",), ("program",), ("library", "program")])
def test_libraries_and_programs_with_and_without_ids(tmp_path, with_ids):
    """What has ids has the same in each build, what has none has its stack, which another build changes."""
    found = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        for part, text, words in (("library", LIBRARY, ["-shared", "-fPIC"]), ("program", PROGRAM, ["-ldl"])):
            (folder / f"{part}.c").write_text(text)
            command = [PREFIX / "bin" / "hybridmem-cc" if part in with_ids else "gcc", "-O1", f"{part}.c", "-o", part]
            subprocess.run([*command, f"-Wl,-soname,{name}", *words], cwd=folder, check=True)
        subprocess.run([folder / "program", folder / "library"], check=True)
        found.append(by_peak(profile_of(folder / "program", folder / "library")))
    assert set(found[0]) == set(found[1]) == {3, 5}
    assert (found[0][3] == found[1][3]) == ("library" in with_ids)
    assert (found[0][5] == found[1][5]) == ("program" in with_ids)


def test_flags_of_pkg_config(folder):
    """Those that the compiler of the same LLVM needs."""

    def told(*words):
        env = {**os.environ, "PKG_CONFIG_PATH": f"{PREFIX}/lib/pkgconfig"}
        done = subprocess.run(["pkg-config", *words, "hybridmem-sites"], capture_output=True, check=True, env=env)
        return shlex.split(done.stdout.decode())

    clang = told("--variable=clang")
    subprocess.run([*clang, *told("--cflags"), "-O2", "-pthread", "-c", "probe.c"], cwd=folder, check=True)
    subprocess.run([*clang, "probe.o", "-pthread", *told("--libs"), "-o", "flags"], cwd=folder, check=True)
    compiler("hybridmem-cc", "-O2", "-pthread", "probe.c", "-o", "wrapper", cwd=folder)
    flags, wrapper = (by_peak(profile_of(folder / name, "hot", "0")) for name in ("flags", "wrapper"))
    assert flags == wrapper and set(flags) == CALLERS


@pytest.mark.parametrize("name", ["hybridmem-cc", "hybridmem-c++", "hybridmem-fc"])
def test_options_of_the_compilers(name):
    text = compiler(name, "--help").stdout
    assert text.startswith(f"Usage: {name} ") and max(map(len, text.splitlines())) <= 80
    assert all(f"-fhybridmem-{word}" in text for word in ("context=N", "growth=PERCENT", "report"))
    for option, wanted in (("context", "1 to 10"), ("growth", "0 to 100000")):
        for wrong in ("", "x", "-1", "11.5", "999999999999999999999"):
            done = compiler(name, f"-fhybridmem-{option}={wrong}", status=1)
            said = f"{name}: -fhybridmem-{option}={wrong}: use a whole number from {wanted}\n"
            assert (done.stdout, done.stderr) == ("", said)
    said = compiler(name, "-fhybridmem-contxt=2", status=1).stderr
    assert "-fhybridmem-contxt=2 is no option: use -fhybridmem-context=N" in said


def test_what_is_not_linked_has_no_words_of_the_linker(folder):
    """Clang warns of such words, also where -c is in a file of options; a header would be two files by them."""
    (folder / "options").write_text("-c probe.c -o probe.o")
    compiler("hybridmem-cc", "-Werror", "@options", cwd=folder)
    (folder / "probe.h").write_text("#include <stdlib.h>\n")
    compiler("hybridmem-cc", "-Werror", "-x", "c-header", "probe.h", "-o", "probe.h.pch", cwd=folder)


FIELD = """
module wrapper
contains
  subroutine take(values, n)
    real(8), allocatable, intent(out) :: values(:)
    integer, intent(in) :: n
    allocate(values(n))
    values = 1
  end subroutine
end module
program field
  use wrapper
  real(8), allocatable :: one(:), two(:)
  call take(one, 400000)
  call take(two, 800000)
  print '(I0)', int(sum(one) + sum(two))
end program
"""


def test_fortran_or_why_not(tmp_path):
    """Flang of LLVM 15 and earlier takes no pass. Where it does, copies of a wrapper tell its callers apart."""
    source = tmp_path / "field.f90"
    source.write_text(FIELD)
    flang = re.search(r"^compiler=(.*)$", (PREFIX / "bin" / "hybridmem-fc").read_text(), re.MULTILINE)[1]
    if not os.access(flang, os.X_OK) and "HYBRIDMEM_FLANG" not in os.environ:
        done = compiler("hybridmem-fc", source, status=1)
        assert re.fullmatch(rf"hybridmem-fc: there is no {flang}: [^\n]*\(flang, of LLVM 16 or later\)\n", done.stderr)
        return

    def sites(name, *words):
        compiler("hybridmem-fc", *words, source, "-o", tmp_path / name, f"-Wl,-soname,{name}", cwd=tmp_path)
        assert subprocess.run([tmp_path / name], capture_output=True, text=True, check=True).stdout == "1200000\n"
        found = by_peak(profile_of(tmp_path / name))
        return {peak * MIB: site for peak, site in found.items() if peak > 1}  # flang's own library is in the program

    first, second = (sites(name, "-O2") for name in ("first", "second"))
    assert first == second and set(first) == {8 * 400000, 8 * 800000}
    # -O2 would inline the wrapper into its callers
    assert set(sites("copies", "-O0", "-fhybridmem-context=2")) == {8 * 400000, 8 * 800000}
    assert set(sites("alone", "-O0", "-fhybridmem-context=1")) == {8 * 1200000}
