# SPDX-License-Identifier: Apache-2.0
"""Tests the sources of hybridmem meter on a made-up /sys, with counters that move, wrap and vanish, as test machines
have no real ones."""

from pathlib import Path

import pytest
from sysfstree import RANGE, Sysfs, as_user, sources

TOPOLOGY = Path(__file__).resolve().parent.parent / "fixtures" / "topology"
SOFTWARE = 1  # type of the kernel's software events, which every machine has
CPU_CLOCK = "event=0x00"  # the terms of the software event that counts the CPU clock
NO_TYPE = 2147483647  # no PMU has this type
INTEL, AMD = "cpu:type:x86,ven0000fam0006", "cpu:type:x86,ven0002"


def test_energy_moves_and_wraps(sysfs):
    package = sysfs.zone("intel-rapl:0", "package-0", RANGE - 850)
    memory = sysfs.zone("intel-rapl:0/intel-rapl:0:0", "dram", 1000)
    sysfs.zone("intel-rapl:0/intel-rapl:0:1", "core", 0)
    with sysfs.meter() as step:
        first = step()
        assert [flow for flow in first if "-" in flow] == ["package-0", "memory-0"]
        assert first["package-0"]["joules"] is None and "first value" in first["package-0"]["reason"]
        package(1149)
        memory(501000)
        then = step()
        assert then["package-0"]["joules"] == pytest.approx(0.002)
        assert then["memory-0"]["joules"] == pytest.approx(0.5)
        assert then["package-0"]["source"] == "powercap" and then["package-0"]["reason"] is None
        assert then["package-0"]["watts"] > 0
        assert step()["package-0"]["joules"] == 0
        assert then["platform"]["joules"] is None and then["platform"]["source"] is None
        said = "powercap: has no such counter here; perf-energy: the kernel has no PMU power"
        assert said in then["platform"]["reason"]


def test_a_reset_is_no_wrap(sysfs):
    package = sysfs.zone("intel-rapl:0", "package-0", 100000000000)
    with sysfs.meter() as step:
        step()
        package(0)
        shown = step()["package-0"]
        assert shown["joules"] is None and shown["watts"] is None and "it was reset" in shown["reason"]
        package(7)
        assert step()["package-0"]["joules"] == pytest.approx(7e-6)


def test_a_counter_that_vanishes_and_comes_back(sysfs):
    package = sysfs.zone("intel-rapl:0", "package-0", 10)
    other = sysfs.zone("intel-rapl:1", "package-1", 10)
    with sysfs.meter() as step:
        step()
        package(20).unlink()
        other(30)
        shown = step()
        assert shown["package-0"]["joules"] is None
        assert shown["package-0"]["reason"].endswith("intel-rapl:0/energy_uj: it is not there any more")
        assert shown["package-1"]["joules"] == pytest.approx(20e-6)
        package(90)
        assert "first value" in step()["package-0"]["reason"]
        package(95)
        assert step()["package-0"]["joules"] == pytest.approx(5e-6)


def test_permission_that_is_lost_midway(open_sysfs):
    package = open_sysfs.zone("intel-rapl:0", "package-0", 10)
    with open_sysfs.meter(**as_user()) as step:
        step()
        package(20)
        assert step()["package-0"]["joules"] == pytest.approx(10e-6)
        package(30).unlink()
        package(40).chmod(0)
        assert "it is not there any more" in step()["package-0"]["reason"]
        assert "it may not be read any more" in step()["package-0"]["reason"]


def test_a_user_without_permission(open_sysfs):
    open_sysfs.zone("intel-rapl:0", "package-0", 10)(20).chmod(0)
    shown = sources(open_sysfs, **as_user())["powercap"]
    assert shown["reason"] == "class/powercap/intel-rapl:0/energy_uj: Permission denied"


