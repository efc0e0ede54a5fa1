# SPDX-License-Identifier: Apache-2.0
"""Bad requests and bad configurations through real Slurm: one line of ours each, and nothing breaks."""

import re

import pytest
import slurm

# What is typed, and what our line must say of it.
BAD_REQUESTS = {
    "": "empty",
    "spil": "spil",
    "SPILL": "SPILL",
    "Spill": "Spill",
    "spill ": "spill ",
    " spill": " spill",
    "spill,": "empty",
    ",spill": "empty",
    "spill,,socket=all": "empty",
    "spill,socket": "socket",
    "spill,socket=": "socket",
    "spill,socket=up": "up",
    "spill,socket=LOCAL": "LOCAL",
    "spill,socket=local,socket=local": "twice",
    "spill,socket=local,socket=all": "twice",
    "spill;socket=local": "spill;socket=local",
    "spill,sockets=local": "sockets",
    "spill socket=local": "spill socket=local",
    "fast,slow": "slow",
    "fast=1": "fast=1",
    "off,socket=all": "socket",
    "off,": "empty",
    "none": "none",
    "default": "default",
    "yes": "yes",
    "1": "1",
    "--help": "--help",
    "spill=yes": "spill=yes",
    "migrate,fast=0%": "fast",
    "migrate,rate=1": "rate",
    "migrate,speed=1": "speed",
    "isolate,rate=1": "rate",
    "fsdax": "size",
    "fsdax,size=1": "size",
    "memory": "not available",
    "spill,size=1G": "size",
    "spill,keep": "keep",
    "spill,fast=10%": "fast",
    "slow,period=1000": "period",
    "spill,interval=10s": "interval",
    "spill,overhead=1%": "overhead",
    "spill,rate=100": "rate",
    "spill,algorithm=bins": "algorithm",
    "spill\tx": "spill\\tx",
    "späll": "sp",
    "%s%n": "%s%n",
    "../../etc/passwd": "../../etc/passwd",
    "x" * 300: "xxx",
    "spill," + "socket=all," * 40: "socket",
}


def our_lines(done):
    return [line for line in done.stderr.splitlines() if "hybridmem" in line]


@pytest.mark.main
@pytest.mark.parametrize("text", BAD_REQUESTS)
def test_bad_request_is_refused_at_submission_with_one_line(text):
    before = slurm.run("squeue -h -o %A").stdout
    done = slurm.sbatch("alice", "true", f"--hybrid-mem={text}", check=False)
    assert done.returncode != 0 and not done.stdout
    (line,) = our_lines(done)
    assert BAD_REQUESTS[text] in line, line
    assert slurm.run("squeue -h -o %A").stdout == before


BAD_CONFIGS = {
    "enabld = yes\n": "hybridmem.conf:1",
    "\n\nrecord = some\n": "hybridmem.conf:3",
    'enabled = "perhaps"\n': "hybridmem.conf:1",
    "record_dir = relative/path\n": "hybridmem.conf:1",
    'tier "dram" { nodes = "0-" }\n': "hybridmem.conf:1",
    'tier "dram" { nodes = "0-1\n': "hybridmem.conf:",
    'partition "main" { default_mode = "spil" }\n': "hybridmem.conf:1",
    'user "alice" { modes = { warp } }\n': "hybridmem.conf:1",
    'channels "fast+slow" { kind = both }\n': "hybridmem.conf:1",
    "interval = 0s\n": "hybridmem.conf:1",
    "reserve = 200%\n": "hybridmem.conf:1",
}


@pytest.mark.parametrize("text", BAD_CONFIGS)
def test_bad_configuration_stops_only_those_who_asked(text):
    with slurm.configured(text):
        check = slurm.run("hybridmem config check --file-only", check=False)
        assert check.returncode != 0 and BAD_CONFIGS[text] in check.stdout + check.stderr
        # A client with a broken file may refuse at once; one that submits elsewhere is refused by the node.
        healthy = slurm.sbatch("bob", "echo fine")
        assert slurm.wait_job(healthy) == "COMPLETED" and "fine" in slurm.output(healthy)
        asked = slurm.sbatch("alice", "echo ran", "--hybrid-mem=spill", check=False)
        if asked.returncode == 0:
            job_id = int(re.search(r"\d+", asked.stdout).group())
            assert slurm.wait_job(job_id) == "FAILED"
            assert "hybridmem.conf" in slurm.output(job_id) and "ran" not in slurm.output(job_id)
        else:
            assert any("hybridmem.conf" in line for line in our_lines(asked))


RULES = """
user "bob" { modes = { "fast" } }
group "carol" { modes = { "slow" } }
partition "whole" { modes = { "interleave" } }
"""


@pytest.mark.parametrize(
    ("user", "mode", "partition", "word"),
    [
        ("bob", "spill", "main", "bob"),
        ("carol", "fast", "main", "carol"),
        ("alice", "spill", "whole", "whole"),
    ],
)
def test_a_mode_that_is_not_allowed_never_runs(user, mode, partition, word):
    with slurm.configured(slurm.CONFIG.read_text() + RULES):
        done = slurm.sbatch(user, "echo ran", f"--hybrid-mem={mode}", f"--partition={partition}", check=False)
        if done.returncode == 0:
            job_id = int(done.stdout)
            assert slurm.wait_job(job_id) == "FAILED"
            text = slurm.output(job_id)
            assert "ran" not in text
        else:
            text = done.stderr
        assert "hybridmem" in text and word in text and mode in text, text


def test_the_partitions_default_mode_and_enabled_no():
    with slurm.configured(slurm.CONFIG.read_text() + 'partition "main" { default_mode = "slow" }\n'):
        with slurm.Occupied("alice", 32) as held:
            assert set(held.pages) <= {2, 3}
        assert slurm.record(held.job_id)["request"] == "slow"
    slurm.drop_caches()
    with slurm.configured("enabled = no\n"):
        with slurm.Occupied("alice", 32, "--hybrid-mem=slow") as held:
            assert set(held.pages) <= {0, 1}
        slurm.wait_idle()
        assert slurm.records(held.job_id) == []
