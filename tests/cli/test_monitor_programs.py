# SPDX-License-Identifier: Apache-2.0
"""Tests how a monitor asks other programs for what the node's own counters do not have; scripts stand in for the
programs. What they count is in the samples. Whatever they do, the job loses nothing but these figures."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import pytest
import samplesfile
from installed import LIBEXEC, needs_papi, needs_slurmenergy
from monitoring import ends, wait_for
from sysfstree import NOBODY, Sysfs

SLURM = "echo slurm 1 24.11.5; echo event 0 platform-energy - - J 0 acct_gather_energy/ipmi; echo ready 1\n"
PAPI = (
    "echo papi 1 7.1.0\n"
    "echo event 0 package-energy - 0 uJ 0 rapl::RAPL_ENERGY_PKG\n"
    "echo event 1 read-bytes dram 0 64B 0 cas\n"
    "echo ready 2\n"
)
COUNTS = "while read line; do echo read 1 $(cat $0.count); done\n"
HANGS = "exec sleep 1000\n"
DRAM = 1  # enum hm_kind
PACKAGE, PLATFORM = 0, 2  # enum hm_domain

# libraries whose initialization never ends
STALLED = """
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void stall(void)
{
    close(creat(getenv("STALLED"), 0600));
    for (;;)
        pause();
}

int PAPI_library_init(int version)
{
    (void)version;
    stall();
    return 0;
}

void slurm_init(const char *config)
{
    (void)config;
    stall();
}
"""


@pytest.fixture
def node(job):
    """A /sys without counters."""
    if os.geteuid() != 0:
        pytest.fail("this test wants root, as all of tests/check does")
    (job.folder.parent / "sys").mkdir()
    return Sysfs(job.folder.parent / "sys")


class Program:
    """A script that notes its process id before it writes anything."""

    def __init__(self, folder, word, script):
        self.word, self.path = word, folder / f"stand-in-{word}"
        self.path.write_text(f"#!/bin/sh\necho $$ >> $0.pids\n{script}")
        self.path.chmod(0o700)
        self.count(0)

    def count(self, *values):
        """Sets all its counters at once."""
        draft = self.path.with_suffix(".draft")
        draft.write_text(" ".join(map(str, values)) + "\n")
        draft.rename(f"{self.path}.count")

    def pid(self):
        """The script's process id; None: it was not started."""
        note = Path(f"{self.path}.pids")
        return int(note.read_text()) if note.exists() and note.read_text().endswith("\n") else None

    def is_there(self):
        stat = Path(f"/proc/{self.pid()}/stat")
        with contextlib.suppress(OSError):
            return stat.read_text().rpartition(")")[2].split()[0] not in "ZX"
        return False


@contextlib.contextmanager
def monitored(job, node, *programs):
    """Runs the job's monitor with these programs, and yields its process. Scripts that are left are killed."""
    words = [word for program in programs for word in (f"--{program.word}", program.path)]
    try:
        with job.monitor(sysfs=node.folder, become=True, words=words) as process:
            yield process
    finally:
        for program in programs:
            if program.pid() and program.is_there():
                os.kill(program.pid(), signal.SIGKILL)


def finish(job, process):
    process.terminate()
    ends(process)
    found = job.read()
    assert found.finished == 1
    return found


def wait_read(job, more=2):
    """Waits for new readings, which have the present values of the counters."""
    before = job.read().n_readings
    wait_for(lambda: job.read().n_readings >= before + more, "reading", seconds=30)


def wait_counted(job, *domains):
    """Waits until the programs' figures are known, which is after their second answer. If a program was slow to start,
    its figure is known only after a hundred times that delay."""
    wait_for(lambda: all(job.read().energy[domain].is_known for domain in domains), "figure of a program's", 120)


def wait_told(job, text):
    return wait_for(lambda: text in job.read().energy_source, text.decode(), seconds=30)


def test_what_slurm_alone_knows(job, node):
    """Slurm's figures are used beside those of powercap."""
    package = node.zone("intel-rapl:0", "package-0", 5_000_000)
    program = Program(job.folder.parent, "slurm", SLURM + COUNTS)
    program.count(1000)
    with monitored(job, node, program) as process:
        wait_counted(job, PLATFORM)
        package(8_000_000)
        program.count(1300)
        found = finish(job, process)
    assert [(figure.amount, figure.is_known) for figure in found.energy] == [(3, 1), (0, 0), (300, 1)]
    assert found.energy_source.startswith(b"powercap, slurm; memory: ")
    wait_for(lambda: not program.is_there(), "the program's end")


