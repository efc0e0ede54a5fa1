# SPDX-License-Identifier: Apache-2.0
"""Tests the layout of `report --html` on a phone and on a desktop, measured in headless Chromium."""

import json

import pytest
from installed import helper
from makepicture import write_month
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
def test_captions_are_for_screen_readers_alone(all_views, tab, width):
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


NAMES = """Array.from(document.querySelectorAll("#%s tbody .whole"), (name) => ({
    text: name.textContent, lines: Math.round(name.offsetHeight / parseFloat(getComputedStyle(name).lineHeight)),
    is_seen: name.scrollWidth <= name.clientWidth && name.scrollHeight <= name.clientHeight,
}))"""
OUTSIDE = "(() => { const all = document.querySelector('#jobs .scroll'); return all.scrollWidth - all.clientWidth; })()"
PAPER = {"media": "print", "features": []}


@pytest.mark.parametrize("is_paper", [False, True])
def test_long_names_in_tables_are_never_cut(all_views, tab, is_paper):
    page = tab(all_views, width=1280, height=800)
    if is_paper:
        page.call("Emulation.setEmulatedMedia", **PAPER)
    names = page.evaluate(NAMES % "jobs")
    assert {name["text"] for name in names} == {f"a-very-long-user-name-of-somebody-{number}" for number in (1, 2)}
    assert all(name["is_seen"] and name["lines"] <= 3 for name in names), names
    assert page.evaluate(OUTSIDE) <= 0, "all columns are seen on a desk"
    names = page.evaluate(NAMES % "users")
    assert names and all(name["is_seen"] and name["lines"] == 1 for name in names), "here is room"


@pytest.fixture(scope="module")
def month(tmp_path_factory):
    """The 300 jobs of the administrator guide's picture. Two accounts have long names that differ in the middle."""
    folder = tmp_path_factory.mktemp("month")
    write_month(folder / "plain")
    names = {"physics": "climate-model-atmosphere-2026", "climate": "climate-model-stratosphere-2026"}
    for path in sorted((folder / "plain").glob("2*/*.jsonl")):
        made = [json.loads(line) for line in path.read_text().splitlines()]
        write(folder / "records", *({**one, "account": names.get(one["account"], "chemistry")} for one in made))
    helper("hybridmem-report", "--records", folder / "records", "--html", folder / "month.html")
    return folder / "month.html"


def test_a_table_of_many_columns_fits_a_desk(month, tab):
    page = tab(month, width=1280, height=800)
    assert page.evaluate("document.querySelectorAll('#jobs thead th').length") == 15
    assert page.evaluate(OUTSIDE) <= 0
    names = page.evaluate(NAMES % "jobs")
    assert len({name["text"] for name in names}) == 2 and all(name["is_seen"] for name in names)
    assert {name["lines"] for name in page.evaluate(NAMES % "accounts")} == {1}


CUT = """Array.from(document.querySelectorAll("#accounts .long, #energy .long"), (name) =>
    name.firstChild.scrollWidth > name.firstChild.clientWidth)"""


@pytest.mark.parametrize("width", [390, 1280])
def test_names_beside_bars_are_whole_where_there_is_room(month, tab, width):
    found = tab(month, width=width, height=800).evaluate(CUT)
    assert found and not any(found)


LABELS = """Array.from(document.querySelectorAll("#failures .names"), (names) => {
    const list = names.closest("ul").getBoundingClientRect(), box = names.getBoundingClientRect();
    const isSeen = names.scrollWidth <= names.clientWidth && box.right <= list.right + 1;
    return [names.textContent.trim(), names.title, isSeen,
        getComputedStyle(names).whiteSpace, names.querySelectorAll(".long").length];
})"""


@pytest.mark.parametrize("width", [390, 1280])
def test_sentences_above_bars_are_never_cut(all_views, tab, width):
    found = tab(all_views, width=width, height=800).evaluate(LABELS)
    [(text, title, is_seen, wrapping, parts)] = found
    assert text.replace(" ", "") == title.replace(" ", "") and title.endswith("how to mend it N")
    assert (is_seen, wrapping, parts) == (True, "normal", 0)


LINES = """[["thead th", "Bottom"], ["tfoot td", "Top"]].map(([cells, side]) => {
    const style = getComputedStyle(document.querySelector(`#users ${cells}`));
    return [style.position, style[`border${side}Width`], style.borderCollapse];
})"""


def test_rows_that_stay_keep_their_lines(all_views, tab):
    """The head and the total stay while the rows scroll. So they share no border with the rows' cells, as it would
    scroll away with the rows."""
    found = tab(all_views, width=1280, height=800).evaluate(LINES)
    assert found == [["sticky", "1px", "separate"], ["sticky", "2px", "separate"]]


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
