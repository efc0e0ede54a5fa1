# SPDX-License-Identifier: Apache-2.0
"""Tests how a monitor asks other programs for what the node's own counters do not have, and puts their figures into the
samples."""

import os
from pathlib import Path

import samplesfile
from monitoring import wait_for
from standins import (
    COUNTS,
    DRAM,
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
from sysfstree import NOBODY


def test_what_slurm_alone_knows(job, counters):
    """Slurm's figures are used beside those of powercap."""
    package = counters.zone("intel-rapl:0", "package-0", 5_000_000)
    program = Program(job.folder.parent, "slurm", SLURM + COUNTS)
    program.count(1000)
    with monitored(job, counters, program) as process:
        wait_counted(job, PLATFORM)
        package(8_000_000)
        program.count(1300)
        found = finish(job, process)
    assert [(figure.amount, figure.is_known) for figure in found.energy] == [(3, 1), (0, 0), (300, 1)]
    assert found.energy_source.startswith(b"powercap, slurm; memory: ")
    wait_for(lambda: not program.is_there(), "the program's end")


def test_what_papi_alone_knows(job, counters):
    samples = samplesfile.read(job.samples)
    samples.tier_kind[0] = DRAM
    job.samples.write_bytes(bytes(samples))
    papi = Program(job.folder.parent, "papi", PAPI + COUNTS)
    slurm = Program(job.folder.parent, "slurm", SLURM + COUNTS)
    papi.count(10, 20)
    with monitored(job, counters, papi, slurm) as process:
        wait_counted(job, PACKAGE, PLATFORM)
        papi.count(2_000_010, 120)
        slurm.count(7)
        found = finish(job, process)
    assert [(round(figure.amount, 6), figure.is_known) for figure in found.energy] == [(2, 1), (0, 0), (7, 1)]
    assert found.energy_source.startswith(b"papi, slurm; memory: ")
    assert (found.traffic[0][0].amount, found.traffic[0][0].is_known) == (6400, 1)
    assert found.traffic_source.startswith(b"papi; ")
    assert found.peak_w.is_known == 0  # the time between two readings of PAPI is not known


def wait_late(job):
    """Waits for a sample that is taken more than 1.1 s after the first reading."""
    job.wait_reading()
    wait_for(lambda: (now := job.read()).last_mono_ns > now.first_reading_ns + 1_100_000_000, "later sample", 30)


WAITS = "while [ ! -e $0.go ]; do sleep 0.02; done\n"


def test_a_program_that_joins_late_costs_no_other_figure(job, counters):
    """The late program's own figure is not known, as it would be of a shorter time than the others."""
    package = counters.zone("intel-rapl:0", "package-0", 5_000_000)
    program = Program(job.folder.parent, "slurm", WAITS + SLURM + COUNTS)
    with monitored(job, counters, program) as process:
        job.wait_reading()
        package(8_000_000)
        wait_late(job)
        Path(f"{program.path}.go").touch()
        wait_told(job, b"platform: slurm was asked only ")
        found = finish(job, process)
    assert [(figure.amount, figure.is_known) for figure in found.energy] == [(3, 1), (0, 0), (0, 0)]
    assert b" s after the first reading" in found.energy_source and found.peak_w.is_known == 1


def test_figures_are_there_right_after_a_program_has_joined(job, counters):
    """The program never answers its first question. Figures from before it joined are kept."""
    package = counters.zone("intel-rapl:0", "package-0", 5_000_000)
    program = Program(job.folder.parent, "slurm", SLURM + "read x; : > $0.asked\n" + HANGS)
    with monitored(job, counters, program) as process:
        wait_for(Path(f"{program.path}.asked").exists, "its first question")
        package(8_000_000)
        found = finish(job, process)
    assert (found.energy[PACKAGE].amount, found.energy[PACKAGE].is_known) == (3, 1)


def test_where_nothing_else_counts_the_figures_begin_with_a_program(job, counters):
    program = Program(job.folder.parent, "slurm", WAITS + SLURM + COUNTS)
    with monitored(job, counters, program) as process:
        wait_late(job)
        before = job.read()
        Path(f"{program.path}.go").touch()
        wait_counted(job, PLATFORM)
        found = finish(job, process)
    assert found.first_reading_ns >= before.last_mono_ns and found.energy_source.startswith(b"slurm; ")


def test_no_program_is_started_where_no_figure_is_missing(job, counters):
    for path, name in (
        ("intel-rapl:0", "package-0"),
        ("intel-rapl:0/intel-rapl:0:0", "dram"),
        ("intel-rapl:1", "psys"),
    ):
        counters.zone(path, name, 5)
    programs = [Program(job.folder.parent, word, HANGS) for word in ("papi", "slurm")]
    with monitored(job, counters, *programs) as process:
        wait_read(job)
        found = finish(job, process)
    assert [figure.is_known for figure in found.energy] == [1, 1, 1] and found.energy_source == b"powercap"
    assert [program.pid() for program in programs] == [None, None]


def test_programs_inherit_nothing_of_the_monitors_parent(job, counters):
    """The program has root's rights, but no descriptor of the process that started the monitor, and none of its
    variables (Slurm's program would get SLURM_CONF if it were set)."""
    program = Program(job.folder.parent, "slurm", SLURM + COUNTS)
    os.environ["HM_SECRET"] = "x"
    try:
        with monitored(job, counters, program) as process:
            wait_counted(job, PLATFORM)
            folder = Path(f"/proc/{program.pid()}")
            assert f"Uid:\t{NOBODY}" in Path(f"/proc/{process.pid}/status").read_text()
            status = dict(line.split(":\t", 1) for line in (folder / "status").read_text().splitlines())
            assert status["Uid"].split() == ["0"] * 4 and int(status["PPid"]) == process.pid
            # 10 is the shell's script; the pipe of its $(cat) comes and goes
            wait_for(lambda: {int(entry.name) for entry in (folder / "fd").iterdir()} <= {0, 1, 2, 10}, "no other file")
            assert (folder / "environ").read_bytes() == b"LC_ALL=C\0"
            assert (folder / "cgroup").read_text() == Path(f"/proc/{process.pid}/cgroup").read_text()
            assert os.getsid(program.pid()) == program.pid()
            finish(job, process)
    finally:
        del os.environ["HM_SECRET"]


def test_programs_that_are_not_asked(job, counters):
    with monitored(job, counters) as process:
        wait_read(job)
        found = finish(job, process)
    for name in (b"papi: PAPI", b"slurm: Slurm"):
        assert name + b" is not asked: meter_programs in hybridmem.conf does not name it" in found.energy_source
