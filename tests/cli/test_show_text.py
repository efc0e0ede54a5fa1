# SPDX-License-Identifier: Apache-2.0
"""Tests how hybridmem show prints a record: what its lines say, and that they fit the terminal."""

import json
from pathlib import Path

import pytest
from installed import LIBEXEC
from makerecords import LEFT_PROFILE, record, tier, write
from showing import show
from terminal import on_terminal

KINDS = {"private": {"share": 0.6, "unmovable": 0.0}, "shared": {"share": 0.4, "unmovable": 0.1}, "file": 5}
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "records"


@pytest.mark.parametrize("columns", [60, 80, 132])
def test_lines_fit_the_terminal(tmp_path, columns):
    """Further lines of a text are indented below its first line. In a pipe, each text is one line."""
    reason = " ".join(f"reason{number}" for number in range(40))
    write(tmp_path, record(9, warnings=["/a" * 70], energy={"source": reason}))
    command = LIBEXEC / "hybridmem-show", "--records", tmp_path, "9"
    lines = on_terminal(columns, *command)
    first = next(place for place, line in enumerate(lines) if line.startswith("  energy       not measured: reason0 "))
    count = next(count for count, line in enumerate(lines[first + 1 :], 1) if not line.startswith(" " * 15))
    assert 240 // columns <= count and {len(line) <= columns for line in lines[first : first + count]} == {True}
    joined = " ".join(line.strip() for line in lines[first : first + count])
    assert joined == f"energy       not measured: {reason}"
    assert f"warning      {'/a' * 70}" in " ".join(lines), "a name is never broken"
    assert f"  energy       not measured: {reason}\n" in show(tmp_path, "9").stdout


@pytest.mark.parametrize("columns", [60, 80])
def test_every_line_fits_the_terminal(tmp_path, columns):
    """Also the job's own line, and the plots with their scale, however long names and sizes are."""
    made = [tier("dram", [0], 1000 << 40, 1000 << 40, points=200), tier("pmem", [1], 1, 1)]
    made[1]["series"] = [None, 1]
    names = {"user": "somebody-with-a-long-name", "account": "an-account-with-a-long-name", "cluster": "a-cluster"}
    memory = {"peak_bytes": 1000 << 40, "interval_s": 40000.0, "tiers": made}
    write(tmp_path, record(9, **names, memory=memory))
    lines = on_terminal(columns, LIBEXEC / "hybridmem-show", "--records", tmp_path, "9")
    assert [line for line in lines if len(line) > columns] == []
    head = "Job 9, user somebody-with-a-long-name, account an-account-with-a-long-name, partition main, "
    head += "cluster a-cluster"
    scale = "share of the mean, and use over 2222 h 13 min; full height is 1000.0 TiB; ? was not measured"
    joined = " ".join(" ".join(lines).split())
    assert joined.startswith(head) and scale in joined
    text = show(tmp_path, "9").stdout
    assert text.startswith(f"{head}\n") and f"                 {scale}\n" in text, "in a pipe each is one line"


@pytest.mark.parametrize(("gib", "said"), [(1, "; the peak is 4.0 times that"), (4, "; the peak fits into it")])
def test_the_cache_of_a_node_in_memory_mode_is_beside_the_peak(tmp_path, gib, said):
    made = record(9, mode="memory")
    made["plan"]["side_cache_bytes"] = gib << 30
    write(tmp_path, made, record(10))
    assert f"\n  cache        {gib}.0 GiB of fast memory in front of the rest{said}\n" in show(tmp_path, "9").stdout
    assert "  cache " not in show(tmp_path, "10").stdout


def test_what_a_profile_has_chosen_is_shown(tmp_path):
    guided = {
        **{"profile": "/home/a/app.json", "packer": "thermos", "sites": ["00000000000000a1"], "site_count": 1},
        **{"fast_bytes": 10 << 20, "limit_bytes": 16 << 20, "expected_share": 0.75, "seen_share": None, "reason": None},
        **{"seen_source": "no migrator ran beside the step", "stale": None, "fallback": None},
    }
    other = {
        **guided,
        "site_count": 0,
        "fast_bytes": None,
        "limit_bytes": None,
        "expected_share": None,
        "reason": "it is static",
    }
    write(
        tmp_path,
        record(9, mode="guided", guided=guided),
        record(10, guided=other),
        record(11),
        record(12, guided={**guided, "seen_share": 0.625}),
        record(16, guided={**guided, "seen_share": 0.625, "seen_source": "bytes of the whole job, all its steps: x"}),
        record(13, guided={**other, "fallback": "migrate"}),
        record(17, guided={**guided, "input": "large"}),
        record(14, guided={**guided, "stale": {"sites": 9, "found": 7}}),
        record(15, guided={**guided, "seen_share": 0.5, "online": {"decisions": 3}}),
    )
    text = show(tmp_path, "9").stdout
    words = "1 site of 10.0 MiB in the fast tier, at most 16.0 MiB, by thermos; 75 % of the accesses expected there;"
    assert f"  guided       {words}" in text
    assert "profile /home/a/app.json\n" in text
    assert "profile /home/a/app.json of the input large\n" in show(tmp_path, "17").stdout
    assert "\n  guided       not: it is static\n" in show(tmp_path, "10").stdout
    assert "  guided " not in show(tmp_path, "11").stdout
    assert " 75 % of the accesses expected there; 62 % seen by the migrator's samples\n" in show(tmp_path, "12").stdout
    assert " there; 50 % seen by the recorder's samples\n" in show(tmp_path, "15").stdout
    assert "; 62 % counted, of the whole job's bytes\n" in show(tmp_path, "16").stdout
    assert "of other builds: 7 of its 9 sites were found in these\n" in show(tmp_path, "14").stdout
    assert "\n  guided       not, but as with migrate: it is static\n" in show(tmp_path, "13").stdout


