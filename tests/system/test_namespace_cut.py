# SPDX-License-Identifier: Apache-2.0
"""Tests that a wipe which was cut by its limit goes on where it stopped, and that the note of its progress is used for
no other namespace."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
import slurm
from namespaces import MIB, create, destroy, mark_all_over, ours, reap, stopped

WIPED = Path("/run/hybridmem/root/node/wiped")
PIECE = 256 * MIB
LIMIT_S = 60  # far more than the time until the first piece begins; then the program's clock is set ahead by as much
LATE = 4  # exit status of a program whose limit has passed

pytestmark = pytest.mark.usefixtures("steps", "empty_regions")


def cut_after_the_first_piece(job):
    """Destroy the job's namespace, with a limit that ends in the first piece of the wipe. Returns what the program
    says."""
    words = ["destroy", f"--job={job}", "--restart=0", f"--limit={LIMIT_S}"]
    with stopped("BLKZEROOUT", *words, ahead=LIMIT_S, stderr=subprocess.PIPE) as cut:
        cut.send_signal(signal.SIGCONT)
        said = cut.communicate(timeout=slurm.PATIENCE)[1]
    assert cut.returncode == LATE, said
    return said


def write_byte(device, at):
    with Path(device).open("r+b") as file:
        file.seek(at)
        file.write(b"x")
        os.fsync(file.fileno())


def test_a_wipe_goes_on_where_it_was_cut_and_the_whole_device_is_checked():
    (made,) = create(64, 640)
    size = int(slurm.run(f"blockdev --getsize64 {made['device']}").stdout)
    mark_all_over(made["device"])
    said = cut_after_the_first_piece(64)
    assert f"256 of {size // MIB} MiB of {made['device']} are wiped after {LIMIT_S} s" in said
    kept = WIPED / made["name"]
    assert kept.read_text() == f"{made['name']} {size} {PIECE}\n"
    assert (WIPED.stat().st_mode & 0o777, kept.stat().st_mode & 0o777) == (0o700, 0o600)
    # A byte in the part that was wiped already: only root can write it. It is not wiped again, but it is found.
    write_byte(made["device"], MIB // 2)
    assert (
        f"{made['device']} is not zero within {MIB} bytes from byte 0 on after its wipe" in destroy(64, status=5).stderr
    )
    assert not kept.exists() and [one["name"] for one in ours()] == [made["name"]]
    destroy(64)
    assert ours() == [] and list(WIPED.iterdir()) == []


def test_what_is_kept_of_a_cut_wipe_goes_with_its_namespace():
    (made,) = create(64, 640)
    cut_after_the_first_piece(64)
    kept = WIPED / made["name"]
    stale = kept.read_text()
    # The namespace is destroyed by another program: a new one of the same name and size is wiped as a whole.
    slurm.run("ndctl destroy-namespace -f all -r region0")
    assert kept.exists()
    (again,) = create(64, 640)
    assert (again["name"], kept.exists()) == (made["name"], False)
    kept.write_text(stale)
    (WIPED / "hybridmem:testbed:1.0.0").write_text(stale)
    reap("64.0")
    assert [path.name for path in WIPED.iterdir()] == [made["name"]]
    destroy(64)
    assert list(WIPED.iterdir()) == []