def test_memory_bandwidth_monitoring(sysfs):
    sysfs.bytes_of_group("mbm_total_bytes", 1000)
    sysfs.bytes_of_group("mbm_local_bytes", 400)
    with sysfs.meter() as step:
        step()
        sysfs.bytes_of_group("mbm_total_bytes", 4000)
        shown = step()
        assert shown["memory total"]["bytes"] == 3000 and shown["memory total"]["source"] == "resctrl"
        assert shown["memory local"]["bytes"] == 0
        sysfs.bytes_of_group("mbm_total_bytes", "Unavailable")
        shown = step()
        assert shown["memory total"]["bytes"] is None and '("Unavailable")' in shown["memory total"]["reason"]
        assert shown["memory local"]["bytes"] == 0


def test_monitoring_groups_that_come_and_go(sysfs):
    """The kernel's counters of the default group include those of the monitoring groups in it. When such a group is
    removed, what it had counted leaves the sum."""
    groups = sysfs.folder / "fs" / "resctrl" / "mon_groups"
    (groups / "hybridmem.7.0").mkdir(parents=True)
    sysfs.bytes_of_group("mbm_total_bytes", 1000)
    with sysfs.meter() as step:
        step()
        sysfs.bytes_of_group("mbm_total_bytes", 4000)
        assert step()["memory total"]["bytes"] == 3000
        for change in (groups / "hybridmem.7.0").rmdir, (groups / "pqos").mkdir:
            change()
            sysfs.bytes_of_group("mbm_total_bytes", 4100)
            shown = step()["memory total"]
            assert shown["bytes"] is None and shown["bytes_per_s"] is None
            assert shown["reason"].endswith(": a monitoring group that it includes was made or removed")
            assert step()["memory total"]["bytes"] == 0


def test_the_resctrl_group_can_be_chosen(sysfs, tmp_path_factory):
    other = Sysfs(tmp_path_factory.mktemp("other"))
    other.bytes_of_group("mbm_total_bytes", 1000)
    with sysfs.meter("--resctrl", other.folder / "fs" / "resctrl") as step:
        assert step()["memory total"]["source"] == "resctrl"


def test_perf_events_of_a_kernel_that_counts_or_says_why_not(sysfs):
    """The event is the CPU clock, in place of one of a memory controller: each nanosecond counts as 64 bytes."""
    sysfs.event("uncore_imc_0", SOFTWARE, "cas_count_read", CPU_CLOCK)
    sysfs.zone("intel-rapl:0", "package-0", 10)  # so that the meter always has a counter
    source = sources(sysfs)["perf-imc"]
    topology = ("--topology", TOPOLOGY / "optane-2-sockets.xml")
    with sysfs.meter(*topology) as step:
        step()
        shown = step()
    read = shown["dram read"]
    assert read["tier"] == "dram"
    if source["usable"]:
        assert (read["source"], read["reason"]) == ("perf-imc", None)
        assert read["bytes"] > 0 and read["bytes"] % 64 == 0
        assert shown["pmem read"]["bytes"] is None
        assert "perf-imc: has no such counter here" in shown["pmem read"]["reason"]
    else:
        assert source["reason"].startswith("uncore_imc_0/cas_count_read on CPU 0: the kernel refuses")
        assert (read["source"], read["bytes"], read["bytes_per_s"]) == (None, None, None)
        assert f"perf-imc: {source['reason']}" in read["reason"]


