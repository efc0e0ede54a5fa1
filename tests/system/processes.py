# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests inside the guest: the processes and cgroups of jobs, and hybridmem's own processes."""

import contextlib
import os
import pwd
import re
from pathlib import Path

import slurm


def cgroups(job_id):
    """The folders of the job's cgroups. os.walk ignores folders that vanish."""
    name = f"job_{job_id}"
    return [Path(folder) / name for folder, names, _ in os.walk("/sys/fs/cgroup") if name in names]


def is_populated(job_id):
    """Has the job's cgroup any process? A cgroup that cannot be read has vanished."""
    for folder in cgroups(job_id):
        with contextlib.suppress(OSError):
            if "populated 1" in (folder / "cgroup.events").read_text():
                return True
    return False


def stepd_of(job_id, step="batch"):
    """The step's slurmstepd: the oldest process of that title, as its children have it, too, until they call exec."""
    return int(slurm.run(f"pgrep -o -f 'slurmstepd: \\[{job_id}.{step}\\]'").stdout)


def has_lost(job_id):
    """Has the job's extern step failed to leave or to remove its cgroup? Then the cgroup stays. Up to Slurm 24.11.5,
    slurmstepd has the user's effective ids for a moment when it ends X11 forwarding that nobody asked for. With these
    ids it can neither leave its cgroup nor remove it (ticket 22736)."""
    log = Path("/var/log/slurm/slurmd.log").read_text(errors="replace")
    failed = r"(move pid \d+ to system cgroup|rmdir\(\S+\), unexpected error: Permission denied)"
    return bool(re.search(rf"\[{job_id}\.extern\] error: Unable to {failed}", log))


def descriptors_of(pid):
    """What the process's descriptors point to. Some of them are opened or closed meanwhile."""
    found = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.add(str(link.readlink()))
    return found


def running():
    """(pid, uid, name, words) of each process with a program: no kernel threads, and no zombies."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has no program, or is gone
            (folder / "exe").readlink()
            status = dict(line.split(":\t", 1) for line in (folder / "status").read_text().splitlines())
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            yield int(folder.name), int(status["Uid"].split()[1]), status["Name"], words.strip()


def of_user(user):
    """Pid and words of the user's processes."""
    uid = pwd.getpwnam(user).pw_uid
    return [f"{pid} {words}" for pid, owner, _, words in running() if owner == uid]


def of_hybridmem():
    """Processes of the system user, and monitors that are still root."""
    uid = pwd.getpwnam("hybridmem").pw_uid
    return sorted(
        f"{pid} {words}"
        for pid, owner, name, words in running()
        if owner == uid or (owner == 0 and name == "hybridmem-monit")
    )
