# SPDX-License-Identifier: Apache-2.0
"""A file system that looks like resctrl, for machines whose processors have none. It speaks FUSE over /dev/fuse itself.

    resctrlfs.py MOUNT STATE

As in the kernel's resctrl, mkdir in mon_groups makes a group with all its files; its folders get the mode that was
asked for. STATE/rmids is the number of groups that can exist at once. rmdir removes a group with its files.

Nothing is counted, and children of a task do not join its group. Counters of a group are what the test has put into
STATE/counts, as JSON: {group: {file: text}}. The group "" is the default group: its entry has its own tasks'
counters, and its files show the sums over all groups. The group "new" stands for all groups that are not named there.
STATE/log has a line of JSON for each group made or removed, and for each process id written to a group's `tasks`.

Ends when it is unmounted.
"""

import ctypes
import errno
import json
import os
import stat
import struct
import sys
from pathlib import Path

FEATURES = "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n"
COUNTERS = ("mbm_total_bytes", "mbm_local_bytes")
DIRECT_IO = 1
ROOT = 1
# Requests of the kernel, from linux/fuse.h.
LOOKUP, FORGET, GETATTR, SETATTR, MKDIR, RMDIR, OPEN, READ, WRITE, STATFS = 1, 2, 3, 4, 9, 11, 14, 15, 16, 17
RELEASE, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, ACCESS, INTERRUPT, BATCH_FORGET = 18, 25, 26, 27, 28, 29, 34, 36, 42
DIRECTORY_TYPE, FILE_TYPE = 4, 8
VALID_MODE = 1  # SETATTR has a mode


class Refused(Exception):
    def __init__(self, number):
        super().__init__(os.strerror(number))
        self.number = number


def count(counts, group, name):
    """A counter of the group's own tasks. A group that the test does not name has the counters of "new"."""
    return counts.get(group, counts.get("new", {})).get(name, "0")


def group_tree(files):
    counters = {name: None for name in COUNTERS}
    return {"tasks": None, "mon_data": {"mon_L3_00": counters}, **files}


class Tree:
    """The tree of files. Folders are dictionaries, files are None; each path keeps its node number."""

    def __init__(self, state):
        self.state = state
        info = {"L3_MON": {"mon_features": None, "num_rmids": None}}
        self.top = group_tree({"info": info, "mon_groups": {}})
        self.paths, self.numbers, self.last = {ROOT: ()}, {(): ROOT}, ROOT
        self.modes = {}  # of folders that were given one

    def find(self, path):
        node = self.top
        for name in path:
            if not isinstance(node, dict) or name not in node:
                raise Refused(errno.ENOENT)
            node = node[name]
        return node

    def path(self, number):
        if number not in self.paths:
            raise Refused(errno.ENOENT)
        self.find(self.paths[number])
        return self.paths[number]

    def number(self, path):
        if path not in self.numbers:
            self.last += 1  # numbers of removed paths are not used again
            self.numbers[path], self.paths[self.last] = self.last, path
        return self.numbers[path]

    def log(self, *words):
        with (self.state / "log").open("a") as stream:
            stream.write(json.dumps(words) + "\n")

    def mode(self, path):
        """The mode of a folder: its own, else its group's, else 0755."""
        return self.modes.get(path) or self.modes.get(path[:2], 0o755)

    def make(self, path, mode):
        if path[:-1] != ("mon_groups",):
            raise Refused(errno.EPERM)
        groups = self.top["mon_groups"]
        if path[-1] in groups:
            raise Refused(errno.EEXIST)
        if len(groups) >= int((self.state / "rmids").read_text()):
            raise Refused(errno.ENOSPC)
        groups[path[-1]] = group_tree({})
        self.modes[path] = mode
        self.log("mkdir", path[-1])

    def remove(self, path):
        self.find(path)
        if len(path) != 2 or path[0] != "mon_groups":
            raise Refused(errno.EPERM)
        del self.top["mon_groups"][path[1]]
        for gone in [known for known in self.numbers if known[:2] == path]:
            del self.paths[self.numbers.pop(gone)]
        self.log("rmdir", path[1])

    def read(self, path):
        if path[-1] == "mon_features":
            return FEATURES
        if path[-1] == "num_rmids":
            return (self.state / "rmids").read_text()
        if path[-1] == "tasks":
            return ""
        counts = json.loads((self.state / "counts").read_text())
        if path[0] == "mon_groups":
            return count(counts, path[1], path[-1]) + "\n"
        told = [count(counts, group, path[-1]) for group in ("", *self.top["mon_groups"])]
        told = [int(text) for text in told if text.isdigit()]
        return f"{sum(told)}\n" if told else "Unavailable\n"

    def write(self, path, text):
        if path[-1] != "tasks" or path[0] != "mon_groups" or not text.strip().isdigit():
            raise Refused(errno.EINVAL)
        self.log("task", path[1], int(text))


