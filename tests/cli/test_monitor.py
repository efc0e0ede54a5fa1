# SPDX-License-Identifier: Apache-2.0
"""hybridmem-monitor against a folder of files that look like a job's cgroup, and against a real cgroup."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
import samplesfile
import sysfstree
from installed import LIBEXEC

MONITOR = LIBEXEC / "hybridmem-monitor"
NOBODY = 65534
MIB = 1 << 20


def as_user():
    """The monitor does not run as root."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


def wait_for(condition, what, seconds=10):
    """The condition's value once it is true; the limit is only for tests that would hang."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"no {what} within {seconds} s"
        time.sleep(0.005)
    return value


class Job:
    """A folder with the files of a cgroup, a samples file, and monitors of them."""

    def __init__(self, folder, interval_ms):
        self.folder, self.samples = folder / "job", folder / "samples"
        self.guard = self.folder / "cgroup.events"
        self.folder.mkdir()
        self.guard.write_text("populated 1\nfrozen 0\n")
        samplesfile.create(self.samples, interval_ms)
        self.uses(anon=(4 * MIB, 0, 2 * MIB, 0), file=(MIB, 0, 0, 0))
        (self.folder / "memory.peak").write_text(f"{8 * MIB}\n")

    def uses(self, **figures):
        """What numa_stat shows, in bytes by node: put there in one write, as the monitor keeps the file open."""
        lines = [f"{key} {' '.join(f'N{n}={value}' for n, value in enumerate(by))}\n" for key, by in figures.items()]
        descriptor = os.open(self.folder / "memory.numa_stat", os.O_WRONLY | os.O_CREAT, 0o644)
        os.pwrite(descriptor, "".join(lines).ljust(1024, "\n").encode(), 0)
        os.close(descriptor)

    def read(self):
        return samplesfile.read(self.samples)

    @contextlib.contextmanager
    def monitor(self, cgroup=None, guard=None, sysfs="/sys", resctrl=None, become=False, **options):
        """With `become` it is started as root, to become a user by itself."""
        descriptor = os.open(self.samples, os.O_RDWR)
        process = subprocess.Popen(
            [
                MONITOR,
                f"--samples-fd={descriptor}",
                f"--cgroup={cgroup or self.folder}",
                f"--guard={guard or self.guard}",
                f"--sysfs={sysfs}",
                *([f"--resctrl={resctrl}"] if resctrl else []),
                *([f"--uid={NOBODY}", f"--gid={NOBODY}"] if become else []),
            ],
            pass_fds=[descriptor],
            stderr=subprocess.PIPE,
            text=True,
            **({} if become else as_user()),
            **options,
        )
        os.close(descriptor)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def wait_samples(self, more=1):
        before = self.read().n_samples
        return wait_for(lambda: (now := self.read()).n_samples >= before + more and now, "sample")

    def wait_reading(self):
        """The counters', which begins their figures; by then the monitor is the user that it becomes."""
        wait_for(lambda: self.read().n_readings > 0, "reading")


@pytest.fixture
def open_folder():
    """A folder that the monitor's user may enter; pytest's own may not be."""
    with tempfile.TemporaryDirectory(prefix="hm-monitor.") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def job(open_folder):
    return Job(open_folder, 50)


def ends(process):
    """The process ends by itself, without a word."""
    _, text = process.communicate(timeout=20)
    assert (process.returncode, text) == (0, "")


def test_the_helpers_layout_is_the_programs(job):
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
        assert "is not a samples file" in process.communicate(timeout=20)[1] and process.returncode == 1


