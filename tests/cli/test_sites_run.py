# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem sites run, with programs whose allocations are known (sites-*.c)."""

import json
import math
import os
import re
import resource
import signal
import subprocess
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path

import pytest
from guiding import PROBE, misfits
from installed import LEAKS, LIBEXEC, PREFIX, helper, with_mounts
from noperf import no_perf_events
from siteprofiles import MIB, VALIDATOR, by_peak
from test_preload import with_own_malloc

CALLERS = 8  # of xmalloc; caller n allocates n + 1 MiB


@pytest.fixture
def run(tmp_path):
    """Runs a program, and returns its profile and what was said."""

    def run_it(*words, status=0, options=(), **more):
        output = tmp_path / "profile.json"
        done = helper("hybridmem-sites", "run", "-o", output, *options, "--", *words, status=status, **more)
        assert list(tmp_path.glob("profile.json*")) == [output]
        profile = json.loads(output.read_text())
        VALIDATOR.validate(profile)
        return profile, done

    return run_it


def ids(profile):
    return {site["id"] for site in profile["sites"]}


def skip_without_samples(profile):
    """Where the kernel refuses all sources, the profile says why."""
    if profile["sampling"]["source"] is None:
        assert profile["sampling"]["why"]
        pytest.skip(f"no source of samples: {profile['sampling']['why']}")


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


def test_a_profile_says_when_a_site_has_memory(programs, run):
    """The program goes on when the recorder has looked, so a machine that stalls makes the run longer only. All that
    the two sites can have in common is the time between two looks, which is one slot of the recording: 20 ms, or twice
    as much as long as the run has more than 256."""
    profile, _ = run(programs("looks"), "phases", preexec_fn=no_perf_events, timeout=60)  # samples would add looks
    found = by_peak(profile)
    first, second = ({part for part, size in enumerate(found[peak]["series"]) if size} for peak in (9, 11))
    slot = 0.02
    while profile["elapsed_s"] / slot >= 256:
        slot *= 2
    assert slot / profile["elapsed_s"] < 1 / 16
    assert max(first) - min(second) <= 32 * slot / profile["elapsed_s"] + 1
    assert {max(found[peak]["series"]) for peak in (9, 11)} == {9 * MIB, 11 * MIB}
    assert min(first) <= max(first) < max(second)
    early, late = (found[peak]["alive"] for peak in (9, 11))
    assert 0 < early["from"] < early["to"] <= late["from"] < late["to"] <= 1


def test_a_profile_says_what_was_touched(programs, run, tmp_path):
    """Of a mapping of 8 MiB a quarter, of one of 9 MiB nothing, of one of 3 MiB all, and a shared one counts in full.
    The program goes on when the recorder has looked. Linux before 6.7 does not tell the zero page, which it reads, from
    others."""
    tells_zero = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (6, 7)
    zero = 0 if tells_zero else os.sysconf("SC_PAGE_SIZE") / MIB
    profile, _ = run(programs("looks"), "untouched", options=["--overhead=50%"], preexec_fn=no_perf_events, timeout=60)
    found = {peak: site["resident"] for peak, site in by_peak(profile).items()}
    assert {peak: found[peak]["peak_bytes"] / MIB for peak in (3, 5, 8, 9)} == {3: 3, 5: 5, 8: 2, 9: zero}
    assert found[8]["slices"] == list(range(4, 12)) and found[5]["slices"] is None
    assert 0 < found[8]["mean_bytes"] <= 2 * MIB and max(found[8]["series"]) == 2 * MIB
    assert 10 * MIB <= profile["resident_peak_bytes"] < 11 * MIB < profile["peak_bytes"]
    shown = helper("hybridmem-sites", "show", tmp_path / "profile.json").stdout
    assert re.search(r"^5 sites, 25\.0 MiB at their peak, 10\.\d MiB of it resident, in ", shown)
    assert re.search(r" 8\.0 MiB +2\.0 MiB ", shown)


