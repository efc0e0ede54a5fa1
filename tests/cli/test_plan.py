# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem plan: its JSON and its exit statuses, on the topologies of the fixtures."""

import json
import subprocess
from pathlib import Path

import pytest
from installed import LIBEXEC, helper, modes

TOPOLOGY = Path(__file__).resolve().parent.parent / "fixtures" / "topology"
KEYS = {
    "mode",
    "policy",
    "nodes",
    "weights",
    "weights_auto",
    "reason",
    "warnings",
    "predicted_bandwidth_mbs",
    "reserve_bytes",
    "migration",
    "fsdax",
    "side_cache_bytes",
}
PLACED = {mode["name"]: mode for mode in modes() if "placement" in mode["wants"]}
POLICIES = {"default", "bind", "interleave", "weighted-interleave", "preferred-many"}


def xml(name):
    return ("--topology", TOPOLOGY / f"{name}.xml")


def plan(request, name, *words):
    return json.loads(helper("hybridmem-plan", request, "--json", *xml(name), "--kernel", "6.12", *words).stdout)


@pytest.mark.parametrize("path", sorted(TOPOLOGY.glob("*.xml")), ids=lambda path: path.stem)
@pytest.mark.parametrize("socket", ["all", "local", "remote"])
@pytest.mark.parametrize("mode", PLACED)
def test_every_mode_on_every_topology(path, mode, socket):
    request = f"{mode},socket={socket}"
    words = ("--topology", path, "--kernel", "6.12", "--alone", "--size", "8G")
    done = subprocess.run(
        [LIBEXEC / "hybridmem-plan", request, "--json", *words], capture_output=True, text=True, check=False
    )
    if done.returncode == 3:
        assert done.stdout == "" and done.stderr.count("\n") == 1 and done.stderr.startswith("hybridmem plan: ")
        return
    assert done.returncode == 0 and done.stderr == ""
    made = json.loads(done.stdout)
    assert set(made) == KEYS and made["policy"] in POLICIES and made["mode"] == mode
    assert (made["migration"] is not None) == ("migrator" in PLACED[mode]["wants"])
    assert bool(made["nodes"]) == (mode != "isolate") and made["nodes"] == sorted(made["nodes"])
    assert made["reason"].endswith(".") and len(made["reason"]) > 30
    assert made["weights_auto"] is (None if made["weights"] is None else False)  # not known of another machine
    if made["weights"] is None:
        assert made["policy"] != "weighted-interleave"
    else:
        assert [int(node) for node in made["weights"]] == made["nodes"]
        assert all(1 <= weight <= 255 for weight in made["weights"].values())
    tiers = json.loads(helper("hybridmem-tiers", "--json", "--topology", path).stdout)["tiers"]
    assert set(made["nodes"]) <= {node for tier in tiers for node in tier["nodes"]}


def test_off():
    assert plan("off", "optane-2-sockets") == {
        "mode": "off",
        "policy": "default",
        "nodes": [],
        "weights": None,
        "weights_auto": None,
        "reason": "Nothing is touched: memory is placed as Linux does by itself.",
        "warnings": [],
        "predicted_bandwidth_mbs": None,
        "reserve_bytes": 0,
        "migration": None,
        "fsdax": None,
        "side_cache_bytes": None,
    }


def test_a_node_whose_fast_memory_is_a_cache():
    made = plan("memory", "memory-mode", "--size", "1T")
    assert (made["policy"], made["nodes"], made["side_cache_bytes"]) == ("default", [], 192 << 30)
    assert "a cache, 192.0 GiB in front of the 1.5 TiB of nodes 0-1" in made["reason"]
    (warning,) = made["warnings"]
    assert warning.startswith("1.0 TiB are more than the cache holds, 192.0 GiB")
    assert "cache      192.0 GiB\n" in helper("hybridmem-plan", "memory", *xml("memory-mode")).stdout
    for name in ("optane-2-sockets", "hbm-flat-snc4", "two-sockets"):
        refused = helper("hybridmem-plan", "memory", *xml(name), status=3).stderr
        assert refused.count("\n") == 1 and "needs a node that has one, by the constraint memmode=cache" in refused


