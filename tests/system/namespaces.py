# SPDX-License-Identifier: Apache-2.0
"""Runs hybridmem-namespace, and ndctl to look at its results from outside."""

import contextlib
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import slurm
from migration import ranks_of

PROGRAM = "/usr/libexec/hybridmem/hybridmem-namespace"
# Counts the calls by which a program changes something outside of itself: its steps (programs/namespace/steps.c).
STEPS = "/usr/local/lib/steps.so"
STORES = Path(__file__).parent / "programs" / "namespace" / "stores.py"
MIB = slurm.MIB
REGIONS = ("region0", "region1")  # of sockets 0 and 1
MARKER = b"alice's secret bytes "


def namespace(command, *, status=0, env=None, **options):
    """Runs a command with keyword options. Checks its exit status, and that an error is one line."""
    words = [PROGRAM, *command.split(), *(f"--{key}={value}" for key, value in options.items())]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=slurm.PATIENCE, env={**os.environ, **(env or {})}
    )
    assert done.returncode == status, f"{words} gave {done.returncode}:\n{done.stdout}{done.stderr}"
    if status > 0:
        assert done.stderr.count("\n") == 1 and done.stderr.startswith("hybridmem namespace: "), done.stderr
    return done


def create(job, mib, sockets="0", *, status=0, env=None, command="create", **options):
    """Makes a job's namespaces and returns them; if it must fail, returns the finished process."""
    settings = {"restart": 0, "uid": 1001, "cluster": "testbed", **options}
    done = namespace(command, status=status, env=env, job=job, size=f"{mib}M", sockets=sockets, **settings)
    return done if status else json.loads(done.stdout)["namespaces"]


def destroy(job, *, status=0, env=None, **options):
    return namespace("destroy", status=status, env=env, job=job, **{"restart": 0, **options})


def reap(living="", **options):
    return namespace("reap", living=living, **options)


def let_it_be_overdue():
    """Makes it ten minutes since a reap found what is past its age: only then the next one wipes it."""
    notes = Path("/run/hybridmem/root/node/overdue")
    if notes.exists():
        notes.write_text(re.sub(r"^\d+", "0", notes.read_text(), flags=re.MULTILINE))


def keep(uid, mib, sockets="0", **options):
    """As create(), for a user who keeps the file systems."""
    return create(1, mib, sockets, command="create --keep", uid=uid, **options)


def destroy_kept(uid, *, status=0, **options):
    return namespace("destroy", status=status, uid=uid, **options)


