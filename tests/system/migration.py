# SPDX-License-Identifier: Apache-2.0
"""Shared by tests of the migrator: makes fast memory scarce, and reads processes' pages and the migrator's figures."""

import contextlib
import ctypes
import fcntl
import json
import os
import re
import resource
import subprocess
from pathlib import Path

import processes
import slurm

FAST, SLOW = (0, 1), (2, 3)
HUGE = 2 * slurm.MIB
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
BOOST = Path("/proc/sys/vm/watermark_boost_factor")  # raises watermarks for a while; a write to min_free_kbytes ends it
FREE_LISTS = Path("/proc/sys/vm/percpu_pagelist_high_fraction")
SHORT_LISTS = 1 << 20  # so that the lists of free pages get their least length, some 250 pages for each CPU
ZONE = r"pages free +(\d+).*high +(\d+).*protection: \(.*?(\d+)\)"
MIN_FREE_KIB = 40960  # for all nodes; the kernel then keeps a fiftieth of each free, as the migrator does
RANKS = 4
FILES = 65536  # limit of open files: where few huge pages can be had, pipes have to hold most of the memory
NEAR = slurm.MIB // 2  # a difference from the limit that is small enough
ADJUSTMENTS = 8
QUIET = 3  # seconds between two looks of a test: while a look runs, it makes more accesses than a rank, so it is rare
MPOL_DEFAULT, MPOL_PREFERRED, MPOL_MF_MOVE = 0, 1, 2
libnuma = ctypes.CDLL("libnuma.so.1", use_errno=True)
PROGRESS_JSON = Path("/usr/local/bin/progress-json")


def node_path(node):
    return Path(f"/sys/devices/system/node/node{node}")


def free_bytes(node):
    return sum(int(re.search(r"pages free +(\d+)", zone)[1]) for zone in slurm.zones_of(node).values()) * slurm.PAGE


def watermark_bytes(node, name="high"):
    """The sum over the node's zones of a watermark: min, low or high. With less free memory than the high one, the
    kernel may take pages away from the node."""
    return sum(int(re.search(rf"{name}\s+(\d+)", zone)[1]) for zone in slurm.zones_of(node).values()) * slurm.PAGE


def usable_bytes(node):
    """What is free on a node above what the kernel keeps: high watermarks, and what zones protect from users' pages."""
    zones = slurm.zones_of(node).values()
    values = [[int(value) for value in re.search(ZONE, zone, re.S).groups()] for zone in zones]
    return sum(max(free - high - protected, 0) for free, high, protected in values) * slurm.PAGE


@contextlib.contextmanager
def reclaimers():
    """Gives a function that tells the names of the processes that had to reclaim memory themselves since, and how many
    were killed for want of it."""
    mount, begun = Path("/run/hm-tracing"), killed()
    folder = mount / "instances/reclaim"
    mount.mkdir()
    slurm.run(f"mount -t tracefs tracefs {mount}")
    folder.mkdir()
    try:
        write(folder / "events/vmscan/mm_vmscan_direct_reclaim_begin/enable", 1)
        yield lambda: (set(re.findall(r"^ *(\S+)-\d+ ", (folder / "trace").read_text(), re.M)), killed() - begun)
    finally:
        folder.rmdir()
        slurm.run(f"umount {mount}")
        mount.rmdir()


def killed():
    return int(re.search(r"^oom_kill (\d+)$", Path("/proc/vmstat").read_text(), re.M)[1])


def write(path, value):
    Path(path).write_text(str(value))


@contextlib.contextmanager
def written(values):
    """Sets kernel files to these values for a while."""
    saved = {path: Path(path).read_text().strip() for path in values}
    for path, value in values.items():
        write(path, value)
    try:
        yield
    finally:
        for path, text in reversed(saved.items()):
            write(path, text)