@pytest.mark.parametrize(
    ("source", "pmu", "terms", "modalias", "kind", "event", "size"),
    [
        ("perf-imc", "uncore_hbm_0", ["event", "umask"], INTEL + "mod008F", "hbm", "cas_count_read", 32),
        ("perf-imc", "uncore_imc_0", ["event"], INTEL + "mod008F", "pmem", "pmm_rpq_inserts", 64),
        ("perf-imc", "uncore_imc_0", ["event"], INTEL + "mod006A", "pmem", "pmm_rpq_inserts", 64),
        ("perf-imc", "uncore_imc_0", ["event", "umask"], INTEL + "mod00AD", "dram", "cas_count_read_sch0", 64),
        ("perf-amd", "amd_umc_0", ["event", "rdwrmask"], AMD + "fam0019mod0011", "dram", "umc_cas_cmd.rd", 64),
        ("perf-amd", "amd_umc_0", ["event", "rdwrmask"], AMD + "fam001Amod0002", "dram", "umc_cas_cmd.rd", 64),
    ],
)
def test_events_by_the_processors_codes(sysfs, source, pmu, terms, modalias, kind, event, size):
    sysfs.undescribed(pmu, SOFTWARE, terms, f"{modalias}:feature:,0000,020B,020E")
    shown = sources(sysfs)[source]
    if not shown["usable"]:
        assert shown["reason"].startswith(f"{pmu}/{event} on CPU 0: the kernel refuses")
        return
    assert {counter["kind"] for counter in shown["counters"]} == {kind}
    assert shown["counters"][0]["name"] == f"{pmu}/{event} on CPU 0"
    with sysfs.meter() as step:
        step()
        shown = step()
    for flow in (shown[f"{kind} read"], shown[f"{kind} write"]):
        assert flow["source"] == source and flow["bytes"] > 0 and flow["bytes"] % size == 0


def test_cpu_memory_of_grace(sysfs):
    sysfs.event("nvidia_scf_pmu_0", SOFTWARE, "cmem_rd_data", CPU_CLOCK)
    sysfs.event("nvidia_scf_pmu_0", SOFTWARE, "cmem_wr_total_bytes", CPU_CLOCK)
    sysfs.event("nvidia_scf_pmu_0", SOFTWARE, "remote_socket_rd_data", CPU_CLOCK)
    shown = sources(sysfs)["grace-cpus"]
    assert "not by GPUs and PCIe devices" in shown["covers"]
    if not shown["usable"]:
        assert shown["reason"].startswith("nvidia_scf_pmu_0/cmem_rd_data on CPU 0: the kernel refuses")
        return
    assert [counter["kind"] for counter in shown["counters"]] == ["dram", "dram"]
    with sysfs.meter() as step:
        step()
        shown = step()
    assert shown["dram read"]["source"] == shown["dram write"]["source"] == "grace-cpus"
    assert shown["dram read"]["bytes"] > 0 and shown["dram read"]["bytes"] % 32 == 0
    assert shown["dram write"]["bytes"] > 0


def test_codes_are_for_their_processors_only(sysfs):
    sysfs.undescribed("uncore_hbm_0", SOFTWARE, ["event", "umask"], INTEL + "mod00CF:feature:,0000")
    shown = sources(sysfs)["perf-imc"]
    assert not shown["usable"] and shown["reason"].startswith("no event described: the kernel has uncore_imc")


def test_the_reason_why_amds_data_fabric_is_not_used(sysfs):
    sysfs.event("amd_df", SOFTWARE, "clockticks", CPU_CLOCK)
    shown = sources(sysfs)["perf-amd"]
    assert not shown["usable"]
    assert "amd_df has four counters for eight channels up to Zen 3, and does not tell reads" in shown["reason"]


def test_a_pmu_that_the_kernel_does_not_have(sysfs):
    sysfs.event("uncore_imc_0", NO_TYPE, "cas_count_read", CPU_CLOCK)
    reason = sources(sysfs)["perf-imc"]["reason"]
    assert reason.startswith("uncore_imc_0/cas_count_read on CPU 0: the kernel")


def test_a_user_without_the_right_to_perf(open_sysfs):
    open_sysfs.event("uncore_imc_0", SOFTWARE, "cas_count_read", CPU_CLOCK)
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    shown = sources(open_sysfs, **as_user())["perf-imc"]
    if paranoid > 0:
        wanted = f"kernel.perf_event_paranoid is {paranoid}, wanted is 0 or less"
        assert wanted in shown["reason"]
    else:
        assert shown["usable"] or "the kernel refuses" in shown["reason"]
