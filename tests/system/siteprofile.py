# SPDX-License-Identifier: Apache-2.0
"""Profiles real programs (codes.py) by allocation site, and has them guided, for contenders.py."""

import contextlib
import json
import re
import shutil

import migration
import slurm

PARANOID = "/proc/sys/kernel/perf_event_paranoid"  # 2: users sample their own programs
PATIENCE = 6000  # seconds of the guest
# Units of a rank at the end of a recorded run, where fewer than all show what a program does again and again. It is
# recorded from its beginning on, as a profile is of a whole run, too.
LAST = {"lammps": 45, "sqlite": 16, "minimap2": 12, "igraph": 8, "scipy": 5}
RECORDER = "hybridmem sites run -o $HOME/profile.$SLURM_PROCID.json --"


def path_of(program):
    """By its description, as several programs are Python's."""
    first = re.match(r"\w+", program.about)[0]
    return slurm.home("alice") / f"{first}.sites.json"


def started(program, starter):
    """The command of a rank, with its program started by other words."""
    assert f"{program.name} " in program.command
    return program.command.replace(f"{program.name} ", f"{starter} {program.name} ", 1)


def replaced(program, words):
    """The command of a rank, with other words in place of its program and the program's arguments."""
    return re.sub(rf"\b{program.name} [^<>]*", f"{words} ", program.command, count=1)


@contextlib.contextmanager
def still_pages():
    """For a while the kernel gives small pages, which it does not move by itself, and users sample their programs."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(migration.written({PARANOID: 2, "/proc/sys/kernel/numa_balancing": 0}))
        stack.callback(migration.write, migration.THP, re.search(r"\[(\w+)\]", migration.THP.read_text())[1])
        migration.write(migration.THP, "never")
        yield


def wait(ranks, units, what, every=5):
    """Waits until the slowest rank has done this many units, or the job has ended."""
    slurm.wait_for(lambda: ranks.slowest() >= units or slurm.end_of(ranks.job_id), what, PATIENCE, every=every)


def finish(ranks, program):
    """Ends a recorded run, and puts the profiles of its ranks together."""
    path = path_of(program)
    slurm.run(f"kill {' '.join(map(str, ranks.pids()))}", check=False)
    slurm.wait_job(ranks.job_id)
    parts = [slurm.home("alice") / f"profile.{rank}.json" for rank in range(migration.RANKS)]
    slurm.run(f"hybridmem sites merge -o {path} {' '.join(map(str, parts))}", user="alice")
    print(slurm.run(f"hybridmem sites show {path}", user="alice").stdout, flush=True)


def make(ranks_of, program):
    """Makes the profile of a whole run, unless there is one: that of all ranks, each recorded alone. `ranks_of`
    (program, starter): its ranks."""
    path = path_of(program)
    if path.exists():
        return
    ranks = ranks_of(program, RECORDER)
    with migration.written({PARANOID: 2}):
        ranks.start("off")
        ranks.go()
        wait(ranks, program.stop, "the profiled run")
        finish(ranks, program)
    shutil.copy(path, f"/tmp/{path.name}")


def guide(program, setting, fast_bytes):
    """Words that run the program with the memory of the sites that the packer chooses in the fast tier."""
    words = f"--fast {fast_bytes} --packer {setting['packer']}"
    plan = json.loads(slurm.run(f"hybridmem sites plan --json {words} {path_of(program)}", user="alice").stdout)
    print("   planned", {key: plan[key] for key in ("fast_bytes", "expected_share", "bound_share")}, flush=True)
    return f"hybridmem sites guide {words} {path_of(program)} --"
