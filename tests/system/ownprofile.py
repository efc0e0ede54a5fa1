# SPDX-License-Identifier: Apache-2.0
"""Profiles a rank of a real program (codes.py) on this machine's own processor, for tests/bench/guidance.

    python3 ownprofile.py OUTPUT PROGRAM RUNS [other]

With `other`, the program has another input (otherinputs.py). Here an instruction that waits for memory takes longer, so
that the clock's samples tell what the caches miss. In the emulated guest all instructions take the same time. A run is
short, so OUTPUT gets the merged profile of several.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import codes
import migration
import otherinputs
import siteprofile

EVERY = 0.01  # seconds between two looks at the program's progress
PATIENCE = 60  # seconds for its end
migration.RANKS = 1


def processes_of(group, name):
    """The processes of a process group that have this name."""
    listing = subprocess.run(["ps", "-e", "-o", "pgid=,pid=,comm="], check=True, capture_output=True, text=True).stdout
    found = (line.split(None, 2) for line in listing.splitlines())
    return [int(pid) for pgid, pid, comm in found if int(pgid) == group and comm == name]


def profile(program, path):
    """Runs the program until it has done its units, as siteprofile does in a guest, and writes its profile."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program.prepare(folder, program.units)
        starter = f"hybridmem sites run -o {shlex.quote(str(path))} --"
        words = ["bash", "-c", siteprofile.started(program, starter).replace("UNITS", str(program.units))]
        with (folder / "said").open("w") as said:
            environment = os.environ | {"SLURM_PROCID": "0", "HOME": name}
            running = subprocess.Popen(words, cwd=folder, env=environment, stderr=said, process_group=0)
            while running.poll() is None and program.progress(folder, 0) < program.stop:
                time.sleep(EVERY)
            for pid in processes_of(running.pid, program.name):
                with contextlib.suppress(ProcessLookupError):  # it may have ended by itself
                    os.kill(pid, signal.SIGTERM)
            running.wait(PATIENCE)
        if not path.exists():
            sys.exit((folder / "said").read_text())


def main():
    output, name, runs = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    program = (otherinputs if "other" in sys.argv[4:] else codes).PROGRAM[name]
    with tempfile.TemporaryDirectory() as folder:
        parts = [Path(folder) / f"{number}.json" for number in range(runs)]
        for part in parts:
            profile(program, part)
        subprocess.run(["hybridmem", "sites", "merge", "-o", output, *parts], check=True)


if __name__ == "__main__":
    main()