def test_file_systems():
    """The regions of another machine are not known, and the plan says so."""
    made = plan("fsdax,size=64G", "optane-2-sockets")
    assert made["policy"] == "default" and made["nodes"] == [] and made["predicted_bandwidth_mbs"] is None
    assert made["fsdax"] == {"sockets": [0, 1], "size_bytes": 64 << 30, "map_bytes": 1 << 30, "keep": False}
    assert made["warnings"] == ["the node's regions of persistent memory are not known here"]
    text = helper("hybridmem-plan", "fsdax,size=64G,socket=local", *xml("optane-2-sockets"), "--cpus", "0").stdout
    assert "fsdax      64.0 GiB on socket 0\n" in text


def test_file_systems_that_are_kept(tmp_path):
    """File systems are kept only if the site offers that."""
    words = ["fsdax,size=64G,keep", *xml("optane-2-sockets"), "--config"]
    path = tmp_path / "hybridmem.conf"
    path.write_text("fsdax_keep_age = 36h\n")
    assert helper("hybridmem-plan", *words, path, status=3).stderr == (
        "hybridmem plan: --hybrid-mem=fsdax,size=64G,keep: keep is not offered on this node: "
        "hybridmem.conf sets no fsdax_keep_share\n"
    )
    path.write_text("fsdax_keep_share = 10%\nfsdax_keep_age = 36h\n")
    text = helper("hybridmem-plan", *words, path).stdout
    assert "fsdax      64.0 GiB on sockets 0-1, kept\n" in text
    assert "kept on this node for your next jobs there until 36 h after it was first made" in text
    assert plan("fsdax,size=64G,keep", "optane-2-sockets", "--config", path)["fsdax"]["keep"] is True


def test_what_a_migrator_would_be_told(tmp_path):
    path = tmp_path / "hybridmem.conf"
    path.write_text('migrate = "overhead=0.5%,bins=500"\n')
    made = plan("migrate,fast=25%,rate=100M,period=5000,source=faults", "optane-2-sockets", "--config", path)
    assert made["policy"] == "bind-balancing" and made["nodes"] == [0, 1, 2, 3]
    assert made["migration"] == {
        "fast_nodes": [0, 1],
        "middle_tiers": [],
        "slow_nodes": [2, 3],
        "cap_bytes": 96 << 30,
        "algorithm": "regions",
        "source": "faults",
        "hot_by": "accesses",
        "interval_s": 10.0,
        "overhead": 0.005,
        "period": 5000,
        "bins": 500,
        "rate_bytes": 100 << 20,
        "read_latency": pytest.approx(304 / 81),
        "write_latency": pytest.approx(304 / 81 * 39000 / 19500),  # from the bandwidth that writes get
        "balance": {  # the tiers share their channels: all heat belongs in the fast one
            "curves": "tiers",
            "why": None,
            "share": 1,
            "bandwidth_mbs": 193800,
            "hottest_first_mbs": 193800,
        },
    }
    text = helper("hybridmem-plan", "migrate,rate=100M,bins=99,period=1000", *xml("optane-2-sockets")).stdout
    for line in (
        "migrator   0-1 <- 2-3, algorithm regions, source auto, hot by accesses, a decision every 10 s, overhead 1%\n",
        "rate       100.0 MiB per second\n",
        "period     1000 accesses per sample\n",
        "bins       99\n",
    ):
        assert line in text
    assert "\ncap " not in text and "\nbalance " not in text
    assert plan("isolate", "optane-2-sockets")["migration"]["hot_by"] == "writes"
    old = plan("migrate,source=faults", "optane-2-sockets", "--kernel", "5.10")
    assert old["policy"] == "default" and "source=faults" in old["warnings"][0]


def test_tiers_between_the_fast_and_the_slow_one():
    made = plan("migrate,fast=25%", "three-tiers")["migration"]
    assert (made["fast_nodes"], made["slow_nodes"]) == ([4, 5], [2, 3])
    # An access to DRAM is faster than one to HBM, so that its cost says nothing.
    assert made["middle_tiers"] == [{"nodes": [0, 1], "read_latency": None, "write_latency": None}]
    assert made["balance"]["why"] == "a balance is known of two tiers, and there are more"
    text = helper("hybridmem-plan", "migrate,fast=25%", *xml("three-tiers")).stdout
    assert "migrator   4-5 <- 0-1 <- 2-3, algorithm regions, " in text
    text = " ".join(helper("hybridmem-plan", "migrate,algorithm=bins", *xml("three-tiers")).stdout.split())
    assert "migrator 4-5 <- 2-3, algorithm bins, " in text
    assert "the algorithm bins knows two tiers: what is in dram (nodes 0-1) may go up, and nothing goes there" in text


