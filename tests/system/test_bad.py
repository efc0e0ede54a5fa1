# SPDX-License-Identifier: Apache-2.0
"""Invalid requests and configurations through real Slurm: each gives one message of hybridmem's, and nothing breaks."""

import shlex

import pytest
import slurm

# What the user types, and what our message must contain, for requests that Slurm's own parsing could change. tests/unit
# and tests/cli test other malformed requests, and the whole messages.
BAD_REQUESTS = {
    "": "empty",
    "spil": "spil",
    " spill ": " spill ",
    "spill,socket=up": "up",
    "spill\tx": "spill\\tx",
    "späll": "sp",
    "--help": "--help",
    "%s%n": "%s%n",
    "memory,socket=local": "memory takes no key",
    "x" * 300: "xxx",
}


def our_lines(text):
    return [line for line in text.splitlines() if "hybridmem" in line]


@pytest.mark.slurm26
def test_bad_requests_are_refused_at_submission_with_one_line():
    script = "\n".join(
        f"echo =====; sbatch --hybrid-mem={shlex.quote(text)} --wrap=true && echo submitted" for text in BAD_REQUESTS
    )
    done = slurm.run(f"({script}) 2>&1; true", user="alice")
    before, *answers = done.stdout.split("=====\n")
    assert not before and len(answers) == len(BAD_REQUESTS)
    for text, answer in zip(BAD_REQUESTS, answers):
        (line,) = our_lines(answer)
        assert BAD_REQUESTS[text] in line and "submitted" not in answer.lower(), (text, answer)
    assert slurm.ask("jobs") == "0"


def test_a_bad_configuration_stops_only_those_who_asked():
    with slurm.configured("\n\nrecord = some\n"):
        check = slurm.run("hybridmem config check --file-only", check=False)
        assert check.returncode != 0 and "hybridmem.conf:3" in check.stdout
        healthy = slurm.sbatch("bob", "echo fine")
        text = refusal("alice", "spill")
        assert slurm.wait_job(healthy) == "COMPLETED" and "fine" in slurm.output(healthy)
    assert "hybridmem.conf:3" in text


def refusal(user, mode, partition="main"):
    """Submit a job that must be refused, and return the message. The client refuses it at once where the configuration
    is wrong or forbids the mode to the user. It does not know the partition: what a partition forbids, the node
    refuses."""
    done = slurm.sbatch(user, "echo ran", f"--hybrid-mem={mode}", f"--partition={partition}", check=False)
    if done.returncode != 0:
        (line,) = our_lines(done.stderr)
        return line
    job_id = int(done.stdout)
    assert slurm.wait_job(job_id) == "FAILED"
    (line,) = our_lines(slurm.output(job_id))
    assert "ran" not in slurm.output(job_id).splitlines()
    return line


RULES = """
user "bob" { modes = { "fast" } }
group "carol" { modes = { "slow" } }
partition "whole" { modes = { "interleave" } }
"""


def test_a_mode_that_is_not_allowed_never_runs():
    with slurm.configured(slurm.CONFIG.read_text() + RULES):
        for user, mode, partition, word in (
            ("bob", "spill", "main", "bob"),
            ("carol", "fast", "main", "carol"),
            ("alice", "spill", "whole", "whole"),
        ):
            line = refusal(user, mode, partition)
            assert word in line and mode in line, line


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
