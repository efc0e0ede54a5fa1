# SPDX-License-Identifier: Apache-2.0
"""What each allocation site of a recorded run (tests/system/guidance.py) had of the cache lines, and so what the fast
tier would have served under other placements of the same run. Pure, but for the reading of files.

The meter counts each line of physical memory; the recording says, at each look, which page of which rank that is, and
which allocation has it. Between two looks a line belongs to who had it at the later one, else at the earlier one.
"""

import array
import bisect
import re
import struct
from pathlib import Path
from typing import NamedTuple

PAGE = 4096
PAGE_LINES = 64
FRAMES = 16  # pages in one record of the meter's file
RECORD = 8 + FRAMES * PAGE_LINES * 4
PRESENT, OF_FILE, FRAME = 1 << 63, 1 << 61, (1 << 55) - 1
PATTERN = (True, True, False, False)  # nodes of interleaved pages in turn: is each fast?

# As in helpers/sites/record/table.h.
BLOCKS_AT, BLOCK = 24 + 64 * 16 * 24, struct.Struct("=QQQQIHH")
ENTRIES, ENTRY_BYTES = 8192, 264

# As in helpers/sites/guide/preload.c: least part of an allocation that is placed where the whole finds no room; where
# its site has a limit, too.
LARGE, PART, SLICE = 1 << 20, 8, 32
ARENA = 128 << 10  # smaller allocations are in jemalloc's arenas
SLICES = 32  # of an allocation that is not smaller, as in helpers/sites/profile/slices.h


class Block(NamedTuple):
    """An allocation that was seen at a look."""

    pid: int
    born: int
    start: int
    size: int
    before: int  # bytes of its site that the process had allocated before it
    site: str


class Look(NamedTuple):
    frames: dict  # of anonymous memory: (pid, page) by frame
    others: set  # frames of the ranks' files
    blocks: dict  # by pid: in the order of their addresses


def read_sites(path):
    """The ids in the recorder's table, by number."""
    data = path.read_bytes()
    size = struct.unpack_from("=Q", data, 8)[0]
    first = size - ENTRIES * ENTRY_BYTES
    ids = (struct.unpack_from("=Q", data, first + at * ENTRY_BYTES)[0] for at in range(ENTRIES))
    return [f"{number:016x}" for number in ids]


