# SPDX-License-Identifier: Apache-2.0
"""Adds up the counters of tiermeter, a plugin of QEMU, by CPU and NUMA node, each time the guest sets a mark."""

import json
import os
import struct
from pathlib import Path

from . import cache

SOURCE = Path(__file__).resolve().parent.parent / "tiermeter" / "tiermeter.c"

# The layout of the shared file, as in tiermeter.c.
HEAD = struct.Struct("=4Q")  # CPUs, blocks, bytes in a block, whether it counts now
CELL = struct.Struct("=6Q")
PAGE = 4096  # of the file of lines: the counters of 16 of the guest's pages
ASK = "?"  # in place of a mark's name: nothing is stored, and the answer is what was counted
COUNTERS = ("reads", "writes", "read_bytes", "write_bytes", "line_reads", "line_writes")


def plugin():
    """Return the path of the plugin, compiled when needed."""
    return cache.compiled("tiermeter.so", SOURCE, "-shared", "-fPIC", "-fvisibility=hidden")


def node_of_blocks(ranges, block_bytes):
    """Map block numbers to nodes. RANGES is "START:BYTES:NODE ..." from the guest. A block belongs to the first range
    that has a part of it."""
    nodes = {}
    for text in ranges.split():
        start, size, node = map(int, text.split(":"))
        for block in range(start // block_bytes, (start + size - 1) // block_bytes + 1):
            nodes.setdefault(block, node)
    return nodes


def save_lines(descriptor, path):
    """Copy the counters of lines, without the many pages that are holes or zero: each page's number, a 64-bit integer,
    and then its counters, 32-bit integers of 1024 lines. They count modulo 2^32."""
    at, end = 0, os.fstat(descriptor).st_size
    with path.open("wb") as file:
        while at < end:
            try:
                at = os.lseek(descriptor, at, os.SEEK_DATA)
            except OSError:  # no more data
                break
            until = os.lseek(descriptor, at, os.SEEK_HOLE)
            for page in range(at // PAGE, -(-until // PAGE)):
                data = os.pread(descriptor, PAGE, page * PAGE)
                if any(data):
                    file.write(struct.pack("=Q", page) + data)
            at = until


class Meter:
    """The counters of one guest, and the marks set so far."""

    def __init__(self, path, is_steady=True, folder=None):
        """With `is_steady` False it counts between marks NAME.start and NAME.end only. `folder`: gets what each mark
        has of each line of memory (save_lines)."""
        self.path, self._is_steady = Path(path), is_steady
        self._board = cache.nameless_file()
        self._folder = Path(folder) if folder else None
        if self._folder:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lines = cache.nameless_file()
        self._watch(is_steady)
        self._nodes = set()
        self._marks = []

    def plugin_argument(self, vm):
        lines = f",lines={vm.share(self._lines)}" if self._folder else ""
        return f"{plugin()},out={vm.share(self._board)}{lines}"

    def _count(self, ranges):
        """Return {(CPU, node): counters} of what was counted so far."""
        self._board.seek(0)
        data = self._board.read()
        _, blocks, block_bytes, _ = HEAD.unpack_from(data)
        node_of = node_of_blocks(ranges, block_bytes)
        self._nodes.update(node_of.values())
        sums = {}
        for index, cell in enumerate(CELL.iter_unpack(data[HEAD.size :])):
            cpu, block = divmod(index, blocks)
            # Blocks of no node were used by the firmware, before the kernel ran.
            if block in node_of and any(cell):
                key = cpu, node_of[block]
                sums[key] = [a + b for a, b in zip(sums.get(key, [0] * len(cell)), cell)]
        return sums

    def lines(self, ranges):
        """Return {node: (lines fetched, lines written back)} of what was counted so far, over all CPUs. It is what a
        counter of each node's memory would have."""
        lines = {}
        for (_, node), counters in self._count(ranges).items():
            before = lines.get(node, (0, 0))
            lines[node] = tuple(a + b for a, b in zip(before, counters[COUNTERS.index("line_reads") :]))
        return lines

    def mark(self, name, ranges):
        """Add up what was counted so far, by CPU and node, as the mark NAME."""
        self._marks.append((name, self._count(ranges)))
        if self._folder:
            save_lines(self._lines.fileno(), self._folder / name)
        if not self._is_steady:
            self._watch(name.endswith(".start"))

    def _watch(self, is_watching):
        os.pwrite(self._board.fileno(), struct.pack("=Q", is_watching), HEAD.size - 8)

    def save(self):
        """Write the marks as JSON: each CPU with all nodes."""
        cpus = sorted({cpu for _, sums in self._marks for cpu, _ in sums})
        nodes = sorted(self._nodes)
        nothing = [0] * len(COUNTERS)

        def row(sums, cpu, node):
            return {"node": node} | dict(zip(COUNTERS, sums.get((cpu, node), nothing)))

        marks = [
            {"name": name, "cpus": [{"cpu": cpu, "nodes": [row(sums, cpu, node) for node in nodes]} for cpu in cpus]}
            for name, sums in self._marks
        ]
        self.path.write_text(json.dumps({"nodes": nodes, "marks": marks}) + "\n")
