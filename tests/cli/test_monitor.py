# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem-monitor on a folder of files that look like a job's cgroup."""

import struct
import subprocess
import time
from pathlib import Path

import pytest
import samplesfile
from installed import check_root
from monitoring import MIB, MONITOR, Job, ends, wait_for
from sysfstree import as_user


def test_samplesfile_py_has_the_layout_of_the_monitor(job):
    with job.monitor() as process:
        job.wait_samples()
        process.terminate()
        ends(process)
    assert bytes(job.read().tier_name[1].value) == b"tier1"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--samples-fd, --cgroup and --guard are needed"),
        (["--samples-fd=3", "--cgroup=/", "--guard=/x", "more"], "no other words"),
        (["--samples-fd=x"], "number of an open descriptor"),
        (["--samples-fd="], "number of an open descriptor"),
        (["--samples-fd=-1"], "number of an open descriptor"),
        (["--samples-fd=99999999999999999999"], "number of an open descriptor"),
        (["--allow-root"], "unrecognized option"),
        (["--uid=0"], "not root"),
        (["--gid=x"], "not root"),
        (["--uid=4294967295"], "not root"),
        (["--samples-fd=3", "--cgroup=/", "--guard=/x", "--uid=1", "--gid=1"], "are for root"),
        (["--samples-fd=3", "--cgroup=/", "--guard=/x", "--shares=/x"], "--shares and --job go together"),
        (["--job=0"], "the number of a job"),
    ],
)
def test_wrong_arguments(words, said):
    done = subprocess.run([MONITOR, *words], capture_output=True, text=True, check=False, **as_user())
    assert done.returncode == 2 and said in done.stderr


def test_a_descriptor_that_is_no_samples_file(job):
    job.samples.write_bytes(bytes(job.samples.stat().st_size))
    with job.monitor() as process:
        assert "magic" in process.communicate(timeout=20)[1] and process.returncode == 1
    job.samples.write_bytes(b"short")
    with job.monitor() as process:
        assert "is no samples file" in process.communicate(timeout=20)[1] and process.returncode == 1


