# SPDX-License-Identifier: Apache-2.0
"""Runs real programs (codes.py) in the guest under a way of tiering (contenders.py), with each of its settings, so that
contenders can be compared.

    python3 tiering.py OUTPUT.json CONTENDER ROOM SETTINGS [PROGRAM...]

ROOM is the fast memory that a program's ranks hold, in percent of their memory (room.py); only the first SETTINGS of
the contender are tried. Marks are set around the steady part of each run for the tier meter, which counts accesses from
outside of the guest (tests/testbed/README.md). OUTPUT.json gets a list of the runs, with their settings and figures.
"""

import contextlib
import json
import sys
import time
from pathlib import Path

import codes
import contenders
import costs
import migration
import siteprofile
import slurm

PATIENCE = 3000  # seconds of the guest for one part of a run
FILLED = 1  # units after which a program has all its memory


def warm_page_cache(program):
    """Puts the program's files into the page cache of the slow tier, so that the fast tier is left for data."""
    slurm.run(f"numactl --membind={','.join(map(str, migration.SLOW))} {program.load} > /dev/null")


class Ranks:
    """A program's ranks: the files that they need, the job that they are, their progress, and what is looked at
    meanwhile."""

    def __init__(self, program, starter=""):
        """`starter`: words that start the program, which is their last argument."""
        self.program, self.folder, self.done = program, slurm.folder_of("alice"), [0] * migration.RANKS
        program.prepare(self.folder, program.units)
        slurm.run(f"chown -R alice: {self.folder}")
        command = siteprofile.started(program, starter).replace("UNITS", str(program.units))
        (self.folder / "rank.sh").write_text(
            f"cd {self.folder}\ntouch here.$SLURM_PROCID\nuntil [ -e go ]; do sleep 0.2; done\n{command}\n"
        )

    def start(self, request):
        """Starts the ranks, which then wait for go()."""
        script = f"srun -O -n{migration.RANKS} bash {self.folder}/rank.sh"
        self.job_id = slurm.sbatch("alice", script, "-n2", f"--hybrid-mem={request}")
        slurm.wait_for(lambda: len(list(self.folder.glob("here.*"))) == migration.RANKS, "all ranks")

    def go(self):
        (self.folder / "go").touch()

    def slowest(self):
        """The units of the slowest rank. Units only grow: a smaller number is ignored, as it comes from a file that is
        just being written."""
        self.done = [max(units, self.program.progress(self.folder, rank)) for rank, units in enumerate(self.done)]
        return min(self.done)

    def look(self, units, room, cost):
        """Has the slowest rank done this many units, or has the job ended? Keeps the room and the costs up to date."""
        cost.look()
        if self.slowest() >= FILLED:
            room.adjust(self.job_id, self.pids())
        return min(self.done) >= units or slurm.end_of(self.job_id)

    def wait(self, units, what, *watched):
        """Waits until the slowest rank has done this many units, or the job has ended."""
        slurm.wait_for(lambda: self.look(units, *watched), what, PATIENCE, every=migration.QUIET)

    def pids(self):
        return migration.ranks_of(self.job_id, self.program.name)

    def end(self):
        """Cancels the job. Returns the state that it had."""
        state = slurm.wait_for(lambda: slurm.job(self.job_id).get("JobState"), f"scontrol's answer about {self.job_id}")
        slurm.run(f"scancel {self.job_id}")
        slurm.wait_job(self.job_id)
        return state


def measure(ranks, place, mark):
    """Lets the ranks work through the warm-up, and then between two marks. Returns the figures of the run: `moves`,
    `costs` and `migrator` include the warm-up."""
    before, started, cost = contenders.vmstat(), time.monotonic(), costs.Costs(ranks.job_id)
    ranks.go()
    ranks.wait(ranks.program.warm, "the warm-up", place, cost)
    migration.mark(f"{mark}.start")
    warm_s, units, looks = time.monotonic() - started, sum(ranks.done), len(place.looks)
    first_bytes = migration.anon_bytes(ranks.pids())
    ranks.wait(ranks.program.stop, "the measured stretch", place, cost)
    migration.mark(f"{mark}.end")
    pids, seen = ranks.pids(), place.looks[looks:]
    end_bytes = migration.anon_bytes(pids)
    after = contenders.vmstat()
    return {
        "ranks": len(pids),
        "footprint": sum(end_bytes.values()),
        **{key: sum(look[at] for look in seen) / max(len(seen), 1) for at, key in enumerate(("held", "had"))},
        "fast_bytes": [migration.on_fast(first_bytes), migration.on_fast(end_bytes)],
        "units": [units, sum(ranks.done)],
        "warm_s": round(warm_s, 1),
        "measured_s": round(time.monotonic() - started - warm_s, 1),
        "costs": cost.figures(),
        "looks": place.looks,
        "moves": {key: after[key] - before[key] for key in before},
        "migrator": migration.progress(ranks.job_id),
    }


def run_once(program, contender, setting, share, mark):
    """Runs the program once, so that its ranks hold `share` percent of their memory in the fast tier, and sets the
    marks. Returns the run's figures."""
    target = int(program.footprint_mib * slurm.MIB * share) // 100
    ranks = Ranks(program, contender.starter(program, setting, target // migration.RANKS) if contender.starter else "")
    place = contender.room(target, contender.stop)
    with contextlib.ExitStack() as stack:
        # The kernel's balancing would move the same pages: only its own contenders use it.
        stack.enter_context(migration.written({"/proc/sys/kernel/numa_balancing": 0}))
        ranks.start(stack.enter_context(contender.way(setting)))
        # The processes that Slurm starts besides the ranks have their memory by now, and take none of the room.
        stack.enter_context(place.made())
        warm_page_cache(program)
        measured = measure(ranks, place, mark)
        state = ranks.end()
    result = [program.result(ranks.folder, rank) for rank in range(migration.RANKS)]
    return {"state": state, "target": place.target, "result": result, **measured}


def main():
    output, name, share, count, *programs = sys.argv[1:]
    contender = contenders.CONTENDERS[name]
    runs = []
    for program in programs or codes.PROGRAM:
        if contender.starter:
            siteprofile.make(Ranks, codes.PROGRAM[program])
        for number, setting in enumerate(contender.settings[: int(count)]):
            mark = f"{program}.{name}.{number}"
            print(f"== {mark} {setting}", flush=True)
            seen = run_once(codes.PROGRAM[program], contender, setting, int(share), mark)
            runs.append({"program": program, "contender": name, "setting": setting, "mark": mark, **seen})
            Path(output).write_text(json.dumps(runs))
            print("  ", json.dumps(seen), flush=True)
            slurm.wait_idle()


if __name__ == "__main__":
    main()