class Server:
    def __init__(self, device, tree):
        self.device, self.tree = device, tree

    def attributes(self, number):
        path = self.tree.path(number)
        is_folder = isinstance(self.tree.find(path), dict)
        mode = stat.S_IFDIR | self.tree.mode(path) if is_folder else stat.S_IFREG | 0o644
        return struct.pack("<6Q10I", number, 4096, 0, 0, 0, 0, 0, 0, 0, mode, 1 + is_folder, 0, 0, 0, 4096, 0)

    def entry(self, path):
        self.tree.find(path)
        number = self.tree.number(path)
        return struct.pack("<4Q2I", number, 0, 0, 0, 0, 0) + self.attributes(number)

    def listing(self, path, offset):
        """The entries from number `offset` on; there are few enough for one answer."""
        found = b""
        for place, (name, node) in enumerate(self.tree.find(path).items()):
            if place < offset:
                continue
            kind = DIRECTORY_TYPE if isinstance(node, dict) else FILE_TYPE
            word = name.encode()
            one = struct.pack("<2Q2I", self.tree.number((*path, name)), place + 1, len(word), kind) + word
            found += one.ljust(-len(one) % 8 + len(one), b"\0")
        return found

    def answer(self, code, number, body):
        """The answer to one request; None: the kernel expects none."""
        if code in (FORGET, BATCH_FORGET, INTERRUPT):
            return None
        if code == INIT:
            major, _, ahead = struct.unpack_from("<3I", body)
            return struct.pack("<4I2H2I2HI7I", major, 31, ahead, 0, 8, 6, 4096, 1, 1, 0, 0, *[0] * 7)
        if code in (RELEASE, RELEASEDIR, FLUSH, ACCESS):
            return b""
        if code == STATFS:
            return struct.pack("<5Q4I6I", 0, 0, 0, 0, 0, 4096, 255, 4096, 0, *[0] * 6)
        path = self.tree.path(number)
        if code == SETATTR and struct.unpack_from("<I", body)[0] & VALID_MODE:
            self.tree.modes[path] = struct.unpack_from("<I", body, 68)[0] & 0o7777
        if code in (GETATTR, SETATTR):
            return struct.pack("<Q2I", 0, 0, 0) + self.attributes(number)
        if code in (OPEN, OPENDIR):
            return struct.pack("<Q2I", 0, DIRECT_IO if code == OPEN else 0, 0)
        return self.answer_about(code, path, body)

    def answer_about(self, code, path, body):
        if code in (LOOKUP, RMDIR):
            below = (*path, body.rstrip(b"\0").decode())
            return self.entry(below) if code == LOOKUP else self.tree.remove(below) or b""
        if code == MKDIR:
            below = (*path, body[8:].rstrip(b"\0").decode())
            mode, umask = struct.unpack_from("<2I", body)
            self.tree.make(below, mode & ~umask & 0o7777)
            return self.entry(below)
        if code == READDIR:
            return self.listing(path, struct.unpack_from("<2Q", body)[1])
        if code == READ:
            _, offset, size = struct.unpack_from("<2QI", body)
            return self.tree.read(path).encode()[offset : offset + size]
        if code == WRITE:
            size = struct.unpack_from("<2QI", body)[2]
            self.tree.write(path, body[40 : 40 + size].decode())
            return struct.pack("<2I", size, 0)
        raise Refused(errno.ENOSYS)

    def serve(self):
        while True:
            try:
                question = os.read(self.device, 1 << 17)
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return  # unmounted
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                raise
            _, code, unique, number = struct.unpack_from("<2I2Q", question)
            try:
                said, failed = self.answer(code, number, question[40:]), 0
            except Refused as refused:
                said, failed = b"", -refused.number
            if said is not None:
                os.write(self.device, struct.pack("<IiQ", 16 + len(said), failed, unique) + said)


def main(mount, state):
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    words = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions".encode()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"resctrl", os.fsencode(mount), b"fuse", 0, words) != 0:
        sys.exit(f"resctrlfs: {mount}: {os.strerror(ctypes.get_errno())}")
    Server(device, Tree(Path(state))).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
