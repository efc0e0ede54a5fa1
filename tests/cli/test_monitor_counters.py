# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem-monitor and the counters of the node and of the job's resctrl group: who opens them, who reads them,
and when."""

from pathlib import Path

import pytest
import sysfstree
from installed import check_root
from monitoring import MIB, Job, ends, wait_for
from sysfstree import NOBODY


def zone_of_root(sysfs, path, name, energy_uj):
    """Makes a RAPL zone as the kernel does: only root can read its counter. Returns a function that sets it."""
    move = sysfs.zone(path, name, energy_uj)
    move(energy_uj).chmod(0o400)
    return move


def test_root_opens_the_counters_and_a_user_reads_them(job, open_sysfs):
    """After the monitor has become the user, it still reads what only root could open."""
    check_root()
    move_package = zone_of_root(open_sysfs, "intel-rapl:0", "package-0", 100_000_000)
    move_dram = zone_of_root(open_sysfs, "intel-rapl:0/intel-rapl:0:0", "dram", 10_000_000)
    with job.monitor(sysfs=open_sysfs.folder, become=True) as process:
        job.wait_reading()
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines())
        assert status["Uid"].split() == [str(NOBODY)] * 4 and status["Gid"].split() == [str(NOBODY)] * 4
        assert status["Groups"].split() == [] and int(status["CapPrm"], 16) == 0 and status["NoNewPrivs"] == "1"
        assert Path(f"/proc/{process.pid}/maps").stat().st_uid == 0  # not dumpable, so its files belong to root
        move_package(100_060_000)
        move_dram(10_004_500)
        wait_for(lambda: job.read().peak_w.is_known, "power")  # power is measured over at least a tenth of a second
        process.terminate()
        ends(process)
    found = job.read()
    assert [(round(figure.amount, 9), figure.is_known) for figure in found.energy] == [(0.06, 1), (0.0045, 1), (0, 0)]
    assert found.energy_source == b"powercap" and found.n_readings >= 3
    assert found.first_mono_ns < found.first_reading_ns < found.last_reading_ns
    assert b"perf-imc" in found.traffic_source


def test_counters_are_read_often_whatever_the_interval_of_samples(open_folder):
    """RAPL's platform counter may wrap every 13 s, and only one wrap between two readings can be noticed. Of the 13 s,
    3 s may pass while the monitor waits for a program's answer."""
    job = Job(open_folder, 3_600_000)
    with job.monitor():
        job.wait_reading()
        first = before = job.read().last_reading_ns
        while before < first + 5_000_000_000:  # the monitor's first samples, and readings, come sooner
            before = job.read().last_reading_ns
            wait_for(lambda: job.read().last_reading_ns > before, "reading", seconds=30)  # noqa: B023
        before = job.read().last_reading_ns
        after = wait_for(lambda: (now := job.read().last_reading_ns) > before and now, "reading", seconds=30)
        assert after - before < 9_000_000_000


def test_counters_that_may_not_be_opened(job, open_sysfs):
    zone_of_root(open_sysfs, "intel-rapl:0", "package-0", 100_000_000)
    with job.monitor(sysfs=open_sysfs.folder) as process:
        job.wait_samples(2)
        process.terminate()
        ends(process)
    found = job.read()
    assert found.energy[0].is_known == 0 and b"intel-rapl:0/energy_uj: Permission denied" in found.energy_source


def test_the_jobs_own_group(job, open_sysfs):
    """A counter that only root can open is opened by root and read by the user. All that it counted is the job's,
    even if the monitor starts late. With a processor of Intel a counter that stays silent has seen nothing."""
    check_root()
    open_sysfs.write("devices/system/cpu/modalias", "cpu:type:x86,ven0000fam0006mod00CF")
    group = job.folder.parent / "hybridmem.7.0"
    made = sysfstree.Sysfs(group)
    for name in ("mbm_total_bytes", "mbm_local_bytes"):
        made.write(f"mon_data/mon_L3_00/{name}", f"{1000:011}").chmod(0o400)
        made.write(f"mon_data/mon_L3_01/{name}", "Unavailable").chmod(0o400)
    for folder in (group, *group.rglob("mon_L3_*"), group / "mon_data"):
        folder.chmod(0o700)
    with job.monitor(sysfs=open_sysfs.folder, resctrl=group, become=True) as process:
        job.wait_reading()
        made.write("mon_data/mon_L3_00/mbm_total_bytes", f"{51000:011}")
        made.write("mon_data/mon_L3_00/mbm_local_bytes", f"{31000:011}")
        made.write("mon_data/mon_L3_01/mbm_total_bytes", f"{700:011}")
        process.terminate()
        ends(process)
    found = job.read()
    assert [(figure.amount, figure.is_known) for figure in found.group] == [(51700, 1), (31000, 1)]
    assert found.group_source == b'resctrl; memory local: 1 of its counters had no value ("Unavailable")'


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
    """Opening the counters fails at once here. It takes time where there are many: a short job may end meanwhile."""
    check_root()
    with job.monitor(sysfs=job.folder / "none", become=become) as process:
        assert "No such file" in process.communicate(timeout=20)[1] and process.returncode == 1
    found = job.read()
    assert (found.n_samples, found.n_readings, found.finished) == (1, 0, 0)
    assert list(found.tier_peak[:2]) == [5 * MIB, 2 * MIB]


def test_no_sample_is_taken_with_roots_rights(job):
    """Root has to open the counters. The first sample comes before that, and is taken with the user's rights, too."""
    check_root()
    job.folder.chmod(0o700)
    with job.monitor(sysfs=job.folder / "none", become=True) as process:
        assert process.wait(timeout=20) == 1
    assert b"Permission denied" in job.read().missing and job.read().n_samples == 0