def test_what_papi_alone_knows(job, node):
    samples = samplesfile.read(job.samples)
    samples.tier_kind[0] = DRAM
    job.samples.write_bytes(bytes(samples))
    papi = Program(job.folder.parent, "papi", PAPI + COUNTS)
    slurm = Program(job.folder.parent, "slurm", SLURM + COUNTS)
    papi.count(10, 20)
    with monitored(job, node, papi, slurm) as process:
        wait_counted(job, PACKAGE, PLATFORM)
        papi.count(2_000_010, 120)
        slurm.count(7)
        found = finish(job, process)
    assert [(round(figure.amount, 6), figure.is_known) for figure in found.energy] == [(2, 1), (0, 0), (7, 1)]
    assert found.energy_source.startswith(b"papi, slurm; memory: ")
    assert (found.traffic[0][0].amount, found.traffic[0][0].is_known) == (6400, 1)
    assert found.traffic_source.startswith(b"papi; ")
    assert found.peak_w.is_known == 0  # the time between two of its answers is not known


def wait_late(job):
    """Waits for a sample that is taken more than 1.1 s after the first reading."""
    job.wait_reading()
    wait_for(lambda: (now := job.read()).last_mono_ns > now.first_reading_ns + 1_100_000_000, "later sample", 30)


WAITS = "while [ ! -e $0.go ]; do sleep 0.02; done\n"


def test_a_program_that_joins_late_costs_no_other_figure(job, node):
    """The late program's own figure is not known, as it would be of a shorter time than the others."""
    package = node.zone("intel-rapl:0", "package-0", 5_000_000)
    program = Program(job.folder.parent, "slurm", WAITS + SLURM + COUNTS)
    with monitored(job, node, program) as process:
        job.wait_reading()
        package(8_000_000)
        wait_late(job)
        Path(f"{program.path}.go").touch()
        wait_told(job, b"platform: slurm was asked only ")
        found = finish(job, process)
    assert [(figure.amount, figure.is_known) for figure in found.energy] == [(3, 1), (0, 0), (0, 0)]
    assert b" s after the first reading" in found.energy_source and found.peak_w.is_known == 1


def test_figures_are_there_right_after_a_program_has_joined(job, node):
    """The program never answers its first question. Figures from before it joined are kept."""
    package = node.zone("intel-rapl:0", "package-0", 5_000_000)
    program = Program(job.folder.parent, "slurm", SLURM + "read x; : > $0.asked\n" + HANGS)
    with monitored(job, node, program) as process:
        wait_for(Path(f"{program.path}.asked").exists, "its first question")
        package(8_000_000)
        found = finish(job, process)
    assert (found.energy[PACKAGE].amount, found.energy[PACKAGE].is_known) == (3, 1)


def test_where_nothing_else_counts_the_figures_begin_with_a_program(job, node):
    program = Program(job.folder.parent, "slurm", WAITS + SLURM + COUNTS)
    with monitored(job, node, program) as process:
        wait_late(job)
        before = job.read()
        Path(f"{program.path}.go").touch()
        wait_counted(job, PLATFORM)
        found = finish(job, process)
    assert found.first_reading_ns >= before.last_mono_ns and found.energy_source.startswith(b"slurm; ")


def test_no_program_is_started_where_no_figure_is_missing(job, node):
    for path, name in (
        ("intel-rapl:0", "package-0"),
        ("intel-rapl:0/intel-rapl:0:0", "dram"),
        ("intel-rapl:1", "psys"),
    ):
        node.zone(path, name, 5)
    programs = [Program(job.folder.parent, word, HANGS) for word in ("papi", "slurm")]
    with monitored(job, node, *programs) as process:
        wait_read(job)
        found = finish(job, process)
    assert [figure.is_known for figure in found.energy] == [1, 1, 1] and found.energy_source == b"powercap"
    assert [program.pid() for program in programs] == [None, None]


