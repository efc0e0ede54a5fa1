# SPDX-License-Identifier: Apache-2.0
"""CPU time of a way of tiering: of hybridmem's processes, of the kernel's threads that look at memory and move it, and
of the ranks themselves, on whose time hint faults and direct reclaim come."""

import contextlib
import re
from pathlib import Path

import processes

THREADS = ("kdamond", "kswapd", "kcompactd")  # begin so
TIERING = ("hybridmem", "memtierd")


def ran_s(pid):
    """CPU seconds of a process or a kernel thread, by the scheduler's clock; 0 if it has ended."""
    total = 0
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def named(starts):
    """Pids of all processes and kernel threads whose name begins so."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "comm").read_text().startswith(starts):
                yield int(folder.name)


def rank_s(job_id):
    """(user, system) CPU seconds of the ranks: of the job's numbered steps, less the slurmstepds."""
    total = [0, 0]
    for folder in processes.cgroups(job_id):
        for file in folder.glob("step_[0-9]*/user/cpu.stat"):
            text = file.read_text()
            total[0] += int(re.search(r"user_usec (\d+)", text)[1])
            total[1] += int(re.search(r"system_usec (\d+)", text)[1])
    return tuple(count / 1e6 for count in total)


class Costs:
    """CPU time since this was made. A kernel thread's or process's time is lost when it ends: .look() often."""

    def __init__(self, job_id):
        self.job_id, self.ranks = job_id, rank_s(job_id)
        self.first = {pid: ran_s(pid) for starts in (THREADS, TIERING) for pid in named(starts)}
        self.last = {THREADS: {}, TIERING: {}}

    def look(self):
        for starts, seen in self.last.items():
            for pid in named(starts):
                seen[pid] = max(seen.get(pid, 0), ran_s(pid) - self.first.get(pid, 0))

    def figures(self):
        """Seconds of each."""
        self.look()
        user, system = (now - before for now, before in zip(rank_s(self.job_id), self.ranks, strict=True))
        return {
            "user_s": round(user, 2),
            "system_s": round(system, 2),
            "threads_s": round(sum(self.last[THREADS].values()), 2),
            "processes_s": round(sum(self.last[TIERING].values()), 2),
        }
