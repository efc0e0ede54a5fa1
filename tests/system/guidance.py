# SPDX-License-Identifier: Apache-2.0
"""Records real programs (codes.py), a rank of each, in the guest for tests/bench/guidance, and then runs them under
ways of tiering.

    python3 guidance.py FOLDER RUNS PROGRAM...

RUNS are words CONTENDER:SETTING:ROOM of tiering.py, with commas between them; "-" is none. For each program FOLDER gets
a folder, with

    profile.json        of samples, of all ranks, as `hybridmem sites run` has made it
    faults              the page faults of the run, in their order, as the kernel's trace has them
    looks/N/PID.maps    /proc/PID/maps of a rank, .frames: the physical pages of these mappings, .blocks: its
                        allocations, as the recorder has them (helpers/sites/record/table.h)
    tables/PID          the recorder's table of sites

At each look the ranks stand still, and the mark PROGRAM.record.N.start is set, so that the tier meter has the lines
between two looks. FOLDER/runs.json gets the other runs.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import struct
import sys
import time
import traceback
from pathlib import Path

import codes
import contenders
import migration
import siteprofile
import slurm
import tiering

EVERY = 1  # seconds of the guest between two looks
LARGEST = 1 << 30  # bytes of a mapping; larger ones are addresses that are kept free
TRACING = Path("/run/hm-tracing")
BUFFER_KB = 24000  # of each CPU


@contextlib.contextmanager
def traced_faults(path):
    """Notes page faults with the process that has them, and writes them into the file at the end."""
    events = [TRACING / f"events/exceptions/page_fault_{mode}/enable" for mode in ("user", "kernel")]
    TRACING.mkdir(exist_ok=True)
    slurm.run(f"mount -t tracefs tracefs {TRACING}")
    try:
        migration.write(TRACING / "buffer_size_kb", BUFFER_KB)
        # The kernel shows the processes of the threads only as long as it notes them.
        with migration.written({TRACING / "options/record-tgid": 1, TRACING / "options/overwrite": 0}):
            with migration.written(dict.fromkeys(events, 1)):
                yield
            slurm.run(f"cat {TRACING}/trace > {path}")
    finally:
        migration.write(TRACING / "trace", "")
        migration.write(TRACING / "buffer_size_kb", 1)
        slurm.run(f"umount {TRACING}")


def recording_of(pid):
    """The recorder's folder for the process."""
    words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return Path(next(word for word in words if word.startswith(b"HYBRIDMEM_SITES=")).split(b"=", 1)[1].decode())


def save_frames(pid, maps, path):
    """The start and bytes of each mapping, 64-bit integers, and then what the kernel's pagemap has of its pages."""
    with Path(f"/proc/{pid}/pagemap").open("rb", buffering=0) as source, path.open("wb") as file:
        for line in maps.splitlines():
            start, end = (int(word, 16) for word in re.match(r"(\w+)-(\w+) ", line).groups())
            if end - start > LARGEST or start >> 63:
                continue
            data = os.pread(source.fileno(), (end - start) // slurm.PAGE * 8, start // slurm.PAGE * 8)
            file.write(struct.pack("=QQ", start, len(data) // 8 * slurm.PAGE) + data)


def save_rank(pid, folder, tables):
    maps = Path(f"/proc/{pid}/maps").read_text()
    (folder / f"{pid}.maps").write_text(maps)
    save_frames(pid, maps, folder / f"{pid}.frames")
    recording = recording_of(pid)
    newest = max(recording.glob(f"p{pid}-*"), key=lambda path: int(path.name.split("-")[1]))
    shutil.copyfile(newest, folder / f"{pid}.blocks")
    shutil.copyfile(recording / "table", tables / str(pid))


def look(ranks, number, folder):
    """Sets a mark, and saves what memory the ranks have, while they stand still."""
    path, pids = folder / f"looks/{number}", ranks.pids()
    path.mkdir(parents=True)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    migration.mark(f"{folder.name}.record.{number}.start")
    for pid in pids:
        save_rank(pid, path, folder / "tables")
        os.kill(pid, signal.SIGCONT)
    print(
        f"   {time.monotonic():.0f} s: look {number}: {len(pids)} ranks, the slowest at {ranks.slowest()}", flush=True
    )


def is_recorded(ranks):
    """Has the program begun, and the recorder with it?"""
    with contextlib.suppress(FileNotFoundError, StopIteration):
        return [pid for pid in ranks.pids() if list(recording_of(pid).glob(f"p{pid}-*"))]
    return False


def alone(program):
    """The program with one rank. Ranks are alike, and each has its part of the room: one tells what all have."""
    return program._replace(footprint_mib=program.footprint_mib / migration.RANKS)


PROGRAM = {name: alone(program) for name, program in codes.PROGRAM.items()}
migration.RANKS = 1


def record(program, folder):
    """Runs the program under `hybridmem sites run`, with looks from its beginning on. Leaves its profile for
    siteprofile.guide(), too."""
    (folder / "tables").mkdir(parents=True)
    last = siteprofile.LAST.get(folder.name, program.stop)
    ranks = tiering.Ranks(program, siteprofile.RECORDER)
    with siteprofile.still_pages():
        ranks.start("off")
        with traced_faults(folder / "faults"):
            ranks.go()
            slurm.wait_for(lambda: is_recorded(ranks), "the recorded program", every=0.1)
            number = 0
            look(ranks, number, folder)
            while ranks.slowest() < last and not slurm.end_of(ranks.job_id):
                time.sleep(EVERY)
                number += 1
                look(ranks, number, folder)
            migration.mark(f"{folder.name}.record.end")
        siteprofile.finish(ranks, program)
    shutil.copy(siteprofile.path_of(program), folder / "profile.json")


def run(name, word):
    """Runs the program under a way of tiering; `word` is CONTENDER:SETTING:ROOM."""
    contender, number, share = word.split(":")
    row, mark = contenders.CONTENDERS[contender], f"{name}.{contender}.{number}.{share}"
    setting = row.settings[int(number)]
    print(f"== {mark} {setting}", flush=True)
    told = {"program": name, "contender": contender, "setting": setting, "room": int(share), "mark": mark}
    return told | tiering.run_once(PROGRAM[name], row, setting, int(share), mark)


def record_and_run(name, words, folder, done):
    print(f"== {name} record", flush=True)
    record(PROGRAM[name], folder / name)
    slurm.wait_idle()
    for word in words:
        done.append(run(name, word))
        (folder / "runs.json").write_text(json.dumps(done))
        slurm.wait_idle()


def main():
    folder, words = Path(sys.argv[1]), [] if sys.argv[2] == "-" else sys.argv[2].split(",")
    done, failed = [], False
    for name in sys.argv[3:]:
        try:
            record_and_run(name, words, folder, done)
        except Exception:  # the other programs' runs took long enough
            failed = True
            traceback.print_exc()
            slurm.run("scancel -u alice", check=False)
            slurm.wait_idle()
    return failed


if __name__ == "__main__":
    sys.exit(main())
