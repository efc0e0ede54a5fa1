# SPDX-License-Identifier: Apache-2.0
"""File systems and a directory service that do not answer, throughout prologs and epilogs of jobs: no prolog waits for
records, each epilog ends when its time is over, the jobs run, the node stays in service, and no record is lost."""

import contextlib
import ctypes
import os
import pwd
import re
import struct
import threading
from pathlib import Path

import hooks
import processes
import slurm

LIBC = ctypes.CDLL(None, use_errno=True)
MNT_FORCE, MNT_DETACH = 1, 2
FUSE_MAJOR, FUSE_MINOR, FUSE_REQUEST_BYTES = 7, 31, 8192
LIBEXEC = Path("/usr/libexec/hybridmem")
SLURMD_LOG = Path("/var/log/slurm/slurmd.log")
PENDING = slurm.RECORDS.parent / "pending"
NSSWITCH = Path("/etc/nsswitch.conf")
SILENT_GROUP = "silent-group"
SPILL = "--hybrid-mem=spill"
LATE, NOT_EXECUTED = "has not ended in time", "cannot execute"
# The longest that hooks may last, in seconds. A hook whose program hangs has 65 s, one that cannot execute its program
# 10 s; both have one more second, in which what they kill ends. A group's look-up has 5 s. The rest allows for a slow
# guest.
HELD, UNEXECUTED, LOOKED_UP, OTHER = 68, 13, 8, 3
LONGEST_WAIT = 1  # seconds for the ledger's lock


def take_requests(device, is_asked):
    """Answers the kernel's greeting, and then takes requests without an answer."""
    (unique,) = struct.unpack_from("<8xQ", os.read(device, FUSE_REQUEST_BYTES))
    answer = struct.pack("<II56x", FUSE_MAJOR, FUSE_MINOR)
    os.write(device, struct.pack("<IiQ", 16 + len(answer), 0, unique) + answer)
    with contextlib.suppress(OSError):  # it is unmounted
        while os.read(device, FUSE_REQUEST_BYTES):
            is_asked.set()


@contextlib.contextmanager
def silent(place, user="root"):
    """Mounts a FUSE file system that takes each request and answers none: whoever waits for an answer cannot even be
    killed. Yields the event that somebody has asked it."""
    entry, is_asked = pwd.getpwnam(user), threading.Event()
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={entry.pw_uid},group_id={entry.pw_gid}"
    if LIBC.mount(b"silent", bytes(place), b"fuse", 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"cannot mount on {place}")
    server = threading.Thread(target=take_requests, args=(device, is_asked))
    server.start()
    try:
        yield is_asked
    finally:
        LIBC.umount2(bytes(place), MNT_FORCE | MNT_DETACH)  # all who wait get an error
        server.join()
        os.close(device)


@contextlib.contextmanager
def frozen(place):
    """Freezes a file system: until it is thawed, whoever writes there waits, and cannot be killed."""
    slurm.run(f"fsfreeze --freeze {place}")
    try:
        yield
    finally:
        slurm.run(f"fsfreeze --unfreeze {place}")


@contextlib.contextmanager
def records_on_a_disk():
    """Mounts, on the folder of records, a file system that can be frozen. Yields bob's own folder there."""
    slurm.RECORDS.mkdir(mode=0o751, parents=True, exist_ok=True)
    slurm.run("modprobe brd rd_nr=1 rd_size=16384 && mkfs.ext4 -q /dev/ram0")
    slurm.run(f"mount /dev/ram0 {slurm.RECORDS}")
    try:
        own = slurm.RECORDS / "by-user" / str(pwd.getpwnam("bob").pw_uid)
        slurm.run(f"install -d -m 0711 {own.parent}; install -d -m 0700 -o bob -g bob {own}")
        yield own
    finally:
        slurm.run(f"umount -l {slurm.RECORDS}")


def run_without_the_readers():
    """Runs a job while the directory service that knows the group of the records' readers hangs. The job's record waits
    in the state folder."""
    source = Path(__file__).parent / "programs" / "job" / "silentgroups.c"
    library = "/usr/lib/x86_64-linux-gnu/libnss_silent.so.2"
    slurm.run(f"gcc -O1 -Wall -Werror -shared -fPIC -DSILENT='\"{SILENT_GROUP}\"' -o {library} {source}")
    services = re.sub(r"(?m)^group:.*", r"\g<0> silent", NSSWITCH.read_text())
    config = f'{slurm.CONFIG.read_text()}record_group = "{SILENT_GROUP}"\n'
    with slurm.configured(services, NSSWITCH), slurm.configured(config):
        job_id = slurm.sbatch("bob", "true", "-n1", SPILL)
        assert slurm.wait_job(job_id) == "COMPLETED"
    assert len(list(PENDING.glob(f"*_{job_id}_*.json"))) == 1
    return job_id