def test_where_a_job_has_left_its_profile_is_shown(tmp_path):
    write(
        tmp_path,
        record(9, mode="profile", profile=LEFT_PROFILE),
        record(10, profile={**LEFT_PROFILE, "reason": "no space"}),
        record(11, profile={**LEFT_PROFILE, "file": None, "reason": "it is static"}),
        record(12),
        record(13, profile={**LEFT_PROFILE, "unsampled": "clock took no sample"}),
    )
    assert "\n  profile      /home/a/7.0.json\n" in show(tmp_path, "9").stdout
    text = show(tmp_path, "10").stdout
    assert "\n  profile      /home/a/7.0.json\n" in text and "\n  profile      of a part: no space\n" in text
    assert "\n  profile      none: it is static\n" in show(tmp_path, "11").stdout
    assert "  profile " not in show(tmp_path, "12").stdout
    unsampled = "\n  profile      without accesses, so it guides no job: clock took no sample\n"
    assert unsampled in show(tmp_path, "13").stdout


UTF8, ASCII = {"LC_ALL": "C.UTF-8"}, {"LC_ALL": "C"}


@pytest.mark.parametrize(("locale", "plots"), [(UTF8, [" ??█", "▁▁?"]), (ASCII, [" ??@", "..?"])])
def test_a_plot_tells_zero_from_not_measured(tmp_path, locale, plots):
    """An impossible size counts as not measured, as in the table, and has no part in the scale."""
    tiers = [tier("dram", [0], 1 << 40, 1 << 40), tier("pmem", [1], 1, 1), tier("cxl", [2], 0, 0)]
    tiers[0]["series"], tiers[1]["series"] = [0, None, 1 << 56, 1 << 40], [1, 1, (1 << 63) - 1]
    write(tmp_path, record(9, memory={"interval_s": 1.0, "tiers": tiers}))
    lines = show(tmp_path, "9", env=locale).stdout.splitlines()
    place = next(place for place, line in enumerate(lines) if "full height" in line)
    assert lines[place].endswith("full height is 1.0 TiB; ? was not measured")
    assert [line.split(" %  ")[1] for line in lines[place + 1 : place + 3]] == plots
    tiers[0]["series"] = tiers[1]["series"] = [1, 0]
    write(tmp_path, record(10, memory={"interval_s": 1.0, "tiers": tiers}))
    assert "?" not in show(tmp_path, "10", env=locale).stdout


def test_a_figure_that_no_node_can_have_does_not_scale_the_plots(tmp_path):
    """The record that test-record.c builds of samples with the largest size that there is."""
    made = json.loads((FIXTURES / "killed.json").read_text())
    write(tmp_path, made)
    assert "full height is 23.0 MiB; ? was not measured\n" in show(tmp_path, str(made["job_id"])).stdout


@pytest.mark.parametrize(
    ("code", "said"), [(0, "0"), (128, "128"), (137, "137 (signal 9)"), (192, "192 (signal 64)"), (193, "193")]
)
def test_an_exit_code_has_its_signal_as_in_reports(tmp_path, code, said):
    write(tmp_path, record(9, exit_code=code))
    assert f"  steps        batch 0; exit code {said}\n" in show(tmp_path, "9").stdout


