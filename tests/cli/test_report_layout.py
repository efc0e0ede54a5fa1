# SPDX-License-Identifier: Apache-2.0
"""How the pages of `report --html` lie on a phone and on a desk, measured in headless Chromium."""

import pytest
from installed import helper
from makerecords import GIB, record, tier, write

PHONE = {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def all_views(tmp_path_factory):
    """All views; two users whose names differ at their ends, each with an advice and a long warning."""
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
