# SPDX-License-Identifier: Apache-2.0
"""Room in the fast tier that is adjusted while a job runs, so that the job's ranks can hold a given number of bytes
there, whoever moves their pages.

Ways of tiering leave different parts of a node free: the kernel's first touch stops at the node's low watermark, NUMA
balancing at the high one, DAMON's schemes at the lowest, hybridmem at its reserve. In the same room, each could hold
another number of bytes. So what the ranks hold is counted together with what is free above the contender's own level,
and the room is made larger or smaller by what this sum is too small or too large. Who leaves room empty does so by
choice."""

import contextlib
import random
import re
from pathlib import Path

import migration
import processes
import slurm

STEP = 16 * slurm.PAGE  # the room of a pipe
SPARE = 8 * slurm.MIB  # by which each node's room can grow
NEAR = 0.01  # a share of the target by which the ranks may hold too little or too much
GAIN = 0.5  # share of what is missing that is mended at each look, as a look may fall into the middle of moves


def held_bytes(job_id):
    """Anonymous memory of the ranks in the fast tier, as the cgroup of the job's first step counts it."""
    for folder in processes.cgroups(job_id):
        for file in folder.glob("step_0/user/memory.numa_stat"):
            counts = dict(re.findall(r"N(\d+)=(\d+)", re.search(r"^anon (.*)", file.read_text(), re.M)[1]))
            return sum(int(counts.get(str(node), 0)) for node in migration.FAST)
    return 0


def heaps(pid):
    """(address, pages) of the process's writable mappings without a file."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        words = line.split()
        if words[1].startswith("rw-p") and (len(words) == 5 or words[5] == "[heap]"):
            start, end = (int(word, 16) for word in words[0].split("-"))
            yield start, (end - start) // slurm.PAGE


def pages_on(pid, nodes):
    """Addresses of the process's anonymous pages on these nodes."""
    found = []
    with contextlib.suppress(OSError, AssertionError):  # it may have ended
        for start, pages in heaps(pid):
            places = migration.nodes_of(pid, start, pages)
            found += [start + at * slurm.PAGE for at, node in enumerate(places) if node in nodes]
    return found


def move_some(pids, count, sources, targets, chance):
    """Moves `count` bytes of the processes' pages, chosen at random, from the sources to the targets in turn."""
    pages = [(pid, address) for pid in pids for address in pages_on(pid, sources)]
    chosen = chance.sample(pages, min(len(pages), int(count) // slurm.PAGE))
    for pid in pids:
        addresses = [address for owner, address in chosen if owner == pid]
        if addresses:
            migration.move_pages(pid, addresses, [targets[at % len(targets)] for at in range(len(addresses))])


def free_bytes(node):
    """With the pages that are free in lists of a CPU."""
    listed = sum(int(count) for zone in slurm.zones_of(node).values() for count in re.findall(r"count: +(\d+)", zone))
    return migration.free_bytes(node) + listed * slurm.PAGE


class Room:
    """Fast memory for a job's ranks, who can hold `target` bytes of it, where a contender fills what it is given at any
    time. `stop` is the watermark to which it fills a node."""

    def __init__(self, target, stop):
        self.target, self.stop = target, stop
        self.looks, self.owed, self.chance, self.pipes = [], 0.0, random.Random(0), {}

    @contextlib.contextmanager
    def made(self):
        """Makes the fast tier scarce, with nearly the room that the target needs."""
        with migration.scarce_fast(self.target + SPARE * len(migration.FAST)), contextlib.ExitStack() as stack:
            for node in migration.FAST:
                self.pipes[node] = stack.enter_context(contextlib.closing(migration.Pipes(node)))
                above = migration.watermark_bytes(node) - migration.watermark_bytes(node, self.stop)
                self.hold(node, (SPARE + above) // STEP)
            yield

    def left(self):
        """Bytes that the contender could still fill."""
        levels = {node: migration.watermark_bytes(node, self.stop) for node in migration.FAST}
        return sum(max(0, free_bytes(node) - level) for node, level in levels.items())

    def hold(self, node, steps):
        for _ in range(steps):
            self.pipes[node].grow(STEP)

    def give(self, _pids, steps):
        for at in range(steps):
            pipes = self.pipes[migration.FAST[at % len(migration.FAST)]]
            if pipes.ends:
                pipes.drop()

    def take(self, pids, steps):
        """Takes room back. Where a node's free memory would be below its low watermark, the kernel would give other
        nodes' memory, so that first some of the ranks' pages are moved away."""
        for at, node in enumerate(migration.FAST):
            mine = (steps + at) // len(migration.FAST)
            missing = migration.watermark_bytes(node, "low") + (mine + 1) * STEP - migration.free_bytes(node)
            if mine and missing > 0:
                move_some(pids, missing, [node], migration.SLOW, self.chance)
            self.hold(node, mine)

    def adjust(self, job_id, pids):
        """Looks at what the ranks hold and leave, and makes the room larger or smaller by a part of what is wrong. What
        is less than a step is kept for later."""
        held = held_bytes(job_id)
        had = held + self.left()
        self.looks.append((held, had))
        if abs(self.target - had) > NEAR * self.target:
            self.owed += GAIN * (self.target - had)
        steps = int(self.owed / STEP)
        self.owed -= steps * STEP
        if steps > 0:
            self.give(pids, steps)
        elif steps < 0:
            self.take(pids, -steps)


class RoomForNobody(Room):
    """The same where nobody fills what is given later: pages chosen at random are moved into it."""

    def left(self):
        return 0

    def give(self, pids, steps):
        super().give(pids, steps)
        move_some(pids, steps * STEP, migration.SLOW, migration.FAST, self.chance)


class RoomToSpare(Room):
    """The same where the ranks were told the target, and take no more. What they leave empty they have chosen to. They
    take it as they begin, so nothing is adjusted later: other processes have some of the room before them, so there is
    more."""

    def made(self):
        return migration.scarce_fast(self.target + SPARE * len(migration.FAST))

    def adjust(self, job_id, _pids):
        held = held_bytes(job_id)
        self.looks.append((held, held + min(self.left(), max(0, self.target - held))))
