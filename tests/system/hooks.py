# SPDX-License-Identifier: Apache-2.0
"""Measures what holds up the node, for tests: how long the plugin's prologs and epilogs last, and how long others wait
for the ledger's lock meanwhile."""

import contextlib
import fcntl
import os
import threading
import time
from pathlib import Path

import slurm

PAUSE, TO_EXECUTE = 0.05, 1  # seconds: between two looks, and at most from a fork to exec
LOCK = slurm.JOBS / "lock"
KINDS = ("prolog", "epilog")  # slurmd starts `slurmstepd spank KIND` to call the plugins' hooks


class Watch:
    """While the context is open, threads take the ledger's lock again and again, and look for prologs and epilogs.
    `waits` has the seconds of each wait for the lock, `hooks` those of each hook: {(job id, kind): seconds}. Hooks that
    still run when the context ends are waited for."""

    def __init__(self):
        self.waits, self.hooks = [], {}
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=look) for look in (self.take_the_lock, self.look_for_hooks)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for thread in self.threads:
            thread.join()

    def take_the_lock(self):
        with LOCK.open("rb") as lock:
            while not self.is_over.wait(PAUSE):
                begin = time.monotonic()
                fcntl.flock(lock, fcntl.LOCK_EX)
                fcntl.flock(lock, fcntl.LOCK_UN)
                self.waits.append(time.monotonic() - begin)

    def look_for_hooks(self):
        first_seen, running = {}, {}
        while running or not self.is_over.is_set():
            time.sleep(PAUSE)
            now, pids = time.monotonic(), {entry.name for entry in os.scandir("/proc") if entry.name.isdecimal()}
            for pid in pids - running.keys():
                begin = first_seen.setdefault(pid, now)  # it may not have called exec yet
                if now - begin < TO_EXECUTE and (hook := hook_of(pid)):
                    running[pid] = hook, begin
            for pid in running.keys() - pids:
                hook, begin = running.pop(pid)
                self.hooks[hook] = now - begin


def hook_of(pid):
    """(job id, kind) of the SPANK prolog or epilog that the process is; None: it is none, or it is just calling
    exec, and has its words but no environment yet."""
    with contextlib.suppress(OSError, KeyError):
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")[1:3]
        if words in [["spank", kind] for kind in KINDS]:
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            return int(dict(word.split(b"=", 1) for word in environment if b"=" in word)[b"SLURM_JOB_ID"]), words[1]
    return None
