# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem-memmode on this machine, which has no Optane modules. A script stands in for ipmctl: it gives
recorded answers of the real one (tests/fixtures/ipmctl), and keeps the pending goal in a file. So it also does what the
played platform of test_memmode_played.py cannot. The kernel's part, the namespaces, is this machine's own: there are
none."""

import json
import os
import re
import select
import socket
import subprocess
import time
from pathlib import Path

import pytest
from bootnote import came
from installed import LIBEXEC, PREFIX, helper, needs_memmode, with_mounts

pytestmark = needs_memmode

UNIT = PREFIX / "lib" / "systemd" / "system" / "hybridmem-memmode.service"
SHOWS = {"flat": "252.0 GiB: 0 B memory, 252.0 GiB App Direct", "cache": "252.0 GiB: 252.0 GiB memory, 0 B App Direct"}
HIDDEN = (
    "the modules have 252.0 GiB of App Direct, the kernel shows regions of 0 B: the rest may hold data "
    "(is the kernel module nfit loaded?)"
)
QUIET = (0, "", [])  # of the check: its status, what it says, what scontrol is told


def test_a_node_of_both_is_mixed(node):
    node.set(mode="mixed-resources", goal="goal-half")
    assert node.run().stdout == "memmode=mixed\n"


def test_ipmctl_sees_nothing_of_what_users_can_write(node):
    """ipmctl takes orders from files in /tmp and from shared memory."""
    node.run()
    assert (node.folder / "tmp").read_text() == ""
    assert (node.folder / "ipc").read_text().strip() != str(Path("/proc/self/ns/ipc").readlink())
    names = {line.partition("=")[0] for line in (node.folder / "env").read_text().splitlines()}
    assert names <= {"LC_ALL", "PWD", "OLDPWD", "_", "SHLVL"}


@pytest.fixture
def log(node):
    """The system's log, of a command in a /dev of its own. Gives what comes before the command, and what reads it."""
    dev = node.folder / "dev"
    dev.mkdir()
    (dev / "null").touch()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(str(dev / "log"))
        log.setblocking(False)
        yield (
            lambda *words: with_mounts(f"mount --bind /dev/null {dev}/null; mount --rbind {dev} /dev", *words),
            lambda: log.recv(4096).decode(),
        )


@pytest.mark.parametrize(
    ("words", "program", "printed"), [([], True, "memmode=flat\n"), ([], False, ""), (["memmode=cache"], True, "")]
)
def test_a_mistake_in_the_configuration_is_logged_and_takes_no_feature_away(node, log, words, program, printed):
    """slurmd drops what a helper says that fails, and takes every line of one that does not for a feature."""
    node.config.write_text("recrod = all\n")
    with_log, read_log = log
    options = [f"--config={node.config}", f"--ipmctl={node.program if program else '/nonexistent'}"]
    command = with_log(LIBEXEC / "hybridmem-memmode", *options, *words)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0 if printed else 1, printed)
    assert "recrod" in read_log() and ("recrod" in done.stderr) == (not printed)


def test_a_goal_is_set_once(node):
    node.set(mode="cache-resources")
    assert node.run("memmode=flat").stdout == ""
    assert node.goal() == "goal-flat"
    node.run("memmode=flat")
    assert node.changes() == ["create"]
    node.run("memmode=cache")  # back, before the reboot
    assert node.changes() == ["create", "delete"] and node.goal() == "goal-none"


def test_a_node_is_made_mixed_with_the_share_of_the_site(node):
    node.set(mode="cache-resources")
    node.run("memmode=mixed")
    assert node.goal() == "goal-mixed" and node.changes() == ["create"]
    node.note.age()
    node.set(mode="mixed-resources", goal="goal-none")
    assert node.check() == came("mixed") and not node.note.path.exists()
    node.config.write_text(node.config.read_text().replace("memmode_mixed = 50%", ""))
    node.set(mode="cache-resources")
    assert "how much of the modules is memory then: set memmode_mixed" in node.fails("memmode=mixed")