def surplus(node, limit):
    """Bytes that are free on a fast node beyond its share of the limit and beyond what the kernel keeps free. A
    negative number says how many are missing."""
    return free_bytes(node) - limit // len(FAST) - watermark_bytes(node)


@contextlib.contextmanager
def preferred(node):
    """For a while, this process takes its memory from a node first."""
    mask = ctypes.c_ulong(1 << node)
    assert libnuma.set_mempolicy(MPOL_PREFERRED, ctypes.byref(mask), ctypes.c_ulong(64)) == 0
    try:
        yield
    finally:
        libnuma.set_mempolicy(MPOL_DEFAULT, None, ctypes.c_ulong(0))


class Pipes:
    """Memory of a node in pipes: kernel memory, which cannot be moved."""

    def __init__(self, node):
        self.node, self.ends = node, []

    def grow(self, count):
        """Holds `count` bytes more, in as few pipes as possible."""
        left = count // slurm.PAGE * slurm.PAGE
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))
        with preferred(self.node):
            while left > 0:
                self.ends.append(os.pipe())
                size = min(slurm.MIB, 1 << (left.bit_length() - 1))
                fcntl.fcntl(self.ends[-1][1], fcntl.F_SETPIPE_SZ, size)
                left -= os.write(self.ends[-1][1], bytes(size))

    def drop(self):
        """Gives back the pipe that was made last."""
        for descriptor in self.ends.pop():
            os.close(descriptor)

    def close(self):
        while self.ends:
            self.drop()


@contextlib.contextmanager
def pipes(node, count):
    """Holds `count` bytes of a node."""
    with contextlib.closing(Pipes(node)) as held:
        held.grow(count)
        yield


def has_memory(pid):
    """Has the process memory? Kernel threads have none, nor have processes that ended."""
    with contextlib.suppress(OSError):
        return bool(Path(f"/proc/{pid}/smaps_rollup").read_text())
    return False


def leave_fast(pid):
    """Moves the memory of a process, which may have ended, to the slow tier."""
    fast, slow = (",".join(map(str, nodes)) for nodes in (FAST, SLOW))
    done = slurm.run(f"migratepages {pid} {fast} {slow}", check=False)
    assert done.returncode == 0 or not has_memory(pid), done.stderr


def empty_fast():
    """Empties the fast tier of all pages that can be moved or dropped, so that its room does not grow later.

    Promotions wake the kernel's reclaim, which drops caches and, with demotion on, moves cold pages of other processes
    away. Pages that are gone already cannot make room in that way."""
    slurm.drop_caches()
    for path in Path("/proc").glob("[0-9]*"):
        if has_memory(path.name):
            leave_fast(path.name)
    write("/proc/sys/vm/compact_memory", 1)  # so that huge pages are available


