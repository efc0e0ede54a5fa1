# SPDX-License-Identifier: Apache-2.0
"""Holds the kernel's lock of folders, until it is killed: it lists each of them into memory that is mapped from a FUSE
file system of its own, which never answers a read. Nobody can make, rename or remove anything in such a folder
meanwhile.

    hold.py FOLDER...

Prints "held FOLDER" before it lists a folder.
"""

import ctypes
import mmap
import os
import signal
import struct
import sys
import tempfile
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUSER, GETDENTS64 = 0x20000, 0x10000000, 217
ROOM, FOLDER_ROOM = 1 << 20, 1 << 16
# Requests of the kernel, from linux/fuse.h.
LOOKUP, FORGET, GETATTR, OPEN, READ, INIT, OPENDIR, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 15, 26, 27, 36, 42


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def become_root_of_a_namespace():
    uid, gid = os.getuid(), os.getgid()
    check(LIBC.unshare(CLONE_NEWUSER | CLONE_NEWNS))
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        Path(f"/proc/self/{name}").write_text(text)


def attributes(number):
    mode = 0o40755 if number == 1 else 0o100644
    return struct.pack("<6Q10I", number, ROOM, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(code, number):
    """The answer to one request; None: there is none, ever."""
    if code in (READ, FORGET, BATCH_FORGET, INTERRUPT):
        return None
    if code == INIT:
        return struct.pack("<4I2H2I2HI7I", 7, 31, 4096, 0, 8, 6, 4096, 1, 1, 0, 0, *[0] * 7)
    if code == LOOKUP:
        return struct.pack("<4Q2I", 2, 0, 1000, 1000, 0, 0) + attributes(2)
    if code == GETATTR:
        return struct.pack("<Q2I", 1000, 0, 0) + attributes(number)
    return struct.pack("<Q2I", 0, 0, 0) if code in (OPEN, OPENDIR) else b""


def serve(device):
    while True:
        _, code, unique, number = struct.unpack_from("<2I2Q", os.read(device, 1 << 17))
        said = answer(code, number)
        if said is not None:
            os.write(device, struct.pack("<IiQ", 16 + len(said), 0, unique) + said)


def hold(name, address):
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY)
    print("held", name, flush=True)
    LIBC.syscall(GETDENTS64, folder, ctypes.c_void_p(address), FOLDER_ROOM // 2)
    os._exit(0)


def main(folders):
    become_root_of_a_namespace()
    mount = tempfile.mkdtemp()
    device = os.open("/dev/fuse", os.O_RDWR)
    words = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    check(LIBC.mount(b"hold", mount.encode(), b"fuse", 0, words))
    if os.fork() == 0:
        serve(device)
    file = os.open(f"{mount}/file", os.O_RDONLY)
    os.close(device)  # when the server is killed, its file system ends, and with it all holds
    memory = mmap.mmap(file, ROOM, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for i, name in enumerate(folders):
        if os.fork() == 0:
            hold(name, address + i * FOLDER_ROOM)
    signal.pause()


main(sys.argv[1:])