def test_a_node_keeps_its_mode_for_the_sites_least_time(node):
    """It counts from the boot. Nor does it hold up a goal that an administrator has set."""
    up = int(time.clock_gettime(time.CLOCK_BOOTTIME))
    config = node.config.read_text()
    node.config.write_text(f"{config}\nmemmode_least = {up + 3600}s\n")
    node.set(mode="cache-resources")
    why = f"the node keeps memmode=cache for {up + 3600} s after a boot (memmode_least), and was booted "
    assert why in node.fails("memmode=flat") and node.changes() == []
    prevents = json.loads(node.run("memmode", "--json").stdout)["prevents"]
    assert why in prevents["flat"] and why in prevents["mixed"] and prevents["cache"] is None
    node.set(goal="goal-flat")
    node.run("memmode=flat")
    node.run("memmode=cache")
    assert node.changes() == ["delete"]
    node.config.write_text(f"{config}\nmemmode_least = {min(up, 60)}s\n")
    node.run("memmode=flat")
    assert node.changes() == ["delete", "create"]


def test_no_namespace_is_made_that_the_next_boot_ends(node):
    """Until the boot, or until that is taken back: through Slurm, or by hand, which the check sees."""
    words = ["create", "--job=12", "--restart=0", "--uid=1001", "--size=1G", "--sockets=0", f"--config={node.config}"]
    with node.config.open("a") as config:
        config.write("\nfsdax_trust = yes\n")

    def is_refused():
        said = helper("hybridmem-namespace", *words, status=1).stderr
        return "this node was asked for memmode=flat, and its next boot ends all namespaces" in said

    node.set(mode="cache-resources")
    assert not is_refused()
    node.run("memmode=flat")
    assert is_refused()
    node.run("memmode=cache")
    assert not is_refused()
    node.run("memmode=flat")
    node.set(goal="goal-none")
    assert node.check() == QUIET and not is_refused()
    node.run("memmode=flat")
    node.note.age()
    assert not is_refused()


@pytest.mark.parametrize(
    ("values", "feature", "said"),
    [
        ({}, "memmode=cache", HIDDEN),
        ({"mode": "goal-cache"}, "memmode=cache", "it answered with a ConfigGoalList, not with a MemoryResources"),
        ({"status": "20"}, "memmode=cache", "ipmctl show -memoryresources: it ended with status 20"),
        ({"goal": "goal-none", "abilities": "goal-none"}, "memmode=cache", "-capabilities: There are no goal configs"),
    ],
)
def test_what_must_not_be_is_refused_before_anything_is_changed(node, values, feature, said):
    node.set(**values)
    assert said in node.fails(feature)
    assert node.changes() == [] and node.goal() == "goal-none"


def test_a_node_whose_firmware_did_not_do_it_is_drained(node):
    node.set(mode="cache-resources")
    node.run("memmode=flat")
    node.note.age()
    node.set(goal="goal-none")
    why = (
        "memmode=flat was asked for before the boot, and the node came back memmode=cache (of 252.0 GiB of PMem "
        "modules, 252.0 GiB are memory, 0 B App Direct)"
    )
    status, said, told = node.check("--node=n1")
    assert (status, said) == (4, f"hybridmem memmode: {why}; node n1 is drained\n")
    assert told == [
        *("update", "nodename=n1", "state=drain", f"reason=hybridmem: {why}"),
        *("update", "nodename=n1", "activefeatures=memmode=cache"),
    ]
    assert node.check() == QUIET and not node.note.path.exists()
    # So the unit has not failed, and looks at the next shutdown, too.
    assert f"\nSuccessExitStatus={status}\n" in UNIT.read_text()


def test_no_other_node_is_drained(node):
    """Nothing was asked, or there was no boot since, or the goal was taken back, or the firmware did it."""
    node.set(mode="cache-resources")
    assert node.check() == QUIET
    node.run("memmode=flat")
    assert node.check() == QUIET and node.note.path.exists()
    node.run("memmode=cache")
    assert not node.note.path.exists()
    node.run("memmode=flat")
    node.note.age()
    node.set(mode="flat-resources", goal="goal-none")
    assert node.check() == came("flat") and not node.note.path.exists()


