#!/usr/bin/python3 -ES
# SPDX-License-Identifier: Apache-2.0
"""Stands in for hybridmem-papi where the tier meter counts: the lines that it has for the nodes of the slow tier are
the counts of a memory of kind cxl, as a memory controller would count them. The test puts what `meter-mark --ranges`
prints in place of RANGES."""

import contextlib
import fcntl
import os
import sys

MEMORY = "RANGES"
SLOW = ("2", "3")


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
    print("papi 1 7.1.0\nevent 0 read-bytes cxl - 64B 0 fetched\nevent 1 write-bytes cxl - 64B 0 written\nready 2")
    sys.stdout.flush()
    while sys.stdin.readline():
        try:
            lines = ask()
        except OSError as why:
            print("error", why)
            break
        read, written = (sum(lines.get(node, (0, 0))[i] for node in SLOW) for i in (0, 1))
        print("read 1", read, written)
        sys.stdout.flush()


main()