@pytest.mark.parametrize(
    ("request_text", "cpus", "policy", "nodes"),
    [
        ("fast", "0", "bind", [0, 1]),
        ("slow", "0", "bind", [2, 3]),
        ("dram,socket=remote", "0", "bind", [1]),
        ("pmem,socket=local", "0", "bind", [2]),
        ("interleave", "0", "interleave", [0, 1, 2, 3]),
        ("interleave,socket=remote", "0", "interleave", [1, 3]),
        ("spill", "0", "interleave", [0, 1]),
        ("spill,socket=local", "0", "bind", [0, 2]),
        ("spill,socket=remote", "0", "bind", [1, 3]),
    ],
)
def test_optane(request_text, cpus, policy, nodes):
    made = plan(request_text, "optane-2-sockets", "--cpus", cpus)
    assert (made["policy"], made["nodes"], made["weights"], made["warnings"]) == (policy, nodes, None, [])


def test_prediction_needs_a_size_where_the_model_does():
    assert plan("spill", "optane-2-sockets")["predicted_bandwidth_mbs"] is None
    assert plan("spill", "optane-2-sockets", "--size", "16G")["predicted_bandwidth_mbs"] == pytest.approx(204000)
    # 384 of 1536 GiB in DRAM: 1 / (0.25/204 + 0.75/78)
    assert plan("spill", "optane-2-sockets", "--size", "1536G")["predicted_bandwidth_mbs"] == pytest.approx(
        92243, abs=1
    )
    assert plan("slow", "optane-2-sockets")["predicted_bandwidth_mbs"] == pytest.approx(78000)


def test_weights_only_where_the_job_is_alone_and_the_kernel_can():
    alone = plan("spill", "hbm-flat-snc4", "--alone")
    assert alone["policy"] == "weighted-interleave"
    assert {alone["weights"][str(node)] for node in range(8)} == {7}
    assert {alone["weights"][str(node)] for node in range(8, 16)} == {20}
    shared = plan("spill", "hbm-flat-snc4")
    assert shared == plan("spill", "hbm-flat-snc4", "--shared")
    assert shared["weights"] is None and "not alone" in shared["reason"]
    old = plan("spill", "hbm-flat-snc4", "--alone", "--kernel", "6.8")
    assert old["weights"] is None and "no weighted interleave" in old["reason"]


def test_an_old_kernel_gets_the_next_best_policy():
    new = plan("spill", "hbm-flat-knl")
    old = plan("spill", "hbm-flat-knl", "--kernel", "5.10")
    assert (new["policy"], old["policy"]) == ("preferred-many", "interleave")
    assert new["nodes"] == old["nodes"] == [1]


def test_the_configuration_decides(configure):
    path = configure('channels "dram+pmem" { kind = separate }\nreserve = 5%\n')
    made = plan("spill", "optane-2-sockets", "--config", path, "--alone")
    assert made["policy"] == "weighted-interleave" and made["weights"]["0"] > made["weights"]["2"]


