# SPDX-License-Identifier: Apache-2.0
"""Profiles real programs (codes.py), a rank of each, by bandwidth isolation in the guest, for tests/bench/guidance. The
tier meter stands in for the counters of the slow tier's memory.

    python3 mbiruns.py FOLDER ALONE PROGRAM...

Each program is run as `hybridmem profile mbi plan --alone ALONE` has planned it, once for each group of its sites, with
this group alone in the slow tier. A run has as many units as a recorded one (guidance.py), or fewer. FOLDER/PROGRAM
gets profile.json, and plan, the folder with the results of the runs.
"""

import json
import shutil
import sys
import time
import traceback
from pathlib import Path

import codes
import mbicounters
import migration
import siteprofile
import slurm

# Units of a run where a recorded one has more: LAMMPS has its lists of neighbours anew each 20 steps
UNITS = siteprofile.LAST | {"lammps": 15}
PATIENCE = 6000  # seconds of the guest for one run
migration.RANKS = 1


class Rank:
    """A rank that is run again and again, in its folder."""

    def __init__(self, name, program):
        self.name, self.program, self.folder = name, program, slurm.folder_of("alice")
        self.plan = self.folder / "plan"
        program.prepare(self.folder, program.units)
        slurm.run(f"chown -R alice: {self.folder}")

    def run(self, command, check=True):
        """Runs this command of the rank."""
        command = command.replace("UNITS", str(self.program.units))
        environment = {"SLURM_PROCID": "0"}
        return slurm.run(command, "alice", environment, timeout=PATIENCE, check=check, cwd=self.folder)

    def status(self):
        """Of the plan's runs. The command fails where not all are done."""
        return json.loads(slurm.run(f"hybridmem profile mbi status --json {self.plan}", "alice", check=False).stdout)

    def make_plan(self, alone):
        """Plans the runs, with a first one that finds the sites. Returns their number."""
        words = f"hybridmem profile mbi plan -o {self.plan} --repeat 1 --alone {alone} --"
        self.run(siteprofile.started(self.program, words))
        return self.status()["runs"]

    def measure(self, number):
        """Makes a run of the plan. The meter counts between the marks."""
        started, mark = time.monotonic(), f"{self.name}.mbi.{number}"
        migration.mark(f"{mark}.start")
        words = f"hybridmem profile mbi run {self.plan} {number}"
        done = self.run(siteprofile.replaced(self.program, words), check=False)
        migration.mark(f"{mark}.end")
        print(f"   run {number}: {done.returncode} after {time.monotonic() - started:.0f} s {done.stderr}", flush=True)


def profile(name, alone, folder):
    program = codes.PROGRAM[name]
    rank = Rank(name, program._replace(units=UNITS.get(name, program.stop)))
    with siteprofile.still_pages(), mbicounters.tiers_have_kinds(), mbicounters.counters(mbicounters.by_meter()):
        runs = rank.make_plan(alone)
        print(f"== {name}: {runs} runs", flush=True)
        for number in range(runs):
            rank.measure(number)
    shutil.copytree(rank.plan, folder / "plan")
    print(rank.status(), flush=True)
    slurm.run(f"hybridmem profile mbi merge -o {folder}/profile.json {rank.plan}")


def main():
    folder, alone, failed = Path(sys.argv[1]), sys.argv[2], False
    for name in sys.argv[3:]:
        try:
            (folder / name).mkdir(parents=True)
            profile(name, alone, folder / name)
        except Exception:  # the other programs' runs take long enough
            failed = True
            traceback.print_exc()
    return failed


if __name__ == "__main__":
    sys.exit(main())
