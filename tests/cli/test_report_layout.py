# SPDX-License-Identifier: Apache-2.0
"""Tests the layout of `report --html` on a phone and on a desktop, measured in headless Chromium."""

import pytest
from installed import helper
from makerecords import GIB, record, tier, write


@pytest.fixture(scope="module")
def all_views(tmp_path_factory):
    """All views; two users whose names differ at their ends, each with advice and a long warning."""
    folder = tmp_path_factory.mktemp("layout")
    tiers = [tier("dram", [0], 0, 0, capacity=16 * GIB), tier("pmem", [1], 8 * GIB, 8 * GIB, capacity=99 * GIB)]
    warning = (
        "a warning that has as many words as most of them have, with what was wrong on the node and how to mend it"
    )
    for number in (1, 2):
        base = {"user": f"a-very-long-user-name-of-somebody-{number}", "uid": number, "account": "an-account-as-long"}
        base.update(mode="interleave", memory={"peak_bytes": 8 * GIB, "tiers": tiers}, warnings=[f"{warning} {number}"])
        base.update(traffic={"tiers": [{"name": "pmem", "read_bytes": GIB, "write_bytes": 3 * GIB}], "source": "perf"})
        base.update(energy={"package_j": 1e6, "memory_j": 1e5, "node": {"seconds": 3600.0}, "source": "powercap"})
        write(folder / "records", *(record(10 * number + job, **base) for job in range(5)))
    path = folder / "all.html"
    helper("hybridmem-report", "--records", folder / "records", "--html", path, "--endurance", "1T")
    return path


OVERLAPS = """Array.from(document.querySelectorAll("table"), (table) => {
    const caption = table.caption.getBoundingClientRect();
    return Array.from(table.querySelectorAll("td, th"), (cell) => {
        const box = cell.getBoundingClientRect();
        const width = Math.min(box.right, caption.right) - Math.max(box.left, caption.left);
        const height = Math.min(box.bottom, caption.bottom) - Math.max(box.top, caption.top);
        return width > 1 && height > 1 ? table.caption.textContent : "";
    });
}).flat().filter(Boolean)"""


@pytest.mark.parametrize("width", [390, 1280])
def test_captions_are_for_those_who_listen(all_views, tab, width):
    page = tab(all_views, width=width, height=800)
    captions = page.evaluate("Array.from(document.querySelectorAll('caption'), (c) => c.textContent)")
    assert len(captions) == 11 and all(captions)
    assert page.evaluate(OVERLAPS) == []


ROWS = """Array.from(document.querySelectorAll("#%s tbody tr"), (row) => ({
    height: row.getBoundingClientRect().height,
    prose: row.querySelector(".prose").getBoundingClientRect().width,
    is_seen: Array.from(row.cells, (cell) => cell.getBoundingClientRect().right).every((right) => right <= 390),
}))"""
BODY = "getComputedStyle(document.querySelector('#%s tbody')).display"


@pytest.mark.parametrize("view", ["advice", "failures"])
def test_a_phone_has_sentences_below_the_rest_of_their_row(all_views, tab, view):
    page = tab(all_views, width=390, height=800)
    rows = page.evaluate(ROWS % view)
    assert rows and all(row["height"] < 200 and row["prose"] > 250 and row["is_seen"] for row in rows), rows
    said = page.evaluate(f"getComputedStyle(document.querySelector('#{view} td'), '::before').content")
    first = page.evaluate(f"document.querySelector('#{view} th').textContent")
    assert said.startswith(f'"{first}')
    page.evaluate(f"document.querySelectorAll('#{view} tr').forEach((row) => {{ row.hidden = true; }})")
    assert page.evaluate(f"document.querySelector('#{view} tbody').offsetHeight") == 0, "a filter still hides rows"
    desk = tab(all_views, width=1280, height=800)
    assert page.evaluate(BODY % view) == "block" and desk.evaluate(BODY % view) == "table-row-group"


NAMES = """Array.from(document.querySelectorAll("#jobs tbody tr"), (row) => {
    const name = row.querySelector(".long"), end = name.lastChild.getBoundingClientRect();
    return {
        text: name.textContent, title: name.title, end: name.lastChild.textContent, height: row.offsetHeight,
        is_cut: name.firstChild.scrollWidth > name.firstChild.clientWidth,
        is_seen: end.width > 0 && end.right <= name.getBoundingClientRect().right + 1,
    };
})"""
OUTSIDE = "(() => { const all = document.querySelector('#jobs .scroll'); return all.scrollWidth - all.clientWidth; })()"


def test_long_names_are_cut_in_the_middle(all_views, tab):
    page = tab(all_views, width=1280, height=800)
    names = page.evaluate(NAMES)
    assert {name["text"] for name in names} == {f"a-very-long-user-name-of-somebody-{number}" for number in (1, 2)}
    assert {name["end"] for name in names} == {"mebody-1", "mebody-2"}
    for name in names:
        assert name["title"] == name["text"] and name["is_cut"] and name["is_seen"] and name["height"] < 45, name
    assert page.evaluate(OUTSIDE) <= 0, "all columns are seen on a desk"


BARS = """Array.from(document.querySelectorAll("#waste .names"), (names) => {
    const right = names.getBoundingClientRect().right;
    return [names.title, ...Array.from(names.querySelectorAll(":scope > span"), (part) => {
        const end = (part.querySelector(".long > :last-child") || part);
        return end.getBoundingClientRect().right <= right + 1 ? end.textContent : "";
    })];
})"""


@pytest.mark.parametrize("width", [390, 1280])
def test_bars_of_like_names_are_told_apart(all_views, tab, width):
    users = [f"a-very-long-user-name-of-somebody-{number}" for number in (1, 2)]
    found = sorted(tab(all_views, width=width, height=800).evaluate(BARS))
    assert found == [[f"{user} interleave", user[-8:], "interleave"] for user in users]