def test_the_library_exports_what_it_replaces_and_wants_only_libc():
    library = PREFIX / "lib" / "hybridmem" / "libhybridmem-sites.so"
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    allocating = "aligned_alloc calloc free hybridmem_site malloc malloc_usable_size memalign posix_memalign realloc"
    others = "_Exit __register_atfork _exit dlclose mmap mmap64 mremap munmap"
    assert sorted(re.findall(r" [A-Z] (\w+)", symbols)) == sorted(f"{allocating} {others}".split())
    needed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"NEEDED.*\[(\S+)\]", needed)) <= {"libc.so.6", "libdl.so.2", "libpthread.so.0"}


def test_callers_of_one_wrapper_are_told_apart(probe, run):
    profile, done = run(probe, "hot", "0.3")
    assert (done.stdout, done.stderr) == ("", "")
    sites = by_peak(profile)
    assert sorted(sites) == list(range(1, CALLERS + 1))
    assert len({site["frames"][0]["offset"] for site in sites.values()}) == 1  # in xmalloc
    assert len({site["frames"][1]["offset"] for site in sites.values()}) == CALLERS
    names = {Path(profile["objects"][site["frames"][1]["object"]]["path"]) for site in sites.values()}
    assert names == {probe}
    assert all(site["allocations"] == 1 and site["mean_bytes"] <= site["peak_bytes"] for site in sites.values())
    assert profile["peak_bytes"] == 36 * MIB


def test_the_memory_that_is_used_has_the_accesses(probe, run):
    profile, _ = run(probe, "hot", "1")
    skip_without_samples(profile)
    accesses = {peak: site["accesses"] for peak, site in by_peak(profile).items()}
    everything = sum(accesses.values()) + profile["sampling"]["elsewhere"]
    count = profile["sampling"]["samples"]
    assert count >= 20  # as few as a busy machine may take in a second

    def least(share):
        """What a share is at least in all but one of 30000 runs, by the number of samples."""
        return share - 4 * math.sqrt(share * (1 - share) / count)

    # Of the time, a part is that of the probe's beginning; of what is left, caller 7's has a fifth to a quarter
    assert accesses[2] + accesses[8] > least(0.85) * everything
    assert accesses[2] > least(0.6) * everything
    assert accesses[8] > max(least(0.15), 0) * everything
    for site in profile["sites"]:
        assert (
            site["confidence"]["low"] <= site["samples"] / profile["sampling"]["samples"] <= site["confidence"]["high"]
        )


def test_sites_that_share_pages_are_told_apart(probe, run):
    profile, _ = run(probe, "neighbours")
    skip_without_samples(profile)
    hot, cold = (
        next(site for site in profile["sites"] if site["frames"] and site["peak_bytes"] == 400 * size)
        for size in (8192, 10240)
    )
    assert hot["samples"] >= 20  # as few as a busy machine may take in a second
    assert cold["samples"] < 0.1 * hot["samples"]  # but for those of the probe's beginning


def test_sites_are_the_same_in_each_run(programs, run):
    assert ids(run(programs("ends"), "lives")[0]) == ids(run(programs("ends"), "lives")[0])


