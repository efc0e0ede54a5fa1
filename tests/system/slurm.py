# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests inside the guest: users, jobs, records, and waiting for conditions instead of fixed times."""

import contextlib
import functools
import json
import os
import pwd
import re
import shlex
import subprocess
import tempfile
import time
from pathlib import Path

NODE = "n1"
USERS = ("alice", "bob", "carol")
RECORDS = Path("/var/lib/hybridmem/records")
JOBS = Path("/run/hybridmem/jobs")
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL", "TIMEOUT", "OUT_OF_MEMORY")
CONFIG = Path("/etc/hybridmem/hybridmem.conf")
TRUST = "fsdax_trust = yes\n"  # which fsdax needs on the guest's kernel
PLUGSTACK = Path("/etc/slurm/plugstack.conf.d/hybridmem.conf")
PATIENCE = 240  # seconds after which a condition counts as never coming; the guest is emulated and slow
STOP_PATIENCE = 60  # seconds after which a slurmctld that was told to end counts as hanging
MIB = 1 << 20
PAGE = 4096
USER_PATH = "/usr/local/bin:/usr/bin:/bin"
# Prints the policy of a program's first mapping, which is the task's policy.
POLICY = "/usr/bin/awk 'NR == 1 { print $2 }' /proc/self/numa_maps"
# First line of a script whose steps follow each other. srun may return before slurmctld knows that its step is over,
# and the next srun would print that it waits for cores.
OVERLAP = "export SLURM_OVERLAP=1\n"
LONGER_PAUSE, LONGEST_PAUSE = 1.1, 1  # of wait_for(): a factor, and seconds
outputs = {}  # {job id: its output file}, of the jobs that sbatch() has submitted


def situation():
    """Slurm's nodes, jobs and last log lines, the ledger's files, and what the last jobs printed, for the text of a
    failure."""
    looks = (
        "sinfo -N -o '%N %T %E'",
        "scontrol show job -o | tail -n 20",
        "tail -n 10 /var/log/slurm/slurmctld.log",
        "tail -n 15 /var/log/slurm/slurmd.log",
        f"ls -l {JOBS}/",
        *(f"tail -n 5 {path}" for path in list(outputs.values())[-3:]),
    )
    return "\n".join(run(f"timeout 20 {look}", check=False).stdout for look in looks)


def wait_for(condition, what, patience=PATIENCE, every=0.05):
    """Waits until condition() is true and returns its value. Fails after `patience` seconds; the text names `what`.
    Looks each `every` seconds at first, then less and less often: in a guest whose clock counts instructions
    (tests/testbed) only looks take host time, sleeping does not."""
    deadline = time.monotonic() + patience
    while not (value := condition()):  # tried once more after the last sleep, as the guest may have stood still
        if time.monotonic() >= deadline:
            # What is missing comes last, as only the end of a long text is shown.
            raise AssertionError(f"{situation()}\nnever came in {patience} s: {what}")
        time.sleep(every)
        every = max(every, min(every * LONGER_PAUSE, LONGEST_PAUSE))
    return value


def identity(user):
    """Options of subprocess that make a process the user's. The environment is not that of a login shell: with Lmod, a
    login shell takes a second, and so does each shell of a job that inherits its environment."""
    entry = pwd.getpwnam(user)
    return {
        "user": entry.pw_uid,
        "group": entry.pw_gid,
        "extra_groups": os.getgrouplist(user, entry.pw_gid),
        "env": {"HOME": entry.pw_dir, "USER": user, "LOGNAME": user, "SHELL": entry.pw_shell, "PATH": USER_PATH},
        "cwd": entry.pw_dir,
    }


