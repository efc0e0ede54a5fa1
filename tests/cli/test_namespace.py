# SPDX-License-Identifier: Apache-2.0
"""Tests the command line of hybridmem namespace. What the command does is tested in the guest
(tests/system/test_namespace.py)."""

import fcntl
import json
import os
import subprocess

import pytest
from installed import PREFIX, helper, needs_ndctl

pytestmark = needs_ndctl

CREATE = ["create", "--job=12", "--restart=0", "--uid=1001", "--size=1G", "--sockets=0,1"]


def without(name):
    return [word for word in CREATE if not word.startswith(f"--{name}=")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the first word is create, destroy, list, reap, check, provision or ram"),
        (["remove"], "unexpected word 'remove'. Try 'hybridmem namespace --help'."),
        (["list", "all"], "unexpected word 'all'. Try 'hybridmem namespace --help'."),
        (without("job"), "create needs --job ID"),
        (without("restart"), "create needs --restart N"),
        (without("uid"), "create needs --uid UID"),
        (without("size"), "create needs --size SIZE"),
        (without("sockets"), "create needs --sockets LIST"),
        (["destroy", "--job=12"], "destroy needs --restart N"),
        (["destroy", "--restart=0"], "destroy needs --job ID"),
        (["destroy", "--uid=1000", "--detach=0"], "destroy takes --detach with --job only: a living job may use"),
        (["destroy"], "destroy needs --job ID and --restart N, or --uid UID"),
        (["destroy", "--uid=1001", "--job=12"], "destroy takes --job and --restart, or --uid: not both"),
        (["destroy", "--uid=1001", "--restart=0"], "destroy takes --job and --restart, or --uid: not both"),
        (["destroy", "--uid=alice"], '--uid: "alice"'),
        (["destroy", "--uid=1001", "--keep"], "destroy takes no --keep"),
        (["reap", "--living=", "--keep"], "reap takes no --keep"),
        (["list", "--uid=1001"], "list takes no --uid"),
        (["reap"], "reap needs --living LIST|FILE"),
        (["destroy", "--job=12", "--restart=0", "--size=1G"], "destroy takes no --size"),
        (["list", "--job=12"], "list takes no --job"),
        (["check", "--cluster=a"], "check takes no --cluster"),
        (["check", "--json"], "check takes no --json"),
        ([*CREATE, "--job=0"], '--job: "0"'),
        ([*CREATE, "--job=12_3"], '--job: "12_3"'),
        ([*CREATE, "--restart=-1"], '--restart: "-1"'),
        ([*CREATE, "--uid=4294967295"], '--uid: "4294967295"'),
        ([*CREATE, "--uid=alice"], '--uid: "alice"'),
        ([*CREATE, "--size=17E"], '--size: "17E"'),
        ([*CREATE, "--sockets=0-"], "--sockets: "),
        ([*CREATE, "--sockets="], '--sockets: "" names no socket: write a list, as in "0,1"'),
        ([*CREATE, "--fs=btrfs"], '--fs: "btrfs" is no file system for DAX: use ext4 or xfs'),
        ([*CREATE, "--map=hbm"], '--map: "hbm" is not a place for the map of pages: use dram or pmem'),
        ([*CREATE, "--patience=86401"], '--patience: "86401"'),
        (["reap", "--living=", "--patience=soon"], '--patience: "soon"'),
        (["ram"], "the word after ram is online, offline or list"),
        (["ram", "onlin"], "unexpected word 'onlin'. Try 'hybridmem namespace --help'."),
        (["ram online"], "unexpected word 'ram online'. Try 'hybridmem namespace --help'."),
        (["online"], "unexpected word 'online'. Try 'hybridmem namespace --help'."),
        (["ram", "online", "dax0.0"], "unexpected word 'dax0.0'. Try 'hybridmem namespace --help'."),
        (["ram", "online", "--zone=dma"], '--zone: "dma" is not a zone of memory: use movable or normal'),
        ([*CREATE, "--socket=near"], '--sockets: "near"'),
        (["ram", "online", "--sockets=all"], '--sockets: "all"'),
        (["ram", "online", "--sockets="], '--sockets: "" names no socket: write a list, as in "0,1"'),
        (["provision", "--size=1G"], "provision takes no --size"),
        (["provision", "--ram=much"], '--ram: "much"'),
        (["provision", "--json"], "provision takes no --json"),
        (["list", "--apply"], "list takes no --apply"),
        (["ram", "online", "--json"], "ram online takes no --json"),
        (["ram", "offline", "--zone=normal"], "ram offline takes no --zone"),
        (["ram", "offline", "--cluster=a"], "ram offline takes no --cluster"),
        (["ram", "list", "--patience=1"], "ram list takes no --patience"),
    ],
)
def test_a_word_that_is_wrong_is_named(words, said):
    done = helper("hybridmem-namespace", *words, status=2)
    assert done.stderr.startswith(f"hybridmem namespace: {said}") and done.stderr.count("\n") == 1


