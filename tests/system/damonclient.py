# SPDX-License-Identifier: Apache-2.0
"""A client of the DAMON broker, message by message (helpers/migrator/damon/wire.h). As a program, it prints a line for
each list of regions that the broker sends, with the process and figures:

    python3 damonclient.py SOCKET SECONDS BUDGET PID...

BUDGET is the CPU time that DAMON may use, in millionths of one CPU.
"""

import array
import contextlib
import math
import select
import socket
import struct
import sys
import time
from collections import namedtuple
from pathlib import Path

PATIENCE = 240  # seconds; the guest is emulated and slow
MAGIC = 0x484D4434
WATCH, ANSWER, LIST, BORROW = 1, 2, 3, 4
BY_KDAMOND = 0
HEAD = struct.Struct("=IIII")
RANGES = 6
PROCESS = struct.Struct(f"=QiI{2 * RANGES}Q")
ANSWER_REST = struct.Struct("=II160s")
LIST_REST = struct.Struct("=IIIIIIQ")
REGION = struct.Struct("=QQHHI")
THREAD = struct.Struct("=QiI")
MOST_THREADS = 64

Answer = namedtuple("Answer", "generation n number text")
Region = namedtuple("Region", "start end accesses looks look_us")
List = namedtuple("List", "generation process rounds span_ms lost way cpu_s regions")


def start_time(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])


def anonymous_ranges(pid):
    """The largest anonymous mappings, in the order of their addresses. For a process that is gone or belongs to
    somebody else, any range."""
    found = []
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            addresses, mode, _, _, inode, *name = line.split()
            if mode.startswith("rw") and inode == "0" and name in ([], ["[heap]"], ["[stack]"]):
                found.append(tuple(int(address, 16) for address in addresses.split("-")))
    found.sort(key=lambda pair: pair[0] - pair[1])
    return sorted(found[:RANGES]) or [(4096, 8192)]


def pack_process(pid, started, ranges):
    padded = ranges + [(0, 0)] * (RANGES - len(ranges))
    return PROCESS.pack(started, pid, len(ranges), *(address for pair in padded for address in pair))


def watch_message(pids, generation=1, interval_ms=10000, budget=20000, ranges=None):
    """A watch message. Each of `pids` is a number, or (pid, start time) where a test gives a wrong start time."""
    named = [pid if isinstance(pid, tuple) else (pid, start_time(pid)) for pid in pids]
    head = HEAD.pack(MAGIC, WATCH, generation, len(named)) + struct.pack("=IIII", interval_ms, budget, BY_KDAMOND, 0)
    where = [anonymous_ranges(pid) if ranges is None else ranges for pid, _ in named]
    return head + b"".join(pack_process(*name, its) for name, its in zip(named, where, strict=True))


def parse(data):
    _, kind, generation, n = HEAD.unpack_from(data)
    if kind == ANSWER:
        number, _, text = ANSWER_REST.unpack_from(data, HEAD.size)
        return Answer(generation, n, number, text.split(b"\0")[0].decode())
    process, rounds, span_ms, lost, _, way, cpu_ns = LIST_REST.unpack_from(data, HEAD.size)
    at = HEAD.size + LIST_REST.size
    regions = [Region(*REGION.unpack_from(data, at + i * REGION.size)) for i in range(n)]
    return List(generation, process, rounds, span_ms, lost, way, cpu_ns / 1e9, regions)


class Client:
    """A client of the broker. It connects at once."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(str(path))
        self.lists = []

    def ask(self, pids, patience=PATIENCE, **how):
        """Returns the broker's answer; None if the broker has closed the connection."""
        return self.ask_raw(watch_message(pids, **how), patience)

    def ask_raw(self, message, patience=PATIENCE):
        with contextlib.suppress(BrokenPipeError):  # the broker may have refused the connection, and has said why
            self.socket.send(message)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            got = self.receive(deadline - time.monotonic())
            if got is None or isinstance(got, Answer):
                return got
        raise AssertionError(f"no answer in {patience} s")

    def receive(self, patience):
        """The next answer, or True for a list; None if the broker has closed the connection."""
        if not select.select([self.socket], [], [], max(patience, 0))[0]:
            raise AssertionError("the broker says nothing")
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:  # it has closed without having read; what it has sent comes next
            data = self.socket.recv(65536)
        if not data:
            return None
        got = parse(data)
        if isinstance(got, Answer):
            return got
        self.lists.append(got)
        return True

    def borrow(self, threads):
        """Asks for events of threads, each a number, or (number, start time). Returns an errno or 0 for each, or the
        text of a refusal; and the descriptors that came."""
        named = [thread if isinstance(thread, tuple) else (thread, start_time(thread)) for thread in threads]
        message = HEAD.pack(MAGIC, BORROW, 1, len(named))
        self.socket.send(message + b"".join(THREAD.pack(started, thread, 0) for thread, started in named))
        self.socket.settimeout(PATIENCE)
        events = array.array("i")
        data, parts, _, _ = self.socket.recvmsg(65536, socket.CMSG_SPACE(MOST_THREADS * events.itemsize))
        for _, _, part in parts:
            events.frombytes(part)
        if HEAD.unpack_from(data)[1] == ANSWER:
            return parse(data).text, list(events)
        return struct.unpack_from(f"={len(named)}I", data, HEAD.size), list(events)

    def wait_rounds(self, count=1, patience=PATIENCE):
        """Waits for `count` whole rounds from now on. Returns the lists of the last one, of all processes."""
        self.lists = []
        deadline = time.monotonic() + patience
        # The first round that is seen may have begun before; the list that begins the last one ends that before it.
        while len(rounds := sorted({one.rounds for one in self.lists})) < count + 2:
            assert self.receive(deadline - time.monotonic()) is not None, "the broker has closed"
        self.lists = [one for one in self.lists if one.rounds == rounds[-2]]
        return self.lists

    def close(self):
        self.socket.close()


def rate(region):
    """How often a page of the region is used, per microsecond, as the share of looks that have found a use tells
    (helpers/migrator/damon/heat.h)."""
    return -math.log1p(-min(region.accesses / region.looks, 1 - 0.5 / region.looks)) / region.look_us


def found(lists, hot_start, hot_end):
    """The share of the hot range that lies in the hottest regions of a process's lists of one round. Only as many bytes
    of these are looked at as the hot range has, so that 1.0 means that DAMON has found it exactly."""
    room = hot_end - hot_start
    inside = 0.0
    for _, region in sorted((-rate(region), region) for one in lists for region in one.regions):
        size = region.end - region.start
        overlap = max(0, min(region.end, hot_end) - max(region.start, hot_start))
        taken = min(1.0, room / size)
        inside += overlap * taken
        room -= size * taken
        if room <= 0:
            break
    return inside / (hot_end - hot_start)


def main():
    path, seconds, budget, *pids = sys.argv[1:]
    client = Client(path)
    print(client.ask([int(pid) for pid in pids], budget=int(budget)))
    begin = time.monotonic()
    while time.monotonic() - begin < float(seconds):
        client.receive(60)
        while client.lists:
            one = client.lists.pop(0)
            accessed = sum(r.accesses / r.looks for r in one.regions) / len(one.regions)
            times = sorted({r.look_us for r in one.regions})
            print(
                f"{time.monotonic() - begin:.1f} s: process {one.process}, round {one.rounds}, {len(one.regions)} "
                f"regions, look every {times} us, accessed {accessed:.3f}, cpu {one.cpu_s:.3f} s, lost {one.lost}",
                flush=True,
            )


if __name__ == "__main__":
    main()