def test_allocations_and_their_ends(programs, run):
    profile, _ = run(programs("ends"), "lives")
    places = sorted((site["allocations"], site["peak_bytes"] // MIB) for site in profile["sites"] if site["frames"])
    # caller 0, calloc and realloc, caller 1 and aligned_alloc, posix_memalign, mmap
    assert places == sorted([(10, 1), (1, 3), (1, 3), (1, 2), (1, 2), (1, 1), (1, 8)])
    small = {site["class_bytes"]: site for site in profile["sites"] if not site["frames"]}
    assert small[64]["allocations"] >= 500 and small[128]["allocations"] >= 500
    assert small[128]["peak_bytes"] >= 500 * 100
    assert all(site["accesses"] is None and site["lifetime_s"] is None for site in small.values())
    assert profile["left_out"] == 0


def test_threads(programs, run):
    profile, _ = run(programs("forks"), "threads")
    counts = sorted(site["allocations"] for site in profile["sites"] if site["frames"])
    assert counts == [4, 800]
    assert all(site["peak_bytes"] <= 4 * MIB for site in profile["sites"])


def test_children(programs, run):
    """A child's memory is its own; what it has from its parent is not counted twice."""
    profile, _ = run(programs("forks"), "forks")
    assert profile["processes"] == 4
    assert {peak: site["allocations"] for peak, site in by_peak(profile).items()} == {4: 1, 5: 3}
    assert profile["peak_bytes"] == 9 * MIB


@pytest.mark.parametrize("what", ["exec", "close"])
def test_a_program_that_executes_another_or_closes_all(programs, run, what):
    profile, _ = run(programs("ends"), what)
    assert ids(profile) >= ids(run(programs("ends"), "lives")[0])
    assert profile["processes"] == (2 if what == "exec" else 1)


def test_a_program_that_is_executed_after_others_is_watched(programs, run):
    """As by wrapper scripts: the recorder keeps the file of the last program that a process executes."""
    profile, _ = run(programs("looks"), "chain", "3", timeout=60)
    assert profile["processes"] == 4
    assert by_peak(profile)[3]["allocations"] == 1


def test_a_handler_that_forks_in_an_allocation(programs, run):
    profile, done = run(programs("forks"), "handler", timeout=20)
    assert (done.stdout, done.stderr) == ("", "")
    assert profile["processes"] >= 1


def test_a_fork_that_waits_for_a_lock_of_the_programs(programs, run):
    profile, done = run(programs("forks"), "orders", timeout=20)
    assert (done.stdout, done.stderr) == ("", "")
    assert profile["processes"] >= 1


def test_a_child_of_a_process_with_threads_meets_no_new_site(programs, run):
    """A thread that the child does not have may have the loader's lock, as here. The child's two are left out."""
    profile, done = run(programs("forks"), "loader", timeout=20)
    assert profile["left_out"] == 2
    assert re.search(r"as their site was new in a child of a process with threads, .*: 2\n$", done.stderr)


def test_a_limit_of_files_does_not_end_the_program(programs, run):
    profile, done = run(programs("ends"), "limit")
    assert profile["left_out"] > 0
    assert done.stderr.endswith(f"as there was no room: {profile['left_out']}\n") and done.stderr.count("\n") == 1


def test_a_call_that_unmaps_nothing(programs, run):
    assert run(programs("mappings"), "mappings")[0]["peak_bytes"] == 8 * MIB


def test_a_program_that_cuts_off_the_recording(programs, run):
    profile, done = run(programs("looks"), "cut")
    said = "has cut off the recording: the profile has only a part of what it did"
    assert done.stderr == f"hybridmem sites run: {programs('looks')} {said}\n"
    assert profile["sites"] == []


def test_mappings_that_grow(programs, run):
    """They stay allocations of their sites, which end once."""
    profile, _ = run(programs("mappings"), "remapped")
    site = by_peak(profile)[18]
    assert (site["allocations"], profile["peak_bytes"] // MIB) == (3, 18)
    assert 0 < site["lifetime_s"] < profile["elapsed_s"] / 3
    assert 9 * MIB * site["lifetime_s"] < site["mean_bytes"] * profile["elapsed_s"] / 3 < 18 * MIB * site["lifetime_s"]


def test_a_mapping_that_is_moved_leaves_its_addresses_to_other_sites(programs, run):
    """To those of another thread, too, which has them before mremap returns."""
    assert by_peak(run(programs("mappings"), "races")[0])[300]["allocations"] == 300


def test_a_mapping_whose_addresses_stay_its_own_is_two(programs, run):
    """Where mremap fails, nothing has changed."""
    profile, _ = run(programs("mappings"), "stays")
    assert by_peak(profile)[32]["allocations"] == 2 and 16 not in by_peak(profile)


def test_a_mapping_that_has_grown_has_no_slices(probe, run):
    """It is placed by its first size, so its slices would not be where they were seen."""
    sites = by_peak(run(probe, "grows")[0])
    assert sites[4]["slices"] and sites[8]["accesses"] > 0 and not sites[8]["slices"]


def test_small_is_what_the_user_says(programs, run):
    profile, _ = run(programs("ends"), "lives", options=["--least", "64", "--input-class", "tiny"])
    assert profile["least_bytes"] == 64 and profile["program"]["input_class"] == "tiny"
    assert any(site["allocations"] == 500 for site in profile["sites"] if site["frames"])


def test_the_exit_status_is_the_programs(probe, run):
    profile, done = run(probe, "status", status=7)
    assert profile["exit_code"] == 7
    assert (
        done.stderr
        == f"hybridmem sites run: {probe} has allocated nothing that was seen: it may have a malloc of its own\n"
    )
    assert run(probe, "abort", status=-signal.SIGABRT)[0]["exit_code"] == 128 + signal.SIGABRT
    site = by_peak(run(probe, "abort", status=-signal.SIGABRT)[0])[3]
    assert site["allocations"] == 1 and site["alive"]  # the recorder has noted its end


def test_a_malloc_that_tells_no_sizes(tmp_path, run):
    """Libc is not asked for the sizes of another's memory. What the library maps is seen."""
    profile, done = run(with_own_malloc(tmp_path))
    assert done.stdout == "grows\n" and by_peak(profile).keys() == {64}


def test_input_and_output_are_the_programs(run):
    _, done = run("sh", "-c", "cat; echo $1 >&2", "sh", "word", input="text")
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


def test_without_a_source(probe, run):
    profile, done = run(probe, "hot", "0.05", options=["--rate", "1/4096"], preexec_fn=no_perf_events)
    said = "hybridmem sites run: --rate 1/4096 is not what was sampled: nothing is sampled here\n"
    assert done.stderr.count(said) == 1
    sampling = profile["sampling"]
    assert sampling["source"] is None and sampling["samples"] is None
    assert sampling["why"].startswith("perf: ") and "; clock: " in sampling["why"]
    assert all(site["accesses"] is None and site["confidence"] is None for site in profile["sites"])
    assert len(by_peak(profile)) == CALLERS
    assert "damon" not in sampling["why"]
    profile, _ = run(probe, "hot", "0.05", options=["--broker", "/none"], preexec_fn=no_perf_events)
    why = "; damon: the DAMON broker does not answer at /none: No such file or directory"
    assert profile["sampling"]["why"].endswith(why) and profile["sampling"]["source"] is None


def test_programs_that_cannot_have_the_library(tmp_path, run):
    for path, why in misfits(tmp_path):
        profile, done = run(path, status=3)
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


def test_people_read_functions_and_lines(tmp_path, run):
    """Where the program has debug information, and is still the build that was run."""
    path, words = tmp_path / "probe", ["-g", "-O1", "-pthread", PROBE]
    subprocess.run(["gcc", "-o", path, *words], check=True)
    run(path, "abort", status=-signal.SIGABRT)
    paths = {"env": {"PATH": os.environ["PATH"]}}
    shown = helper("hybridmem-sites", "show", tmp_path / "profile.json", **paths).stdout
    assert re.search(r"xmalloc \(sites-probe\.h:\d+\) < caller_2 \(sites-probe\.c:\d+\)", shown), shown
    planned = helper("hybridmem-sites", "show", tmp_path / "profile.json", env={"PATH": "/none"}).stdout
    assert re.search(r"probe\+0x\w+ < probe\+0x\w+", planned), planned
    subprocess.run(["gcc", "-DOTHER", "-O2", "-o", path, *words], check=True)
    assert "xmalloc" not in helper("hybridmem-sites", "show", tmp_path / "profile.json", **paths).stdout


def test_a_plan_of_what_was_run(probe, run, tmp_path):
    """One site is used whole, of another two slices are."""
    profile, _ = run(probe, "hot", "0.3")
    skip_without_samples(profile)
    path = tmp_path / "profile.json"
    plan = json.loads(helper("hybridmem-sites", "plan", "--fast", "2560K", "--json", path).stdout)
    whole, part = (by_peak(profile)[peak]["id"] for peak in (2, 8))
    assert sorted(plan["fast"]) == sorted([whole, part]) and plan["expected_share"] > 0.6
    assert plan["parts"] == [{"id": part, "slices": [0, 1], "bytes": MIB // 2}]
    assert helper("hybridmem-sites", "check", "--program", probe, path).returncode == 0
