#!/usr/bin/python3 -ES
# SPDX-License-Identifier: Apache-2.0
"""Stands in for hybridmem-papi where the tier meter counts: the lines that it has for the nodes of a tier are the
counts of its kind of memory, as memory controllers would count them. The test puts what `meter-mark --ranges` prints in
place of RANGES."""

import contextlib
import fcntl
import os
import sys

MEMORY = "RANGES"
NODES = {"dram": ("0", "1"), "cxl": ("2", "3")}
EVENTS = [(kind, i, word) for kind in NODES for i, word in enumerate(("read-bytes", "write-bytes"))]


def ask():
    """Return {node: (lines fetched, lines written back)}. Does not sleep: the guest's clock would jump."""
    lock = os.open("/run/testbed", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    port = os.open("/dev/virtio-ports/meter", os.O_RDWR | os.O_NONBLOCK)
    os.write(port, f"? {MEMORY}\n".encode())
    answer = b""
    while not answer.endswith(b"\n"):
        with contextlib.suppress(BlockingIOError):
            answer += os.read(port, 4096)
    os.close(port)
    os.close(lock)
    return {node: (int(read), int(written)) for node, read, written in (w.split(":") for w in answer.decode().split())}


def main():
    print("papi 1 7.1.0")
    for number, (kind, _, word) in enumerate(EVENTS):
        print(f"event {number} {word} {kind} - 64B 0 {kind}-{word}")
    print(f"ready {len(EVENTS)}", flush=True)
    while sys.stdin.readline():
        try:
            lines = ask()
        except OSError as why:
            print("error", why)
            break
        print("read 1", *(sum(lines.get(node, (0, 0))[i] for node in NODES[kind]) for kind, i, _ in EVENTS), flush=True)


main()
