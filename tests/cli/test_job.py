# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem-job with a ledger of its own: what root does before and after a job, and reap."""

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from installed import LIBEXEC, with_mounts

PROGRAM = str(LIBEXEC / "hybridmem-job")
SUDO = [] if os.geteuid() == 0 else ["sudo", "-n"]


def as_root(*words, check=True):
    """Runs as root: the program trusts only root, and files that only root could write."""
    return subprocess.run([*SUDO, *map(str, words)], capture_output=True, text=True, check=check)


class Node:
    """A ledger, records and a configuration."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.jobs = self.folder / "run" / "jobs"
        self.config = self.folder / "hybridmem.conf"
        self.configure()

    def configure(self, text=""):
        lines = f'run_dir = "{self.folder}/run"\nstate_dir = "{self.folder}/state"\n'
        lines += f'resctrl_dir = "{self.folder}/resctrl"\n'
        lines += f'record_dir = "{self.folder}/state/records"\nrecord_group = "root"\n{text}\n'
        subprocess.run([*SUDO, "tee", self.config], input=lines, text=True, check=True, capture_output=True)

    def program(self, verb, *words):
        return as_root(PROGRAM, verb, "--config", self.config, *words)

    def begin(self, job, *words):
        return self.program("begin", "--job", job, "--uid", 0, "--gid", 0, "--user", "root", "--node", "n1", *words)

    def end(self, job, *words):
        return self.program("end", "--job", job, *words)

    def ledger(self):
        names = as_root("find", "-H", self.jobs, "-type", "f", "-printf", "%f\n", check=False).stdout.split()
        return sorted(set(names) - {"lock"})

    def records(self):
        found = as_root(
            "find", self.folder / "state/records", "-name", "n1.jsonl", "-exec", "cat", "{}", "+", check=False
        )
        return [json.loads(line) for line in found.stdout.splitlines()]

    def edit(self, job, before, after):
        """Replaces a text in a job's entry."""
        as_root("sed", "-i", f"s/{before}/{after}/", self.jobs / str(job))
        as_root("chmod", "600", self.jobs / str(job))


@pytest.fixture
def node():
    folder = as_root("mktemp", "-d", "/var/tmp/hm-job.XXXXXX").stdout.strip()
    as_root("chmod", "755", folder)
    yield Node(folder)
    as_root("rm", "-rf", folder)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "the first word is begin, end, reap or lookup"),
        (["start"], "the first word is begin, end, reap or lookup"),
        (["begin"], "begin needs --job, --uid and --gid"),
        (["begin", "--job", "1", "--uid", "1"], "begin needs --job, --uid and --gid"),
        (["begin", "--job", "x"], '--job: "x"'),
        (["begin", "--job", "4294967296"], '--job: "4294967296"'),
        (["begin", "--uid", "-1"], '--uid: "-1"'),
        (["end"], "end needs --job"),
        (["end", "--job", "1", "2"], "a word too many"),
        (["end", "--job", ""], "--job"),
    ],
)
def test_wrong_arguments(words, text):
    done = as_root(PROGRAM, *words, check=False)
    assert done.returncode == 2 and text in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--grace", "1s"], '--grace: "1s" is not a number of 0 to 2147483647'),
        (["--now"], "unrecognized option '--now'. Try 'hybridmem reap --help'."),
        (["--wait=1"], "option '--wait=1' takes no argument. Try 'hybridmem reap --help'."),
        (["x"], "unexpected word 'x'. Try 'hybridmem reap --help'."),
        (["--config", "/nonexist"], "/nonexist: No such file or directory"),
    ],
)
def test_reap_speaks_as_other_commands(words, said):
    done = as_root(PROGRAM, "reap", *words, check=False)
    assert (done.returncode, done.stderr) == (2, f"hybridmem reap: {said}\n")


@pytest.mark.parametrize(("verb", "name"), [("reap", "hybridmem reap"), ("end", "hybridmem-job")])
def test_only_root(verb, name):
    done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", PROGRAM, verb], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, f"{name}: only root may run this\n")


def test_begin_and_end_make_one_record(node):
    node.begin(7, "--request", "spill", "--account", "physics", "--partition", "main", "--cluster", "c", "--restart", 2)
    assert node.ledger() == ["7"]
    node.end(7, "--exit-status", 3 << 8)
    assert node.ledger() == []
    (record,) = node.records()
    expected = {
        "job_id": 7, "request": "spill", "account": "physics", "partition": "main", "cluster": "c",
        "restart_count": 2, "user": "root", "exit_code": 3, "node": "n1",
    }  # fmt: skip
    assert {key: record[key] for key in expected} == expected
    assert any("no step ran" in warning for warning in record["warnings"])
    assert node.end(7).stderr == ""  # again: nothing happens
    assert len(node.records()) == 1