def test_root_is_refused():
    if os.geteuid() != 0:
        pytest.fail("this test wants root, as all of tests/check does")
    for words in ([], ["--uid=1"], ["--gid=1"]):
        done = subprocess.run(
            [MONITOR, "--samples-fd=3", "--cgroup=/", "--guard=/x", *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2 and "must not stay root" in done.stderr


def zone(folder, name, joules):
    """A RAPL zone as the kernel shows it; its counter is for root alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in (("name", name), ("max_energy_range_uj", "262143328850"), ("energy_uj", f"{joules * 10**6}")):
        (folder / file).write_text(f"{text}\n")
    (folder / "energy_uj").chmod(0o400)


def count(folder, microjoules):
    """In one write, of as many digits as before: the monitor may read at any moment."""
    descriptor = os.open(folder / "energy_uj", os.O_WRONLY)
    os.pwrite(descriptor, f"{microjoules}\n".encode(), 0)
    os.close(descriptor)


def test_root_opens_the_counters_and_a_user_reads_them(job):
    """Once it is that user, it goes on reading what only root could open."""
    if os.geteuid() != 0:
        pytest.fail("this test wants root, as all of tests/check does")
    powercap = job.folder.parent / "sys" / "class" / "powercap"
    zone(powercap / "intel-rapl:0", "package-0", 100)
    zone(powercap / "intel-rapl:0" / "intel-rapl:0:0", "dram", 10)
    with job.monitor(sysfs=powercap.parents[1], become=True) as process:
        job.wait_reading()
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines())
        assert status["Uid"].split() == [str(NOBODY)] * 4 and status["Gid"].split() == [str(NOBODY)] * 4
        assert status["Groups"].split() == [] and int(status["CapPrm"], 16) == 0 and status["NoNewPrivs"] == "1"
        assert Path(f"/proc/{process.pid}/maps").stat().st_uid == 0  # not dumpable: its files are root's
        count(powercap / "intel-rapl:0", 100_060_000)
        count(powercap / "intel-rapl:0" / "intel-rapl:0:0", 10_004_500)
        wait_for(lambda: job.read().peak_w.is_known, "power")  # over a tenth of a second at least
        process.terminate()
        ends(process)
    found = job.read()
    assert [(round(figure.amount, 9), figure.is_known) for figure in found.energy] == [(0.06, 1), (0.0045, 1), (0, 0)]
    assert found.energy_source == b"powercap" and found.n_readings >= 3
    assert found.first_mono_ns < found.first_reading_ns < found.last_reading_ns
    assert b"perf-imc" in found.traffic_source


def test_counters_that_may_not_be_opened(job):
    powercap = job.folder.parent / "sys" / "class" / "powercap"
    zone(powercap / "intel-rapl:0", "package-0", 100)
    with job.monitor(sysfs=powercap.parents[1]) as process:
        job.wait_samples(2)
        process.terminate()
        ends(process)
    found = job.read()
    assert found.energy[0].is_known == 0 and b"intel-rapl:0/energy_uj: Permission denied" in found.energy_source


def test_the_jobs_own_group(job):
    """It is opened as root and read as a user; its figures begin with the first reading."""
    if os.geteuid() != 0:
        pytest.fail("this test wants root, as all of tests/check does")
    group = job.folder.parent / "hybridmem.7.0"
    made = sysfstree.Sysfs(group)
    for name in ("mbm_total_bytes", "mbm_local_bytes"):
        made.write(f"mon_data/mon_L3_00/{name}", f"{1000:011}").chmod(0o400)
    with job.monitor(resctrl=group, become=True) as process:
        job.wait_reading()
        made.write("mon_data/mon_L3_00/mbm_total_bytes", f"{51000:011}")
        made.write("mon_data/mon_L3_00/mbm_local_bytes", f"{31000:011}")
        process.terminate()
        ends(process)
    found = job.read()
    assert [(figure.amount, figure.is_known) for figure in found.group] == [(50000, 1), (30000, 1)]
    assert found.group_source == b"resctrl"


def test_a_group_that_is_gone(job):
    with job.monitor(resctrl=job.folder / "none") as process:
        job.wait_samples(2)
        process.terminate()
        ends(process)
    found = job.read()
    assert [figure.is_known for figure in found.group] == [0, 0]
    assert b"the folder of the resctrl group: No such file or directory" in found.group_source


@pytest.mark.parametrize("become", [False, True])
def test_memory_is_sampled_before_counters_are_looked_for(job, become):
    """Here that fails at once; where there are many counters it lasts, and a short job ends before."""
    if os.geteuid() != 0:
        pytest.fail("this test wants root, as all of tests/check does")
    with job.monitor(sysfs=job.folder / "none", become=become) as process:
        assert "No such file" in process.communicate(timeout=20)[1] and process.returncode == 1
    found = job.read()
    assert (found.n_samples, found.n_readings, found.finished) == (1, 0, 0)
    assert list(found.tier_peak[:2]) == [5 * MIB, 2 * MIB]


def test_no_sample_is_taken_with_roots_rights(job):
    """Not the first one either, though root is to open the counters."""
    if os.geteuid() != 0:
        pytest.fail("this test wants root, as all of tests/check does")
    job.folder.chmod(0o700)
    with job.monitor(sysfs=job.folder / "none", become=True) as process:
        assert process.wait(timeout=20) == 1
    assert b"Permission denied" in job.read().missing and job.read().n_samples == 0


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
    """Two monitors of a node that started at different moments sample at the same instants."""
    jobs = []
    for name in ("a", "b"):
        (open_folder / name).mkdir()
        jobs.append(Job(open_folder / name, 200))
    with jobs[0].monitor():
        jobs[0].wait_samples(3)
        with jobs[1].monitor():
            jobs[1].wait_samples(8)
            for job in jobs:
                # The least of some, as a busy machine may wake it late; the bound is the tighter for that.
                late = min(job.wait_samples().last_mono_ns % 200_000_000 for _ in range(5))
                assert late < 40_000_000, f"sampled {late / 1e6:.1f} ms after the tick"


def test_early_samples_and_a_point_per_interval(job):
    samplesfile.create(job.samples, 60_000)
    with job.monitor() as process:
        found = wait_for(lambda: (now := job.read()).n_samples >= 5 and now, "early sample")
        # 0, 10, 20, 40, 80 ms and later: a job of a tenth of a second is seen, and has one point (two, over a tick).
        assert found.last_mono_ns - found.first_mono_ns >= 70_000_000
        assert 1 <= found.n_points <= 2
        assert process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_told_to_end_it_takes_a_last_sample(job, number):
    samplesfile.create(job.samples, 3_600_000)
    with job.monitor() as process:
        job.wait_samples()
        job.uses(anon=(0, 0, 0, 77 * MIB), file=(0, 0, 0, 0))
        process.send_signal(number)
        ends(process)
    assert job.read().tier_last[1] == 77 * MIB and job.read().finished == 1


def test_signals_blocked_by_the_parent_are_taken(job):
    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    with job.monitor(preexec_fn=block) as process:
        job.wait_samples()
        process.terminate()
        ends(process)


def test_ends_with_the_guards_processes(job):
    with job.monitor() as process:
        job.wait_samples()
        job.guard.write_text("populated 0\nfrozen 0\n")
        ends(process)
    assert job.read().finished == 1 and job.read().missing == b""


def test_ends_when_the_guard_vanishes(job):
    with job.monitor() as process:
        job.wait_samples()
        job.guard.unlink()
        ends(process)
    assert job.read().finished == 1


def test_a_guard_that_is_not_there_yet_is_waited_for(job):
    job.guard.unlink()
    with job.monitor() as process:
        job.wait_samples(3)
        job.guard.write_text("populated 0\nfrozen 0\n")
        job.wait_samples(3)
        assert process.poll() is None
        job.guard.write_text("populated 1\nfrozen 0\n")
        job.wait_samples(3)
        job.guard.write_text("populated 0\nfrozen 0\n")
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
        # What was not measured until now stays said.
        assert job.wait_samples().missing.startswith(b"memory.numa_stat")
        process.terminate()
        ends(process)


def test_without_a_controller_it_idles(job):
    """Nothing to read is no reason to spin: it wakes once an interval, if at all."""
    for path in job.folder.glob("memory.*"):
        path.unlink()
    samplesfile.create(job.samples, 100)
    with job.monitor() as process:
        wait_for(lambda: job.read().missing, "word of what is missing")
        # The early samples are behind it: 10, 20, 40, 80 ms.
        wait_for(lambda: switches(process.pid) >= 8, "its ordinary pace")
        # A switch may have another cause, such as a page to read in: hence many of them, and half as many again.
        before, start = switches(process.pid), time.monotonic()
        wait_for(lambda: switches(process.pid) >= before + 24, "wake-ups", seconds=60)
        intervals = (time.monotonic() - start) / 0.1
        assert 1.5 * intervals >= 24
        assert process.poll() is None


def switches(pid):
    """How often the process went to sleep."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("voluntary_ctxt")))


def test_nobody_else_can_look_at_it(job):
    if os.geteuid() != 0:
        pytest.fail("this test wants root, as all of tests/check does")
    with job.monitor() as process:
        job.wait_samples()
        # Not dumpable: even its own user may not read its memory map or attach to it.
        reading = subprocess.run(
            ["cat", f"/proc/{process.pid}/maps"], capture_output=True, text=True, check=False, **as_user()
        )
        assert reading.returncode != 0 and reading.stdout == ""


def cgroup2():
    """Where a cgroup can be made: the unified hierarchy's mount point."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    return next((Path(where) for _, where, kind, *_ in mounts if kind == "cgroup2" and os.access(where, os.W_OK)), None)


@pytest.fixture
def real_cgroup():
    root = cgroup2()
    if root is None:
        pytest.fail("no cgroup v2 hierarchy that can be written: mount one, or run as root")
    made = root / f"hm-test-{os.getpid()}"
    made.mkdir()
    yield made
    if made.exists():
        made.rmdir()


HOUR_MS = 3_600_000


def is_ended_by_the_event(job, cgroup):
    """A job's only process ends in a pause of the monitor's: did it end in the same?"""
    samplesfile.create(job.samples, HOUR_MS)
    sleeper = subprocess.Popen(["sleep", "1000"])
    try:
        (cgroup / "cgroup.procs").write_text(f"{sleeper.pid}\n")
        earliest = time.monotonic()
        with job.monitor(cgroup=cgroup, guard=cgroup / "cgroup.events") as process:
            wait_for(lambda: job.read().missing or job.read().n_samples, "first look", seconds=60)
            latest = time.monotonic()
            # It started between these two, and has an early sample 2.56 s later and the next 5.12 s later; the tick is
            # up to an hour away. Between the two samples only the event can wake it.
            wait_for(lambda: time.monotonic() > latest + 2.6, "long pause")
            sleeper.kill()
            sleeper.wait()
            ends(process)
            return time.monotonic() < earliest + 5.12
    finally:
        sleeper.kill()
        sleeper.wait()


def test_the_kernels_own_events_end_it(job, real_cgroup):
    """Populated by a process, then empty, long before the next sample. On a machine that was too busy for that pause
    nobody knows what woke it: again."""
    assert any(is_ended_by_the_event(job, real_cgroup) for _ in range(10))
    assert job.read().finished == 1


def test_a_cgroup_that_was_removed_before_it_came(job, real_cgroup):
    """There is nothing to wait for but the grace, and SIGTERM is heard."""
    real_cgroup.rmdir()
    samplesfile.create(job.samples, HOUR_MS)
    with job.monitor(cgroup=real_cgroup, guard=real_cgroup / "cgroup.events") as process:
        wait_for(lambda: b"hm-test" in job.read().missing, "word of the missing cgroup")
        process.terminate()
        ends(process)