def ours():
    """The namespaces that the program lists, of all jobs and users."""
    done = subprocess.run([PROGRAM, "list", "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["namespaces"]


def by_socket(listed):
    """Sorted by socket, as the kernel lists regions in any order."""
    return sorted(listed, key=lambda one: one["socket"])


def ndctl(*words):
    text = slurm.run(f"ndctl {' '.join(map(str, words))}").stdout
    return json.loads(text) if text.strip() else []


def seen():
    """ndctl's objects of all namespaces that have a size."""
    return [found for found in ndctl("list", "-N", "-i") if found.get("size")]


def room(region):
    """(free bytes, largest extent) of a region, from sysfs."""
    folder = Path("/sys/bus/nd/devices") / region
    return tuple(int((folder / name).read_text()) for name in ("available_size", "max_available_extent"))


def count_markers(device, marker=MARKER):
    """How often these bytes occur in a device."""
    found = 0
    with Path(device).open("rb") as file:
        while block := file.read(4 * MIB):
            found += block.count(marker)
    return found


@contextlib.contextmanager
def job_with_file_systems(script, *options):
    """Runs a job of alice that executes the script in a folder of its own, and then waits. Yields the job's number and
    the folder. Afterwards the job must end well."""
    folder = slurm.folder_of("alice")
    text = f"set -e\ncd {folder}\n{script}\ntouch ready\nuntil [ -e go ]; do sleep 0.2; done"
    job_id = slurm.sbatch("alice", text, *options)
    try:
        slurm.wait_for(lambda: (folder / "ready").exists() or slurm.end_of(job_id), "the job's script")
        assert (folder / "ready").exists(), slurm.output(job_id)
        yield job_id, folder
    except BaseException:
        # End the job now: its epilog must run before mounts and settings of the test around it are undone.
        slurm.run(f"scancel {job_id}", check=False)
        with contextlib.suppress(AssertionError):
            slurm.wait_job(job_id, patience=60)
        raise
    finally:
        (folder / "go").touch()
    assert slurm.wait_job(job_id) == "COMPLETED", slurm.output(job_id)


def check_job_refused(text, said):
    """The job ends before its first instruction, with one line, and the node is not drained."""
    done = slurm.run(f"srun -n1 --hybrid-mem={text} echo began", user="alice", check=False)
    assert done.returncode != 0 and "began" not in done.stdout
    lines = [line for line in done.stderr.splitlines() if "hybridmem: " in line]
    assert len(lines) == 1 and f"--hybrid-mem={text}: " in lines[0] and said in lines[0], done.stderr
    assert "DRAIN" not in slurm.wait_for(slurm.node_state, "scontrol's answer about the node")


@contextlib.contextmanager
def epilogs_over():
    """Waits for epilogs afterwards: srun returns before them, and they look at the regions."""
    try:
        yield
    finally:
        slurm.wait_epilogs()


def reload_modules():
    """Loads the kernel modules again, as at boot: the kernel then reads the labels anew."""
    slurm.run("ndctl disable-region all && modprobe -r -a dax_pmem nd_pmem nfit && modprobe -a nfit nd_pmem dax_pmem")


@contextlib.contextmanager
def region_without_labels():
    """Region 1 without labels, as it comes from the factory."""
    slurm.run("ndctl disable-region region1 && ndctl zero-labels nmem1")
    reload_modules()
    try:
        yield
    finally:
        slurm.run("ndctl disable-region region1 && ndctl init-labels -f nmem1")
        reload_modules()


@contextlib.contextmanager
def module_missing(name="nd_pmem", unload="-a dax_pmem nd_pmem"):
    """The module, by default the devices' driver, is neither loaded nor installed."""
    module = Path(slurm.run(f"modinfo -n {name}").stdout.strip())
    hidden = module.with_name("away")
    slurm.run(f"modprobe -r {unload}")
    module.rename(hidden)
    try:
        yield
    finally:
        hidden.rename(module)


@contextlib.contextmanager
def allocation(*options):
    """Holds a job of alice with file systems but with no step besides the extern one, so that no process has mounted
    them. Yields the job's number, and ends the job afterwards."""
    done = slurm.run(f"salloc --no-shell -n1 {' '.join(options)}", user="alice")
    job_id = int(re.search(r"Granted job allocation (\d+)", done.stderr)[1])

    def is_entered():
        """Has the prolog made both file systems, and does the extern step's process run? It starts only when the step
        is in the ledger."""
        return len(ours()) == 2 and ranks_of(job_id, "sleep")

    try:
        slurm.wait_for(is_entered, "the allocation's prolog and extern step")
        yield job_id
    finally:
        slurm.run(f"scancel {job_id}")
        slurm.wait_job(job_id)


@contextlib.contextmanager
def foreign(name, region="region1", mib=64):
    """A namespace that somebody else made. At the end it must be unchanged, with its content."""
    made = ndctl("create-namespace", "-m", "fsdax", "-s", f"{mib}M", "-r", region, "-n", name)
    device = Path("/dev") / made["blockdev"]
    content = os.urandom(MIB)
    device.write_bytes(content)
    (before,) = [found for found in seen() if found["dev"] == made["dev"]]
    try:
        with epilogs_over():
            yield made
        (after,) = [found for found in seen() if found["uuid"] == made["uuid"]]
        assert after == before
        with device.open("rb") as file:
            assert file.read(MIB) == content
    finally:
        slurm.run(f"ndctl destroy-namespace -f {made['dev']}")


def mark_all_over(device):
    """Writes a marker into each MiB of a device: another user must never find one."""
    size = int(slurm.run(f"blockdev --getsize64 {device}").stdout)
    with Path(device).open("r+b") as file:
        for at in range(0, size, MIB):
            file.seek(at + 8192)
            file.write(MARKER)
        os.fsync(file.fileno())


@contextlib.contextmanager
def raw_device(one):
    """All of a namespace's extent as a device: its content, its info block, and the map of its pages."""
    (found,) = [each for each in ndctl("list", "-N") if each.get("name") == one["name"]]
    folder = Path("/sys/bus/nd/devices") / found["dev"]

    def switch(value):
        slurm.run(f"ndctl disable-namespace {found['dev']}")
        (folder / "force_raw").write_text(value)
        slurm.run(f"ndctl enable-namespace {found['dev']}")

    switch("1")
    try:
        (device,) = (folder / "block").iterdir()
        assert int((device / "size").read_text()) * 512 == int((folder / "size").read_text())
        yield f"/dev/{device.name}"
    finally:
        switch("0")
    assert Path(one["device"]).is_block_device()


@contextlib.contextmanager
def mounted(device, place="/mnt"):
    """Mounts the device with DAX. Yields the mount's options, as the kernel lists them."""
    slurm.run(f"mount -o dax {device} {place}")
    try:
        options = next(line.split()[3] for line in Path("/proc/mounts").read_text().splitlines() if device in line)
        yield re.split(",", options)
    finally:
        slurm.run(f"umount {place}", check=False)


@contextlib.contextmanager
def stopped(step, *words, ahead=0, **options):
    """Runs the program until it is stopped before a step. `step` is a number, or a name: the first step of that name.
    From that step on, the program's clock is `ahead` seconds ahead. At the end the program is killed if it still runs,
    even if the test fails, as it holds the lock that all others wait for."""
    env = {"LD_PRELOAD": STEPS, "STEPS_KILL": str(step), "STEPS_SIGNAL": str(int(signal.SIGSTOP))}
    env["STEPS_CLOCK"] = str(ahead)
    process = subprocess.Popen([PROGRAM, *words], env={**os.environ, **env}, text=True, **options)
    try:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        yield process
    finally:
        process.kill()
        process.wait()


def killed_before_each_step(*words, least=8, stride=lambda steps: 1, program=PROGRAM, library=STEPS):
    """Kills the program before its first step, then in another run before its second step, and so on. Yields (number of
    the step, names of the steps so far) after each kill, and returns when the program ends before that step. The number
    of steps depends a little on the kernel; it must be more than `least`. `stride` is called with the steps so
    far, and returns how many steps later the next kill comes."""
    log = Path("/tmp/steps.log")
    number = 1
    while True:
        log.unlink(missing_ok=True)
        env = {"LD_PRELOAD": library, "STEPS_KILL": str(number), "STEPS_LOG": str(log)}
        done = subprocess.run([program, *words], env={**os.environ, **env}, check=False, timeout=slurm.PATIENCE)
        steps = log.read_text().splitlines()
        if done.returncode == 0:
            assert len(steps) < number and len(steps) > least, steps
            return
        assert done.returncode == -signal.SIGKILL, steps
        yield number, steps
        number += stride(steps)