def test_the_name_of_the_node_is_slurms_and_not_the_hosts(node):
    node.set(mode="cache-resources")
    node.run("memmode=flat")
    node.note.age()
    status, said, told = node.check(aliases="r7n3")
    assert (status, told.count("nodename=r7n3")) == (4, 2) and "node r7n3 is drained" in said


@pytest.mark.parametrize("name", ["", "n[1-9]", "n1,n2", "ALL", "n" * 65])
def test_only_one_node_can_be_drained(node, name):
    node.set(mode="cache-resources")
    node.run("memmode=flat")
    node.note.age()
    status, said, told = node.check(f"--node={name}")
    assert (status, told) == (2, []) and f'"{name[:64]}" is not the name of one node' in said
    assert node.note.path.exists()


def test_ipmctl_ends_with_the_program_that_asks(node):
    """Slurm kills a helper that takes too long. Then nobody holds the lock."""
    os.mkfifo(node.folder / "hangs")
    command = [PREFIX / "libexec/hybridmem/hybridmem-memmode", f"--config={node.config}", f"--ipmctl={node.program}"]
    with subprocess.Popen(command) as asking:
        pid = int((node.folder / "hangs").read_text())
        ipmctl = os.pidfd_open(pid)
        asking.kill()
    assert select.select([ipmctl], [], [], 60)[0]
    os.close(ipmctl)


@pytest.mark.parametrize("feature", ["memmode=other", "memmode=hot", "cache", ""])
def test_a_word_that_is_no_feature_is_named(node, feature):
    assert f'"{feature}" is ' in node.fails(feature, status=2)
    assert not (node.folder / "calls").exists()


def test_words_that_do_not_go_together_are_refused(node):
    assert "unexpected word 'memmode=flat'" in node.fails("memmode=cache", "memmode=flat", status=2)
    assert "unexpected word 'memmode=flat'" in node.fails("memmode", "memmode=flat", status=2)
    assert "--json is for 'hybridmem memmode'" in node.fails("--json", status=2)
    assert "--node is for --check, and beside FEATURE" in node.fails("--node=n1", status=2)
    assert "--check and --reboot are for 'hybridmem-memmode'" in node.fails("memmode", "--check", status=2)
    assert "unexpected word 'memmode=flat'" in node.fails("--check", "memmode=flat", status=2)


def test_a_program_that_others_may_write_is_not_run(node):
    node.program.chmod(0o772)
    assert f"{node.program} has mode 0772: others may write it" in node.fails()
    node.program.unlink()
    assert f"{node.program}: No such file or directory" in node.fails()
    assert not (node.folder / "calls").exists()


def test_only_root():
    command = ["setpriv", "--reuid=65534", "--clear-groups", PREFIX / "libexec/hybridmem/hybridmem-memmode"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "hybridmem memmode: only root may run this\n")


@pytest.mark.parametrize(("mode", "goal"), [("flat", None), ("cache", "half")])
def test_the_state_is_shown_to_people(node, mode, goal):
    node.set(mode=f"{mode}-resources", goal=f"goal-{goal or 'none'}")
    pending = {"half": "incomplete"}.get(goal, goal)
    text = node.run("memmode").stdout
    assert f"mode        {mode}\n" in text and f"modules     2, {SHOWS[mode]}" in text
    assert f"pending     {f'{pending}, from the next boot on' if goal else 'none'}\n" in text
    shown = json.loads(node.run("memmode", "--json").stdout)
    assert (shown["mode"], shown["pending"], shown["modules"]) == (mode, pending, 2)
    assert shown["bytes"]["physical"] == 252 << 30 and shown["namespaces"] == {"kept": 0, "jobs": 0, "others": 0}
    assert shown["prevents"] == {
        "flat": None,
        "cache": HIDDEN if mode == "flat" else None,
        "mixed": HIDDEN if mode == "flat" else None,
    }
    assert node.changes() == []


def test_the_command_of_people_is_the_same_program(node):
    command = [PREFIX / "bin" / "hybridmem", "memmode", f"--ipmctl={node.program}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert re.match(r"mode +flat\n", done.stdout)
