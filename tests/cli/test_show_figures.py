# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem show: what was migrated, and what is estimated."""

import json
from pathlib import Path

import pytest
from makerecords import record, write
from showing import show


def migrated():
    """The record that test-recordsteps.c builds of two steps."""
    path = Path(__file__).resolve().parents[1] / "fixtures" / "records" / "migrated.json"
    return json.loads(path.read_text())


def test_what_was_migrated(tmp_path):
    made = migrated()
    write(tmp_path, made)
    text = show(tmp_path, str(made["job_id"])).stdout
    assert "migration    200.0 MiB promoted, 100.0 MiB demoted; self-reported by the migrators of 2 steps\n" in text
    for part in (
        "regions: 20 decisions, at most one every 2.5 s, on 4000 samples of several sources",
        "not moved: busy 8.0 KiB",
        "accesses by kind of memory: private 62 %, shared 38 %; could not be moved: shared 12 %",
        "estimate: 60 % of accesses served by the fast tier; best known placement 76 %, regret 16 %",
        "balance: 75 % of accesses belonged in the fast tier, which served 150.0 GB/s, the slow one 50.0 GB/s (the",
        "cap 600.0 MiB, at most 2.0 MiB above it after moving, above it for 20.0 s; fair share",
        "fair share beside other jobs down to 200.0 MiB; cost 0.5 s of CPU",
    ):
        assert part in text, part
    made["migration"].update(above_cap_bytes=None, above_cap_s=None, fair_share_bytes=None)
    write(tmp_path / "a", made)
    text = show(tmp_path / "a", str(made["job_id"])).stdout
    assert "cap 600.0 MiB, not known what was above it; cost" in text
    made["migration"].update(sample_source="damon", sample_source_why="perf: no PMU", cap_bytes=None, kernel_cpu_s=0.5)
    made["migration"].update(pays_from=0.034, fast_share=None, unmoved=None, algorithm=None, interval_s=None)
    made["traffic"]["estimate"] = None
    write(tmp_path / "b", made)
    text = show(tmp_path / "b", str(made["job_id"])).stdout
    assert "several algorithms: 20 decisions, on 4000 samples of damon (perf: no PMU)" in text
    assert "cost 0.5 s of CPU time, 0.5 s more in the kernel; expected to pay where" in text
    assert "where the job waits for memory in 3.4 % of its CPU time or more\n" in text
    assert "estimate" not in text and "not moved" not in text and "cap" not in text


@pytest.mark.parametrize(
    ("pays_from", "said"),
    [
        (1.5, "; not expected to pay\n"),
        (0.9999, "in 100.0 % of its CPU time or more\n"),
        (0.034, "in 3.4 % of its CPU time or more\n"),
        (2e-5, "in 0.1 % of its CPU time or more\n"),
    ],
)
def test_from_which_share_on_it_pays(tmp_path, pays_from, said):
    made = migrated()
    made["migration"].update(pays_from=pays_from, above_cap_bytes=0, above_cap_s=75.0)
    write(tmp_path, made)
    text = show(tmp_path, str(made["job_id"])).stdout
    assert said in text
    assert "at most 0 B above it after moving, above it for 1 min 15 s;" in text


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ((0.4754, 0.7449, 0.2695), "48 % of accesses served by the fast tier; best known placement 74 %, regret 26 %"),
        ((0.295, 0.7, 0.405), "30 % of accesses served by the fast tier; best known placement 70 %, regret 40 %"),
        ((0.295, 0.7, 0.405), "30 % of writes served by the fast tier; best known placement 70 %, regret 40 %"),
        ((0.5, None, None), "50 % of accesses served by the fast tier; best known placement -, regret -"),
    ],
)
def test_the_regret_is_the_difference_of_what_is_read(tmp_path, shares, said):
    made = migrated()
    made["migration"]["hot_by"] = "writes" if "writes" in said else "accesses"
    made["migration"].update(zip(("fast_share", "best_share", "regret"), shares))
    write(tmp_path, made)
    assert f"estimate: {said}\n" in show(tmp_path, str(made["job_id"])).stdout


KNOWN = {"share": 1.0, "fast_bytes_per_s": 2.5e9, "slow_bytes_per_s": 0.0, "traffic_source": "samples", "why": None}
SAID = "balance: 100 % of accesses belonged in the fast tier, which served"
WHY = "the latencies of the tiers under load are not known"


