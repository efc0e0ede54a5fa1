# SPDX-License-Identifier: Apache-2.0
"""Tests fsdax_wipe_limit: an epilog that has no time for the whole wipe, and the systemd units that wipe the rest
later."""

import contextlib
import fcntl
import os
import re
import shutil
import signal
from pathlib import Path

import pytest
import slurm
from namespaces import MIB, PROGRAM, STEPS, job_with_file_systems, mounted, ours

UNIT = "hybridmem-wipe@.service"
SYSTEMCTL = Path("/usr/bin/systemctl")
LIMIT_S = 60  # far more than the time until the first wipe begins; then the program's clock is set ahead by as much
SHORT_S = 2  # for tests that wait for the limit
MARKER = b"what alice wrote into her file system"
STILL_WIPED = "the memory of earlier jobs is still being wiped"
# Fills each file system, except 96 MiB, with one file that has the marker every 16 MiB. A wipe zeroes 256 MiB at a
# time.
FILL = f"""python3 - << 'END'
import os
for word in os.environ["HYBRIDMEM_FSDAX_DIRS"].split(":"):
    folder = word.partition("=")[2]
    file = os.open(f"{{folder}}/f", os.O_CREAT | os.O_RDWR, 0o600)
    room = os.statvfs(folder)
    size = room.f_bavail * room.f_frsize - (96 << 20)
    os.posix_fallocate(file, 0, size)
    for at in range(0, size, 16 << 20):
        os.pwrite(file, {MARKER!r}, at)
    os.fsync(file)
END
"""

pytestmark = pytest.mark.usefixtures("steps", "empty_regions")


def limited(seconds):
    """Limit the time that an epilog or a prolog may spend on wiping."""
    return slurm.configured(f"{slurm.TRUST}fsdax_wipe_limit = {seconds}s\n")


@contextlib.contextmanager
def bound(script, place):
    """Bind-mount a script over the path of an installed program."""
    script.chmod(0o755)
    is_there = place.exists()
    if not is_there:
        place.touch()
    slurm.run(f"mount --bind {script} {place}")
    try:
        yield
    finally:
        slurm.run(f"umount -l {place}")
        if not is_there:
            place.unlink()


class Systemd:
    """Stands in for systemctl, as no systemd runs in the guest. It logs its arguments. Each unit waits for the file
    `go`, then runs what the unit's template says. A unit that is active is not started again."""

    def __init__(self, folder):
        self.folder, self.go, self.log = folder, folder / "go", folder / "told"
        self.program = folder / "systemctl"
        self.log.touch()
        (template,) = Path("/").glob(f"usr/**/systemd/system/{UNIT}")
        start = next(line for line in template.read_text().splitlines() if line.startswith("ExecStart="))
        self.program.write_text(
            f'#!/bin/sh\nmkdir "{folder}/active-$3" 2> /dev/null\nresult=$?\n'  # first, so that a logged unit is active
            f'echo "$@" >> {self.log}\n[ $result -eq 0 ] || exit 0\n'
            f"{{ until [ -e {self.go} ]; do sleep 0.1; done\n"
            f'{start.removeprefix("ExecStart=")}\nrmdir "{folder}/active-$3"; }} > /dev/null 2>&1 &\n'
        )

    def told(self):
        """The job in each unit name that systemctl was given, in order. All unit names differ."""
        found = [
            re.fullmatch(r"start --no-block (hybridmem-wipe@(\d+)-\d+\.service)", line)
            for line in self.log.read_text().splitlines()
        ]
        assert all(found), self.log.read_text()
        assert len({match[1] for match in found}) == len(found)
        return [int(match[2]) for match in found]

    def active(self):
        return list(self.folder.glob("active-*"))


@pytest.fixture
def systemd(tmp_path):
    stands_in = Systemd(tmp_path)
    with limited(LIMIT_S), bound(stands_in.program, SYSTEMCTL):
        try:
            yield stands_in
        finally:
            stands_in.go.touch()
            slurm.wait_for(lambda: not stands_in.active(), "the units' ends")


@pytest.fixture
def wipes_stop(tmp_path):
    """Gives a file. While it exists, each hybridmem-namespace stops (SIGSTOP) in its first wipe, and has no time left
    when it continues."""
    switch, real, script = tmp_path / "stop", tmp_path / "real", tmp_path / "hybridmem-namespace"
    shutil.copy(PROGRAM, real)
    script.write_text(
        f"#!/bin/sh\n[ -e {switch} ] && export LD_PRELOAD={STEPS} STEPS_KILL=BLKZEROOUT"
        f' STEPS_SIGNAL={int(signal.SIGSTOP)} STEPS_CLOCK={LIMIT_S}\nexec {real} "$@"\n'
    )
    with bound(script, Path(PROGRAM)):
        yield switch
        switch.unlink(missing_ok=True)
        for pid in filter(None, map(stopped, ("destroy", "reap"))):  # left by a failed test
            os.kill(pid, signal.SIGCONT)


