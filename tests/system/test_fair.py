# SPDX-License-Identifier: Apache-2.0
"""Tests that the migrators of two jobs on a node hold their shares of the fast tier."""

import json

import pytest
import slurm
from migration import scarce_fast
from stepmigrators import nothing_is_left

ROOM = 128 * slurm.MIB  # of the fast tier, for both jobs
NEAR = 0.05
OPTION = "--hybrid-mem=migrate,interval=200ms"
WEIGHTS = 'interval = 200ms\npartition "main" { weight = 3 }\npartition "light" { weight = 1 }\n'


# occupy, and a second one beside it once the file "more" is there.
TWICE = """twice() {
    occupy "$@" &
    until [ -e "${2%ready}more" ]; do sleep 0.5; done
    occupy 48 "$2-more" "$3" 0 &
    wait
}
twice"""


@pytest.fixture
def weights():
    """A second partition, whose jobs have a third of the weight."""
    slurm.run("scontrol create PartitionName=light Nodes=n1 OverSubscribe=FORCE:32")
    try:
        with slurm.configured(slurm.TRUST + WEIGHTS):
            yield
    finally:
        for user in ("alice", "bob"):  # jobs of a failed test, which would keep the partition
            slurm.run(f"scancel --user={user}")
        slurm.wait_idle()
        slurm.run("scontrol delete PartitionName=light")


def look(job_id):
    """Bytes that the job's batch step has in the fast tier, and its share there (None: it shares the tier with nobody),
    as its migrator tells."""
    done = slurm.run(f"hybridmem top --json {job_id}.batch", check=False)
    shown = json.loads(done.stdout) if done.returncode == 0 else {"fast_bytes": 0, "fair_share_bytes": None}
    return shown["fast_bytes"], shown["fair_share_bytes"]


def are_held(parts):
    """The bytes that the jobs split, if each has its part of them, within 5 %, and is told so; else None."""
    seen = {job_id: look(job_id) for job_id in parts}
    print(seen)
    if None in (share for _, share in seen.values()):
        return None
    split = sum(share for _, share in seen.values())
    is_held = all(abs(value / split - parts[job_id]) < NEAR for job_id, values in seen.items() for value in values)
    return split if is_held else None


def test_two_jobs_hold_their_shares(weights):
    """A job alone has all. When another comes, which has a third of its weight, it gives back a quarter. The other job
    takes that when it allocates more. Nobody uses the memory, so that only shares make the migrators move it."""
    with scarce_fast(ROOM):
        heavy = slurm.Occupied("alice", 160, OPTION)
        alone, share = slurm.wait_for(lambda: (seen := look(heavy.job_id))[0] and seen, "a look")
        assert share is None and alone > 0.8 * ROOM
        light = slurm.Occupied("bob", 160, OPTION, "--partition=light", launch=TWICE)
        slurm.wait_for(lambda: look(heavy.job_id)[0] < 0.8 * alone, "the first job to give back")
        (light.folder / "more").touch()
        parts = {heavy.job_id: 0.75, light.job_id: 0.25}
        split = slurm.wait_for(lambda: are_held(parts), "shares of 75 and 25 %")
        assert abs(split / alone - 1) < 2 * NEAR
        assert light.end() == heavy.end() == "COMPLETED"
    for job_id, part in parts.items():
        nothing_is_left(job_id)
        # The least share is of a moment at which slurmstepd, too, had a part of the job's.
        assert 0 < slurm.record(job_id)["migration"]["fair_share_bytes"] / split < part + NEAR
