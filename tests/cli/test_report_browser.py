# SPDX-License-Identifier: Apache-2.0
"""Tests the pages of `report --html` and `show --html` in headless Chromium."""

import re

import pytest
from htmlpages import make_report, rects


def test_a_tab_has_opened_what_it_was_told_to(pages, tab):
    """The tests below rely on a tab to wait until its page is loaded. Here one tab opens the pages in turn, twice."""
    page = tab(pages[0])
    for path in (*pages, *pages):
        page.open(path)
        assert page.evaluate("[document.readyState, location.href]") == ["complete", path.resolve().as_uri()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_load_without_complaint_or_request(pages, tab, scheme):
    for path in pages:
        page = tab(path, scheme=scheme)
        assert page.complaints() == []
        assert page.requests() == [path.resolve().as_uri()]
        colours = page.evaluate("['backgroundColor', 'color'].map((c) => getComputedStyle(document.body)[c])")
        light = [sum(map(int, re.findall(r"\d+", colour)[:3])) > 384 for colour in colours]
        assert light == [scheme == "light", scheme == "dark"]
        assert page.evaluate("window.hacked") is None
        assert page.evaluate("getComputedStyle(document.querySelector('.c0')).fill") not in ("", "rgb(0, 0, 0)")


COLUMN = """Array.from(document.querySelectorAll('#users tbody tr'), (row) => row.cells[%d].textContent)"""
BUTTON = "document.querySelectorAll('#users th button')[%d]"
ARIA = "document.querySelectorAll('#users th')[%d].getAttribute('aria-sort')"
USER, HOURS = 0, 3


def test_sorting(pages, tab):
    page = tab(pages[0])
    page.evaluate(f"{BUTTON % HOURS}.click()")
    hours = page.evaluate(COLUMN % HOURS)
    assert hours == ["8.000", "6.000", "5.000", "4.000", "3.000", "2.000", "2.000", "1.000", "-"]
    assert page.evaluate(ARIA % HOURS) == "descending"
    page.evaluate(f"{BUTTON % HOURS}.click()")
    assert page.evaluate(COLUMN % HOURS) == [*hours[-2::-1], "-"], "what is not known stays last"
    assert page.evaluate(ARIA % HOURS) == "ascending"
    page.evaluate(f"{BUTTON % USER}.focus()")
    page.press("Enter")
    assert page.evaluate(COLUMN % USER)[1:4] == ["alice", "ann", "bea"] and page.evaluate(ARIA % HOURS) is None
    assert page.evaluate("document.querySelector('#users tfoot td').textContent") == "Total"
    assert page.complaints() == []


def test_filtering(pages, tab):
    page = tab(pages[0])
    shown = "Array.from(document.querySelectorAll('#users tbody tr:not([hidden])'), (row) => row.cells[0].textContent)"
    page.evaluate("document.querySelector('#users input').focus()")
    page.type("A")
    assert set(page.evaluate(shown)) >= {"ann", "bea", "dan", "eva", "alice"}
    page.type("nn")
    assert page.evaluate(shown) == ["ann"]
    assert page.evaluate("document.querySelector('#users output').textContent") == "1 of 9 rows"
    page.type(" 1.000")
    assert page.evaluate(shown) == ["ann"], "each word has to be there"
    page.type(" none")
    assert page.evaluate(shown) == []
    assert page.complaints() == []


def test_keys_reach_everything(pages_folder, tab):
    """Tab goes to the link that skips to the content, then to the table's filter, to the table itself, which arrow keys
    scroll, and to the buttons in its heads."""
    page = tab(make_report(pages_folder, "keys.html", "--view", "users"))
    found = []
    for _ in range(14):
        page.press("Tab")
        found.append(page.evaluate("document.activeElement.tagName + document.activeElement.className"))
    assert found[:3] == ["Askip", "INPUT", "DIVscroll"] and found.count("BUTTON") == 9


def test_the_policy_lets_nothing_in(pages, tab):
    page = tab(pages[0])
    refused = page.evaluate(
        """new Promise((done) => {
            const refused = [];
            document.addEventListener('securitypolicyviolation', (event) => {
                if (refused.push(event.effectiveDirective) === 3) done(refused);
            });
            const add = (name, changes) => document.body.append(Object.assign(document.createElement(name), changes));
            add('script', { textContent: 'window.hacked = 1' });
            add('style', { textContent: 'body { display: none }' });
            add('img', { src: 'http://127.0.0.1:9/x.png' });
        })"""
    )
    assert sorted(refused) == ["img-src", "script-src-elem", "style-src-elem"]
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("getComputedStyle(document.body).display") == "block"


@pytest.mark.parametrize("width", [360, 768])
def test_a_phone_scrolls_tables_not_the_page(pages, tab, width):
    for path in pages:
        page = tab(path, width=width, height=700)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate("innerWidth") == width
    assert width > 360 or page.evaluate(
        "Array.from(document.querySelectorAll('.scroll')).some((d) => d.scrollWidth > d.clientWidth)"
    )


def test_without_script_the_page_is_complete(pages, tab):
    with_script, without = tab(pages[0]), tab(pages[0], has_script=False)
    count = "document.querySelectorAll('tbody tr:not([hidden])').length"
    assert without.evaluate("document.querySelectorAll('button, input').length") == 0
    assert with_script.evaluate(count) == without.evaluate(count) > 30
    assert without.evaluate("document.querySelector('#users thead th').textContent") == "User"


def test_a_job_has_its_memory_over_time(pages, tab):
    page = tab(pages[1])
    heads = page.evaluate("Array.from(document.querySelectorAll('h2'), (h) => h.textContent)")
    assert heads == ["Job 20", "Nodes", "Node n1", "Node n2", "Advice"]
    points = [each["data-tip"] for each in rects(pages[1])]
    assert points[-1] == "after 59 min 0 s: pmem 9.0 GiB"
    heights = page.evaluate(
        "Array.from(document.querySelectorAll('#node-2 .plot rect'), (r) => Number(r.getAttribute('height')))"
    )
    assert len(heights) == 60 and heights == sorted(heights) and heights[-1] == 100
    advice = page.evaluate("document.querySelector('.said li').textContent")
    assert advice.startswith("Mode fast would have done") and advice.endswith("(node n1, and 1 more of its nodes)")
    tip = """(() => {
        document.querySelector('#node-2 .plot rect').dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));
        return document.querySelector('#node-2 .tip').textContent;
    })()"""
    assert page.evaluate(tip) == "after 0.0 s: pmem 153.6 MiB"