def test_root_is_refused():
    check_root()
    for words in ([], ["--uid=1"], ["--gid=1"]):
        done = subprocess.run(
            [MONITOR, "--samples-fd=3", "--cgroup=/", "--guard=/x", *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2 and "must not stay root" in done.stderr


def test_figures_by_tier(job):
    with job.monitor() as process:
        job.wait_samples()
        job.uses(
            anon=(64 * MIB, 32 * MIB, 16 * MIB, 8 * MIB),
            file=(4 * MIB, 0, 2 * MIB, 0),
            shmem=(MIB, 0, 0, 0),
            pagetables=(4096, 0, 0, 0),
            slab_reclaimable=(0, 8192, 0, 0),
        )
        job.wait_samples(2)
        job.uses(anon=(0, 0, 0, 0), file=(0, 0, 0, 0))
        job.wait_samples(2)
        process.terminate()
        ends(process)
    found = job.read()
    fast, slow = found.peak[0], found.peak[1]
    assert (fast.anon, fast.file, fast.shmem, fast.kernel) == (96 * MIB, 3 * MIB, MIB, 12288)
    assert (slow.anon, slow.file, slow.shmem, slow.kernel) == (24 * MIB, 2 * MIB, 0, 0)
    assert list(found.tier_peak[:2]) == [100 * MIB + 12288, 26 * MIB]
    assert (found.peak_source, found.memory_peak) == (1, 8 * MIB)
    assert found.finished == 1 and found.missing == b"" and found.has_hugetlb == 0
    assert 0 < found.tier_sum[0] < 101 * MIB * (found.last_mono_ns - found.first_mono_ns) / 1e9


def test_samples_lie_on_the_nodes_clock(open_folder):
    """Two monitors of a node that started at different times sample at the same instants."""
    jobs = []
    for name in ("a", "b"):
        (open_folder / name).mkdir()
        jobs.append(Job(open_folder / name, 200))
    with jobs[0].monitor():
        jobs[0].wait_samples(3)
        with jobs[1].monitor():
            jobs[1].wait_samples(8)
            for job in jobs:
                # The smallest of several delays counts, so that the bound can be tight although a busy machine may wake
                # the monitor late.
                late = min(job.wait_samples().last_mono_ns % 200_000_000 for _ in range(5))
                assert late < 40_000_000, f"sampled {late / 1e6:.1f} ms after the tick"


def test_early_samples_and_a_point_per_interval(job):
    samplesfile.create(job.samples, 60_000)
    with job.monitor() as process:
        found = wait_for(lambda: (now := job.read()).n_samples >= 5 and now, "early sample")
        # The first samples are taken after 0, 10, 20, 40, 80 ms and so on, so that even a job of a tenth of a second
        # has some. They are one point of the series, or two points if the node's clock ticks meanwhile.
        assert found.last_mono_ns - found.first_mono_ns >= 70_000_000
        assert 1 <= found.n_points <= 2
        assert process.poll() is None


def shares(rows):
    """A table of shares (helpers/core/share/shares.h): {row: (job, weight, cap, bytes in fast, in slow)}."""
    free = (0, 0, 0, 0, 0)
    return struct.pack("=4I", 0x484D4631, 1, 16 + 128 * 40, 0) + b"".join(
        struct.pack("=I4x4Q", *rows.get(row, free)) for row in range(128)
    )


def test_it_tells_other_jobs_what_this_one_uses(job, tmp_path):
    """Without page cache, which migrators do not move. Rows of other jobs stay as they are."""
    check_root()
    table, unknown = tmp_path / "shares", samplesfile.NONE
    table.write_bytes(shares({0: (8, 1, unknown, 5, 6), 3: (7, 3, 9, unknown, unknown)}))
    with job.monitor(become=True, words=[f"--shares={table}", "--job=7"]) as process:
        job.wait_samples()
        assert table.read_bytes() == shares({0: (8, 1, unknown, 5, 6), 3: (7, 3, 9, 4 * MIB, 2 * MIB)})
        job.uses(anon=(MIB, MIB, 0, MIB), file=(4 * MIB, 0, 0, 0), shmem=(MIB, 0, 0, 0))
        expected = shares({0: (8, 1, unknown, 5, 6), 3: (7, 3, 9, 3 * MIB, MIB)})
        wait_for(lambda: table.read_bytes() == expected, "new figures")
        process.terminate()
        ends(process)
    with job.monitor(become=True, words=[f"--shares={tmp_path}/none", "--job=7"]) as process:  # it samples all the same
        job.wait_samples()
        process.terminate()
        ends(process)


def test_missing_files_are_named_and_taken_when_they_come(job):
    numa_stat = job.folder / "memory.numa_stat"
    numa_stat.unlink()
    (job.folder / "memory.peak").unlink()
    with job.monitor() as process:
        found = wait_for(lambda: (now := job.read()).missing and now, "word of what is missing")
        assert found.missing.startswith(b"memory.numa_stat") and found.n_samples == 0
        assert (found.peak_source, found.n_points) == (0, 0)
        (job.folder / "memory.current").write_text("4096\n")
        wait_for(lambda: job.read().peak_source == 2, "peak from memory.current")
        job.uses(anon=(MIB, 0, 0, 0), file=(0, 0, 0, 0))
        # What was not measured before stays reported.
        assert job.wait_samples().missing.startswith(b"memory.numa_stat")
        process.terminate()
        ends(process)


def test_a_peak_of_samples_does_not_fall(job):
    """Linux before 5.19 has no memory.peak: the largest memory.current that was seen takes its place."""
    (job.folder / "memory.peak").unlink()
    current = job.folder / "memory.current"
    current.write_text("8192\n")
    with job.monitor() as process:
        wait_for(lambda: job.read().memory_peak == 8192, "the peak")
        current.write_text("4096\n")
        found = job.wait_samples(2)
        process.terminate()
        ends(process)
    assert (found.peak_source, found.memory_peak) == (2, 8192)


def test_without_a_controller_it_idles(job):
    """A monitor without anything to read must not spin: it wakes at most once in an interval."""
    for path in job.folder.glob("memory.*"):
        path.unlink()
    samplesfile.create(job.samples, 100)
    with job.monitor() as process:
        wait_for(lambda: job.read().missing, "word of what is missing")
        # after the early samples at 10, 20, 40, 80 ms
        wait_for(lambda: switches(process.pid) >= 8, "its ordinary pace")
        # A switch may have another cause, such as a page that is read in. Therefore many switches are counted, and half
        # as many more are allowed.
        before, start = switches(process.pid), time.monotonic()
        wait_for(lambda: switches(process.pid) >= before + 24, "wake-ups", seconds=60)
        intervals = (time.monotonic() - start) / 0.1
        assert 1.5 * intervals >= 24
        assert process.poll() is None


def switches(pid):
    """How often the process has gone to sleep."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("voluntary_ctxt")))


def test_nobody_else_can_look_at_it(job):
    check_root()
    with job.monitor() as process:
        job.wait_samples()
        # It is not dumpable: even its own user may not read its memory map or attach to it.
        reading = subprocess.run(
            ["cat", f"/proc/{process.pid}/maps"], capture_output=True, text=True, check=False, **as_user()
        )
        assert reading.returncode != 0 and reading.stdout == ""
