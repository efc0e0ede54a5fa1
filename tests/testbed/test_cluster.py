# SPDX-License-Identifier: Apache-2.0
"""Tests what a cluster of guests is made of, without a guest; tests/cluster runs one."""

import os
import re
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from hostside import cluster, command, driver, qemu, switch  # noqa: E402


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--nodes 0", "invalid choice: 0"),
        ("--nodes 2 --shape kmem", "--nodes: a cluster's nodes have layouts, and no --shape kmem"),
        (
            "--nodes 2 --accel counted",
            "--nodes: guests on a network have the host's clock: no --meter, no --accel counted",
        ),
    ],
)
def test_what_no_cluster_can_be_is_refused_in_one_line(words, said):
    done = subprocess.run([HERE / "guest", "run", *words.split(), HERE / "guest"], capture_output=True, text=True)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]


def test_a_lacking_program_is_named_before_anything_is_built(tmp_path):
    for program in (qemu.QEMU, "python3"):
        (tmp_path / program).symlink_to(sys.executable)
    words = [HERE / "guest", "run", "--nodes=2", HERE / "guest"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (125, "guest: qemu-img is not installed: run tests/setup\n")


@pytest.fixture
def three_ends():
    """A switch with three ends, a to c: QEMU's sockets by name."""
    wires = switch.Switch()
    ends = {name: wires.plug(name)[1] for name in "abc"}
    for end in ends.values():
        end.setblocking(False)
    yield wires, ends
    for name, end in ends.items():
        wires.unplug(name)
        end.close()


def heard(end):
    try:
        return end.recv(switch.FRAME_BYTES)
    except BlockingIOError:
        return None


def test_frames_go_to_all_until_the_switch_knows_who_is_where(three_ends):
    wires, ends = three_ends
    to_b, to_a = b"bbbbbbaaaaaa first", b"aaaaaabbbbbb answer"
    ends["a"].send(to_b)
    wires.on_frames("a")
    assert [heard(ends[name]) for name in "abc"] == [None, to_b, to_b]
    ends["b"].send(to_a)
    wires.on_frames("b")
    assert [heard(ends[name]) for name in "abc"] == [to_a, None, None]


def test_a_frame_for_a_machine_without_power_is_lost(three_ends):
    wires, ends = three_ends
    ends["b"].send(b"aaaaaabbbbbb so that b is known")
    wires.on_frames("b")
    wires.unplug("b")
    ends["a"].send(b"bbbbbbaaaaaa")
    wires.on_frames("a")
    assert heard(ends["c"]) == b"aaaaaabbbbbb so that b is known" and heard(ends["c"]) is None


@pytest.fixture
def two_nodes(monkeypatch, tmp_path):
    """A cluster of two nodes that nobody has started."""
    monkeypatch.setattr(cluster.image, "disk", lambda *_: tmp_path)
    monkeypatch.setattr(cluster, "_overlay", lambda folder: None)
    monkeypatch.setattr(cluster.accelerator, "choose", lambda *_: "counted")
    options = types.SimpleNamespace(slurm="24.11", codes=False, nodes=2, timeout=1, verbose=False)
    options.accel, options.command = "auto", "run"
    return cluster.Cluster(options, None)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["boot", "n3"], "there is no node 'n3'"),
        (["kill", "ctl"], "there is no node 'ctl'"),
        (["kill", "n1"], "cannot kill n1, which is off"),
        (["melt", "n2"], "cannot melt n2, which is off"),
        ([], "there is no node ''"),
    ],
)
def test_machines_that_cannot_be_told_so_are_named(two_nodes, words, answer):
    assert two_nodes.accel == "tcg"
    assert two_nodes.obey(*words) == answer


def seconds(program, name):
    """What a program of the guest sets a variable to."""
    text = (HERE / "guest-files" / "usr" / "local" / "sbin" / program).read_text()
    return int(re.search(rf"\b{name}=(\d+)", text)[1])


