# SPDX-License-Identifier: Apache-2.0
"""Runs programs that place their memory by libhybridmem, and writes down how many accesses each should make to each
node.

As in test_meter.py, a QEMU plugin, the tier meter, counts the accesses of the guest, and tests/meter/test_truth.py
compares what was counted between two marks with what is written down here."""

import json
import subprocess

import pytest
import slurm
from claims import claim
from placing import INTERLEAVE, MIB, PROGRAM, READ, SLOW, SOURCE, SPILL, SPLIT, WRITE

pytestmark = [pytest.mark.meter, pytest.mark.usefixtures("placed_program")]

METER_MIB, PASSES = 64, 64
ACCESSES = METER_MIB * MIB // 64 * PASSES


def run_and_claim(name, words, make):
    """Run a program between two marks, and write down what is expected: make(SAID), where SAID is the JSON object that
    the program prints first."""
    with subprocess.Popen(
        list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        said = json.loads(process.stdout.readline())
        slurm.run(f"meter-mark {name}.start")
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "DONE\n"
        slurm.run(f"meter-mark {name}.end")
        process.stdin.close()
    assert process.returncode == 0
    claim(name, make(said))
    return said


@pytest.mark.parametrize(
    ("policy", "use", "nodes"),
    [(SPILL, READ, {"0", "1"}), (SPLIT, READ, {"2", "3"}), (SPLIT, WRITE, {"0", "1"}), (INTERLEAVE, READ, set("0123"))],
)
def test_accesses_to_placed_memory_between_two_marks(policy, use, nodes):
    said = run_and_claim(
        f"alloc-{policy}-{use}",
        (PROGRAM, policy, use, METER_MIB, 0, 0, METER_MIB, PASSES),
        lambda said: {
            "pages": {node: there // slurm.PAGE for node, (_, there) in said["nodes"].items()},
            "accesses": ACCESSES,
        },
    )
    assert set(said["nodes"]) == nodes


@pytest.mark.parametrize(("policy", "name"), [(SLOW, "slow"), (SPLIT, "split")])
def test_a_copy_with_and_without_write_isolation(policy, name):
    source = SOURCE.with_name("copied.c")
    slurm.run(f"gcc -O1 -Wall -Werror -o /usr/local/bin/copied {source} -lhybridmem")
    said = run_and_claim(
        f"copy-{name}",
        ("/usr/local/bin/copied", policy, METER_MIB // 2, PASSES),
        lambda said: {"copy": said, "accesses": ACCESSES // 2},
    )
    assert set(said["read"]) == {"2", "3"}
    assert set(said["written"]) == ({"0", "1"} if policy == SPLIT else {"2", "3"})
