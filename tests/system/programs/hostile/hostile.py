# SPDX-License-Identifier: Apache-2.0
"""Does to all processes of its user what the user may do to them, again and again, until it is killed. Prints what it
has done to which program, with "no" before it where the kernel did not permit it. Holds the locks of the user's own
records meanwhile, so that a process that copies a record there waits until this program has attacked it, or its time is
over.

    hostile.py WORD...      words: the keys of ATTACKS and FLOODS
"""

import contextlib
import ctypes
import fcntl
import os
import resource
import signal
import socket
import sys
import time
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH = 16
LIMITS = ("CPU", "FSIZE", "DATA", "STACK", "NPROC", "NOFILE", "MEMLOCK", "AS", "SIGPENDING", "MSGQUEUE")
CONNECTIONS, CHILDREN = 500, 50
RECORDS, DAY = Path("/var/lib/hybridmem/records/by-user"), 86400  # seconds
TURN = 0.05  # seconds of a child's work
PAUSE = 0.1  # seconds between two turns over all processes; to start a program takes longer than that


def stop(pid):
    os.kill(pid, signal.SIGSTOP)


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def trace(pid):
    """Traces the process, which also stops it: it is never continued."""
    if LIBC.ptrace(PTRACE_ATTACH, pid, None, None) != 0:
        raise OSError(ctypes.get_errno(), "not traced")


def renice(pid):
    os.setpriority(os.PRIO_PROCESS, pid, 19)
    os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))


def limit(pid):
    """Sets the process's limits to 0. Some of them kill a process that has used more already."""
    for name in LIMITS:
        resource.prlimit(pid, getattr(resource, f"RLIMIT_{name}"), (0, 0))


def our_sockets():
    """(type, address) of hybridmem's sockets; abstract names begin with @."""
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        words = line.split()
        if len(words) == 8 and "hybridmem" in words[7]:
            yield int(words[4], 16), words[7].replace("@", "\0", 1)


def sockets():
    """Connects to each socket of hybridmem, and to itself, until it has CONNECTIONS connections or no descriptor left.
    Then begins anew."""
    while True:
        held = [socket.socketpair() for _ in range(CONNECTIONS // 4)]
        with contextlib.suppress(OSError):
            while len(held) < CONNECTIONS:
                time.sleep(TURN)
                for kind, address in our_sockets():
                    held.append(socket.socket(socket.AF_UNIX, kind | socket.SOCK_NONBLOCK))
                    with contextlib.suppress(OSError):
                        held[-1].connect(address)


def work_shortly():
    end = time.monotonic() + TURN
    while time.monotonic() < end:
        pass
    os._exit(0)


def processes():
    """Starts children without end, as many at a time as its limit allows. Each uses CPU time for a moment and ends."""
    resource.setrlimit(resource.RLIMIT_NPROC, (CHILDREN, CHILDREN))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        try:
            if os.fork() == 0:
                work_shortly()
        except BlockingIOError:
            time.sleep(TURN)


def reap():
    """Lets go of traced processes that were killed: otherwise Slurm waits for them, with or without hybridmem."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


ATTACKS = {"stop": stop, "kill": kill, "trace": trace, "renice": renice, "limit": limit}
FLOODS = {"sockets": sockets, "processes": processes}


def others():
    """Pid and name of the user's other processes."""
    for folder in [entry for entry in os.scandir("/proc") if entry.name.isdecimal()]:
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.getuid() and os.getpgid(int(folder.name)) != os.getpgrp():
                yield int(folder.name), Path(folder, "comm").read_text().strip()


def lock_records():
    """Locks the files for the node's records of today and tomorrow, until this process and its children have ended."""
    for moment in (time.time(), time.time() + DAY):
        folder = RECORDS / str(os.getuid()) / time.strftime("%Y-%m-%d", time.gmtime(moment))
        folder.mkdir(mode=0o700, exist_ok=True)
        fcntl.flock(os.open(folder / "n1.jsonl", os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_EX)


def attack(word, pid):
    """Returns what to print of it: nothing if the process has ended."""
    try:
        ATTACKS[word](pid)
    except PermissionError:
        return f"no {word}"
    except OSError:
        return None
    return word


def main(words):
    said = set()
    lock_records()
    for word in words:
        if word in FLOODS and os.fork() == 0:
            FLOODS[word]()
    while True:
        for pid, name in others():
            for word in filter(ATTACKS.get, words):
                line = f"{outcome} {name}" if (outcome := attack(word, pid)) else None
                if line and line not in said:
                    print(line, flush=True)
                    said.add(line)
        reap()
        time.sleep(PAUSE)


main(sys.argv[1:])
