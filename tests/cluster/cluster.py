# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests on a cluster's controller: its nodes' machines, commands on them, and jobs on all of them."""

import contextlib
import json
import shlex
import socket
import time
from importlib import machinery, util

import slurm

# testbed-on as a module, as a process for each command would cost a second of an emulated CPU.
LOADER = machinery.SourceFileLoader("agent", "/usr/local/sbin/testbed-on")
agent = util.module_from_spec(util.spec_from_loader(LOADER.name, LOADER))
LOADER.exec_module(agent)

NODES = ("n1", "n2")
BOOT_PATIENCE = 360  # seconds for a node's boot, which takes half a minute on a host that does nothing else


def on(node, command, check=True):
    """The output of a shell command on a node, as root; None if it failed and `check` is false."""
    try:
        output, status = agent.ask(node, command)
    except OSError as error:
        output, status = str(error), agent.LOST
    if check and status != 0:
        raise AssertionError(f"{command!r} on {node} gave {status}:\n{output}")
    return output if status == 0 else None


def machine(*words):
    """Has the host do something with a node's machine: kill, boot, stop, cont."""
    slurm.run(f"testbed-machine {' '.join(words)}")


@contextlib.contextmanager
def standing_still(node):
    """The node's machine stands still, and its clock with it. slurmctld, which may have missed it, then hears of it at
    once."""
    machine("stop", node)
    try:
        yield
    finally:
        machine("cont", node)
        on(node, f"date -s @{time.time():.3f} && systemctl reload slurmd")


def restart_slurmctld():
    slurm.run(slurm.stop("slurmctld"), check=False)
    slurm.run("slurmctld")
    slurm.wait_for(lambda: slurm.run("scontrol ping", check=False).returncode == 0, "slurmctld")


def states():
    """Slurm's state of each node, by its name; "*" after it: the node does not answer."""
    return dict(line.split() for line in slurm.lines("sinfo -h -N -p main -o '%N %T'") or [])


def wait_idle():
    slurm.wait_for(lambda: slurm.node_states() == dict.fromkeys(NODES, "IDLE"), "idle nodes", every=0.2)


def boot_of(node):
    """The id of the node's present boot; None while its agent does not answer."""
    return on(node, "cat /proc/sys/kernel/random/boot_id", check=False)


def boots():
    """boot_of() each node."""
    return {node: boot_of(node) for node in NODES}


def is_on_network(node):
    """Whether the node's kernel answers, with or without an agent there."""
    try:
        socket.create_connection((node, agent.PORT), timeout=1).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return True


def wait_gone(node):
    """Waits until the node, which was told to reboot, has gone: a busy one may be silent for one look."""
    slurm.wait_for(lambda: not (is_on_network(node) or is_on_network(node)), f"the end of {node}'s boot", every=0.2)


def wait_booted(node, before):
    """Waits until the node, whose earlier boot was `before`, runs again."""
    is_new = "a new boot of " + node
    slurm.wait_for(lambda: boot_of(node) not in (None, before), is_new, patience=BOOT_PATIENCE, every=0.5)


def drop_in(node, unit, text):
    """Adds these settings to a unit of a node, also after a loss of power. `text` is printf's, in single quotes."""
    folder = f"/etc/systemd/system/{unit}.service.d"
    on(node, f"mkdir -p {folder} && printf '{text}' > {folder}/look.conf && sync && systemctl daemon-reload")


def tiers(node):
    return json.loads(on(node, "hybridmem tiers --json"))


def left_on(node):
    """What hybridmem has on the node: names in its ledger, and namespaces."""
    ledger = on(node, "ls /run/hybridmem/jobs/").split()
    listed = json.loads(on(node, "/usr/libexec/hybridmem/hybridmem-namespace list --json"))["namespaces"]
    return [*(name for name in ledger if name != "lock"), *(one["name"] for one in listed)]


class Everywhere:
    """A job of alice with a task on each node, which holds MIB MiB of memory from the moment that it is .held until
    .end(). `prepare` is shell text that each task runs before; `meanwhile` is called with the job's id once it is
    submitted."""

    MIB = 48

    def __init__(self, request, *options, prepare="true", meanwhile=None):
        self.folder = slurm.folder_of("alice")
        self.go = self.folder / "go"
        task = f"{prepare}; exec occupy {self.MIB} {self.folder}/$SLURMD_NODENAME {self.go}"
        script = f"srun bash -c {shlex.quote(task)}"
        words = [f"-N{len(NODES)}", f"-n{len(NODES)}", "--no-requeue", f"--hybrid-mem={request}", *options]
        self.job_id = slurm.sbatch("alice", script, *words)
        if meanwhile:
            meanwhile(self.job_id)
        slurm.wait_for(lambda: self.is_held() or slurm.end_of(self.job_id), f"memory of job {self.job_id}", every=0.2)
        assert self.is_held(), slurm.output(self.job_id)

    def is_held(self):
        return all((self.folder / node).exists() for node in NODES)

    def end(self):
        """Lets the job end. Returns its records by node, once there is one of each node."""
        self.go.touch()
        assert slurm.wait_job(self.job_id) == "COMPLETED", slurm.output(self.job_id)
        return self.wait_records(len(NODES))

    def wait_records(self, count):
        slurm.wait_for(lambda: len(slurm.records(self.job_id)) == count, f"{count} records of {self.job_id}")
        return {record["node"]: record for record in slurm.records(self.job_id)}