@pytest.mark.parametrize(
    ("config", "words", "count"),
    [
        ("", [], 0),
        ("", ["--request", "off"], 0),
        ("record = all", [], 1),
        ("record = all", ["--request", "off"], 1),
        ("", ["--request", "slow"], 1),
        ("", ["--request", "nonsense"], 1),  # the user's error, which the tasks report
        ('partition "main" { default_mode = "fast" }', ["--partition", "main"], 1),
        ('partition "main" { default_mode = "fast" }', ["--partition", "other"], 0),
        ('partition "main" { default_mode = "fast" }', ["--partition", "main", "--request", "off"], 0),
        ('partition "main" { default_mode = "fast"\n modes = { "slow" } }', ["--partition", "main"], 0),
        ("enabled = no\nrecord = all", ["--request", "slow"], 0),
    ],
)
def test_who_gets_a_record(node, config, words, count):
    node.configure(config)
    node.begin(7, *words)
    node.end(7)
    assert len(node.records()) == count
    assert node.ledger() == []


def test_a_job_beside_one_without_an_entry_has_shared_the_node(node):
    node.configure("record = all")
    node.begin(7)
    node.configure("enabled = no\nrecord = all")
    node.begin(8)
    assert node.ledger() == ["7"]
    node.end(8)
    node.end(7)
    assert [(record["job_id"], record["shared"]) for record in node.records()] == [(7, True)]


def test_users_and_groups_are_looked_up():
    def answer(*words):
        done = as_root(PROGRAM, "lookup", *words, check=False)
        return done.returncode, done.stdout

    status, text = answer("uid", 0)
    assert status == 0 and re.fullmatch(r"0 0 [1-9]\d* root\n(.+\n)+", text) and "root" in text.split("\n")[1:]
    assert answer("group", "root") == (0, "0 0 0 \n")
    assert answer("uid", 4294967294) == (0, "no there is no user with uid 4294967294\n")
    assert answer("user", "no such") == (0, "no there is no such user\n")
    assert answer("uid", "x") == answer("colour", "red") == (1, "")
    assert answer("uid") == (2, "")


@pytest.mark.parametrize(
    ("group", "modes", "why"),
    [
        ("root", "slow", None),
        ("root", "fast", "not allowed by the rule for group"),
        ("nobody-has-it", "slow", None),
        ("nobody-has-it", "fast", "this node does not know who is in it"),
    ],
)
def test_a_rule_for_a_group_counts(node, group, modes, why):
    node.configure(f'group "{group}" {{ modes = {{ {modes} }} }}')
    node.begin(7, "--request", "slow")
    refusals = [line for line in as_root("cat", node.jobs / "7").stdout.splitlines() if line.startswith("refusal ")]
    assert len(refusals) == (why is not None) and all(why in line for line in refusals)


@pytest.mark.parametrize(("rules", "refused"), [("", False), ('group "staff" { modes = { slow } }', True)])
def test_a_user_that_cannot_be_looked_up_is_refused_only_where_a_rule_needs_it(node, rules, refused):
    node.configure(rules)
    words = ["--job", 7, "--uid", 424242, "--gid", 424242, "--user", "ghost", "--request", "fast"]
    node.program("begin", *words)
    said = as_root("grep", "-c", "--text", "no user with uid 424242", node.jobs / "7", check=False)
    assert (said.stdout.strip() != "0") == refused


def test_a_job_id_that_is_used_again(node):
    node.begin(7, "--request", "slow", "--restart", 0)
    node.begin(7, "--request", "slow", "--restart", 0)  # a prolog that runs twice: the same job
    assert node.records() == [] and node.ledger() == ["7"]
    node.begin(7, "--request", "fast", "--restart", 1)  # requeued, and its epilog never ran
    assert node.records() == []  # no prolog touches the records
    node.end(7)
    second, first = node.records()
    assert second["request"] == "fast" and not any("epilog did not run" in warning for warning in second["warnings"])
    assert first["request"] == "slow" and any("epilog did not run" in warning for warning in first["warnings"])


def test_a_record_that_cannot_be_written_is_left_to_a_later_reap(node):
    """The epilog can neither append the record nor put it aside, on the disk or in memory. No step has run on the
    node."""
    node.begin(7, "--request", "slow")
    state = node.folder / "state"
    as_root("rm", "-rf", state)
    as_root("touch", state, node.folder / "run" / "root" / "node" / "pending")
    node.end(7)
    assert node.ledger() == ["7"]
    as_root("rm", state)
    node.program("reap", "--grace", 0)
    assert node.ledger() == []
    (record,) = node.records()
    assert record["job_id"] == 7 and not any("epilog did not run" in warning for warning in record["warnings"])


