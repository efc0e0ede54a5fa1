# SPDX-License-Identifier: Apache-2.0
"""Pretends to be migrators: listens at the sockets where `hybridmem top` asks them, and answers with a forged view
(struct hm_view), which it reads from its input, until it is killed.

    view.py NAME... < VIEW

Prints a line once it listens.
"""

import select
import socket
import sys


def listen(name):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(f"\0{name}")
    listener.listen()
    return listener


def main(names):
    view = sys.stdin.buffer.read()
    listeners = [listen(name) for name in names]
    print("listens", flush=True)
    while True:
        for listener in select.select(listeners, [], [])[0]:
            with listener.accept()[0] as asker:
                if asker.recv(16):  # it has not gone at once
                    asker.send(view)


main(sys.argv[1:])
