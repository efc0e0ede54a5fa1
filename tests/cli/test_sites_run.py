# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem sites run: that programs run as ever, what is said where they cannot be seen, and what is left."""

import json
import os
import re
import resource
import signal
import subprocess
from fnmatch import fnmatchcase as fnmatch

import pytest
from guiding import PROBE, misfits
from installed import LEAKS, LIBEXEC, PREFIX, helper, with_mounts
from noperf import no_perf_events
from siteprofiles import MIB, by_peak, skip_without_samples
from test_preload import with_own_malloc

CALLERS = 8  # of xmalloc; caller n allocates n + 1 MiB


REBUILT = """
#include <stdlib.h>
#include <string.h>
#define MIB ((size_t)1 << 20)
static volatile char used;
#define NOINLINE __attribute__((noinline))
NOINLINE static void use(char *memory, size_t bytes) { memset(memory, 1, bytes); used = memory[0]; }
#ifdef NEW
NOINLINE static void added(void) { use(malloc(5 * MIB), 5 * MIB); }
#else
NOINLINE static void removed(void) { use(malloc(6 * MIB), 6 * MIB); }
#endif
NOINLINE static void grown(void) { size_t bytes = SIZE; use(malloc(bytes), bytes); }
NOINLINE static void kept(void) { use(malloc(3 * MIB), 3 * MIB); }
int main(void)
{
#ifdef NEW
    added();
#else
    removed();
#endif
    grown();
    kept();
    return 0;
}
"""


def test_sites_of_two_builds_are_matched_by_functions(tmp_path):
    source = tmp_path / "rebuilt.c"
    source.write_text(REBUILT)
    for name, flags in {"old": ["-DSIZE=2*MIB"], "new": ["-DNEW", "-DSIZE=4*MIB"]}.items():
        program = tmp_path / name
        subprocess.run(["gcc", "-g", "-O1", *flags, "-o", program, source], check=True)
        helper("hybridmem-sites", "run", "-o", f"{program}.json", "--", program)
    diff = json.loads(helper("hybridmem-sites", "diff", "--json", tmp_path / "old.json", tmp_path / "new.json").stdout)
    assert not diff["same_build"] and diff["matched_by_name"] == 2
    peaks = {
        tuple(side and side["peak_bytes"] // MIB for side in (site["old"], site["new"])): site["what"]
        for site in diff["sites"]
    }
    assert (peaks[2, 4].split(",")[0], peaks[None, 5], peaks[6, None]) == ("peak", "came", "went")


def test_the_library_exports_what_it_replaces_and_wants_only_libc():
    library = PREFIX / "lib" / "hybridmem" / "libhybridmem-sites.so"
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    allocating = "aligned_alloc calloc free hybridmem_site malloc malloc_usable_size memalign posix_memalign realloc"
    others = "_Exit __register_atfork _exit dlclose mmap mmap64 mremap munmap"
    assert sorted(re.findall(r" [A-Z] (\w+)", symbols)) == sorted(f"{allocating} {others}".split())
    needed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"NEEDED.*\[(\S+)\]", needed)) <= {"libc.so.6", "libdl.so.2", "libpthread.so.0"}


def test_the_exit_status_is_the_programs(probe, sites_run):
    profile, done = sites_run(probe, "status", status=7)
    assert profile["exit_code"] == 7
    assert (
        done.stderr
        == f"hybridmem sites run: {probe} has allocated nothing that was seen: it may have a malloc of its own\n"
    )
    assert sites_run(probe, "abort", status=-signal.SIGABRT)[0]["exit_code"] == 128 + signal.SIGABRT
    site = by_peak(sites_run(probe, "abort", status=-signal.SIGABRT)[0])[3]
    assert site["allocations"] == 1 and site["alive"]  # the recorder has noted its end


def test_a_malloc_that_tells_no_sizes(tmp_path, sites_run):
    """Libc is not asked for the sizes of another's memory. What the library maps is seen."""
    profile, done = sites_run(with_own_malloc(tmp_path))
    assert done.stdout == "grows\n" and by_peak(profile).keys() == {64}


def test_input_and_output_are_the_programs(sites_run):
    _, done = sites_run("sh", "-c", "cat; echo $1 >&2", "sh", "word", input="text")
    assert (done.stdout, done.stderr) == ("text", "word\n")


def test_nothing_of_the_recording_is_left(tmp_path, probe):
    """The command has a /dev/shm of its own, where the recording is."""
    line = f"{LIBEXEC}/hybridmem-sites run -o {tmp_path}/p.json -- {probe} $0; ls -A /dev/shm"
    for what in ("forks", "abort"):
        words = with_mounts("mount -t tmpfs none /dev/shm", "sh", "-c", line, what)
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert done.stdout == "" and (tmp_path / "p.json").exists()


def test_what_a_killed_recorder_has_left_is_removed_by_the_next(tmp_path, probe):
    """But not what another still uses."""
    run = f"{LIBEXEC}/hybridmem-sites run -o {tmp_path}"
    line = (
        f"{run}/a -- sleep 60 & until [ $(ls /dev/shm | wc -l) = 1 ]; do sleep 0.01; done; "
        f"{run}/b -- sh -c 'kill -9 $PPID'; ls /dev/shm | wc -l; "
        f"{run}/c -- {probe}; ls /dev/shm | wc -l; kill $!; wait; ls -A /dev/shm"
    )
    words = with_mounts("mount -t tmpfs none /dev/shm", "bash", "-c", line)
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == "2\n1\n"