def test_nothing_is_handed_down(job, node):
    """The program has root's rights, but no descriptor and no variable of the process that started the monitor."""
    program = Program(job.folder.parent, "slurm", SLURM + COUNTS)
    os.environ["HM_SECRET"] = "x"
    try:
        with monitored(job, node, program) as process:
            wait_counted(job, PLATFORM)
            folder = Path(f"/proc/{program.pid()}")
            assert f"Uid:\t{NOBODY}" in Path(f"/proc/{process.pid}/status").read_text()
            status = dict(line.split(":\t", 1) for line in (folder / "status").read_text().splitlines())
            assert status["Uid"].split() == ["0"] * 4 and int(status["PPid"]) == process.pid
            # 10 is the shell's script; the pipe of its $(cat) comes and goes
            wait_for(lambda: {int(entry.name) for entry in (folder / "fd").iterdir()} <= {0, 1, 2, 10}, "no other file")
            assert (folder / "environ").read_bytes() == b"LC_ALL=C\0"
            assert (folder / "cgroup").read_text() == Path(f"/proc/{process.pid}/cgroup").read_text()
            assert os.getsid(program.pid()) == os.getsid(process.pid)
            finish(job, process)
    finally:
        del os.environ["HM_SECRET"]


def test_a_monitor_that_is_killed_has_no_programs_left(job, node):
    """The monitor could not kill them, as it has lost its rights, and they have root's."""
    programs = [Program(job.folder.parent, "papi", PAPI + COUNTS), Program(job.folder.parent, "slurm", SLURM + COUNTS)]
    programs[0].count(0, 0)
    with monitored(job, node, *programs) as process:
        wait_counted(job, PACKAGE, PLATFORM)
        assert all(program.is_there() for program in programs)
        process.kill()
        process.wait()
        for program in programs:
            wait_for(lambda one=program: not one.is_there(), "the program's end")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (None, b"slurm: hybridmem was built without Slurm's library (libslurm)"),
        ("exit 3\n", b"slurm: hybridmem-slurmenergy ended with 3"),
        ("kill -9 $$\n", b"slurm: hybridmem-slurmenergy was killed by signal 9"),
        ("echo error no slurmd; exit 1\n", b"slurm: no slurmd"),
        ("head -c 100000 /dev/urandom\n" + HANGS, b"slurm: hybridmem-slurmenergy wrote "),
        ("yes | tr -d '\\n'\n", b"slurm: hybridmem-slurmenergy does not end its lines"),
        (SLURM + "echo nonsense\n" + HANGS, b"acct_gather_energy/ipmi: hybridmem-slurmenergy wrote a line"),
        (SLURM + "read x; exit 5\n", b"acct_gather_energy/ipmi: hybridmem-slurmenergy ended with 5"),
        (
            SLURM + "read x; echo read 1 5; read x; kill -11 $$\n",
            b"/ipmi: hybridmem-slurmenergy was killed by signal 11",
        ),
        (
            SLURM + "while read x; do echo read 1 -; done\n",
            b"acct_gather_energy/ipmi: what was read is not a valid value",
        ),
    ],
)
def test_programs_that_fail(job, node, script, said):
    """A program that fails at its start or later: its figure is unknown, with the reason; the others' are known."""
    package = node.zone("intel-rapl:0", "package-0", 1_000_000)
    program = Program(job.folder.parent, "slurm", script or "")
    if script is None:
        program.path.unlink()
    with monitored(job, node, program) as process:
        wait_told(job, said)
        wait_read(job, 1)
        package(4_000_000)
        found = finish(job, process)
    assert said in found.energy_source and found.energy[2].is_known == 0
    assert found.energy[0].is_known == 1 and 0 < found.energy[0].amount <= 3


def test_a_program_that_hangs_at_its_start(job, node):
    """Nothing waits for the program: not the samples, not the others' figures, not the end of the monitor."""
    package = node.zone("intel-rapl:0", "package-0", 1_000_000)
    program = Program(job.folder.parent, "slurm", HANGS)
    with monitored(job, node, program) as process:
        job.wait_samples(5)
        wait_for(program.pid, "the program's start")
        wait_read(job, 1)
        package(4_000_000)
        found = finish(job, process)
    assert (found.energy[0].amount, found.energy[2].is_known) == (3, 0)
    assert b"slurm: hybridmem-slurmenergy has not said what it counts" in found.energy_source


def in_time(attempt, job):
    """Did the monitor end before a sleeping program noted the end of its sleep? attempt(folder) tells. If the machine
    was too busy for that sleep, the answer is unknown, and the attempt is repeated."""
    for number in range(10):
        folder = job.folder.parent / f"attempt-{number}"
        folder.mkdir()
        samplesfile.create(job.samples, 50)
        if attempt(folder):
            return True
    return False


