# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of pages: records, pages of them, and what is in a page."""

from html.parser import HTMLParser
from pathlib import Path

from installed import helper
from makerecords import GIB, record, tier, write

EVIL = """<script>window.hacked = 1</script>"'><img src=x onerror="window.hacked = 1">&amp;\x1b[2J"""
HARMLESS = EVIL.replace("\x1b", "\\x1b")  # as it is shown


def memory(fast, slow):
    tiers = [tier("dram", [0], fast, fast, capacity=16 * GIB), tier("pmem", [1], slow, slow, capacity=99 * GIB)]
    return {"peak_bytes": fast + slow, "interval_s": 60.0, "tiers": tiers, "source": "memory.numa_stat"}


def write_records(made):
    """Writes a record for each of eight users, and two of job 20, which ran on two nodes. One user has no measurements,
    and one has a name that is an attack."""
    for number, user in enumerate(("ann", "bea", "cem", "dan", "eva", "fox", "gus", EVIL), 1):
        base = {"user": user, "uid": 1000 + number, "end": f"2025-03-0{number}T10:00:00.000Z"}
        base.update(elapsed_s=3600.0 * number, memory=memory(number * GIB, GIB), account=user, warnings=[user])
        if user == "gus":
            base.update(elapsed_s=None, memory=None)
        write(made / "records", record(number, **base))
    write(made / "records", record(20, node="n1", mode="interleave", memory=memory(0, 8 * GIB)))
    write(
        made / "records",
        record(20, node="n2", mode="interleave", memory=memory(0, 9 * GIB), request=EVIL, cluster="test"),
    )
    return made


def make_report(folder, name, *words, **options):
    path = folder / name
    helper("hybridmem-report", "--records", folder / "records", "--html", path, *words, **options)
    return path


def make_show(folder, name, job):
    path = folder / name
    helper("hybridmem-show", "--records", folder / "records", "--html", path, job)
    return path


def make_pages(folder):
    """Makes three pages: all views, a job of two nodes, and the job of a user whose name is an attack."""
    return make_report(folder, "all.html"), make_show(folder, "show.html", "20"), make_show(folder, "evil.html", "8")


class Outline(HTMLParser):
    """A page's elements, with their attributes, and its text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.words = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in ("meta", "rect", "line"):
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.elements.append((name, dict(attributes)))

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        self.words.append(data)


def rects(path):
    return [a for name, a in Outline(Path(path).read_text()).elements if name == "rect" and "data-tip" in a]