@contextlib.contextmanager
def scarce_fast(limit, min_free_kib=MIN_FREE_KIB):
    """Leaves `limit` bytes of the fast tier free, half of them on each node.

    The kernel's pool of huge pages takes the rest, and pipes take what the pool leaves: less than a huge page, or more
    where few huge pages can be had. No way of tiering can demote, reclaim or migrate such memory. Transparent huge
    pages are off, as one would be a large part of the limit."""
    pools = {node: node_path(node) / "hugepages/hugepages-2048kB/nr_hugepages" for node in FAST}
    with contextlib.ExitStack() as stack:
        stack.callback(write, THP, re.search(r"\[(\w+)\]", THP.read_text())[1])
        write(THP, "never")
        stack.enter_context(written({BOOST: 0, "/proc/sys/vm/min_free_kbytes": min_free_kib, FREE_LISTS: SHORT_LISTS}))
        for pool in pools.values():
            stack.callback(write, pool, 0)
        empty_fast()
        for node, pool in pools.items():
            write(pool, int(pool.read_text()) + surplus(node, limit) // HUGE)
        for _ in range(ADJUSTMENTS):  # filling one node moves memory to the other
            for node, pool in pools.items():
                if surplus(node, limit) < -NEAR:
                    write(pool, int(pool.read_text()) + surplus(node, limit) // HUGE)
                if surplus(node, limit) > NEAR:
                    stack.enter_context(pipes(node, surplus(node, limit)))
        yield


def file_bytes():
    """Bytes of the page cache in the fast tier."""
    texts = [(node_path(node) / "meminfo").read_text() for node in FAST]
    return sum(int(size) * 1024 for text in texts for size in re.findall(r"ctive\(file\): +(\d+)", text))


@contextlib.contextmanager
def fast_full_of_files(pids):
    """Moves the processes' memory to the slow tier, and fills the fast tier with pages of files that nobody uses any
    more.

    The files are read only after the processes have their memory: otherwise the kernel would reclaim pages of the files
    for the processes, a different number each time."""
    for pid in pids:
        leave_fast(pid)
    paths = {node: Path(f"/var/tmp/unused-{node}") for node in FAST}
    for node, path in paths.items():
        path.write_bytes(bytes(max(surplus(node, 0), 0)))
        slurm.drop_caches()  # the file's pages may be on either node: cat below reads them anew, into the right one
    for node, path in paths.items():
        slurm.run(f"numactl --membind={node} cat {path} > /dev/null")
    try:
        yield
    finally:
        for path in paths.values():
            path.unlink()


def ranks_of(job_id, program):
    """The processes of this name in the job's cgroup."""
    pids = set()
    for folder in processes.cgroups(job_id):
        for file in folder.rglob("cgroup.procs"):
            with contextlib.suppress(OSError):  # the step may have ended
                pids.update(map(int, file.read_text().split()))
    return [pid for pid in pids if name_of(pid) == program]


def name_of(pid):
    """The process's name; "" if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def anon_bytes(pids):
    """Anonymous memory of all the processes, by node."""
    nodes = {}
    for pid in pids:
        text = ""
        with contextlib.suppress(OSError):  # it may have ended
            text = Path(f"/proc/{pid}/numa_maps").read_text()
        for line in text.splitlines():
            if " anon=" not in line:
                continue
            for node, count in re.findall(r" N(\d+)=(\d+)", line):
                nodes[int(node)] = nodes.get(int(node), 0) + int(count) * slurm.PAGE
    return nodes


def on_fast(by_node):
    return sum(by_node.get(node, 0) for node in FAST)


def cpu_seconds(job_id):
    """CPU seconds of the processes in the job's numbered steps (the steps' `user` cgroups)."""
    total = 0
    for folder in processes.cgroups(job_id):
        for file in folder.glob("step_[0-9]*/user/cpu.stat"):
            total += int(re.search(r"usage_usec (\d+)", file.read_text())[1])
    return total / 1e6


def progress(job_id, step=0):
    """The migrator's figures of a running step; None if there are none yet."""
    path = slurm.JOBS / f"{job_id}.{step}.migration"
    if not path.exists():
        return None
    done = subprocess.run([PROGRESS_JSON, path], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def move_pages(pid, addresses, targets):
    """Moves pages of the process to these nodes; with targets None only asks. Returns the node of each page; negative:
    the page has none, or could not be moved."""
    count = len(addresses)
    words = (ctypes.c_void_p * count)(*addresses)
    nodes = (ctypes.c_int * count)(*targets) if targets else None
    status = (ctypes.c_int * count)()
    done = libnuma.move_pages(pid, ctypes.c_ulong(count), words, nodes, status, 0 if not targets else MPOL_MF_MOVE)
    assert done == 0 or (targets and done > 0), os.strerror(ctypes.get_errno())
    return list(status)


def nodes_of(pid, address, pages):
    """The node of each of the process's pages from this address on; negative: the page has none."""
    return move_pages(pid, range(address, address + pages * slurm.PAGE, slurm.PAGE), None)


def mark(name):
    slurm.run(f"meter-mark {name}")
    os.sync()
