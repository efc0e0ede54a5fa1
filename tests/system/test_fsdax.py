# SPDX-License-Identifier: Apache-2.0
"""Tests --hybrid-mem=fsdax: a private DAX file system on each socket, made before the job and removed after it."""

import contextlib
import fcntl
import json
import os
import re
import shutil
import sys
from pathlib import Path

import entries
import processes
import pytest
import slurm
from namespaces import (
    REGIONS,
    STORES,
    allocation,
    by_socket,
    count_markers,
    job_with_file_systems,
    ndctl,
    ours,
    seen,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import docblocks

FOLDER = Path("/run/hybridmem/fsdax")
LOCK = Path("/run/hybridmem/root/node/namespace.lock")
SLURM_CONF = Path("/etc/slurm/slurm.conf")
SIZE = "--hybrid-mem=fsdax,size=512M"

# Prints what a task sees: the paths in its environment and, for each, the mount, owner, mode, and whether files are
# DAX. The numbers of statx(2) are AT_EMPTY_PATH, STATX_BASIC_STATS and STATX_ATTR_DAX.
LOOK = """
import ctypes, json, os, sys
def is_dax(folder):
    libc = ctypes.CDLL(None, use_errno=True)
    file = os.open(folder, os.O_TMPFILE | os.O_RDWR)
    status = ctypes.create_string_buffer(256)
    assert libc.statx(file, b"", 0x1000, 0x7ff, status) == 0
    return bool(int.from_bytes(status.raw[8:16], "little") & 0x200000)
mounts = {line.split()[1]: line.split() for line in open("/proc/self/mounts")}
seen = {}
for word in os.environ.get("HYBRIDMEM_FSDAX_DIRS", "").split(":"):
    socket, _, path = word.partition("=")
    if path:
        status, room = os.stat(path), os.statvfs(path)
        device, _, kind, options = mounts[path][:4]
        seen[socket] = {"path": path, "device": device, "fs": kind, "options": options, "uid": status.st_uid,
            "mode": status.st_mode & 0o7777, "dax": is_dax(path), "bytes": room.f_blocks * room.f_frsize}
json.dump({"first": os.environ.get("HYBRIDMEM_FSDAX_DIR"), "seen": seen}, sys.stdout)
"""


@pytest.fixture(scope="module")
def look(tmp_path_factory):
    path = tmp_path_factory.mktemp("programs") / "look.py"
    path.write_text(LOOK)
    for folder in (path, *path.parents):
        folder.chmod(folder.stat().st_mode | 0o555)
    return f"python3 {path}"


def is_mounted_outside_of_jobs():
    return "/dev/pmem" in Path("/proc/mounts").read_text()


@pytest.fixture(autouse=True)
def nothing_is_left(clean_node):
    """After each test no namespace and no folder of a job is left, and no mount outside of the mount namespaces of
    tasks."""
    yield
    assert ours() == []
    assert [path.name for path in FOLDER.glob("*")] == []
    assert not is_mounted_outside_of_jobs()


def looked(look, *options, launch="srun -n1 --overlap"):
    done = slurm.run(f"{launch} {' '.join(options)} {look}", user="alice")
    return json.loads(done.stdout)


def check(socket, one, bytes_of_share, fs="ext4", least=0.85):
    uid = slurm.run("id -u alice").stdout.strip()
    assert one["path"].startswith(f"{FOLDER}/") and one["path"].endswith(f"/{socket}")
    assert one["fs"] == fs and re.search(r"\bdax\b|\bdax=always\b", one["options"]), one
    assert "nosuid" in one["options"] and "nodev" in one["options"]
    assert one["dax"] is True
    assert one["uid"] == int(uid) and one["mode"] == 0o700
    assert least * bytes_of_share <= one["bytes"] <= bytes_of_share


@pytest.fixture
def shared_mounts():
    """Mounts are shared with other mount namespaces, as systemd makes them: what is mounted in one could be seen in the
    host's."""
    slurm.run("mount --make-rshared /")
    yield
    slurm.run("mount --make-rprivate /")


@pytest.mark.slurm26
def test_a_file_system_on_each_socket_that_only_the_job_sees(look, shared_mounts):
    folder = slurm.folder_of("alice")
    script = (
        f"cd {folder}\n{look} > seen\n"
        f"echo secret > $HYBRIDMEM_FSDAX_DIR/file\nsrun -n1 cat $HYBRIDMEM_FSDAX_DIR/file\n"
        "touch ready; until [ -e go ]; do sleep 0.2; done"
    )
    job_id = slurm.sbatch("alice", script, SIZE)
    try:
        slurm.wait_for(lambda: (folder / "ready").exists(), "the job's file systems")
        seen = json.loads((folder / "seen").read_text())
        assert sorted(seen["seen"]) == ["0", "1"]
        assert seen["first"] == seen["seen"]["0"]["path"]
        for socket, one in seen["seen"].items():
            check(socket, one, 256 * slurm.MIB)
        assert slurm.output(job_id) == "secret\n"  # another step's task has a mount namespace of its own
        assert not is_mounted_outside_of_jobs()
        assert list(Path(seen["first"]).iterdir()) == []
        # "Operation not permitted" would mean that bob had reached the kernel's lock of the folder on which alice's
        # tasks mount.
        denied = slurm.run(f"chmod 700 {seen['first']}", user="bob", check=False).stderr
        assert "Permission denied" in denied, denied
        assert len(ours()) == 2
    finally:
        (folder / "go").touch()
    assert slurm.wait_job(job_id) == "COMPLETED"
    record = slurm.record(job_id)
    assert record["plan"]["mode"] == "fsdax" and record["plan"]["policy"] == "default"
    assert "takes 8.0 MiB of DRAM (64 bytes for 4 KiB)" in record["plan"]["reason"]
    assert [one["socket"] for one in record["namespaces"]] == [0, 1]
    for one in record["namespaces"]:
        assert one["fs"] == "ext4" and one["bytes"] >= 256 * slurm.MIB
        assert one["create_s"] > 0 and one["destroy_s"] > 0
    assert record["exit_code"] == 0 and record["warnings"] == []


@contextlib.contextmanager
def counted_by_slurm(words):
    """Run Slurm with a slurm.conf that describes the node's CPUs by these words."""
    text = SLURM_CONF.read_text()
    counted, n = re.subn(r"CPUs=\d+ Sockets=\d+ CoresPerSocket=\d+ ThreadsPerCore=\d+", words, text)
    assert n == 1, text
    try:
        with slurm.configured(counted, SLURM_CONF):
            slurm.restart("slurmctld", "slurmd")
            yield
    finally:  # also after a failed test: later tests need the node
        slurm.restart("slurmctld", "slurmd")


def cores_by_slurm():
    """The number of the node's cores, on both sockets, by scontrol."""
    said = slurm.wait_for(lambda: slurm.lines(f"scontrol show node -o {slurm.NODE}"), "scontrol's answer")
    return int(re.search(r" CPUTot=(\d+)", "\n".join(said))[1])


def test_the_sockets_of_the_jobs_cores_where_slurm_counts_other_sockets(look):
    """slurm.conf says that all cores are on one socket. The job gets the last core, which is on the machine's second
    socket."""
    n = cores_by_slurm()
    with (
        counted_by_slurm(f"CPUs={n} Sockets=1 CoresPerSocket={n} ThreadsPerCore=1"),
        slurm.alone_partition(),
        slurm.Occupied("bob", 16, f"-n{n // 2}", "-p", "alone"),
    ):
        seen = looked(look, f"{SIZE},socket=local", "-p", "alone", launch="srun -n1")
    assert list(seen["seen"]) == ["1"]


def stored_in(job_id, words):
    """Each socket has a marker of its own. Count the bytes of each marker on each device of a job: {(region of the
    device, socket of the marker): bytes}. ndctl's list of each region says which devices are in it. The job's program
    (stores.py) has only stored to mapped memory, without write or msync: so only these stores can have brought the
    markers there."""
    markers = [f"{words}{socket} ".encode() for socket in range(len(REGIONS))]
    return {
        (of_region, of_marker): count_markers(f"/dev/{one['blockdev']}", marker) * len(marker)
        for of_region, region in enumerate(REGIONS)
        for one in ndctl("list", "-N", "-r", region)
        if one.get("name", "").startswith(f"hybridmem:testbed:{job_id}.")
        for of_marker, marker in enumerate(markers)
    }


def test_what_a_job_stores_is_in_the_regions_of_its_sockets():
    """Two jobs run at a time: the first gets the core of socket 0, the second that of socket 1."""
    pairs = [(("local", [0]), ("local", [1])), (("remote", [1]), ("all", [0, 1]))]
    with slurm.alone_partition():
        for pair in pairs:
            with contextlib.ExitStack() as jobs:
                for asked, sockets in pair:
                    check_stores(jobs, asked, sockets)


def check_stores(jobs, asked, sockets):
    """Start a job that stores markers and goes on running, and check in which regions they are."""
    words = f"stores of {asked} on "
    options = (f"--hybrid-mem=fsdax,size=64M,socket={asked}", "-n1", "-p", "alone")
    job_id, _ = jobs.enter_context(job_with_file_systems(f"python3 {STORES} '{words}'", *options))
    found = stored_in(job_id, words)
    assert sorted(found) == [(of_region, of_marker) for of_region in sockets for of_marker in range(len(REGIONS))]
    for (of_region, of_marker), count in found.items():
        assert 0.9 * slurm.MIB <= count <= slurm.MIB if of_region == of_marker else count == 0, (asked, found)


def test_the_sites_file_system_and_place_for_the_map(look):
    """The size is 1 GiB because XFS needs a log of 64 MiB and refuses devices of less than 300 MiB."""
    with slurm.configured(slurm.TRUST + "fsdax_fs = xfs\nfsdax_map = pmem\n"):
        with job_with_file_systems(f"{look} > seen", "--hybrid-mem=fsdax,size=1G") as (job_id, folder):
            looks = json.loads((folder / "seen").read_text())["seen"]
            assert sorted(looks) == ["0", "1"]
            for socket, one in looks.items():
                check(socket, one, 512 * slurm.MIB, "xfs", least=0.8)
            assert [(one["mode"], one["map"]) for one in seen()] == [("fsdax", "dev")] * 2
        record = slurm.record(job_id)
    assert [one["fs"] for one in record["namespaces"]] == ["xfs"] * 2 and record["warnings"] == []
    assert "takes 16.0 MiB of it (64 bytes for 4 KiB)" in record["plan"]["reason"]


def test_all_steps_of_the_job_have_its_file_systems_and_no_other_job_has():
    """A job that is submitted from within the job does not get the job's variables, and its steps cannot make file
    systems."""
    folder = slurm.folder_of("alice")
    step = "srun -n1 --hybrid-mem=fsdax,size=64M echo began"
    (folder / "inner.sh").write_text(f"#!/bin/bash\necho dirs=$HYBRIDMEM_FSDAX_DIRS.\n{step} || echo status $?\n")
    script = (
        f"cd {folder}\nfor mode in off spill fsdax,size=512M; do\n"
        "srun -n1 --hybrid-mem=$mode touch $HYBRIDMEM_FSDAX_DIR/$mode\ndone\nls $HYBRIDMEM_FSDAX_DIR\n"
        "sbatch --wait --hybrid-mem=off -n1 -o inner inner.sh > /dev/null\necho; cat inner"
    )
    job_id = slurm.sbatch("alice", slurm.OVERLAP + script, "-n1", SIZE)
    assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
    its, inner = slurm.output(job_id).split("\n\n")
    assert its.split() == ["fsdax,size=512M", "lost+found", "off", "spill"]
    assert inner.startswith("dirs=.\n") and "\nstatus " in inner and "began" not in inner, inner
    assert "made before a job starts, not for a step" in inner


def test_what_a_killed_stepd_leaves_is_removed():
    began = slurm.folder_of("alice") / "began"
    job_id = slurm.sbatch("alice", f"touch $HYBRIDMEM_FSDAX_DIR/began {began}; sleep 1000", SIZE)
    # Wait: if slurmstepd were killed before slurmd knows that it has started, the node would be drained.
    slurm.wait_for(began.exists, "a running script")
    assert len(ours()) == 2
    os.kill(processes.stepd_of(job_id), 9)
    slurm.run("pkill -KILL -u alice")  # the processes that slurmstepd would have ended: slurmd waits for their end
    slurm.run(f"scancel {job_id}")
    slurm.wait_job(job_id)
    assert len(slurm.record(job_id)["namespaces"]) == 2


def test_a_killed_prolog_makes_nothing_any_more():
    """The prolog's helper waits for another helper at work, and has to end with the prolog: otherwise it would make the
    namespaces after the job's end."""
    waits = "pgrep -f 'hybridmem-namespace create'"
    slurm.run("hybridmem reap")  # makes the folder of the lock
    with LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        job_id = slurm.sbatch("alice", "true", SIZE)
        slurm.wait_for(lambda: slurm.run(waits, check=False).stdout, "the prolog's helper")
        slurm.run("pkill -KILL -f 'hybridmem-job begin'")
        slurm.wait_for(lambda: not slurm.run(waits, check=False).stdout, "its end")
    assert slurm.wait_job(job_id) == "FAILED"
    assert "the prolog has made no DAX file system for this job" in slurm.output(job_id)


def test_a_device_that_is_on_another_namespace_by_now_is_not_mounted():
    """This happens where an administrator has disabled and enabled a region. The test changes the ledger's entry
    instead."""
    with allocation(SIZE) as job_id:
        first, second = by_socket(ours())
        entries.change(job_id, {"namespaces.each.1.device": first["device"]})
        done = slurm.run(f"srun --jobid={job_id} -n1 --overlap echo began", user="alice", check=False)
        assert done.returncode != 0 and "began" not in done.stdout
        said = f'hybridmem: {first["device"]} is on "{first["name"]}" now, not on {second["name"]}: '
        assert done.stderr.count("hybridmem: ") == 1 and said in done.stderr, done.stderr
    (warning,) = slurm.record(job_id)["warnings"]
    assert said.removeprefix("hybridmem: ") in warning


def guide(name):
    """Text of a file as the administrator guide shows it."""
    (found,) = [block.text for block in docblocks.blocks("admin-guide.md") if block.words == [name]]
    return found


def restart_slurmd():
    """Restart slurmd, which reads job_container.conf; slurmctld does not read it."""
    slurm.restart("slurmd")
    slurm.wait_for(lambda: slurm.run("scontrol show slurmd", check=False).returncode == 0, "slurmd")


@contextlib.contextmanager
def job_containers():
    """Give jobs a /tmp of their own with Slurm's job_container plugin, set up as in the guide. Gives a function that
    adds lines to job_container.conf."""
    wanted = guide("slurm.conf.container").splitlines()
    text = SLURM_CONF.read_text()
    text += "".join(f"{line}\n" for line in wanted if line not in text.splitlines())
    path, settings = SLURM_CONF.with_name("job_container.conf"), guide("job_container.conf")

    def add(more):
        slurm.put(settings + more, path)
        restart_slurmd()

    try:
        with slurm.configured(text, SLURM_CONF), slurm.configured(settings, path):
            yield add
    finally:  # also after a failed test: later tests need the node
        restart_slurmd()
    shutil.rmtree(re.search(r"BasePath=(/\S+)", settings)[1])


def test_within_job_container():
    """The job sees both its private folders and its file systems; the container's mount namespace does not keep the
    file systems busy."""
    with job_containers() as add:
        for more in ("", "Shared=true\nDirs=/tmp,/dev/shm,/var/tmp\n"):
            add(more)
            private = ["/tmp", "/dev/shm", *(["/var/tmp"] if more else [])]
            script = f"cat {' '.join(f'{folder}/*' for folder in private)} 2>&1 | grep -vc 'No such file'\n"
            mine = " ".join(f"{folder}/mine" for folder in private)
            script += f"touch {mine}\nsrun -n1 --overlap ls {mine} | wc -l\npython3 -c '{LOOK}'"
            job_id = slurm.sbatch("alice", script, SIZE)
            assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)
            n_others, n_mine, seen = slurm.output(job_id).split("\n", 2)
            assert (int(n_others), int(n_mine)) == (0, len(private))
            assert not any((Path(folder) / "mine").exists() for folder in private)
            assert sorted(json.loads(seen)["seen"]) == ["0", "1"]
            for socket, one in json.loads(seen)["seen"].items():
                check(socket, one, 256 * slurm.MIB)
            assert slurm.record(job_id)["warnings"] == []


def test_the_shell_of_salloc(look):
    """Where salloc starts the shell as a step of the job, the shell has the file systems. Otherwise the shell is no
    task, may run on another node, and has none."""
    alone = slurm.run(f"salloc -n1 {SIZE} sh -c 'echo dirs=$HYBRIDMEM_FSDAX_DIRS.'", user="alice")
    assert alone.stdout == "dirs=.\n"
    folder = slurm.folder_of("alice")
    (folder / "words").write_text(f"{look} > {folder}/seen\nexit\n")
    with slurm.configured(SLURM_CONF.read_text() + "LaunchParameters=use_interactive_step\n", SLURM_CONF):
        slurm.run(f"script -qec 'salloc -n1 {SIZE}' /dev/null < {folder}/words", user="alice")
    seen = json.loads((folder / "seen").read_text())["seen"]
    assert sorted(seen) == ["0", "1"]
    for socket, one in seen.items():
        check(socket, one, 256 * slurm.MIB)
