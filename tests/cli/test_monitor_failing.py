# SPDX-License-Identifier: Apache-2.0
"""Tests programs that fail, hang or do not end while a monitor asks them. Whatever they do, the job loses nothing but
the programs' figures."""

import signal
import subprocess
from pathlib import Path

import pytest
import samplesfile
from installed import LIBEXEC, needs_papi, needs_slurmenergy
from monitoring import ends, wait_for
from standins import (
    COUNTS,
    HANGS,
    PACKAGE,
    PAPI,
    PLATFORM,
    SLURM,
    Program,
    finish,
    monitored,
    wait_counted,
    wait_read,
    wait_told,
)


def test_a_monitor_that_is_killed_has_no_programs_left(job, counters):
    """The monitor could not kill them, as it has lost its rights, and they have root's."""
    programs = [Program(job.folder.parent, "papi", PAPI + COUNTS), Program(job.folder.parent, "slurm", SLURM + COUNTS)]
    programs[0].count(0, 0)
    with monitored(job, counters, *programs) as process:
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
def test_programs_that_fail(job, counters, script, said):
    """A program that fails at its start or later: its figure is unknown, with the reason; the others' are known."""
    package = counters.zone("intel-rapl:0", "package-0", 1_000_000)
    program = Program(job.folder.parent, "slurm", script or "")
    if script is None:
        program.path.unlink()
    with monitored(job, counters, program) as process:
        wait_told(job, said)
        wait_read(job, 1)
        package(4_000_000)
        found = finish(job, process)
    assert said in found.energy_source and found.energy[2].is_known == 0
    assert found.energy[0].is_known == 1 and 0 < found.energy[0].amount <= 3


def test_a_program_that_hangs_at_its_start(job, counters):
    """Nothing waits for the program: not the samples, not the others' figures, not the end of the monitor."""
    package = counters.zone("intel-rapl:0", "package-0", 1_000_000)
    program = Program(job.folder.parent, "slurm", HANGS)
    with monitored(job, counters, program) as process:
        job.wait_samples(5)
        wait_for(program.pid, "the program's start")
        wait_read(job, 1)
        package(4_000_000)
        found = finish(job, process)
    assert (found.energy[0].amount, found.energy[2].is_known) == (3, 0)
    assert b"slurm: hybridmem-slurmenergy has not said what it counts" in found.energy_source


def in_time(attempt, job):
    """Did the monitor end before a sleeping program noted the end of its sleep? attempt(folder) tells. A busy
    machine may make the monitor later than the sleep: so an attempt that fails is repeated, ten times in all."""
    for number in range(10):
        folder = job.folder.parent / f"attempt-{number}"
        folder.mkdir()
        samplesfile.create(job.samples, 50)
        if attempt(folder):
            return True
    return False


def test_the_end_does_not_wait_for_a_program(job, counters):
    """The program notices the end of its input, and notes that some time later."""

    def attempt(folder):
        program = Program(folder, "slurm", "cat > /dev/null; sleep 0.8; touch $0.late\n" + HANGS)
        late = Path(f"{program.path}.late")
        with monitored(job, counters, program) as process:
            wait_for(program.pid, "the program's start")
            job.wait_reading()
            finish(job, process)
            is_first = not late.exists()
            wait_for(late.exists, "the end of its input")
        return is_first

    assert in_time(attempt, job)


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


@pytest.mark.parametrize(
    ("word", "name"),
    [
        pytest.param("papi", "hybridmem-papi", marks=needs_papi),
        pytest.param("slurm", "hybridmem-slurmenergy", marks=needs_slurmenergy),
    ],
)
def test_a_library_that_hangs_at_its_start_does_not_outlive_the_monitor(job, counters, tmp_path, word, name):
    """The monitor has no right to kill the program, and the program's own alarm comes later than this test waits."""
    (tmp_path / "stalled.c").write_text(STALLED)
    library, stalled = tmp_path / "stalled.so", tmp_path / "stalled"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "stalled.c"], check=True)
    variables = f"STALLED={stalled} LD_PRELOAD={library} ASAN_OPTIONS=verify_asan_link_order=0"
    program = Program(job.folder.parent, word, f"{variables} exec {LIBEXEC / name} --read --ask\n")
    with monitored(job, counters, program) as process:
        wait_for(stalled.exists, "its start")
        job.wait_reading()
        assert program.is_there()
        finish(job, process)
        wait_for(lambda: not program.is_there(), "the program's end", seconds=10)


def test_a_program_that_was_given_up_leaves_no_zombie(job, counters):
    script = PAPI + "read x; echo read 1 5 5; while read x; do :; done\n"
    program = Program(job.folder.parent, "papi", script)
    with monitored(job, counters, program) as process:
        wait_told(job, b"rapl::RAPL_ENERGY_PKG: hybridmem-papi does not answer")
        wait_for(lambda: not Path(f"/proc/{program.pid()}").exists(), "the removal of the zombie")
        finish(job, process)


def test_a_program_that_hangs_midway(job, counters):
    """The monitor waits for the program's answer for a while, and samples memory meanwhile. Then it gives up, and the
    figures of the others go on."""
    package = counters.zone("intel-rapl:0", "package-0", 1_000_000)
    program = Program(job.folder.parent, "slurm", SLURM + "read x; echo read 1 5; read x; : > $0.asked\n" + HANGS)
    with monitored(job, counters, program) as process:
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


def test_an_answer_of_slurm_that_is_late_loses_no_energy(job, counters):
    """slurmd is slow once. Its counter goes on, so a later answer has all."""
    answer = "echo read 1 $(cat $0.count)"
    script = f"for i in 1 2; do read x; {answer}; done; read x; while [ ! -e $0.go ]; do sleep 0.05; done\n"
    program = Program(job.folder.parent, "slurm", f"{SLURM}{script}{answer}; while read x; do {answer}; done\n")
    with monitored(job, counters, program) as process:
        wait_told(job, b"acct_gather_energy/ipmi: hybridmem-slurmenergy does not answer")
        assert job.read().energy[PLATFORM].is_known == 0
        program.count(500)
        Path(f"{program.path}.go").touch()
        wait_counted(job, PLATFORM)
        found = finish(job, process)
    assert found.energy[PLATFORM].amount == 500


SULKS = (
    "while read x; do\n"
    "  if [ -e $0.sulk ]; then : > $0.asked; sleep 2.5; : > $0.late; exec sleep 1000; fi\n"
    "  echo read 1 $(cat $0.count)\n"
    "done\n"
)


def test_the_end_does_not_wait_for_answers_for_long(job, counters):
    """Two programs do not answer the last question: the monitor waits for both only as long as for one."""

    def attempt(folder):
        package = counters.zone("intel-rapl:0", "package-0", 5_000_000)
        programs = [Program(folder, "papi", PAPI + SULKS), Program(folder, "slurm", SLURM + SULKS)]
        programs[0].count(0, 0)
        with monitored(job, counters, *programs) as process:
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