def test_text_for_people(tmp_path):
    write(tmp_path, record(9, warnings=["the user's --mem-bind wins"], exit_code=7))
    text = show(tmp_path, "9").stdout
    for part in (
        "Job 9, user alice, account physics, partition main, cluster test",
        "asked for    spill",
        "plan         spill, policy interleave",
        "because      the fast tier first, then the slow one",
        "ran          2025-03-01 10:00:00 to 2025-03-01 11:00:00 UTC, 1 h 0 min",
        "steps        batch 0; exit code 7",
        "memory       peak 4.0 GiB (memory.peak of the job's cgroup)",
        "share of the mean, and use over 1 h 0 min; full height is 3.0 GiB",
        "energy       not measured: no meter on this node",
        "traffic      not measured: no counters on this node",
        "warning      the user's --mem-bind wins",
    ):
        assert part in text, part
    row = next(line for line in text.splitlines() if "0-1" in line)
    assert " ".join(row.split()) == "dram dram 0-1 3.0 GiB 2.0 GiB 3.0 GiB 0 B 0 B 0 B"
    bars = [line for line in text.splitlines() if "%" in line]
    assert [line.split()[:2] for line in bars] == [["dram", "█" * 16 + "·" * 4], ["pmem", "█" * 4 + "·" * 16]]
    assert " 80 %" in bars[0] and bars[0].endswith("█") and "▁" in bars[0]
    assert bars[1].endswith("▃"), "both plots have one scale: a third of the other's height"


def test_show_ends_with_advice(tmp_path):
    """The same advice as in report. If several nodes have the same, it is given once, with the figures of the first."""
    mixed = {"tiers": [tier("dram", [0], 0, 0, capacity=16 << 30), tier("pmem", [1], 9 << 30, 9 << 30)]}
    write(tmp_path, *(record(9, node=node, mode="interleave", memory=mixed) for node in ("n1", "n2", "n3")), record(10))
    last = show(tmp_path, "9").stdout.splitlines()[-2:]
    assert last == [
        "",
        "  advice       mode fast would have done on a node of its own: peak 9.0 GiB of 16.0 GiB fast memory, and 9.0 "
        "GiB of it was in the slow tier (node n1, and 2 more of its nodes)",
    ]
    assert "advice" not in show(tmp_path, "10").stdout
    write(tmp_path, record(11, mode="interleave", memory=mixed))
    assert show(tmp_path, "11").stdout.endswith(" was in the slow tier\n")


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "", "LANG": "C"}, {"LC_ALL": "", "LC_CTYPE": "POSIX"}])
def test_ascii_where_the_terminal_is_not_utf8(tmp_path, locale):
    write(tmp_path, record(9, account="größe"))
    text = show(tmp_path, "9", env=locale).stdout
    assert text.isascii() and "################...." in text and "account gr\\xf6\\xdfe" in text


