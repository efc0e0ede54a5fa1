# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem-slurmenergy without a running Slurm: which reason it gives with which slurm.conf. tests/system tests
it with a slurmd."""

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from installed import LIBEXEC, PREFIX, check_root, helper, needs_slurmenergy, with_mounts
from sysfstree import METER, as_user

pytestmark = needs_slurmenergy

PROGRAM = "hybridmem-slurmenergy"
READ = ["--read", "--ask"]
RAPL = "acct_gather_energy/rapl adds packages and DRAM up to one figure (powercap and perf have a figure of each)"
UNSET = ("AcctGatherEnergyType is not set in slurm.conf", "(the default where AcctGatherEnergyType is not set)")
NO_START = "cannot create auth context for auth/munge; failed to initialize auth plugin"
NO_SLURMD = "slurmd on this node does not answer: "

STALLED = """
#include <stdint.h>
#include <sys/time.h>
#include <unistd.h>

/* A slurmd that never answers, and a library that waits for ever. alarm() counts in hundredths of a second. */
int slurm_get_node_energy(char *host, uint16_t plugin, uint16_t delta_s, uint16_t *n, void **energy)
{
    (void)host, (void)plugin, (void)delta_s, (void)n, (void)energy;
    for (;;)
        pause();
}

unsigned alarm(unsigned seconds)
{
    const struct itimerval timer = {.it_value = {.tv_usec = seconds * 10000}};
    return (unsigned)setitimer(ITIMER_REAL, &timer, NULL);
}
"""


def plugins():
    """Slurm's plugins, or a folder without any, which a Slurm before 23.11 accepts as long as it does not
    communicate."""
    found = sorted(Path("/usr/lib").glob("**/auth_munge.so"))
    return found[0].parent if found else Path("/usr/lib")


def starts():
    """Does Slurm's library start here? From 23.11 on it needs Slurm's plugins, which are in other packages."""
    version = subprocess.run([PREFIX / "bin" / "hybridmem", "-V"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.search(r"Slurm (\d+)\.(\d+)", version).groups())) < (23, 11) or plugins() != Path(
        "/usr/lib"
    )


@pytest.fixture
def configured():
    """Gives a function that writes a slurm.conf, readable by any user, and returns the environment that names it."""
    with tempfile.TemporaryDirectory(prefix="hm-slurm.") as name:
        Path(name).chmod(0o755)

        def write(*lines):
            host = socket.gethostname().split(".")[0]
            path = Path(name) / "slurm.conf"
            head = ["ClusterName=none", "SlurmctldHost=localhost", "SlurmdPort=1", "SlurmUser=root"]
            node = [f"NodeName={host} NodeAddr=127.0.0.1", f"PartitionName=all Nodes={host}"]
            path.write_text("\n".join([*head, f"PluginDir={plugins()}", *node, *lines]) + "\n")
            return {"SLURM_CONF": str(path)}

        yield write


def reason_of(env, **options):
    """Why the program has no figures: the one line of its standard output, and the last line of its standard error."""
    done = helper(PROGRAM, *READ, status=1, env=env, stdin=subprocess.DEVNULL, **options)
    (line,) = done.stdout.splitlines()
    word, reason = line.split(" ", 1)
    assert word == "error" and done.stderr.splitlines()[-1] == f"hybridmem slurmenergy: {reason}"
    return reason


def is_said(reason, wanted):
    """Is the wanted reason given? Where Slurm's library does not start, the reason is NO_START instead."""
    return (wanted if starts() else NO_START) in reason


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give both --read and --ask. Try 'hybridmem slurmenergy --help'."),
        (["--read"], "give both --read and --ask. Try 'hybridmem slurmenergy --help'."),
        (["--ask"], "give both --read and --ask. Try 'hybridmem slurmenergy --help'."),
        ([*READ, "now"], "unexpected word 'now'. Try 'hybridmem slurmenergy --help'."),
    ],
)
def test_wrong_words(words, said):
    done = helper(PROGRAM, *words, status=2)
    assert (done.stderr, done.stdout) == (f"hybridmem slurmenergy: {said}\n", "")