def test_only_root():
    command = ["setpriv", "--reuid=65534", "--clear-groups", PREFIX / "libexec/hybridmem/hybridmem-namespace", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "hybridmem namespace: only root may run this\n")


def test_a_machine_without_persistent_memory(configure, tmp_path):
    run_dir = tmp_path / "run"
    words = f"--config={configure(f'run_dir = {run_dir}')}"
    assert json.loads(helper("hybridmem-namespace", "list", "--json", words).stdout) == {"namespaces": []}
    assert helper("hybridmem-namespace", "list", words).stdout == ""
    assert helper("hybridmem-namespace", "reap", "--living=", words).stdout == ""
    assert helper("hybridmem-namespace", "destroy", "--job=1", "--restart=0", words).stdout == ""
    assert helper("hybridmem-namespace", "destroy", "--uid=1001", words).stdout == ""
    assert (run_dir / "root/node/namespace.lock").stat().st_mode & 0o777 == 0o600
    done = helper("hybridmem-namespace", *CREATE, words, status=1)
    assert done.stderr == (
        "hybridmem namespace: this node has no persistent memory region (is the kernel module nfit loaded?)\n"
    )
    done = helper("hybridmem-namespace", *CREATE, "--keep", words, status=1)
    assert done.stderr == (
        "hybridmem namespace: nothing is kept on this node: hybridmem.conf sets no fsdax_keep_share\n"
    )
    offers = f"--config={configure(f'run_dir = {run_dir} fsdax_keep_share = 10%')}"
    done = helper("hybridmem-namespace", *CREATE, "--keep", offers, status=1)
    assert "this node has no persistent memory region" in done.stderr
    assert "error region: none" in helper("hybridmem-namespace", "check", words, status=1).stdout
    assert json.loads(helper("hybridmem-namespace", "ram", "list", "--json", words).stdout) == {"devices": []}
    assert helper("hybridmem-namespace", "ram", "offline", words).stdout == ""
    done = helper("hybridmem-namespace", "ram", "online", words, status=1)
    assert done.stderr == (
        "hybridmem namespace: this node has no devdax namespace: ndctl create-namespace --mode=devdax\n"
    )


def test_another_one_at_work_is_waited_for_as_long_as_patience_says(configure, tmp_path):
    """reap reads its list of living jobs (here /none, a missing file) only after it has the lock: the list must not be
    older than the namespaces."""
    run_dir = tmp_path / "run"
    words = f"--config={configure(f'run_dir = {run_dir}')}"
    helper("hybridmem-namespace", "reap", "--living=", words)
    with (run_dir / "root/node/namespace.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        for command in (["destroy", "--job=1", "--restart=0"], ["reap", "--living=/none"], ["ram", "online"], CREATE):
            done = helper("hybridmem-namespace", *command, "--patience=0", words, status=3)
            assert done.stderr == (
                f"hybridmem namespace: another hybridmem-namespace is at work, process {os.getpid()}: "
                f"it still has {run_dir}/root/node/namespace.lock after 0 s\n"
            )
        helper("hybridmem-namespace", "list", words)
    assert "/none" in helper("hybridmem-namespace", "reap", "--living=/none", words, status=1).stderr


@pytest.mark.parametrize(
    ("living", "said"),
    [("12", '"12" is neither JOB'), ("1.0;2.0", '"1.0;2.0"'), ("u1.0", '"u1.0"'), ("1.0,u", '"u"'), ("/none", "/none")],
)
def test_a_wrong_list_of_the_living_is_refused(configure, tmp_path, living, said):
    config = configure(f"run_dir = {tmp_path / 'run'}")
    done = helper("hybridmem-namespace", "reap", f"--living={living}", f"--config={config}", status=1)
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_what_is_given_back_does_not_wait_for_a_right_configuration(configure):
    """An epilog that cannot destroy drains its node: a typing error of the administrator must not cause that."""
    config = configure("interval = never\n")
    for command in (["destroy", "--job=1", "--restart=0"], ["reap", "--living="]):
        done = helper("hybridmem-namespace", *command, f"--config={config}")
        assert f"{config}:1: interval" in done.stderr and "the built-in values are used\n" in done.stderr
    assert "the built-in" not in helper("hybridmem-namespace", *CREATE, f"--config={config}", status=1).stderr
