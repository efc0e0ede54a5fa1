# SPDX-License-Identifier: Apache-2.0
"""A job whose ledger entry cannot be read keeps its file systems as long as it lives."""

import pytest
import slurm
from namespaces import allocation, create, ours

SIZE = "--hybrid-mem=fsdax,size=256M"
ENDED = 4000000  # a job that Slurm does not have

pytestmark = pytest.mark.usefixtures("empty_regions")


def age(entry):
    """Makes a reap believe that an earlier reap has seen the entry a day ago. The first reap that sees an unreadable
    entry notes the moment, by CLOCK_BOOTTIME, as the file's time."""
    slurm.run(f"touch -d @$(($(cut -d. -f1 /proc/uptime) - 86400)) {entry}")


def names():
    return sorted(one["name"] for one in ours())


def test_a_job_whose_entry_cannot_be_read_lives_until_its_epilog():
    with allocation(SIZE) as job_id:
        entry = slurm.JOBS / str(job_id)
        entry.write_text(entry.read_text().replace("hybridmem job 1\n", "hybridmem job 9\n"))
        age(entry)
        wanted = [f"hybridmem:testbed:{job_id}.0.{socket}" for socket in (0, 1)]
        assert names() == wanted
        for _ in range(2):
            said = slurm.run("hybridmem reap --grace 0").stderr
            assert f"the ledger's entry of job {job_id}: its version is not one that this hybridmem knows" in said
            assert "it stays while the job may live" in said
            assert names() == wanted and entry.exists()
        other = slurm.sbatch("bob", "srun -n1 --overlap cat /proc/self/mounts", "--hybrid-mem=fsdax,size=64M", "-n1")
        assert slurm.wait_job(other) == "COMPLETED", slurm.output(other)
        assert slurm.record(other)["warnings"] == []
        slurm.wait_for(lambda: str(other) not in slurm.ledger(), "the other job's epilog")
        assert names() == wanted
    slurm.wait_for(lambda: not slurm.ledger(), "the epilog's end")
    slurm.wait_for(lambda: ours() == [], "the end of what it had")
    assert slurm.records(job_id) == []


def test_without_an_epilog_an_entry_that_cannot_be_read_is_removed_after_the_grace():
    entry = slurm.JOBS / str(ENDED)
    entry.write_bytes(b"torn")
    entry.chmod(0o600)
    create(ENDED, 64, restart=3)
    assert "it stays while the job may live" in slurm.run("hybridmem reap").stderr, "it is younger than the grace"
    assert names() == [f"hybridmem:testbed:{ENDED}.3.0"]
    age(entry)
    assert "it is removed; what its job had changed on the node is not known" in slurm.run("hybridmem reap").stderr
    assert ours() == [] and not entry.exists()