def test_a_configuration_that_is_not_there_is_not_waited_for(tmp_path):
    path = tmp_path / "slurm.conf"
    assert reason_of({"SLURM_CONF": str(path)}) == f"SLURM_CONF, {path}: No such file or directory"


def test_a_host_without_slurm():
    """Slurm's folders are hidden for this command only."""
    hide = "for f in /etc/slurm /etc/slurm-llnl /run/slurm; do [ ! -d $f ] || mount -t tmpfs none $f; done"
    command = with_mounts(hide, LIBEXEC / PROGRAM, *READ)
    env = {name: value for name, value in os.environ.items() if name != "SLURM_CONF"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, stdin=subprocess.DEVNULL)
    said = "no slurm.conf was found: where it is in no usual place, set SLURM_CONF to its path"
    assert (done.returncode, done.stdout) == (1, f"error {said}\n")
    # A build with sanitizers then lists what the library did not free.
    assert done.stderr.splitlines()[0] == f"hybridmem slurmenergy: {said}"


def test_the_last_words_of_a_library_that_ends_the_process(configured):
    reason = reason_of(configured("NoSuchWord=1"))
    assert "NoSuchWord" in reason and reason.endswith("; Unable to process configuration file")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("acct_gather_energy/rapl", RAPL),
        ("acct_gather_energy/gpu", "acct_gather_energy/gpu measures GPUs alone"),
        ("rapl,ibmaem", RAPL + "; acct_gather_energy/ibmaem is not known to hybridmem"),
        ("acct_gather_energy/ipmi", NO_SLURMD),
        ("acct_gather_energy/gpu,pm_counters", "pm_counters has to be the first of AcctGatherEnergyType"),
        ("pm_counters,gpu", NO_SLURMD),
    ],
)
def test_what_slurm_conf_says(configured, value, said):
    assert is_said(reason_of(configured(f"AcctGatherEnergyType={value}")), said)


def test_it_does_not_outlive_a_reading_that_hangs(configured, tmp_path):
    """The process that asks, such as a job's monitor, may have no right to end the program."""
    (tmp_path / "stalled.c").write_text(STALLED)
    library = tmp_path / "stalled.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "stalled.c"], check=True)
    env = configured("AcctGatherEnergyType=acct_gather_energy/ipmi")
    env |= {"LD_PRELOAD": str(library), "ASAN_OPTIONS": "verify_asan_link_order=0"}
    status = -signal.SIGALRM if starts() else 1
    helper(PROGRAM, *READ, status=status, env=env, stdin=subprocess.DEVNULL, timeout=60)


@pytest.mark.parametrize("lines", [[], ["AcctGatherEnergyType=acct_gather_energy/none"]])
def test_no_plugin_is_on(configured, lines):
    reason = reason_of(configured(*lines))
    assert any(is_said(reason, text) for text in UNSET)


def test_slurmd_is_not_bothered_by_other_users(configured):
    check_root()
    env = configured("AcctGatherEnergyType=acct_gather_energy/xcc")
    assert is_said(reason_of(env, **as_user()), "slurmd tells its energy to root and SlurmUser alone")


def test_the_meter_lists_it_with_its_reason(configured):
    env = {**os.environ, **configured("AcctGatherEnergyType=acct_gather_energy/rapl")}
    done = subprocess.run([METER, "--list", "--json"], capture_output=True, text=True, check=False, env=env)
    source = json.loads(done.stdout)["sources"][-1]
    assert source["name"] == "slurm" and not source["usable"] and source["counters"] == []
    assert is_said(source["reason"], RAPL)
    assert (LIBEXEC / PROGRAM).exists() and done.stderr == ""
