# SPDX-License-Identifier: Apache-2.0
"""Resets the node with a job running: after the next prolog nothing of the job is left. The guest boots again, with its
disk and its NVDIMMs as they were at the reset, and runs the tests once more; this test then continues."""

import hashlib
import json
import os
import signal
from pathlib import Path

import processes
import pytest
import slurm
from namespaces import MIB, REGIONS, STORES, count_markers, ndctl, ours, room, seen

BEFORE = Path("/var/lib/testbed-reset.json")  # the state before the reset; written when all is ready for it
AFTER = BEFORE.with_suffix(".again")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
SIZE = "--hybrid-mem=fsdax,size=256M"
MARKER = "stored before the reset on "

# The job's first run stores data, and goes on until the node is reset; its second run says what it finds.
SCRIPT = f"""
cd $FOLDER
if [ "${{SLURM_RESTART_COUNT:-0}}" = 0 ]; then
    python3 {STORES} '{MARKER}' && touch first && exec sleep infinity
fi
ls -A $HYBRIDMEM_FSDAX_DIR > found
touch second
until [ -e go ]; do sleep 0.2; done
"""


def state_of(theirs):
    """What has to be the same of a namespace after the reset. Its device may have another number after a boot."""
    (found,) = [one for one in seen() if one["uuid"] == theirs]
    with Path(f"/dev/{found['blockdev']}").open("rb") as file:
        content = hashlib.sha256(file.read(MIB)).hexdigest()
    return [*(found[key] for key in ("name", "uuid", "mode", "map", "size", "state") if key in found), content]


def end_slurm(job_id):
    """Kill slurmd, and let the controller (another machine in production) give up the node and its job. The controller
    ends in good order, so that it remembers this after the reset, and starts the job again when it is told to."""
    slurm.run("pkill -KILL -x slurmd; while pgrep -x slurmd; do sleep 0.1; done", check=False)
    slurm.run(f"scontrol update nodename={slurm.NODE} state=down reason=reset")
    slurm.wait_for(lambda: slurm.job(job_id).get("JobState") == "PENDING", "a job that is to start again")
    slurm.run(f"scontrol hold {job_id}")
    slurm.run(slurm.stop("slurmctld"), check=False)


def reset_with_a_job_running():
    theirs = ndctl("create-namespace", "-m", "fsdax", "-s", "64M", "-r", REGIONS[1], "-n", "theirs")
    Path(f"/dev/{theirs['blockdev']}").write_bytes(os.urandom(MIB))
    free = [room(region) for region in REGIONS]
    folder = slurm.folder_of("alice")
    job_id = slurm.sbatch("alice", f"FOLDER={folder}{SCRIPT}", SIZE)
    slurm.wait_for(lambda: (folder / "first").exists() or slurm.end_of(job_id), "the job's data")
    assert (folder / "first").exists(), slurm.output(job_id)
    end_slurm(job_id)
    assert any("sleep infinity" in line for line in processes.of_user("alice")) and len(ours()) == 2
    told = {"boot": BOOT_ID.read_text(), "job": job_id, "folder": str(folder), "free": free}
    told |= {"theirs": theirs["uuid"], "state": state_of(theirs["uuid"])}
    BEFORE.write_text(json.dumps(told))
    slurm.run(f"sync -f {BEFORE}")
    Path("/proc/sysrq-trigger").write_text("b")
    signal.pause()


def sockets_with_markers():
    return [one["socket"] for one in ours() if count_markers(one["device"], MARKER.encode()) > 0]


@pytest.mark.reset
def test_what_a_reset_leaves_of_a_job_is_gone_after_the_next_prolog():
    if AFTER.exists():
        # 125 means for tests/lib/stages.sh that the testbed failed
        pytest.exit("the guest has died after its reset, which is not the result of a test", returncode=125)
    if not BEFORE.exists():
        reset_with_a_job_running()
    told = json.loads(BEFORE.read_text())
    BEFORE.rename(AFTER)
    os.sync()
    job_id, folder = told["job"], Path(told["folder"])
    assert BOOT_ID.read_text() != told["boot"]

    # The memory has kept the job's data: there is something to remove.
    assert sorted(one["name"] for one in ours()) == [f"hybridmem:testbed:{job_id}.0.{socket}" for socket in (0, 1)]
    assert sorted(sockets_with_markers()) == [0, 1]
    with slurm.Occupied("bob", 16):
        assert ours() == []
        assert [list(room(region)) for region in REGIONS] == told["free"]
        assert state_of(told["theirs"]) == told["state"]

    # The job starts again with new namespaces, which have nobody's data.
    slurm.run(f"scontrol update jobid={job_id} starttime=now && scontrol release {job_id}")
    slurm.wait_for(lambda: (folder / "second").exists() or slurm.end_of(job_id), "the job's second run")
    assert (folder / "found").read_text() == "lost+found\n", slurm.output(job_id)
    assert sorted(one["name"] for one in ours()) == [f"hybridmem:testbed:{job_id}.1.{socket}" for socket in (0, 1)]
    assert sockets_with_markers() == []
    (folder / "go").touch()
    assert slurm.wait_job(job_id) == "COMPLETED"
    record = slurm.record(job_id)
    assert record["restart_count"] == 1 and record["warnings"] == []
    slurm.wait_idle()
    assert ours() == [] and state_of(told["theirs"]) == told["state"]