def run(command, user=None, env=None, timeout=PATIENCE, check=True, cwd=None):
    """Runs a shell command as root, or as `user` in the user's home. Output is text."""
    process = identity(user) if user else {"env": dict(os.environ), "cwd": None}
    if user:  # the shell exports them, so that it does not itself start with variables such as LD_PRELOAD
        command = "".join(f"export {key}={shlex.quote(value)}; " for key, value in (env or {}).items()) + command
    else:
        process["env"].update(env or {})
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        stdin=subprocess.DEVNULL,
        **{**process, "cwd": cwd or process["cwd"]},
    )
    if check and done.returncode != 0:
        raise AssertionError(f"{command!r} as {user or 'root'} gave {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def home(user):
    return Path("/home") / user


def folder_of(user):
    """Makes a new folder that belongs to the user."""
    made = Path(tempfile.mkdtemp(prefix="test-", dir=home(user)))
    made.chmod(0o755)
    entry = pwd.getpwnam(user)
    os.chown(made, entry.pw_uid, entry.pw_gid)
    return made


def sbatch(user, script, *options, check=True, env=None):
    """Submits a batch script (its text). Returns the job id, or the finished process if `check` is false."""
    folder = folder_of(user)
    path = folder / "job.sh"
    path.write_text("#!/bin/bash\n" + script + "\n")
    words = " ".join(shlex.quote(str(option)) for option in options)
    done = run(f"sbatch --parsable -o {folder}/out-%j {words} {path}", user=user, check=check, env=env)
    if done.returncode == 0:
        job_id = int(done.stdout.split(";")[0])
        outputs[job_id] = folder / f"out-{job_id}"
    return job_id if check else done


@functools.cache
def states():
    """The process of slurmstates.c, which answers questions about states."""
    return subprocess.Popen(["slurmstates"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def ask(question):
    """The answer of slurmstates.c to a question; "" if there is none."""
    states().stdin.write(f"{question}\n")
    return states().stdout.readline().strip()


def job(job_id):
    """scontrol's fields of a job as a dictionary, for an array those of its first task. {}: no answer."""
    text = run(f"scontrol show job -o {job_id}", check=False).stdout.split("\n", 1)[0]
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def end_of(job_id):
    """The state in which the job has ended; None if it has not, or if slurmctld does not answer."""
    state = ask(f"job {job_id}")
    return state if state in ENDED else None


def wait_job(job_id, patience=PATIENCE):
    """Waits until the job has ended. Returns its state."""
    return wait_for(lambda: end_of(job_id), f"the end of {job_id}", patience)


def requeue(job_id):
    """Requeues a running job, and waits until the first run is over and recorded."""
    run(f"scontrol requeue {job_id}")
    wait_for(lambda: records(job_id), "the first run's record")

    def takes_a_start():
        """Slurm delays the second run, and accepts a new start time only when the first run is over. The second run
        must not start in the second in which the first one ended: slurmd would believe that a credential of that
        second is the first run's."""
        return run(f"scontrol update jobid={job_id} starttime=now+2", check=False).returncode == 0

    wait_for(takes_a_start, "the first run's end", every=1)


def output(job_id):
    """The batch script's output so far."""
    path = outputs.get(job_id) or Path(wait_for(lambda: job(job_id).get("StdOut"), f"scontrol's answer about {job_id}"))
    return path.read_text(errors="replace") if path.exists() else ""


def wait_output(job_id, pattern):
    return wait_for(lambda: re.search(pattern, output(job_id)), f"{pattern!r} in the output of {job_id}")


def lines(command):
    """The lines of a command of Slurm; None if it fails, which is not the same as no lines."""
    done = run(command, check=False)
    return [line.strip() for line in done.stdout.splitlines()] if done.returncode == 0 else None


def queue(options=""):
    """squeue's lines, or None."""
    return lines(f"squeue -h {options}")


def wait_no_jobs(patience=PATIENCE, every=0.05):
    wait_for(lambda: ask("jobs") == "0", "an empty queue", patience, every)


def node_state():
    """The node's state; "": no answer."""
    found = re.search(r"State=(\S+)", "\n".join(lines(f"scontrol show node -o {NODE}") or []))
    return found.group(1) if found else ""


def node_states():
    """By node: IDLE, COMPLETING or OTHER; {}: no answer."""
    return dict(word.split("=") for word in ask("nodes").split())


def wait_epilogs():
    """Waits until no job's epilog runs: srun returns before the epilog ends. Failures are left to other checks."""
    with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
        wait_for(lambda: "COMPLETING" not in (node_states() or {"": "COMPLETING"}).values(), "no epilog", patience=120)


def wait_idle():
    """Waits until the node is idle and the ledger empty."""
    wait_for(lambda: node_states().get(NODE) == "IDLE", "an idle node")
    wait_for(lambda: not ledger(), "an empty ledger")


def process_name(daemon):
    """The pattern by which pgrep -x finds a daemon of Slurm, quoted for the shell. Debian's /usr/sbin/NAME is a link to
    NAME-wlm, and a daemon that was reconfigured runs under the latter name."""
    return f"'{daemon}(-wlm)?'"


def stop(daemon):
    """Shell words that end a daemon of Slurm."""
    name = process_name(daemon)
    gone = f"while pgrep -x {name} > /dev/null; do sleep 0.1; done"
    if daemon != "slurmctld":
        return f"pkill -x {name}; {gone}"
    # Once, a slurmctld of 24.11 that had got SIGTERM twice did not end. To kill it does no harm, as it saves its state
    # at each change.
    return f'pkill -x {name}; timeout {STOP_PATIENCE} sh -c "{gone}" || pkill -KILL -x {name}; {gone}'


def restart(*daemons):
    """Ends all these daemons, then starts them: changes of JobSubmitPlugins, GRES and job containers need that."""
    for daemon in daemons:
        run(stop(daemon), check=False)
    for daemon in daemons:
        run(daemon)
    wait_for(lambda: run("scontrol ping", check=False).returncode == 0, "slurmctld")
    wait_idle()


def drop_caches():
    """Drops the page cache of earlier tests: what is free afterwards is what a job can have."""
    run("sync; echo 3 > /proc/sys/vm/drop_caches")


def node_bytes(node, key):
    """A value of the node's meminfo, in bytes."""
    text = Path(f"/sys/devices/system/node/node{node}/meminfo").read_text()
    return int(re.search(rf" {key}:\s*(\d+) kB", text)[1]) << 10


def free_bytes(node):
    return node_bytes(node, "MemFree")


def zones_of(node):
    """The zones of the node, without those that have no memory: the kernel's text on each, by its name."""
    zones = re.findall(rf"^Node {node}, zone +(\w+)\n((?: .*\n)*)", Path("/proc/zoneinfo").read_text(), re.M)
    return {name: text for name, text in zones if not re.search(r"managed +0$", text, re.M)}


def settled_free(nodes):
    """Free bytes by node, when two looks a second apart agree, as dropped pages become free in the background."""
    looks = []

    def agree():
        looks.append({node: free_bytes(node) for node in nodes})
        return len(looks) > 1 and all(abs(looks[-1][node] - looks[-2][node]) < MIB for node in nodes)

    wait_for(agree, f"free memory of nodes {nodes} that stays", every=1)
    return looks[-1]


def ledger():
    """The names in the ledger's folder, without its lock."""
    return sorted(p.name for p in JOBS.iterdir() if p.name != "lock") if JOBS.exists() else []


def record_sizes():
    """Bytes of each file of records: later records begin there."""
    return {path: path.stat().st_size for path in RECORDS.glob("2*/*.jsonl")}


def record_lines(since=None, word=b""):
    """The records of all days, in any order, that contain `word`. `since` has the sizes of files: of each file, only
    records after that size are returned. An incomplete last line is left out, as it is still being written."""
    for path in RECORDS.glob("2*/*.jsonl"):
        text = path.read_bytes()[(since or {}).get(path, 0) :]
        if word in text:
            yield from (line for line in text.split(b"\n")[:-1] if word in line)


def all_records():
    return [json.loads(line) for line in record_lines()]


def records(job_id):
    """The records of a job. Others are not parsed, which would take an emulated CPU a second for hundreds of them."""
    found = [json.loads(line) for line in record_lines(word=f'"job_id":{job_id},'.encode())]
    return [record for record in found if record["job_id"] == job_id]


def record(job_id):
    """Waits for the job's only record: the epilog writes it after the job counts as ended."""
    found = wait_for(lambda: records(job_id), f"a record of {job_id}")
    assert len(found) == 1, f"{len(found)} records of {job_id}"
    return found[0]


def tier_bytes(job_record, key="anon_bytes"):
    return [tier[key] for tier in job_record["memory"]["tiers"]]


@contextlib.contextmanager
def alone_partition():
    """A partition whose jobs do not share cores."""
    run("scontrol create PartitionName=alone Nodes=n1 OverSubscribe=NO")
    try:
        yield
        wait_idle()
    finally:
        run("scancel --partition=alone", check=False)  # jobs of a failed test, which would keep the partition
        wait_epilogs()
        run("scontrol delete PartitionName=alone")


@contextlib.contextmanager
def configured(text, path=CONFIG):
    """Replaces the text of a configuration file for a while. A reader sees the old text or the new one, never a
    mixture. An epilog sees the text that its job had, as epilogs are waited for before the old text comes back."""
    before = path.read_text() if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    put(text, path)
    try:
        yield
    finally:
        wait_epilogs()
        if before is None:
            path.unlink()
        else:
            put(before, path)


def put(text, path):
    """Writes a file's text in one step."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(text)
    new.rename(path)


class Occupied:
    """A job that holds `mib` MiB of memory. .pages is numa_maps' count by node at the peak; .end() lets it finish."""

    def __init__(self, user, mib, *options, launch="occupy", passes=0):
        self.folder = folder_of(user)
        self.ready, self.go = self.folder / "ready", self.folder / "go"
        self.job_id = sbatch(user, f"{launch} {mib} {self.ready} {self.go} {passes}", *options)
        wait_for(lambda: self.ready.exists() or end_of(self.job_id), f"job {self.job_id} to hold {mib} MiB")
        assert self.ready.exists(), f"job {self.job_id} ended early: {output(self.job_id)}"
        report = json.loads(self.ready.read_text())
        self.pid = report["pid"]
        self.pages = {int(node): count for node, count in report["pages"].items()}

    def end(self):
        self.go.touch()
        return wait_job(self.job_id)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
