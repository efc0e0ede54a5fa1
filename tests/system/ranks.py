# SPDX-License-Identifier: Apache-2.0
"""Shared by tests of the migrator: jobs of ranks whose accesses are known, which the test controls through a page
(programs/control.h)."""

import contextlib
import json
import mmap
import struct

import migration
import slurm
import unsettled
from migration import FAST, QUIET, RANKS


class Controlled:
    """A job of ranks of a program, which work from .start() on."""

    WAIT, ALLOCATE, RUN, END = range(4)

    def __init__(self, request, program):
        """`program` is its name and arguments; the control file is added. The job's folder is the ranks'."""
        self.scarce = contextlib.ExitStack()
        self.folder = slurm.folder_of("alice")
        path = self.folder / "control"
        path.write_bytes(bytes(mmap.PAGESIZE))
        path.chmod(0o666)
        with path.open("r+b") as file:
            self.control = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        script = f"srun -O -n{RANKS} {program} {path}"
        self.job_id = slurm.sbatch("alice", script, "-n2", f"--hybrid-mem={request}")
        slurm.wait_for(lambda: all(self.words(rank)[0] for rank in range(RANKS)), "all ranks")
        self.pids = [self.words(rank)[0] for rank in range(RANKS)]

    def allocate(self, room):
        """Leaves the ranks `room` bytes of the fast tier, and waits until they have their memory. The ranks, and what
        Slurm starts besides them, run already: what they took when they started is not part of the room."""
        # Otherwise the kernel would move pages between sockets, in jobs without a migrator.
        self.scarce.enter_context(migration.written({"/proc/sys/kernel/numa_balancing": 0}))
        self.scarce.enter_context(migration.scarce_fast(room))
        self.order(self.ALLOCATE)
        slurm.wait_for(lambda: all(self.words(rank)[4] for rank in range(RANKS)), "all ranks to have their memory")

    def words(self, rank):
        """(pid, accesses, jumps, accesses at the last jump, address of its memory or 0) of a rank."""
        return struct.unpack_from("<5Q", self.control, 64 + 64 * rank)

    def order(self, order):
        struct.pack_into("<Q", self.control, 0, order)

    def accesses(self):
        return sum(self.words(rank)[1] for rank in range(RANKS))

    def start(self):
        self.order(self.RUN)

    def wait_accesses(self, count):
        """Waits until the ranks together have made `count` more accesses."""
        before = self.accesses()
        slurm.wait_for(lambda: self.accesses() >= before + count, f"{count} accesses", every=QUIET)

    def wait_phases(self, count):
        """Waits until `count` whole phases of the migrator have begun and ended from now on."""
        seen = (migration.progress(self.job_id) or {"phases": 0})["phases"]
        last = seen + count
        # The patience is for each phase: a phase lasts until the CPU time of earlier decisions is within `overhead`.
        while seen <= last:
            now = slurm.wait_for(
                lambda: (now := migration.progress(self.job_id)) and now["phases"] > seen and now,  # noqa: B023
                f"phase {seen + 1} of {last + 1}",
                every=QUIET,
            )
            seen = now["phases"]

    def close(self):
        if not slurm.end_of(self.job_id):
            slurm.run(f"scancel {self.job_id}", check=False)
        self.scarce.close()


class Hotset(Controlled):
    """Ranks with a known hot tenth (programs/hotset.c), which work from .start() until .end()."""

    PARTS, FIRST_HOT, JUMP = 10, 5, 3  # as in hotset.c

    def __init__(self, mib, request, *options):
        self.part_pages = mib * slurm.MIB // self.PARTS // slurm.PAGE
        super().__init__(request, f"hotset --mib {mib} {' '.join(options)}")

    def allocate(self, room, full_of_files=False):
        """The same. With `full_of_files`, the ranks' memory then moves to the slow tier, and files fill the fast
        tier."""
        super().allocate(room)
        if full_of_files:
            self.scarce.enter_context(migration.fast_full_of_files(self.pids))

    def allow_jumps(self, count):
        struct.pack_into("<Q", self.control, 8, count)

    def jumps(self):
        return min(self.words(rank)[2] for rank in range(RANKS))

    def share_of_rank(self, rank, part):
        """The share of a part's pages that is in the fast tier now, in one rank."""
        address = self.words(rank)[4] + part * self.part_pages * slurm.PAGE
        found = migration.nodes_of(self.pids[rank], address, self.part_pages)
        return sum(node in FAST for node in found) / len(found)

    def share_on_fast(self, part):
        """The same over all ranks."""
        return sum(self.share_of_rank(rank, part) for rank in range(RANKS)) / RANKS

    def wait_settled(self, most_phases, part=None, share=0.95):
        """Waits until this share of a part's pages is in the fast tier; the part is the hot one by default. Fails after
        `most_phases` whole phases."""
        if part is None:
            part = (self.FIRST_HOT + self.JUMP * self.jumps()) % self.PARTS
        shares = [self.share_on_fast(part)]
        while shares[-1] < share and len(shares) <= most_phases + 1:
            self.wait_phases(0)  # until this phase has ended
            shares.append(self.share_on_fast(part))
        print(f"share of part {part} in the fast tier, first and after each phase: {shares}")
        assert shares[-1] >= share, f"{migration.progress(self.job_id)}\n{unsettled.told(self, part, share)}"

    def end(self):
        """Ends the job. Returns the ranks' reports, by rank."""
        self.order(self.END)
        assert slurm.wait_job(self.job_id) == "COMPLETED", slurm.output(self.job_id)
        lines = [json.loads(line) for line in slurm.output(self.job_id).splitlines() if line.startswith('{"rank"')]
        assert len(lines) == RANKS, slurm.output(self.job_id)
        return sorted(lines, key=lambda line: line["rank"])


def share_on_fast(reports, part):
    """The share of a part's pages in the fast tier, over all ranks; `part` may be a function of the report."""
    pages = [report["parts"][part(report) if callable(part) else part]["pages"] for report in reports]
    fast = sum(count for by_node in pages for node, count in by_node.items() if int(node) in FAST)
    return fast / sum(sum(by_node.values()) for by_node in pages)
