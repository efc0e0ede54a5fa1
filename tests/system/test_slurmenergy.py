# SPDX-License-Identifier: Apache-2.0
"""Tests Slurm's plugin pm_counters as an energy source of hybridmem meter and of jobs' records. Files like Cray's stand
in for /sys/cray/pm_counters; only slurmd sees them."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import nodes
import pytest
import slurm

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import samplesfile

PROGRAM = "/usr/libexec/hybridmem/hybridmem-slurmenergy"
TYPE = "acct_gather_energy/pm_counters"
START = 100_000_000  # joules; large enough that counting does not change the number of digits
# mkdir in /sys is impossible, so mount a tmpfs there, with binds of the real entries and the fake counters.
SLURMD_ON_A_CRAY = """unshare --mount sh -ec '
    real=$(mktemp -d)
    mount --rbind /sys $real
    mount -t tmpfs none /sys
    for entry in $real/*; do mkdir /sys/${entry##*/}; mount --rbind $entry /sys/${entry##*/}; done
    mkdir -p /sys/cray/pm_counters
    mount --bind %s /sys/cray/pm_counters
    exec slurmd -N n1'"""


class Cray:
    """Runs the node's slurmd with pm_counters in a folder that the test writes."""

    def __init__(self, folder):
        self.folder, self.joules = folder, START
        self.count(0)

    def count(self, joules):
        """Add joules to the counter. One write of the same length each time, as slurmd may read at any moment."""
        self.joules += joules
        for name, line in (("energy", f"{self.joules} J 1700000000 us"), ("power", "300 W 1700000000 us")):
            descriptor = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT, 0o644)
            os.pwrite(descriptor, f"{line}\n".encode(), 0)
            os.close(descriptor)

    def start_slurmd(self):
        slurm.run(f"{slurm.stop('slurmd')}; {SLURMD_ON_A_CRAY % self.folder}")
        slurm.wait_for(lambda: listed()["usable"], "slurmd's counter")


@pytest.fixture(scope="module")
def with_plugin():
    with nodes.reconfigured(nodes.SLURM_CONF.read_text() + f"AcctGatherEnergyType={TYPE}\n"):
        yield


@pytest.fixture(scope="module")
def cray(with_plugin):
    made = Cray(Path(slurm.run("mktemp -d /run/cray.XXXXXX").stdout.strip()))
    try:
        made.start_slurmd()
        yield made
    finally:
        nodes.restart("slurmd", "-N n1")
        slurm.run(f"rm -r {made.folder}")


def listed(user=None):
    """What `hybridmem meter --list` says of the source."""
    sources = json.loads(slurm.run("hybridmem meter --list --json", user=user, check=False).stdout)["sources"]
    return next(source for source in sources if source["name"] == "slurm")