def test_a_record_waits_where_the_configuration_is_wrong(node):
    """Nobody would look for it in the built-in folder. The ledger is in the built-in run_dir: in another one the entry
    would not be found."""
    run, lib, records = (node.folder / name for name in ("node-run", "node-lib", "records"))
    as_root("mkdir", "-m", "755", run, lib, records)
    text = f'record_dir = "{records}"\nrecord_group = "root"\n'

    def program(text, *words):
        subprocess.run([*SUDO, "tee", node.config], input=text, text=True, check=True, capture_output=True)
        mounts = f"mount --bind {run} /run; mount --bind {lib} /var/lib"
        return as_root(*with_mounts(mounts, PROGRAM, words[0], "--config", node.config, *words[1:])).stderr

    program(text, "begin", "--job", 7, "--uid", 0, "--gid", 0, "--node", "n1", "--request", "slow")
    said = program(text + "nonsense\n", "end", "--job", 7)
    assert "hybridmem.conf:3" in said and "record_dir is not known" in said, said
    program("nonsense\n", "reap")
    found = as_root("find", run, lib, records, "-name", "n1.jsonl", "-o", "-path", "*pending/*").stdout.split()
    assert len(found) == 1 and found[0].startswith(f"{run}/"), found
    program(text, "reap")
    (path,) = as_root("find", records, "-name", "n1.jsonl").stdout.split()
    record = json.loads(as_root("cat", path).stdout)
    assert record["job_id"] == 7 and record["request"] == "slow"


def test_reap_leaves_the_living_and_ends_the_dead(node):
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    for job in (7, 8):
        node.begin(job, "--request", "slow")
    node.edit(8, boot, "0" * len(boot))
    node.program("reap")
    assert node.ledger() == ["7"]
    (record,) = node.records()
    assert record["job_id"] == 8 and any("epilog did not run" in warning for warning in record["warnings"])
    for word in ("--wait", "--boot"):
        node.program("reap", word)
        assert node.ledger() == ["7"]


def test_reap_removes_monitoring_groups_of_no_job(node):
    """Groups are known by their names. If the configuration cannot be read, no group is removed, as the ledger may be
    in another folder."""
    groups = node.folder / "resctrl" / "mon_groups"

    def names():
        return as_root("ls", groups).stdout.split()

    stay = ["hybridmem.8.x", "pqos"]
    as_root("mkdir", "-p", *(groups / name for name in (*stay, "hybridmem.7.0", "hybridmem.8.0")))
    node.begin(8, "--request", "spill")
    # No group was removed: users can enter the folder, and could hold up whoever removes something in it.
    assert len(names()) == 4
    as_root("chmod", "700", groups)
    node.program("reap")
    assert names() == stay  # job 8 has made none
    as_root("mkdir", groups / "hybridmem.7.0")
    node.configure("nonsense")
    node.program("reap")
    assert "hybridmem.7.0" in names()
    node.configure()
    node.end(8)
    assert names() == stay


def test_reap_removes_what_belongs_to_no_job(node):
    node.begin(7)
    for name in ("7.samples", "8.samples", "9.draft", "10"):
        as_root("touch", node.jobs / name)
        as_root("chmod", "600", node.jobs / name)
    done = node.program("reap")
    assert node.ledger() == ["10", "7", "7.samples"]
    unread = "the ledger's entry of job 10: its version is not one that this hybridmem knows, or it is torn"
    assert f"warning: {unread}" in done.stderr and "it stays while the job may live" in done.stderr
    # reap has set the file's time by CLOCK_BOOTTIME, on which this is a day before the boot.
    as_root("touch", "-d", "@-86400", node.jobs / "10")
    done = node.program("reap")
    assert node.ledger() == ["7", "7.samples"]
    assert f"error: {unread}" in done.stderr and "it is removed; what its job had changed" in done.stderr
    node.end(7)
    assert node.ledger() == []


def test_many_at_once(node):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda job: node.begin(job, "--request", "slow"), range(1, 17)))
        assert len(node.ledger()) == 16
        # Each job is ended three times at once, as by an epilog and two reaps.
        list(pool.map(lambda n: node.end(1 + n // 3), range(48)))
    assert node.ledger() == []
    assert sorted(record["job_id"] for record in node.records()) == list(range(1, 17))


def test_others_cannot_look_in(node):
    node.begin(7, "--request", "slow")
    run = node.folder / "run"
    paths = (run, run / "root", run / "root" / "jobs", node.jobs / "7")
    modes = as_root("stat", "-c", "%a %U", *paths).stdout.splitlines()
    assert modes == ["711 root", "700 root", "700 root", "600 root"]
