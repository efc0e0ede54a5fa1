# SPDX-License-Identifier: Apache-2.0
"""Tests what tests/bench/guidance computes of a recorded run, on one that was made up: a rank with two allocations."""

import json
import struct
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "meter"))
import guidanceprofiles
import placements

PID, BASE = 7, 0x7F0000000000
HOT, COLD, LATE = "00000000000000a1", "00000000000000b2", "00000000000000c3"
SITES = (HOT, COLD, LATE)
FIRST_FRAME = 160  # of the page at BASE


def table():
    size = 4096 + placements.ENTRIES * placements.ENTRY_BYTES
    data = bytearray(size)
    struct.pack_into("=Q", data, 8, size)
    for number, site in enumerate(SITES):
        struct.pack_into("=Q", data, 4096 + number * placements.ENTRY_BYTES, int(site, 16))
    return bytes(data)


def blocks(*rows):
    """Rows are (page, pages, born, site), the first of each site."""
    head = struct.pack("=QqII", 0, PID, len(rows) + 1, 0).ljust(placements.BLOCKS_AT, b"\0")
    packed = [
        placements.BLOCK.pack(BASE + page * placements.PAGE, pages * placements.PAGE, born, 0, SITES.index(site), 0, 0)
        for page, pages, born, site in rows
    ]
    return head + b"".join(packed) + bytes(placements.BLOCK.size)


def frames(pages):
    words = (placements.PRESENT | FIRST_FRAME + page for page in range(pages))
    return struct.pack("=QQ", BASE, pages * placements.PAGE) + b"".join(struct.pack("=Q", word) for word in words)