def test_control_characters_of_a_record_never_reach_the_terminal(tmp_path):
    write(tmp_path, record(9, request="spill\x1b[2J\r", warnings=["a\nb"]))
    text = show(tmp_path, "9").stdout
    assert "\x1b" not in text and "spill\\x1b[2J\\x0d" in text and "a\\x0ab" in text


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"memory": None}, "memory       not measured: the record does not say why"),
        ({"memory": {"tiers": None, "source": "no memory controller"}}, "not measured: no memory controller"),
        (
            {"memory": {"tiers": [tier("dram", [0], None, None, 0)], "source": "the monitor took no sample"}},
            "memory       not measured: the monitor took no sample",
        ),
        (
            {"memory": {"peak_bytes": 3 << 30, "peak_source": "memory.peak", "tiers": [], "source": "no monitor ran"}},
            "memory       peak 3.0 GiB (memory.peak)\n               by tier not measured: no monitor ran\n",
        ),
        ({"plan": None, "request": None}, "plan         none: the job's memory was not placed"),
        ({"plan": None, "request": None}, "asked for    nothing (no --hybrid-mem)"),
        ({"step_ids": []}, "steps        none on this node; exit code 0"),
        ({"exit_code": None, "start": None, "elapsed_s": None}, "ran          ? to 2025-03-01 11:00:00 UTC, -"),
        ({"energy": {"package_j": 11853948, "source": "rapl"}}, "energy       package 11.9 MJ (rapl)"),
        (
            {"traffic": {"tiers": [{"name": name, "read_bytes": 1024} for name in ("dram", "pmem")], "source": "imc"}},
            "dram: 1.0 KiB read, - written\n  traffic      pmem: 1.0 KiB read, - written (imc)\n",
        ),
        ({"energy": {"package_j": 120, "memory_j": None, "source": "rapl"}}, "energy       package 120.0 J (rapl)"),
        ({"energy": {"package_j": 120, "source": "rapl (msr)"}}, "energy       package 120.0 J; rapl (msr)\n"),
        ({"elapsed_s": -5.0}, " UTC, -\n"),
        (
            {"energy": {"memory_j": 7, "mean_w": 2.4, "peak_w": 9.6, "node": {"memory_j": 8}, "source": "rapl"}},
            "energy       memory 7.0 J, mean 2.4 W, peak 9.6 W (rapl)",
        ),
        (
            {"energy": {"package_j": None, "node": {"seconds": 5, "package_j": 120}, "source": "rapl; shared"}},
            "energy       the node's: package 120.0 J (rapl; shared)",
        ),
        (
            {
                "memory": {"tiers": [tier("dram", [0], 1024, 1024)]},
                "energy": {"package_j": 30, "memory_j": 10, "source": "rapl"},
                "traffic": {"tiers": [{"name": "dram", "read_bytes": 10**10, "write_bytes": 10**10}], "source": "imc"},
            },
            "energy       package 30.0 J, memory 10.0 J, 2.0 J for each GB of traffic (rapl)",
        ),
        (
            {"traffic": {"tiers": [], "node": {"tiers": [{"name": "dram", "read_bytes": 1024}]}, "source": "imc"}},
            "traffic      the node's: dram: 1.0 KiB read, - written (imc)",
        ),
        (
            {"traffic": {"job": {"total_bytes": 3 << 30, "local_bytes": 0, "source": "resctrl"}, "source": "none"}},
            "own traffic  3.0 GiB between caches and memory of all tiers, 0 B to memory of the same socket (resctrl)",
        ),
        (
            {"traffic": {"job": {"total_bytes": 1024, "local_bytes": None, "source": "resctrl\x1b[2J"}}},
            "own traffic  1.0 KiB between caches and memory of all tiers (resctrl\\x1b[2J)",
        ),
        (
            {"traffic": {"job": {"total_bytes": None, "local_bytes": None, "source": "no RMIDs"}}},
            "own traffic  not measured: no RMIDs",
        ),
        ({"traffic": {"job": {"total_bytes": "x", "local_bytes": -1}}}, "own traffic  not measured: the record does"),
        (
            {"memory": {"tiers": [{"name": 5, "peak_bytes": 1024, "series": [None, "x"]}]}},
            "?     unknown  -      1.0 KiB",
        ),
        (
            {"memory": {"tiers": [tier("dram", [4, 0, 1, 2, "x", 4], 1024, 1024)]}},
            "0-2,4  1.0 KiB",
        ),
        ({"migration": {"promoted_bytes": 1, "unmoved": 7, "step_count": "x"}}, "migration    1 B promoted, - demoted"),
        (
            {"migration": {"promoted_bytes": 1, "heat": KINDS}},
            "accesses by kind of memory: private 60 %, shared 40 %; could not be moved: shared 10 %",
        ),
        ({"migration": 5, "plan": {"mode": "migrate"}}, "migration    not measured: the record does not say why"),
        ({"memory": "torn", "energy": 5, "traffic": [1], "step_ids": 3, "warnings": 4, "plan": []}, "not measured"),
    ],
)
def test_what_is_missing_is_named_and_never_breaks_the_rest(tmp_path, changes, expected):
    write(tmp_path, record(9, **changes))
    assert expected in show(tmp_path, "9").stdout


SOURCES = "powercap: no RAPL zone; perf-energy: no PMU power (a virtual machine); and 3 more"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (SOURCES, "not measured: no counters here; hybridmem meter --list says why"),
        ("powercap: files are for root", "not measured: powercap: files are for root"),
        ("the monitor was killed: nobody knows; none", "not measured: the monitor was killed: nobody knows; none"),
    ],
)
def test_why_no_source_measured_anything_is_for_those_who_ask(tmp_path, source, said):
    write(tmp_path, record(9, energy={"source": source}, traffic={"source": source, "job": {"source": source}}))
    lines = [f"  {label:<12} " for label in ("energy", "traffic", "own traffic")]
    text = show(tmp_path, "9").stdout
    assert [line for line in text.splitlines() if "not measured" in line] == [f"{line}{said}" for line in lines]
    assert max(map(len, lines)) + len(said) <= 80 and text.count(f"{said}\n") == len(lines)
    whole = show(tmp_path, "--verbose", "9").stdout
    assert whole.count(f" not measured: {source}\n") == len(lines)
    assert json.loads(show(tmp_path, "--json", "9").stdout)[0]["energy"]["source"] == source


def test_file_systems(tmp_path):
    """File systems that ended with the job, and those that its user keeps."""
    one = {"socket": 0, "bytes": 256 << 20, "fs": "ext4", "create_s": 0.5, "destroy_s": 2.0, "kept_until": None}
    kept = {**one, "socket": 1, "destroy_s": None, "kept_until": "2025-03-08T11:00:00.000Z"}
    made = [{"name": f"hybridmem:test:12.0.{each['socket']}", **each} for each in (one, kept)]
    write(tmp_path, record(12, mode="fsdax", namespaces=made))
    lines = [line.split(maxsplit=2)[2] for line in show(tmp_path, "12").stdout.splitlines() if "file system" in line]
    assert lines == [
        "ext4 of 256.0 MiB on socket 0, made in 0.5 s, wiped and removed in 2.0 s",
        "ext4 of 256.0 MiB on socket 1, made or found in 0.5 s, kept until 2025-03-08 11:00:00 UTC",
    ]