def stopped(command):
    """The pid of a hybridmem-namespace that runs this command and has stopped itself, or None."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if command.encode() in words and (folder / "stat").read_text().rpartition(")")[2].split()[0] == "T":
                return int(folder.name)
    return None


def cut(*commands):
    """For each command: wait until it has stopped in its first wipe, and continue it. Its time is then over as
    soon as it has zeroed the 256 MiB before which it stopped."""
    for command in commands:
        os.kill(slurm.wait_for(lambda: stopped(command), f"{command} in its first wipe"), signal.SIGCONT)  # noqa: B023


def has_marker(device):
    """Whether a marker is in the second half, which no wipe has reached."""
    with Path(device).open("rb") as file:
        file.seek(512 * MIB)
        return any(MARKER in block for block in iter(lambda: file.read(4 * MIB), b""))


@contextlib.contextmanager
def another_at_work():
    """Hold the lock, as a unit does while it wipes."""
    with Path("/run/hybridmem/root/node/fsdax.namespaces").open("r") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def refused(size):
    """Submit a step that gets no file systems. Returns what its user is told; the node must not be drained."""
    done = slurm.run(f"srun -n1 --hybrid-mem=fsdax,size={size} echo began", user="alice", check=False)
    assert done.returncode != 0 and "began" not in done.stdout
    assert "DRAIN" not in slurm.wait_for(slurm.node_state, "scontrol's answer about the node")
    return done.stderr


def check_cut_wipe(job_id):
    """Checks what a job leaves whose epilog had no time for its wipes: a warning, and both namespaces with data."""
    record = slurm.record(job_id)
    assert [one["destroy_s"] for one in record["namespaces"]] == [None, None]
    (warning,) = record["warnings"]
    # The seconds are the time that the epilog had left when it started the program.
    assert re.search(r"256 of \d+ MiB of /dev/pmem\S+ are wiped after (5\d|60) s", warning), warning
    left = ours()
    assert [one["job"] for one in left] == [job_id, job_id]
    assert all(has_marker(one["device"]) for one in left)
    assert "DRAIN" not in slurm.wait_for(slurm.node_state, "scontrol's answer about the node")


def check_refused_while_wiped(earlier):
    """A unit is at work for the job `earlier`: the prolog of the next job waits for that wipe until its limit. Nothing
    is begun for this job: its epilog has nothing to remove or to wait for."""
    with limited(SHORT_S), another_at_work():
        assert STILL_WIPED in refused("2G")
        slurm.wait_idle()
        (record,) = [one for one in slurm.all_records() if one["job_id"] > earlier]
        assert record["namespaces"] == [], record
        assert not any("file systems were not removed" in warning for warning in record["warnings"]), record


def run_beside_the_rest(wipes_stop):
    """Runs a job that fits beside what is left, while all wipes are cut. Returns its id."""
    wipes_stop.touch()
    job_id = slurm.sbatch("alice", "touch $HYBRIDMEM_FSDAX_DIR/f && echo began", "-n1", "--hybrid-mem=fsdax,size=128M")
    # The prolog runs `reap` at its beginning, and again for room. The epilog runs `destroy` for its own job, and `reap`
    # after its work.
    cut("reap", "reap", "destroy", "reap")
    wipes_stop.unlink()
    assert slurm.wait_job(job_id) == "COMPLETED" and slurm.output(job_id) == "began\n", slurm.output(job_id)
    slurm.wait_idle()
    return job_id


def test_what_an_epilog_has_no_time_for_is_wiped_later(systemd, wipes_stop):
    with job_with_file_systems(FILL, "-n1", "--hybrid-mem=fsdax,size=2G") as (first, folder):
        wipes_stop.touch()
        (folder / "go").touch()
        # The epilog runs `destroy` for the job's namespaces, then `reap` for what is left: it has time for both, as the
        # epilog's own clock is not ahead.
        cut("destroy", "reap")
    wipes_stop.unlink()
    slurm.wait_idle()
    assert systemd.told() == [first]
    check_cut_wipe(first)
    check_refused_while_wiped(first)
    assert systemd.told() == [first]  # the prolog has started no further unit
    second = run_beside_the_rest(wipes_stop)
    assert systemd.told() == [first, second, second]  # two more: of the second job's prolog and epilog
    systemd.go.touch()
    slurm.wait_for(lambda: not ours() and not systemd.active(), "the end of the units' wipes")
    done = slurm.run("srun -n1 --hybrid-mem=fsdax,size=512M bash -c 'ls -A $HYBRIDMEM_FSDAX_DIR'", user="alice")
    assert done.stdout in ("", "lost+found\n")
    # The last job's epilog has the same limit. Wait for the wipe of its unit before the script in the program's place
    # is removed.
    slurm.wait_epilogs()
    slurm.wait_for(lambda: not systemd.active(), "the end of its unit's wipe")


def end_in_use(job_id, folder, systemd):
    """End a job while its file system is also mounted elsewhere, as another job of the same user could do. The mount
    stays until the epilog's time is over."""
    device = next(one["device"] for one in ours() if one["job"] == job_id)
    with mounted(device):
        (folder / "go").touch()
        assert slurm.wait_job(job_id) == "COMPLETED"
        slurm.wait_for(lambda: job_id in systemd.told(), "the job's own unit")


def test_each_job_that_has_left_something_has_a_unit_of_its_own(systemd):
    """Another process holds the lock at the end of both jobs, and the first unit still waits for it when the second one
    is started."""
    systemd.go.touch()
    words = ("true", "-n1", "--hybrid-mem=fsdax,size=64M")
    with (
        limited(SHORT_S),
        job_with_file_systems(*words) as (first, folder),
        job_with_file_systems(*words) as (second, other),
        another_at_work(),
    ):
        end_in_use(first, folder, systemd)
        end_in_use(second, other, systemd)
        assert systemd.told() == [first, second] and len(systemd.active()) == 2
        assert {one["job"] for one in ours()} == {first, second}
    slurm.wait_for(lambda: not ours() and not systemd.active(), "the end of the units' wipes")
    assert systemd.told() == [first, second]
