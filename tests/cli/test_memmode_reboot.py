# SPDX-License-Identifier: Apache-2.0
"""Tests the reboot program of hybridmem-memmode. Scripts stand in for ipmctl (ipmctlnode.py) and for what reboots, so
nothing boots."""

import fcntl
import subprocess

import pytest
from installed import LIBEXEC, needs_memmode, with_mounts

pytestmark = needs_memmode

REFUSED = "hybridmem memmode: no reboot: "


class Rebooting:
    """A node whose site has a program for reboots."""

    def __init__(self, node):
        self.node, self.program, self.ran = node, node.folder / "reboot", node.folder / "rebooted"
        self.program.write_text(f'#!/bin/sh\necho "reboot $*" >> {self.ran}\nexit "$(cat {node.folder}/fails)"\n')
        self.program.chmod(0o755)
        node.set(mode="cache-resources", fails=0)
        with node.config.open("a") as config:
            config.write(f"\nreboot_program = {self.program}\n")

    def boots(self, *features):
        self.node.run("--reboot", "--", *features)
        return self.ran.read_text() == "reboot \n"

    def refuses(self, *features, status=1):
        said = self.node.fails("--reboot", "--", *features, status=status)
        assert not self.ran.exists()
        return said


@pytest.fixture
def rebooting(node):
    return Rebooting(node)


@pytest.mark.parametrize("features", [(), ("",), ("ib,avx512",), ("ib,memmode=cache",)])
def test_what_is_not_about_another_mode_just_reboots(rebooting, features):
    assert rebooting.boots(*features)


def test_a_node_reboots_once_its_goal_is_set(rebooting):
    assert rebooting.refuses("memmode=flat") == (
        f"{REFUSED}memmode=flat was asked for, and the pending goal is none: set it with "
        "'hybridmem-memmode memmode=flat'\n"
    )
    rebooting.node.run("memmode=flat")
    assert "memmode=cache was asked for, and the pending goal is flat" in rebooting.refuses("memmode=cache")
    assert rebooting.boots("memmode=flat")
    assert rebooting.node.note.path.exists()


@pytest.mark.parametrize("features", [(), ("memmode=flat",)])
def test_no_node_reboots_with_half_a_goal(rebooting, features):
    rebooting.node.set(goal="goal-half")
    assert f"{REFUSED}the pending goal is incomplete" in rebooting.refuses(*features)


def test_no_node_reboots_where_nobody_knows(rebooting):
    rebooting.node.set(status=20)
    assert "ipmctl show -memoryresources: it ended with status 20" in rebooting.refuses()
    rebooting.node.set(status=0, abilities="no-modules", goal="goal-flat")
    assert "-capabilities: Initialization failed. No PMem modules in the system" in rebooting.refuses()
    rebooting.node.program.unlink()
    assert "No such file or directory" in rebooting.refuses("memmode=flat")


def test_a_goal_that_somebody_deleted_is_not_checked_after_the_boot(rebooting):
    rebooting.node.run("memmode=flat")
    rebooting.node.set(goal="goal-none")
    assert rebooting.boots()
    assert not rebooting.node.note.path.exists()


def test_a_note_that_no_check_has_answered_outlasts_a_reboot(rebooting):
    """slurmctld was away when the node came back in the wrong mode. Then Slurm reboots it for another reason."""
    rebooting.node.run("memmode=flat")
    rebooting.node.note.age()
    rebooting.node.set(goal="goal-none")
    assert rebooting.boots()
    rebooting.ran.unlink()
    assert rebooting.node.check("--node=n1")[0] == 4
    rebooting.node.note.path.write_text("torn")
    assert rebooting.boots()


def test_nodes_without_modules_reboot(rebooting):
    """Slurm has one program for all nodes."""
    rebooting.node.set(mode="no-modules")
    assert rebooting.boots()
    rebooting.ran.unlink()
    assert "No PMem modules" in rebooting.refuses("memmode=flat")
    rebooting.node.program.unlink()
    with (rebooting.node.folder / "run" / "root" / "node" / "namespace.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a namespace that is wiped, for as long as that takes
        assert rebooting.boots()


def test_words_that_are_no_features_are_refused(rebooting):
    assert '"memmode=hot" is not a feature' in rebooting.refuses("ib,memmode=hot", status=2)
    assert "unexpected word 'ib'" in rebooting.refuses("memmode=cache", "ib", status=2)
    assert "--check and --reboot do not go together" in rebooting.node.fails("--reboot", "--check", status=2)


def test_a_failure_of_the_sites_program_is_told(rebooting):
    rebooting.node.set(fails=3)
    assert f"{REFUSED}{rebooting.program} ended with status 3" in rebooting.node.fails("--reboot")
    rebooting.ran.unlink()
    rebooting.program.chmod(0o757)
    assert f"{rebooting.program} has mode 0757: others may write it" in rebooting.refuses()


@pytest.mark.parametrize("lacks", ["ipmctl", "modules"])
def test_a_mistake_in_the_configuration_stops_no_plain_reboot(rebooting, lacks):
    """By systemctl: a file with a mistake names no program that is run as root."""
    node = rebooting.node
    systemctl = node.folder / "systemctl"
    systemctl.write_text(f'#!/bin/sh\necho "$*" >> {node.folder}/systemctl-ran\n')
    systemctl.chmod(0o755)
    with node.config.open("a") as config:
        config.write("colour = green\n")

    def reboot(*features):
        words = (f"--config={node.config}", f"--ipmctl={node.program}", "--reboot", "--", *features)
        command = with_mounts(f"mount --bind {systemctl} /usr/bin/systemctl", LIBEXEC / "hybridmem-memmode", *words)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert f"{node.config}:" in done.stderr and done.stderr.count("\n") == 1
        return done.returncode, (node.folder / "systemctl-ran").exists()

    assert reboot() == (1, False)
    node.set(mode="no-modules")
    if lacks == "ipmctl":
        node.program.unlink()
    assert reboot("memmode=flat") == (1, False)
    assert reboot("ib") == (0, True)
    assert not rebooting.ran.exists()


def test_slurms_program_takes_the_features_and_runs_systemctl(node):
    """As slurmd runs it: there is nothing but the features on the command line. What firmware has to do is not passed
    over: systemctl would rather start a kernel that is loaded for kexec, or make a soft reboot."""
    systemctl = node.folder / "systemctl"
    variables = "$SYSTEMCTL_SKIP_AUTO_KEXEC $SYSTEMCTL_SKIP_AUTO_SOFT_REBOOT"
    systemctl.write_text(f'#!/bin/sh\necho "$* {variables}" >> {node.folder}/rebooted\n')
    systemctl.chmod(0o755)
    script = f"mount --bind {systemctl} /usr/bin/systemctl; mount -t tmpfs none /run"
    for words, status, said in (
        (["memmode=cache"], 1, f"{REFUSED}/usr/bin/ipmctl: No such file or directory\n"),
        ([], 0, ""),
    ):
        command = with_mounts(script, LIBEXEC / "hybridmem-reboot", *words)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (status, said)
    assert (node.folder / "rebooted").read_text() == "reboot 1 1\n"