def programs_of(job_id):
    """The pids of the job's hybridmem-job, which may outlive its hook."""
    word = f" --job {job_id} "
    return [pid for pid, _, name, words in processes.running() if name == "hybridmem-job" and word in f"{words} "]


def is_at(job_id, folder):
    """Has the job's hybridmem-job this folder open?"""
    for pid in programs_of(job_id):
        with contextlib.suppress(OSError):  # it closes descriptors meanwhile
            if any(link.readlink() == folder for link in Path(f"/proc/{pid}/fd").iterdir()):
                return True
    return False


def waits(user, *options, then="true"):
    """Submits a job that waits for a file and does `then`. Returns its id and that file."""
    go = slurm.folder_of(user) / "go"
    script = f"{slurm.OVERLAP}echo runs; until [ -e {go} ]; do sleep 0.2; done; {then}"
    return slurm.sbatch(user, script, "-n1", SPILL, *options), go


def test_what_does_not_answer_holds_no_prolog_and_no_epilog_for_longer_than_their_time(tmp_path):
    config, said = slurm.CONFIG.read_text(), SLURMD_LOG.stat().st_size
    slurm.run("hybridmem reap --grace 0")  # the ledger's lock exists now
    with records_on_a_disk() as bobs_folder, slurm.configured(config), hooks.Watch() as watch:
        first, second, third = waits("bob"), waits("alice"), waits("carol", then="srun --hybrid-mem=migrate true")
        for job_id, _ in (first, second, third):
            slurm.wait_output(job_id, "runs")
        waiting = run_without_the_readers()
        with silent(bobs_folder, "bob") as bobs_is_asked, silent(tmp_path) as other_is_asked, frozen(slurm.RECORDS):
            # A prolog leaves the record that waits alone. An epilog has to write its own job's record, and a second
            # epilog a record in another folder.
            fourth = waits("bob")
            slurm.wait_output(fourth[0], "runs")
            first[1].touch()
            slurm.wait_for(lambda: is_at(first[0], slurm.RECORDS), "the epilog at the frozen records")
            slurm.put(f'{config}record_dir = "{tmp_path}"\n', slurm.CONFIG)
            second[1].touch()
            slurm.wait_for(other_is_asked.is_set, "the epilog at the silent records")
            slurm.put(config, slurm.CONFIG)
            # Meanwhile a step and an epilog can execute no program of ours.
            with silent(LIBEXEC):
                third[1].touch()
                assert slurm.wait_job(third[0]) == "COMPLETED"
            assert [slurm.wait_job(job_id) for job_id, _ in (first, second)] == ["COMPLETED"] * 2
            # The hooks are over, their programs are not.
            assert all(programs_of(job_id) for job_id, _ in (first, second))
            assert "DRAIN" not in slurm.node_state()
        ids = (first[0], second[0], third[0], fourth[0], waiting)
        slurm.wait_for(lambda: not any(programs_of(job_id) for job_id in ids), "the end of killed programs")
        fourth[1].touch()
        assert slurm.wait_job(fourth[0]) == "COMPLETED"
        # Its epilog brings the records of those that were cut short. The third's was not even begun, and has a grace.
        assert [slurm.record(job_id)["exit_code"] for job_id in ids if job_id != third[0]] == [0] * (len(ids) - 1)
        slurm.run("hybridmem reap --grace 0")
        assert slurm.record(third[0])["exit_code"] == 0
        assert not bobs_is_asked.is_set()
    most = dict.fromkeys(((job_id, kind) for job_id in ids for kind in hooks.KINDS), OTHER)
    most |= {(first[0], "epilog"): HELD, (second[0], "epilog"): HELD, (third[0], "epilog"): UNEXECUTED}
    most |= {(waiting, "epilog"): LOOKED_UP}
    assert watch.hooks.keys() == most.keys()
    assert not {hook: seconds for hook, seconds in watch.hooks.items() if seconds > most[hook]}
    assert max(watch.waits) < LONGEST_WAIT
    log = SLURMD_LOG.read_bytes()[said:].decode(errors="replace")
    assert log.count(LATE) == 2 and NOT_EXECUTED in log


def test_records_that_hang_hold_no_boot(tmp_path):
    """At boot slurmd waits for the reap. There is a record that was kept back."""
    log = tmp_path / "log"  # no pipe, as what cannot be killed keeps it open
    with records_on_a_disk():
        waiting = run_without_the_readers()
        with frozen(slurm.RECORDS):
            slurm.run(f"timeout 60 {LIBEXEC}/hybridmem-job reap --boot 2> {log}")
        assert f"{slurm.RECORDS} has not answered for 10 s" in log.read_text()
        slurm.run("hybridmem reap --grace 0")
        assert slurm.record(waiting)["exit_code"] == 0