def test_the_controllers_own_error_comes_before_the_drivers(two_nodes):
    """It waits for its database, slurmdbd, Slurm's nodes and their agents."""
    controller, node = two_nodes.guests["ctl"], two_nodes.guests["n1"]
    before = time.monotonic()
    controller.on_word("up", "")
    waits = 2 * seconds("testbed-accounting", "patience") + 2 * seconds("testbed-init", "cluster_timeout")
    assert controller.deadline - before > waits
    node.on_word("up", "")
    assert node.deadline < controller.deadline and node.deadline - before > seconds("testbed-init", "cluster_timeout")


def test_a_node_that_resets_has_the_layout_that_its_firmware_was_told(two_nodes, monkeypatch):
    monkeypatch.setattr(cluster, "_memory", lambda mib: mib)
    node = two_nodes.guests["n1"]
    node._begin()
    kept = node._nvdimms
    assert node._firmware("show") == "ok flat flat" and kept
    assert node._firmware("goal", "round") == "'goal round' is not: show, ignore, goal flat, goal cached"
    node._begin()
    assert node._nvdimms is kept
    assert node._firmware("goal", "cached") == "ok" and node._firmware("show") == "ok flat cached"
    node._begin()
    assert node._firmware("show") == "ok cached cached" and not node._nvdimms


class FakeQemu:
    """A QEMU that has ended with a status."""

    def __init__(self, status=0):
        self.process, self.sockets = types.SimpleNamespace(wait=lambda: status), {}

    def __exit__(self, *_):
        pass


@pytest.fixture
def started(two_nodes, monkeypatch):
    """The names of the guests that are started, one after the other."""
    names = []
    monkeypatch.setattr(cluster, "_memory", lambda mib: mib)

    def start(guest):
        guest._begin()
        guest.vm = FakeQemu()
        names.append(guest.name)

    monkeypatch.setattr(cluster.Guest, "start", start)
    for guest in two_nodes.guests.values():
        start(guest)
    names.clear()
    return names


def test_a_node_that_resets_starts_again_and_one_that_powers_off_does_not(two_nodes, started):
    reset, off = two_nodes.guests["n1"], two_nodes.guests["n2"]
    reset.on_qmp(b'{"event": "SHUTDOWN", "data": {"guest": true, "reason": "guest-reset"}}\n')
    off.on_qmp(b'{"event": "SHUTDOWN", "data": {"guest": true, "reason": "guest-shutdown"}}\n')
    reset.on_end()
    off.on_end()
    assert started == ["n1"] and not off.vm and not two_nodes.is_over
    assert two_nodes.obey("boot", "n2") == "ok" and started == ["n1", "n2"]


def test_a_node_whose_kernel_dies_ends_the_run_and_shows_its_console(two_nodes, started, capsys):
    node = two_nodes.guests["n1"]
    node.on_console(b"Kernel panic - not syncing: oops\n")
    node.on_qmp(b'{"event": "SHUTDOWN", "data": {"guest": true, "reason": "guest-reset"}}\n')
    with pytest.raises(command.Failure, match="the kernel of n1 has died"):
        node.on_end()
    assert "Kernel panic" in capsys.readouterr().err and not started


def test_a_node_whose_qemu_fails_ends_the_run(two_nodes, started):
    two_nodes.guests["n2"].vm = FakeQemu(status=1)
    with pytest.raises(command.Failure, match="QEMU of n2 ended with status 1"):
        two_nodes.guests["n2"].on_end()


def test_a_controller_that_dies_has_no_status(two_nodes, started):
    two_nodes.guests["ctl"].on_end()
    assert two_nodes.is_over
    with pytest.raises(command.Failure, match="ctl ended in the phase 'kernel' without a status"):
        two_nodes.guests["ctl"].final_status()


def test_a_node_that_hangs_at_boot_is_started_again_some_times(two_nodes, started):
    node = two_nodes.guests["n1"]
    for _ in range(driver.STARTS - 1):
        node.on_deadline()
    with pytest.raises(driver.NeverUp, match="n1's kernel did not start"):
        node.on_deadline()
    assert started == ["n1"] * (driver.STARTS - 1)