@pytest.mark.parametrize(
    ("balance", "said"),
    [
        (KNOWN, f"{SAID} 2.5 GB/s, the slow one 0.0 GB/s (an estimate by samples)"),
        ({**KNOWN, "traffic_source": None}, f"{SAID} 2.5 GB/s, the slow one 0.0 GB/s (several sources)"),
        ({"share": 1, "slow_bytes_per_s": "x"}, f"{SAID} -, the slow one - (several sources)"),
        ({**dict.fromkeys(KNOWN), "why": WHY}, f"no balance: {WHY}"),
        ({**KNOWN, "share": None, "why": "a\x1b"}, "no balance: a\\x1b"),
        (dict.fromkeys(KNOWN), None),
        (None, None),
        (7, None),
    ],
)
def test_how_heat_was_balanced_or_why_not(tmp_path, balance, said):
    made = migrated()
    made["migration"]["balance"] = balance
    write(tmp_path, made)
    page = tmp_path / "page.html"
    lines = show(tmp_path, str(made["job_id"])).stdout.splitlines()
    assert [line.strip() for line in lines if "balance: " in line] == ([said] if said else [])
    show(tmp_path, "--html", page, str(made["job_id"]))
    assert page.read_text().count("balance: ") == (1 if said else 0)


def test_an_estimate_of_traffic_is_called_one(tmp_path):
    """Estimates are shown beside what was measured, never instead of it."""
    made = migrated()
    write(tmp_path, made)
    lines = [line for line in show(tmp_path, str(made["job_id"])).stdout.splitlines() if line.startswith("  traffic ")]
    assert lines == [
        "  traffic      not measured: the monitor has read no counter",
        "  traffic      estimate: dram 60 %, pmem 40 % of accesses; from 4000 samples of several sources by "
        "the job's migrators (self-reported)",
    ]


MODEL = {"source": "model of hybridmem.conf"}


@pytest.mark.parametrize(
    ("estimate", "shown"),
    [
        (None, None),
        ({**MODEL, "tiers": None}, None),
        ({**MODEL, "tiers": [{"name": "dram", "static_j": None, "dynamic_j": None}, 7]}, None),
        (
            {
                **MODEL,
                "tiers": [
                    {"name": "dram", "static_j": 1800.0, "dynamic_j": 0.156},
                    {"name": "cxl", "static_j": None, "dynamic_j": None},
                    {"name": "pmem\n", "static_j": 42.25, "dynamic_j": None},
                ],
            },
            "dram 1.8 kJ static, 0.2 J dynamic; pmem\\x0a 42.2 J static, - dynamic (model of hybridmem.conf)",
        ),
        ({"tiers": [{"dynamic_j": 5, "static_j": -3}]}, "? - static, 5.0 J dynamic (source unknown)"),
    ],
)
def test_an_estimate_of_energy_is_called_one(tmp_path, estimate, shown):
    """The line of what was measured stays as it is."""
    measured = {"package_j": 120, "memory_j": None, "source": "rapl"}
    write(tmp_path, record(9, energy={**measured, "estimate": estimate}))
    lines = [line for line in show(tmp_path, "9").stdout.splitlines() if line.startswith("  energy ")]
    assert lines == [
        "  energy       package 120.0 J (rapl)",
        *([f"  energy       estimate: {shown}"] if shown else []),
    ]


@pytest.mark.parametrize(
    ("estimate", "shown"),
    [
        (None, None),
        (5, None),
        ({"tiers": 7}, None),
        ({"tiers": [{"name": "dram", "share": None}, {"share": "x"}, 3], "source": "none"}, None),
        ({"tiers": [{"share": 0.25}]}, "? 25 % of accesses (source unknown)"),
        (
            {
                "of": "writes",
                "tiers": [{"name": "hbm", "share": 0.5}, {"name": "dram", "share": None}],
                "source": "a\x1b",
            },
            "hbm 50 % of writes (a\\x1b)",
        ),
    ],
)
def test_what_an_estimate_of_traffic_may_lack(tmp_path, estimate, shown):
    write(tmp_path, record(9, traffic={"tiers": [], "node": None, "source": "no counters", "estimate": estimate}))
    lines = [line for line in show(tmp_path, "9").stdout.splitlines() if line.startswith("  traffic ")]
    assert lines == [
        "  traffic      not measured: no counters",
        *([f"  traffic      estimate: {shown}"] if shown else []),
    ]


def test_a_migrator_without_figures(tmp_path):
    write(tmp_path, record(9, mode="migrate"), record(10))
    assert "migration    not measured: the job did not ask for a migrator" in show(tmp_path, "9").stdout
    assert "migration" not in show(tmp_path, "10").stdout
