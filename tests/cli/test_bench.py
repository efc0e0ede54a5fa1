# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem bench on this machine, whatever its memory is: plausible figures, and one clear line for wrong
arguments."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from installed import LIBEXEC, helper
from terminal import on_terminal, with_errors_on_terminal

MIB = 1 << 20
SMALL = ("--sizes", "1M", "--repetitions", "1", "--threads", "1")


def bench(*words, **options):
    return helper("hybridmem-bench", *words, **options)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--policy", "fats"], '--policy: "fats" is not a policy: use spill, split, fast, slow or interleave'),
        (["--policy", ""], '--policy: "" is not a policy'),
        (["--policy", "fast,slow,fast"], "give one policy, or two: for the array read and for the array written"),
        (["--kernels", "triad"], '--kernels: "triad" is not a kernel: use accumulate, copy and nt-write'),
        (["--kernels", "copy,"], '--kernels: "" is not a kernel'),
        (["--sizes", "1"], '--sizes: "1" is too small: 1M is the least'),
        (["--sizes", "1M,2X"], "2X"),
        (["--sizes", ",".join(["1M"] * 33)], "there are more than 32 sizes"),
        (["--threads", "0"], "--threads: "),
        (["--threads", "4097"], "--threads: "),
        (["--repetitions", "101"], "--repetitions: "),
        (["--block", "0"], "leave --block out"),
        (["--plot", "/"], "name the picture to write"),
        (["--plot", "spill.png"], "only SVG is drawn, so name it spill.svg"),
        (["--config", "/nonexistent"], "/nonexistent"),
        (["spill"], "unexpected word 'spill'"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_bad_words(words, text):
    done = bench(*words, status=2)
    assert text in done.stderr and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


def test_sizes_above_the_available_memory():
    done = bench("--sizes", "16777215T", status=1)
    assert re.fullmatch(
        r"hybridmem bench: --sizes: .* are more than the .* of memory that are available\n", done.stderr
    )


def test_json_fits_together():
    words = ("--sizes", "1M,3M", "--repetitions", "3", "--threads", "2", "--policy", "slow,fast", "--json")
    found = json.loads(bench(*words).stdout)
    assert (found["threads"], found["repetitions"]) == (2, 3)
    assert found["tiers"] == len(json.loads(helper("hybridmem-tiers", "--json").stdout)["tiers"])
    assert [(row["kernel"], row["bytes"]) for row in found["results"]] == [
        (kernel, size * MIB) for kernel in ("accumulate", "copy", "nt-write") for size in (1, 3)
    ]
    for row in found["results"]:
        arrays = {"accumulate": ["read"], "copy": ["read", "written"], "nt-write": ["written"]}[row["kernel"]]
        for role, policy in (("read", "slow"), ("written", "fast")):
            if role not in arrays:
                assert row[role] is None
                continue
            assert row[role]["policy"] == policy
            keys = ("fast_bytes", "slow_bytes", "other_bytes", "file_bytes")
            assert sum(row[role][key] for key in keys) == row["bytes"] // len(arrays)
        assert row["moved_bytes"] == row["bytes"]
        assert len(row["seconds"]) == 3 and min(row["seconds"]) > 0
        assert row["best_mbs"] == pytest.approx(row["moved_bytes"] / 1e6 / min(row["seconds"]))
        assert row["mean_mbs"] == pytest.approx(row["moved_bytes"] / 1e6 * 3 / sum(row["seconds"]))


def predictions(path):
    return [row["predicted_mbs"] for row in json.loads(bench(*SMALL, "--json", "--config", path).stdout)["results"]]


def test_predictions_come_from_the_configured_bandwidths(configure):
    """All nodes of this machine as one tier, whose figures are all given by the configuration."""
    tiers = json.loads(helper("hybridmem-tiers", "--json").stdout)["tiers"]
    nodes = ",".join(str(node) for tier in tiers for node in tier["nodes"])
    path = configure(f'tier "all" {{ nodes = "{nodes}" read_bandwidth = 20000 write_bandwidth = 5000 }}\n')
    read, copy, write = predictions(path)
    assert read == pytest.approx(20000)
    assert write == pytest.approx(5000)
    assert copy == pytest.approx(2 / (1 / 20000 + 1 / 5000))


def test_table():
    lines = bench(*SMALL, "--kernels", "copy,accumulate").stdout.splitlines()
    assert lines[0].split() == ["KERNEL", "SIZE", "READ", "WRITTEN", "BEST", "MEAN", "PREDICTED"]
    assert re.match(r"accumulate +1.0 MiB +spill, \d+ % fast +- +\d+\.\d GB/s +\d+\.\d GB/s +(\d|unknown)", lines[1])
    assert re.match(r"copy +1.0 MiB +spill, \d+ % fast +spill, \d+ % fast +\d+\.\d GB/s", lines[2])
    assert "1 thread, best and mean of 1 repetition" in lines[4]


def test_table_fits_a_terminal():
    """What finds no room is in a second table, whose rows have the kernel and the size again."""
    lines = on_terminal(60, LIBEXEC / "hybridmem-bench", *SMALL)
    heads = [at for at, line in enumerate(lines) if line.startswith("KERNEL")]
    assert [lines[at].split()[2:] for at in heads] == [["READ", "WRITTEN"], ["BEST", "MEAN", "PREDICTED"]]
    assert [[line.split()[0] for line in lines[at + 1 : at + 4]] for at in heads] == [
        ["accumulate", "copy", "nt-write"]
    ] * 2
    assert all(len(line) <= 60 for line in lines)


def test_plot(tmp_path):
    path = tmp_path / "plot.svg"
    bench("--sizes", "1M,2M,4M", "--repetitions", "1", "--plot", path)
    root = ElementTree.parse(path).getroot()
    space = {"s": "http://www.w3.org/2000/svg"}
    for kernel in ("accumulate", "copy", "nt-write"):
        (line,) = (found for found in root.iterfind("s:path", space) if found.get("id") == f"{kernel}-measured")
        assert len(re.findall(r"[ML]", line.get("d"))) == 3
    assert len(root.findall("s:circle", space)) == 3 + 1  # accumulate's marks are circles: three, and one in the legend
    assert list(tmp_path.iterdir()) == [path]
    done = bench(*SMALL, "--plot", tmp_path / "no" / "plot.svg", status=1)
    assert "it cannot be written" in done.stderr and done.stdout.startswith("KERNEL")


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_plot_on_standard_output(tmp_path, words):
    """Standard output has nothing but the picture. The figures are on standard error."""
    done = bench(*SMALL, *words, "--plot", "-", cwd=tmp_path)
    assert ElementTree.fromstring(done.stdout).tag.endswith("svg") and list(tmp_path.iterdir()) == []
    assert len(json.loads(done.stderr)["results"]) == 3 if words else done.stderr.startswith("KERNEL ")


def test_progress_is_for_terminals_only():
    assert bench(*SMALL).stderr == ""
    _, text = with_errors_on_terminal(LIBEXEC / "hybridmem-bench", *SMALL)
    assert "[##" in text and "nt-write, 1.0 MiB, 1 of 1" in text
    assert text.endswith("\r\x1b[K")


def test_threads_that_cannot_be_started():
    """If one thread cannot start, none does, and nothing hangs: here no stack can be allocated."""
    script = "import os, resource, sys\n"
    script += "hard = resource.getrlimit(resource.RLIMIT_STACK)[1]\n"
    script += "resource.setrlimit(resource.RLIMIT_STACK, (1 << 46, hard))\nos.execv(sys.argv[1], sys.argv[1:])\n"
    words = [LIBEXEC / "hybridmem-bench", "--sizes", "1M", "--repetitions", "1", "--threads", "64"]
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"hybridmem bench: thread \d+ of 64 cannot be started: ", done.stderr)


def test_a_configuration_that_does_not_fit_is_wrong_usage(tmp_path):
    config = tmp_path / "hybridmem.conf"
    config.write_text('tier "far" { nodes = "999" }\n')
    done = bench("--config", config, status=2)
    assert "tier far names node 999, which is not there" in done.stderr and done.stdout == ""