@pytest.mark.parametrize(
    ("request_text", "name", "words", "said"),
    [
        (
            "hbm",
            "optane-2-sockets",
            [],
            "--hybrid-mem=hbm: there is no hbm memory: this node has dram (nodes 0-1), pmem (nodes 2-3)",
        ),
        ("slow", "one-node", [], "--hybrid-mem=slow: there is no second, slower tier: this node has fast (node 0)"),
        (
            "spill,socket=remote",
            "hbm-flat-knl",
            ["--cpus", "0"],
            "--hybrid-mem=spill,socket=remote: the task's CPUs are on socket 0, and no other socket has memory: "
            "this node has hbm (node 1), dram (node 0)",
        ),
        ("spill", "all-hidden", [], None),
    ],
)
def test_what_a_node_cannot_serve(request_text, name, words, said):
    done = helper("hybridmem-plan", request_text, *xml(name), *words, status=3)
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert said is None or done.stderr == f"hybridmem plan: {said}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the request is missing: give one, as in: hybridmem plan spill"),
        (["spill", "fast"], "there is more than one request: write MODE or MODE,KEY=VALUE as one word"),
        (["spill", "--alone", "--shared"], "--alone and --shared exclude each other: give one"),
        (["spill", "--size", "17E"], '--size: "17E" is not a size: write digits and K, M, G or T, as in 64G'),
        (["spill", "--size", "16777216T"], '--size: "16777216T" is too large: sizes are below 2^64 bytes (16777216T)'),
        (["spill", "--size", "0"], '--size: "0" is nothing: leave --size out where it is not known'),
        (["spill", "--size", "-1"], '--size: "-1" is not a size: write digits and K, M, G or T, as in 64G'),
        (["spill", "--kernel", "six"], '--kernel: "six" is not a kernel\'s version: write it as in 6.12 or 6.12.3-foo'),
        (
            ["spill", "--cpus", "0-"],
            '--cpus: "0-": "0-" is not a number or range of 0 to 8191; write a list like 0-3,8',
        ),
        (["spill", "--cpus", ""], "--cpus : give CPUs of this node, which has 0-3"),
        (
            ["spill", "--cpus", "0,9999"],
            '--cpus: "0,9999": "9999" is not a number or range of 0 to 8191; write a list like 0-3,8',
        ),
        (["spill", "--cpus", "0,900"], "--cpus 0,900: give CPUs of this node, which has 0-3"),
    ],
)
def test_wrong_usage(words, said):
    done = helper("hybridmem-plan", *words, *xml("optane-2-sockets"), status=2)
    assert (done.stdout, done.stderr) == ("", f"hybridmem plan: {said}\n")


@pytest.mark.parametrize("words", [["--nonsense"], ["--size"], ["--json=1"]])
def test_unknown_options_point_to_the_help(words):
    done = helper("hybridmem-plan", "spill", *words, status=2)
    assert done.stderr.endswith("Try 'hybridmem plan --help'.\n")


@pytest.mark.parametrize("option", ["--topology", "--config"])
def test_a_file_that_is_not_there(tmp_path, option):
    done = helper("hybridmem-plan", "spill", option, tmp_path / "none", status=2)
    assert str(tmp_path / "none") in done.stderr and done.stderr.count("\n") == 1


def test_a_plan_as_text():
    done = helper(
        "hybridmem-plan", "spill", *xml("optane-2-sockets"), "--size", "16G", "--cpus", "0", "--kernel", "6.12"
    )
    assert done.stdout == (
        "mode       spill\n"
        "policy     interleave\n"
        "nodes      0-1\n"
        "predicted  204.0 GB/s read bandwidth, by the model\n"
        "reason     dram (nodes 0-1) is filled first, its nodes in turn, and the rest goes to pmem (nodes 2-3), "
        "nearest node first.\n"
    )


def test_this_machine():
    made = json.loads(helper("hybridmem-plan", "fast", "--json").stdout)
    assert made["policy"] == "bind" and made["nodes"]


def test_the_balance_by_a_file_of_curves(tmp_path):
    """STREAM's triad over both tiers: all in the fast tier is slower than a balance."""
    curves, config = tmp_path / "tiers.load", tmp_path / "hybridmem.conf"
    config.write_text(f'load = "{curves}"\n')
    curves.write_text("channels separate\nfast 0GB/s 100ns\nfast 200GB/s 300ns\nslow 0GB/s 250ns\nslow 50GB/s 600ns\n")
    words = ("--config", config)
    assert plan("migrate", "cxl-expander", *words)["migration"]["balance"] == {
        "curves": "file",
        "why": None,
        "share": 0.8,
        "bandwidth_mbs": 250000,
        "hottest_first_mbs": 200000,
    }
    curves.write_text("channels separate\n")
    done = helper("hybridmem-plan", "migrate", *xml("cxl-expander"), *words, status=2)
    assert f"{curves}: the fast tier has no point with traffic" in done.stderr