def read_blocks(path, pid, sites):
    data = path.read_bytes()
    count = min(struct.unpack_from("=I", data, 16)[0], (len(data) - BLOCKS_AT) // BLOCK.size)
    found = (BLOCK.unpack_from(data, BLOCKS_AT + at * BLOCK.size) for at in range(count))
    blocks = [
        Block(pid, born, start, size, before, sites[entry]) for start, size, born, before, entry, *_ in found if start
    ]
    return sorted(blocks, key=lambda block: block.start)


def read_frames(path):
    """Yields (page, what the kernel's pagemap has of it) of the pages that are present."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        start, size = struct.unpack_from("=QQ", data, at)
        words = array.array("Q", data[at + 16 : at + 16 + size // PAGE * 8])
        at += 16 + size // PAGE * 8
        for number, word in enumerate(words):
            if word & PRESENT:
                yield start // PAGE + number, word


def read_look(folder, tables):
    frames, others, blocks = {}, set(), {}
    for path in sorted(folder.glob("*.maps")):
        pid = int(path.stem)
        recorded = [
            (int(start, 16) // PAGE, int(end, 16) // PAGE)
            for start, end in re.findall(r"^(\w+)-(\w+) .*/hybridmem-sites", path.read_text(), re.M)
        ]
        for page, word in read_frames(path.with_suffix(".frames")):
            if not word & OF_FILE:
                frames[word & FRAME] = (pid, page)
            elif not any(start <= page < end for start, end in recorded):
                others.add(word & FRAME)
        blocks[pid] = read_blocks(path.with_suffix(".blocks"), pid, tables[pid])
    return Look(frames, others, blocks)


def read_lines(path):
    """Records of the meter's file by their number."""
    data = path.read_bytes()
    starts = range(0, len(data), RECORD)
    return {struct.unpack_from("=Q", data, at)[0]: data[at + 8 : at + RECORD] for at in starts}


def grown_lines(before, after):
    """Yields (frame, its lines' counts) of what has grown."""
    for number, data in after.items():
        old = before.get(number)
        if data == old:
            continue
        now, then = array.array("I", data), array.array("I", old or bytes(len(data)))
        for part in range(FRAMES):
            ends = slice(part * PAGE_LINES, (part + 1) * PAGE_LINES)
            if now[ends] != then[ends]:
                yield number * FRAMES + part, [(a - b) & 0xFFFFFFFF for a, b in zip(now[ends], then[ends], strict=True)]


def blocks_of_page(blocks, page):
    """The blocks that have a part of the page, by address."""
    found, at = [], bisect.bisect_left(blocks, (page + 1) * PAGE, key=lambda block: block.start)
    while at > 0 and blocks[at - 1].start + blocks[at - 1].size > page * PAGE:
        at -= 1
        found.append(blocks[at])
    return found[::-1]


def shared_out(blocks, page, counts):
    """Yields (block, lines) of a page's lines; block is None for those of no block. A line of two blocks is the
    later one's."""
    inside = blocks_of_page(blocks, page)
    if len(inside) == 1 and inside[0].start <= page * PAGE and inside[0].start + inside[0].size >= (page + 1) * PAGE:
        yield inside[0], sum(counts)
        return
    owner = [None] * PAGE_LINES
    for block in inside:
        first = max(0, (block.start - page * PAGE) // PAGE_LINES)
        last = min(PAGE_LINES, -(-(block.start + block.size - page * PAGE) // PAGE_LINES))
        owner[first:last] = [block] * (last - first)
    for block in {*owner}:
        yield block, sum(count for count, mine in zip(counts, owner, strict=True) if mine is block)


def placed_bytes(size):
    """What an allocation takes of the fast tier. jemalloc has four sizes for each power of two."""
    step = max(16, 1 << max(0, (size - 1).bit_length() - 3))
    return -(-size // step) * step if size < ARENA else size


def taken_bytes(block, is_limited, free):
    """What an allocation takes of the fast tier, of which so much is free, and which of its pages have that."""
    size = placed_bytes(block.size)
    least = size if size < LARGE else size // (SLICE if is_limited else PART)
    taken = min(size, free) if free >= least else 0
    return taken, lambda page: page * PAGE < block.start + taken


def taken_slices(block, parts, free):
    """The same of a site of which some slices are fast; where not all find room, those in front, of which the last may
    be a part: its first half or more."""
    if parts.step == 0 and block.size >= ARENA:
        one = -(-block.size // SLICES)
        taken = min(one * len(parts.slices), free) if free >= one else 0
        slices = sorted(parts.slices)[: (taken + one // 2) // one]
        last = page_of_part(block, slices[-1], taken - one * (len(slices) - 1)) if slices else 0
        return taken, lambda page: page < last and slice_of(block, 0, page) in slices
    middle = (block.before + block.size // 2) // parts.step if parts.step and block.size < ARENA else None
    return taken_bytes(block, False, free if middle in parts.slices else 0)


def page_of_part(block, number, size):
    """The page behind the first bytes of a slice."""
    return -(-(block.start + block.size * number // SLICES + size) // PAGE)


class Parts(NamedTuple):
    """The slices of a site that are fast."""

    step: int  # bytes of a slice in the order of allocations; 0: each allocation has slices of its own
    slices: frozenset


def slice_of(block, step, page):
    """The slice that a page of an allocation is in; None: it is in none, as its site is divided in the other way."""
    if (block.size >= ARENA) != (step == 0):
        return None
    at = max(0, page * PAGE - block.start)
    return min(SLICES - 1, at * SLICES // block.size) if step == 0 else (block.before + at) // step


class Run:
    """A recorded run of a program: FOLDER of guidance.py, and the meter's LINES of its marks."""

    def __init__(self, folder, lines):
        self.folder = folder
        tables = {int(path.name): read_sites(path) for path in (folder / "tables").iterdir()}
        looks = sorted((folder / "looks").iterdir(), key=lambda path: int(path.name))
        self.looks = [read_look(path, tables) for path in looks]
        self.by_page = [{} for _ in looks]  # between a look and the one before: lines by (pid, page)
        self.by_block = {}  # block: lines by page
        self.of_files = self.of_nobody = self.of_no_block = 0
        marks = [lines / f"{folder.name}.record.{number}.start" for number in range(len(looks))]
        before = read_lines(marks[0])
        for number in range(1, len(looks)):
            after = read_lines(marks[number])
            for frame, counts in grown_lines(before, after):
                self._take(number, frame, counts)
            before = after
        self.total = self.of_files + sum(sum(lines.values()) for lines in self.by_page)
        self.pages = [{*look.frames.values()} for look in self.looks]
        self.footprint = sum(map(len, self.pages)) // len(self.pages) * PAGE
        self.n_ranks = len(tables)
        self.faults = read_faults(folder / "faults")
        self.moved_pages, self.moved = self._moved()

    def _take(self, number, frame, counts):
        """Gives the lines of a frame, which were counted before look `number`, to who had it."""
        for look in (self.looks[number], self.looks[number - 1]):
            if frame in look.frames:
                break
        else:
            is_file = any(frame in self.looks[at].others for at in (number, number - 1))
            self.of_files += sum(counts) * is_file
            self.of_nobody += sum(counts) * (not is_file)
            return
        pid, page = look.frames[frame]
        self.by_page[number][pid, page] = self.by_page[number].get((pid, page), 0) + sum(counts)
        for block, lines in shared_out(look.blocks[pid], page, counts):
            if block is None:
                self.of_no_block += lines
            else:
                pages = self.by_block.setdefault(block, {})
                pages[page] = pages.get(page, 0) + lines

    def _moved(self):
        """The shares of the pages, and of the lines, whose first use is not known, as they were moved with their
        allocation (mremap) since. They count as used before all others: so first touch has rather more than less."""
        pages = set().union(*self.pages)
        unseen = pages - self.faults.keys()
        lines = sum(stretch.get(page, 0) for stretch in self.by_page for page in unseen)
        return len(unseen) / len(pages), lines / self.total

    def by_site(self):
        """Lines of each site."""
        sums = {}
        for block, pages in self.by_block.items():
            sums[block.site] = sums.get(block.site, 0) + sum(pages.values())
        return sums

    def by_slice(self, site, step, count):
        """Lines of each of the first slices of a site."""
        sums = [0] * count
        for block, pages in self.by_block.items():
            for page, lines in pages.items() if block.site == site else ():
                at = slice_of(block, step, page)
                if at is not None and at < count:
                    sums[at] += lines
        return sums

    def bytes_by_site(self):
        """Most bytes that a rank had at each site at a look."""
        most = {}
        for look in self.looks:
            for blocks in look.blocks.values():
                sums = {}
                for block in blocks:
                    sums[block.site] = sums.get(block.site, 0) + block.size
                for site, size in sums.items():
                    most[site] = max(most.get(site, 0), size)
        return most

    def guided(self, sites, room, limits=None, parts=None):
        """The share of the lines from the fast tier where each rank has its part of `room` bytes there, which the
        allocations of these sites take in the order in which they are made. `limits`: of this room, the bytes that a
        site of a rank may have at most. `parts`: of the sites of which some slices are fast, those (Parts)."""
        room, limits, parts = room // self.n_ranks, limits or {}, parts or {}
        ranks = (self._guided_rank(pid, sites, room, limits, parts) for pid in self.looks[0].blocks)
        return sum(ranks) / self.total

    def _guided_rank(self, pid, sites, room, limits, parts):
        taken, left, served = {}, {**dict.fromkeys(sites, room), **limits, None: room}, 0
        for look in self.looks:
            alive = [block for block in look.blocks.get(pid, ()) if block.site in sites]
            for gone in taken.keys() - {*alive}:
                for key in (gone.site, None):
                    left[key] += taken[gone]
                del taken[gone]
            for block in sorted({*alive} - taken.keys(), key=lambda block: block.born):
                free = min(left[block.site], left[None])
                if block.site in parts:
                    taken[block], has = taken_slices(block, parts[block.site], free)
                else:
                    taken[block], has = taken_bytes(block, block.site in limits, free)
                for key in (block.site, None):
                    left[key] -= taken[block]
                pages = self.by_block.get(block, {}).items() if taken[block] else ()
                served += sum(lines for page, lines in pages if has(page))
        return served

    def _placed(self, room, wants):
        """The share of the lines from the fast tier where pages have it in the order of their first use, if
        wants(number of the rank's page), until it is full."""
        fast, counts, left, served = {}, {}, room // PAGE, 0
        for number, pages in enumerate(self.pages):
            gone = {page: fast.pop(page) for page in fast.keys() - pages}
            left += sum(gone.values())
            for page in sorted(pages - fast.keys(), key=lambda page: (self.faults.get(page, -1), page)):
                at = counts[page[0]] = counts.get(page[0], -1) + 1
                fast[page] = left > 0 and wants(at)
                left -= fast[page]
            was = fast | gone  # what has gone since the look before had its lines where it was
            served += sum(lines for page, lines in self.by_page[number].items() if was[page])
        return served / self.total

    def first_touch(self, room):
        return self._placed(room, lambda _: True)

    def interleave(self, room):
        return self._placed(room, lambda at: PATTERN[at % len(PATTERN)])

    def best_pages(self, room):
        """The share of the hottest pages of the whole run, wherever they are."""
        sums = {}
        for lines in self.by_page:
            for page, count in lines.items():
                sums[page] = sums.get(page, 0) + count
        return sum(sorted(sums.values(), reverse=True)[: room // PAGE]) / self.total


def read_faults(path):
    """The number of the last fault of each (pid, page). The pid is that of the process, in brackets: the one before it
    is the thread's."""
    found = re.finditer(r"\( *(\d+)\).* address=0x(\w+) ", Path(path).read_text(errors="replace"))
    return {(int(match[1]), int(match[2], 16) // PAGE): number for number, match in enumerate(found)}