class Meter:
    """Runs `hybridmem meter --step`, which shows the figures since the last step when it is told to."""

    def __init__(self):
        command = ["hybridmem", "meter", "--step", "--json"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.step()

    def step(self):
        """Tell the meter to make a step. Returns its figure of the whole node."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        energy = json.loads(self.process.stdout.readline())["energy"]
        return next(figure for figure in energy if figure["name"] == "platform")

    def wait_counted(self, joules):
        """Make steps until together they have counted this many joules. They must not count more, and each must have a
        figure. More than one step may be needed: slurmd may return a reading from earlier in the same second."""
        counted = []

        def step():
            figure = self.step()
            assert figure["source"] == "slurm" and figure["joules"] is not None, figure
            counted.append(figure["joules"])
            assert sum(counted) <= joules, counted
            return sum(counted) == joules

        slurm.wait_for(step, f"{joules} J")

    def wait_unknown(self):
        """Make steps until one has no figure. Returns its reason."""
        figure = slurm.wait_for(lambda: (seen := self.step())["joules"] is None and seen, "a reading that fails")
        return figure["reason"]

    def wait_known(self):
        """Make steps until one has a figure again: slurmd hands out a failed reading for the rest of a second."""
        slurm.wait_for(lambda: self.step()["joules"] is not None, "a reading that does not fail")

    def program(self):
        """The /proc status of the program that asks slurmd."""
        (pid,) = slurm.run(f"pgrep -P {self.process.pid} -f slurmenergy").stdout.split()
        return dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())


@contextlib.contextmanager
def metering():
    meter = Meter()
    try:
        yield meter
        meter.process.communicate(timeout=slurm.PATIENCE)
        assert meter.process.returncode == 0
    finally:
        meter.process.kill()


def test_no_plugin_is_on():
    assert listed()["reason"] == "AcctGatherEnergyType is not set in slurm.conf"


@pytest.fixture
def asked_for_jobs():
    with slurm.configured(f"{slurm.CONFIG.read_text()}meter_programs = slurm\n"):
        yield
        slurm.wait_idle()


def samples(job_id):
    return samplesfile.read(slurm.JOBS / f"{job_id}.samples")


def platform(job_id):
    """The energy that the job's monitor has counted for the whole node (HM_DOMAIN_PLATFORM of metered.h)."""
    return samples(job_id).energy[2]


def test_a_node_without_its_counters_says_why_and_so_does_a_jobs_record(with_plugin, asked_for_jobs):
    reason = f"slurmd could not read the energy by {TYPE}"
    assert listed()["reason"] == reason
    with slurm.Occupied("alice", 8, "--hybrid-mem=fast") as held:
        slurm.wait_for(lambda: f"slurm: {reason}" in samples(held.job_id).energy_source.decode(), "the reason")
    energy = slurm.record(held.job_id)["energy"]
    assert energy["platform_j"] is None and f"slurm: {reason}" in energy["source"]


@pytest.mark.slurm26
def test_the_meter_counts_what_slurmd_reads(cray):
    assert [counter["name"] for counter in listed()["counters"]] == [TYPE]
    assert listed("alice")["reason"] == "slurmd tells its energy to root and SlurmUser alone"
    with metering() as meter:
        for joules in (500, 600, 0):
            cray.count(joules)
            meter.wait_counted(joules)
        status = meter.program()
        uid = slurm.run("id -u slurm").stdout.strip()
        assert status["Uid"].split() == [uid] * 4 and status["Groups"].strip() == ""
        assert (status["Threads"], status["NoNewPrivs"]) == ("1", "1")
    done = slurm.run(f"{PROGRAM} --read --ask < /dev/null > /dev/full", check=False)
    assert (done.returncode, done.stderr) == (1, "hybridmem slurmenergy: standard output: No space left on device\n")


def test_a_jobs_record_has_what_slurmd_reads(cray, asked_for_jobs):
    """A program that runs beside the job's monitor asks slurmd, and ends with the monitor."""
    with slurm.Occupied("alice", 8, "--hybrid-mem=fast") as held:
        slurm.wait_for(lambda: platform(held.job_id).is_known, "a figure of slurmd's")
        cray.count(700)
        slurm.wait_for(lambda: platform(held.job_id).amount == 700, "700 J")
        (pid,) = slurm.run("pgrep -u slurm -x hybridmem-slurm").stdout.split()  # the kernel keeps 15 bytes of a name
        assert slurm.run(f"ps -o comm= -p $(ps -o ppid= -p {pid})").stdout.strip() == "hybridmem-monit"
    energy = slurm.record(held.job_id)["energy"]
    assert energy["platform_j"] == 700 and energy["package_j"] is None
    assert energy["source"].startswith("slurm; package: powercap: ")
    assert energy["source"].endswith("; for the whole node: this job had 1 core of it, and no other job ran there")
    slurm.wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the program's end")


def test_a_counter_or_a_slurmd_that_is_gone_for_a_while(cray):
    unread = f"{TYPE}: what was read is not a valid value"
    with metering() as meter:
        (cray.folder / "energy").rename(cray.folder / "away")
        assert meter.wait_unknown() == unread
        (cray.folder / "away").rename(cray.folder / "energy")
        meter.wait_known()
        cray.count(200)
        meter.wait_counted(200)
        slurm.run(slurm.stop("slurmd"))
        cray.count(500)
        assert meter.wait_unknown() == unread
        cray.start_slurmd()
        meter.wait_known()
        cray.count(100)
        meter.wait_counted(100)