def test_without_a_source(probe, sites_run):
    profile, done = sites_run(probe, "hot", "0.05", options=["--rate", "1/4096"], preexec_fn=no_perf_events)
    said = "hybridmem sites run: --rate 1/4096 is not what was sampled: nothing is sampled here\n"
    assert done.stderr.count(said) == 1
    sampling = profile["sampling"]
    assert sampling["source"] is None and sampling["samples"] is None
    assert sampling["why"].startswith("perf: ") and "; clock: " in sampling["why"]
    assert all(site["accesses"] is None and site["confidence"] is None for site in profile["sites"])
    assert len(by_peak(profile)) == CALLERS
    assert "damon" not in sampling["why"]
    profile, _ = sites_run(probe, "hot", "0.05", options=["--broker", "/none"], preexec_fn=no_perf_events)
    why = "; damon: the DAMON broker does not answer at /none: No such file or directory"
    assert profile["sampling"]["why"].endswith(why) and profile["sampling"]["source"] is None


def test_programs_that_cannot_have_the_library(tmp_path, sites_run):
    for path, why in misfits(tmp_path):
        profile, done = sites_run(path, status=3)
        said = f"hybridmem sites run: {path} {why}: its allocations cannot be seen, and are not in the profile\n"
        assert fnmatch(done.stderr, said)
        assert profile["sites"] == [] and profile["processes"] == 0
        assert fnmatch(profile["sampling"]["why"], f"the program {why}")


def test_what_cannot_be_run_leaves_the_old_profile(tmp_path, probe):
    old = tmp_path / "old.json"
    old.write_text("old")
    for program, status, said in [
        ("./none", 127, "./none cannot be run: No such file or directory"),
        ("no-such-program", 127, "no-such-program: there is no such program in PATH"),
        ("/", 126, "/ cannot be run: Permission denied"),
    ]:
        done = helper("hybridmem-sites", "run", "-o", old, "--", program, status=status)
        assert done.stderr == f"hybridmem sites run: {said}\n"
    assert old.read_text() == "old" and list(tmp_path.iterdir()) == [old]
    done = helper("hybridmem-sites", "run", "-o", tmp_path / "none" / "p.json", "--", probe, status=125)
    assert done.stderr == f"hybridmem sites run: {tmp_path}/none/p.json: No such file or directory\n"
    done = helper("hybridmem-sites", "run", "-o", tmp_path, "--", probe, status=125)
    assert "it is no regular file" in done.stderr


def test_without_room_there_is_no_profile(tmp_path):
    """No file may have more than 4 KiB."""
    path = tmp_path / "p.json"
    limit = (4096, 4096)

    def limit_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)

    done = subprocess.run(
        [LIBEXEC / "hybridmem-sites", "run", "-o", path, "--", "true"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], **LEAKS},
        preexec_fn=limit_files,
    )
    assert done.returncode == 125 and done.stderr.count("\n") == 1 and not path.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--", "true"], "-o is missing: name the profile, as in: hybridmem sites run -o app.json -- ./app"),
        (["-o", "p"], "the program is missing: give one, as in: hybridmem sites run -o app.json -- ./app"),
        (["-o", "p", "--least", "1M", "true"], '--least: "1M" is out of range: use 1 to 512K'),
        (["-o", "p", "--overhead", "90%", "true"], '--overhead: "90%" is out of range: use 0.01% to 50%'),
        (
            ["-o", "p", "--rate", "4096", "true"],
            '--rate: "4096" is no rate: write 1/N with N from 100 to 1099511627776, as in 1/4096',
        ),
        (
            ["-o", "p", "--source", "idle", "true"],
            '--source: "idle" is no source of samples of sites: use auto, perf, clock or damon',
        ),
        (["-o", "p", "--broker", "sock", "true"], '--broker: "sock" is no absolute path of a socket'),
    ],
)
def test_wrong_usage(words, said):
    assert helper("hybridmem-sites", "run", *words, status=2).stderr == f"hybridmem sites run: {said}\n"


def test_people_read_functions_and_lines(tmp_path, sites_run):
    """Where the program has debug information, and is still the build that was run."""
    path, words = tmp_path / "probe", ["-g", "-O1", "-pthread", PROBE]
    subprocess.run(["gcc", "-o", path, *words], check=True)
    sites_run(path, "abort", status=-signal.SIGABRT)
    paths = {"env": {"PATH": os.environ["PATH"]}}
    shown = helper("hybridmem-sites", "show", tmp_path / "profile.json", **paths).stdout
    assert re.search(r"xmalloc \(sites-probe\.h:\d+\) < caller_2 \(sites-probe\.c:\d+\)", shown), shown
    planned = helper("hybridmem-sites", "show", tmp_path / "profile.json", env={"PATH": "/none"}).stdout
    assert re.search(r"probe\+0x\w+ < probe\+0x\w+", planned), planned
    subprocess.run(["gcc", "-DOTHER", "-O2", "-o", path, *words], check=True)
    assert "xmalloc" not in helper("hybridmem-sites", "show", tmp_path / "profile.json", **paths).stdout


def test_a_plan_of_what_was_run(probe, sites_run, tmp_path):
    """One site is used whole, of another two slices are."""
    profile, _ = sites_run(probe, "hot", "0.3")
    skip_without_samples(profile)
    path = tmp_path / "profile.json"
    plan = json.loads(helper("hybridmem-sites", "plan", "--fast", "2560K", "--json", path).stdout)
    whole, part = (by_peak(profile)[peak]["id"] for peak in (2, 8))
    assert sorted(plan["fast"]) == sorted([whole, part]) and plan["expected_share"] > 0.6
    assert plan["parts"] == [{"id": part, "slices": [0, 1], "bytes": MIB // 2}]
    assert helper("hybridmem-sites", "check", "--program", probe, path).returncode == 0
