# SPDX-License-Identifier: Apache-2.0
"""The network of a cluster's guests: Ethernet between QEMU processes, through pairs of sockets. It needs no privilege,
and nothing else can reach it."""

import contextlib
import socket

FRAME_BYTES = 65536
BUFFER_BYTES = 1 << 20
SOURCE, DESTINATION = slice(6, 12), slice(0, 6)  # of a frame: its two addresses


def _pair():
    """Return two UDP sockets of the host's loopback that hear only each other. Unix sockets would hold ten frames."""
    pair = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
    for end in pair:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        end.bind(("127.0.0.1", 0))
    for end, other in (pair, reversed(pair)):
        end.connect(other.getsockname())
    return pair


class Switch:
    """Carries frames between the ends that are plugged in, and learns which address is behind which end. A frame for
    which an end has no room is lost, as on a wire: a guest that stands still holds up nobody."""

    def __init__(self):
        self._ends = {}  # socket by name
        self._name_of = {}  # by address

    def plug(self, name):
        """Return two sockets: ours, to be read with on_frames(), and QEMU's. They replace an earlier pair."""
        self.unplug(name)
        ours, theirs = _pair()
        ours.setblocking(False)
        self._ends[name] = ours
        return ours, theirs

    def unplug(self, name):
        if name in self._ends:
            self._ends.pop(name).close()

    def on_frames(self, name):
        """Carry what this end has sent."""
        with contextlib.suppress(BlockingIOError, ConnectionError):
            while True:
                frame = self._ends[name].recv(FRAME_BYTES)
                if not frame:
                    return
                self._name_of[frame[SOURCE]] = name
                known = self._name_of.get(frame[DESTINATION])
                for other in [known] if known else self._ends:
                    if other != name and other in self._ends:
                        with contextlib.suppress(OSError):
                            self._ends[other].send(frame)