def test_the_end_does_not_wait_for_a_program(job, node):
    """The program notices the end of its input, and notes that some time later."""

    def attempt(folder):
        program = Program(folder, "slurm", "cat > /dev/null; sleep 0.8; touch $0.late\n" + HANGS)
        late = Path(f"{program.path}.late")
        with monitored(job, node, program) as process:
            wait_for(program.pid, "the program's start")
            job.wait_reading()
            finish(job, process)
            is_first = not late.exists()
            wait_for(late.exists, "the end of its input")
        return is_first

    assert in_time(attempt, job)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        pytest.param("papi", "hybridmem-papi", marks=needs_papi),
        pytest.param("slurm", "hybridmem-slurmenergy", marks=needs_slurmenergy),
    ],
)
def test_a_library_that_hangs_at_its_start_does_not_outlive_the_monitor(job, node, tmp_path, word, name):
    """The monitor has no right to kill the program, and the program's own alarm comes later than this test waits."""
    (tmp_path / "stalled.c").write_text(STALLED)
    library, stalled = tmp_path / "stalled.so", tmp_path / "stalled"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "stalled.c"], check=True)
    variables = f"STALLED={stalled} LD_PRELOAD={library} ASAN_OPTIONS=verify_asan_link_order=0"
    program = Program(job.folder.parent, word, f"{variables} exec {LIBEXEC / name} --read --ask\n")
    with monitored(job, node, program) as process:
        wait_for(stalled.exists, "its start")
        job.wait_reading()
        assert program.is_there()
        finish(job, process)
        wait_for(lambda: not program.is_there(), "the program's end", seconds=10)


def test_a_program_that_was_given_up_leaves_no_zombie(job, node):
    script = SLURM + "read x; echo read 1 5; while read x; do :; done\n"
    program = Program(job.folder.parent, "slurm", script)
    with monitored(job, node, program) as process:
        wait_told(job, b"acct_gather_energy/ipmi: hybridmem-slurmenergy does not answer")
        wait_for(lambda: not Path(f"/proc/{program.pid()}").exists(), "the removal of the zombie")
        finish(job, process)


def test_a_program_that_hangs_midway(job, node):
    """The monitor waits for its answer for a while, and samples memory meanwhile. Then it gives up, and the others'
    figures go on."""
    package = node.zone("intel-rapl:0", "package-0", 1_000_000)
    program = Program(job.folder.parent, "slurm", SLURM + "read x; echo read 1 5; read x; : > $0.asked\n" + HANGS)
    with monitored(job, node, program) as process:
        wait_for(Path(f"{program.path}.asked").exists, "the second question", seconds=30)
        before = job.read()
        wait_told(job, b"acct_gather_energy/ipmi: hybridmem-slurmenergy does not answer")
        after = job.read()
        seconds = (after.last_mono_ns - before.last_mono_ns) / 1e9
        assert after.n_samples - before.n_samples >= seconds / 0.05 / 2  # at least every other one, on a busy machine
        package(4_000_000)
        wait_read(job, 1)
        found = finish(job, process)
    assert (found.energy[0].amount, found.energy[2].is_known) == (3, 0)


SULKS = (
    "while read x; do\n"
    "  if [ -e $0.sulk ]; then : > $0.asked; sleep 2.5; : > $0.late; exec sleep 1000; fi\n"
    "  echo read 1 $(cat $0.count)\n"
    "done\n"
)


def test_the_end_does_not_wait_for_answers_for_long(job, node):
    """Two programs do not answer the last question: the monitor waits for both only as long as for one."""

    def attempt(folder):
        package = node.zone("intel-rapl:0", "package-0", 5_000_000)
        programs = [Program(folder, "papi", PAPI + SULKS), Program(folder, "slurm", SLURM + SULKS)]
        programs[0].count(0, 0)
        with monitored(job, node, *programs) as process:
            wait_counted(job, PLATFORM)
            package(8_000_000)
            process.send_signal(signal.SIGSTOP)
            for program in programs:
                Path(f"{program.path}.sulk").touch()
            process.terminate()
            process.send_signal(signal.SIGCONT)
            ends(process)
            asked, late = ([Path(f"{one.path}.{word}").exists() for one in programs] for word in ("asked", "late"))
        found = job.read()
        assert found.finished == 1 and found.energy[PACKAGE].amount == 3
        assert b"acct_gather_energy/ipmi: hybridmem-slurmenergy does not answer" in found.energy_source
        assert found.energy[PLATFORM].is_known == 0
        return all(asked) and not any(late)

    assert in_time(attempt, job)


def test_programs_that_are_not_asked(job, node):
    with monitored(job, node) as process:
        wait_read(job)
        found = finish(job, process)
    for name in (b"papi: PAPI", b"slurm: Slurm"):
        assert name + b" is not asked: meter_programs in hybridmem.conf does not name it" in found.energy_source