def lines(counts):
    """A mark's file, by page."""
    data = b""
    for part in range(0, len(counts), placements.FRAMES):
        data += struct.pack("=Q", (FIRST_FRAME + part) // placements.FRAMES)
        for count in counts[part : part + placements.FRAMES]:
            data += struct.pack("=I", count) + bytes(4 * (placements.PAGE_LINES - 1))
    return data


@pytest.fixture
def run(tmp_path):
    """Sixteen pages, used in the order of their addresses: four of a cold allocation that was made first, four of a hot
    one, and after the first stretch two of a late one, in place of the last two of no allocation."""
    folder, counted = tmp_path / "code", tmp_path / "lines"
    (folder / "tables").mkdir(parents=True)
    counted.mkdir()
    (folder / f"tables/{PID}").write_bytes(table())
    first = [(0, 4, 1, COLD), (4, 4, 2, HOT)]
    for number, rows in enumerate((first, first, [*first, (14, 2, 3, LATE)])):
        look = folder / f"looks/{number}"
        look.mkdir(parents=True)
        (look / f"{PID}.maps").write_text(f"{BASE:x}-{BASE + 16 * placements.PAGE:x} rw-p 00000000 00:00 0\n")
        (look / f"{PID}.frames").write_bytes(frames(16))
        (look / f"{PID}.blocks").write_bytes(blocks(*rows))
    counts = [[0] * 16, [1] * 4 + [10] * 4 + [0] * 8, [2] * 4 + [20] * 4 + [0] * 6 + [3] * 2]
    for number, row in enumerate(counts):
        (counted / f"code.record.{number}.start").write_bytes(lines(row))
    faults = (
        f"x-9 ({PID:7}) [000] d..1. 1.0: page_fault_user: address=0x{BASE + at * 4096:x} ip=0x1" for at in range(16)
    )
    (folder / "faults").write_text("\n".join(faults))
    return placements.Run(folder, counted)


def test_lines_are_those_of_the_site_that_has_the_memory(run):
    assert run.by_site() == {COLD: 8, HOT: 80, LATE: 6}
    assert (run.total, run.of_nobody, run.of_no_block, run.footprint) == (94, 0, 0, 16 * placements.PAGE)


@pytest.mark.parametrize(
    ("sites", "pages", "served"),
    [({HOT}, 4, 80), ({HOT}, 3, 0), ({COLD, HOT}, 4, 8), ({HOT, LATE}, 6, 86), (set(), 16, 0)],
)
def test_chosen_sites_have_the_room_in_the_order_of_their_allocations(run, sites, pages, served):
    assert run.guided(sites, pages * placements.PAGE) == pytest.approx(served / 94)


@pytest.mark.parametrize(("room", "served"), [(1023, 0), (1024, 8)])
def test_an_allocation_within_a_page_that_finds_no_room_is_not_served(run, room, served):
    small = placements.Block(PID, 1, BASE + 100, 900, 0, COLD)
    run.looks = [placements.Look({}, set(), {PID: [small]})]
    run.by_block = {small: {BASE // placements.PAGE: 8}}
    assert run.guided({COLD}, room) == pytest.approx(served / 94)


@pytest.mark.parametrize(
    ("size", "placed"), [(1, 16), (17, 32), (100, 112), (1000, 1024), (4376, 5120), (16385, 20480), (131072, 131072)]
)
def test_small_allocations_take_what_the_arenas_have_for_them(size, placed):
    assert placements.placed_bytes(size) == placed


@pytest.mark.parametrize(("limit", "served"), [(4, 88), (3, 80)])
def test_a_limited_site_leaves_room_for_those_after_it(run, limit, served):
    assert run.guided({COLD, HOT}, 8 * placements.PAGE, {COLD: limit * placements.PAGE}) == pytest.approx(served / 94)


def parts(step, *slices):
    return placements.Parts(step, frozenset(slices))


def test_slices_of_a_site_have_the_room(run, monkeypatch):
    """By the order of allocations, and, of a large one, by their places in it."""
    size = 4 * placements.PAGE
    late = placements.Block(PID, 9, BASE, size, 5 * size, HOT)
    run.looks[2].blocks[PID].append(late)
    run.by_block[late] = {BASE // placements.PAGE: 7}
    assert run.by_slice(HOT, size, 8) == [80, 0, 0, 0, 0, 7, 0, 0]
    assert run.guided({HOT}, 2 * size, None, {HOT: parts(size, 0)}) == pytest.approx(80 / 94)
    assert run.guided({HOT}, 2 * size, None, {HOT: parts(size, 5, 6)}) == pytest.approx(7 / 94)
    assert run.guided({HOT}, 2 * size, None, {HOT: parts(0, 0)}) == 0
    monkeypatch.setattr(placements, "ARENA", size)
    monkeypatch.setattr(placements, "SLICES", 4)
    assert run.by_slice(HOT, 0, 4) == [27, 20, 20, 20] and run.by_slice(HOT, size, 4) == [0] * 4
    assert run.guided({HOT}, 2 * size, None, {HOT: parts(0, 1, 3)}) == pytest.approx(40 / 94)
    assert run.guided({HOT}, size // 2, None, {HOT: parts(0, 1, 3)}) == pytest.approx(40 / 94)
    assert run.guided({HOT}, size // 2 - 1, None, {HOT: parts(0, 1, 3)}) == pytest.approx(40 / 94)
    assert run.guided({HOT}, size // 4, None, {HOT: parts(0, 1, 3)}) == pytest.approx(20 / 94)
    assert run.guided({HOT}, size // 4 - 1, None, {HOT: parts(0, 1, 3)}) == 0


def test_first_touch_fills_the_room_in_the_order_of_the_faults(run):
    assert run.first_touch(4 * placements.PAGE) == pytest.approx(8 / 94)
    assert run.first_touch(5 * placements.PAGE) == pytest.approx(28 / 94)
    assert (run.moved_pages, run.moved) == (0, 0)


def test_pages_whose_process_the_trace_does_not_tell_have_no_first_use(run):
    faults = run.folder / "faults"
    faults.write_text(faults.read_text().replace(f"({PID:7}) ", "")[: -len("\n")])
    broken = placements.Run(run.folder, run.folder.parent / "lines")
    assert (broken.moved_pages, broken.moved) == (1, 1)


def test_lines_of_pages_that_have_gone_were_where_the_pages_were(run):
    run.by_page[2][PID, BASE // placements.PAGE] = 2
    run.pages[2] = run.pages[1] - {(PID, BASE // placements.PAGE)}
    assert run.first_touch(1 * placements.PAGE) == pytest.approx(3 / 94)


def test_interleaving_has_half_of_the_pages_until_the_room_is_full(run):
    assert run.interleave(16 * placements.PAGE) == pytest.approx((4 + 40 + 0) / 94)
    assert run.interleave(3 * placements.PAGE) == pytest.approx((4 + 20) / 94)


def test_the_hottest_pages_are_the_bound(run):
    assert run.best_pages(2 * placements.PAGE) == pytest.approx(40 / 94)


def test_profiles_that_are_computed_have_the_lines(run, tmp_path):
    """As bandwidth isolation has them, a site's slices are those of the samples."""
    slices = {"step_bytes": 2 * placements.PAGE, "extent_bytes": 4 * placements.PAGE, "accesses": [7, 0], "samples": 7}
    sites = [{"id": HOT, "class_bytes": None, "slices": slices}, {"id": COLD, "class_bytes": None, "slices": None}]
    sampled, exact, isolated = (tmp_path / name for name in ("sampled", "exact", "isolated"))
    sampled.write_text(json.dumps({"sites": sites, "sampling": {"source": "clock"}}))
    guidanceprofiles.write_exact(run, sampled, exact)
    guidanceprofiles.write_mbi(exact, sampled, isolated)
    profile, of_mbi = json.loads(exact.read_text()), json.loads(isolated.read_text())
    assert [(site["accesses"], site["samples"]) for site in profile["sites"]] == [(80, 80), (8, 8)]
    assert profile["sites"][0]["slices"] == slices | {"accesses": [40, 40], "samples": 80}
    assert of_mbi["sites"][0]["slices"] == slices
    assert profile["sampling"] == {"source": "clock", "samples": 94, "elsewhere": 0, "lost": 0}
    assert [(site["accesses"], site["samples"]) for site in of_mbi["sites"]] == [(80, None), (8, None)]
    assert of_mbi["sampling"] == profile["sampling"] | {"source": "mbi", "samples": None}


def test_what_was_measured_of_size_classes_is_of_no_site(tmp_path):
    counts = {"reads": 4, "writes": 1, "accesses": 5}
    sites = [{"class_bytes": 64, **counts}, {"class_bytes": 32, "accesses": None}, {"class_bytes": None, **counts}]
    measured, placed = tmp_path / "measured", tmp_path / "placed"
    measured.write_text(json.dumps({"sites": sites, "sampling": {"elsewhere": 2}}))
    guidanceprofiles.write_without_classes(measured, placed)
    profile = json.loads(placed.read_text())
    assert [site["accesses"] for site in profile["sites"]] == [None, None, 5]
    assert profile["sampling"]["elsewhere"] == 7
