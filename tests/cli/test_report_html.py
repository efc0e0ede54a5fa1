# SPDX-License-Identifier: Apache-2.0
"""Tests the pages of `report --html` and `show --html` as texts: what they show, and how they are written."""

import json
import os
import re
import subprocess
import threading

import pytest
from htmlpages import HARMLESS, Outline, make_report, make_show, memory, rects
from installed import LIBEXEC, helper
from makerecords import GIB, record, write


def test_the_pages_are_whole_and_name_nothing_outside(pages):
    for path in pages:
        text = path.read_text()
        outline = Outline(text)
        assert outline.open == [] and text.startswith("<!DOCTYPE html>")
        names = [name for name, _ in outline.elements]
        assert names.count("script") == 1 and names.count("style") == 1
        assert not {"img", "link", "iframe", "object", "form", "base"} & set(names)
        for name, attributes in outline.elements:
            assert not any(key.startswith("on") or key in ("src", "style") for key in attributes), (name, attributes)
            assert attributes.get("href", "#").startswith("#")
        ids = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
        assert len(ids) == len(set(ids))
        links = {attributes["href"][1:] for name, attributes in outline.elements if name == "a"}
        assert links <= set(ids)
        policy = next(a["content"] for n, a in outline.elements if a.get("http-equiv") == "Content-Security-Policy")
        assert policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy


def test_the_tables_have_what_csv_has(pages_folder):
    outline = Outline(make_report(pages_folder, "users.html", "--view", "users").read_text())
    done = helper("hybridmem-report", "--records", pages_folder / "records", "--view", "users", "--json")
    found = json.loads(done.stdout)
    hours = [row["node_hours"] for row in found["rows"]]
    cells = [float(a["data-v"]) for n, a in outline.elements if n == "td" and "data-v" in a]
    assert all(hour in cells for hour in hours if hour is not None) and found["total"]["node_hours"] in cells
    text = " ".join(outline.words)
    assert HARMLESS in "".join(outline.words) and "not measured in 1 of 10 records" in text


def test_a_page_says_what_it_is_of(pages_folder):
    words = ("--since", "2025-03-02", "--user", "bea,cem", "--view", "jobs", "--top", "1")
    text = make_report(pages_folder, "some.html", *words).read_text()
    assert "Jobs that ended from 2025-03-02 00:00:00 UTC, of user bea or cem" in text
    assert "rows that are not shown: 1</p>" in text


def test_a_page_has_words_of_its_own(pages_folder):
    """A page may be mailed to people who do not know the command. So its notes name no option, and write the heads of
    columns as the page does, not in capitals as on a terminal."""
    text = make_report(pages_folder, "words.html", "--top", "1").read_text()
    assert "--" not in re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.DOTALL)
    assert "ALONE" not in text and "SHARED" not in text and "(Alone: the number of their records)" in text
    assert "It was not said how many bytes can be written to the memory in its life." in text
    terminal = helper("hybridmem-report", "--records", pages_folder / "records", "--view", "waste").stdout
    assert " ALONE " in terminal and "(ALONE: the number of their records)" in terminal


def test_figures_of_energy_are_called_energy(pages_folder):
    """The heads of tables, the figures at the top of the page and the titles of charts say "energy". The keys of CSV
    are unchanged."""
    energy = {"package_j": 7200.0, "memory_j": 3600.0, "node": {"seconds": 3600.0}, "source": "powercap"}
    write(pages_folder / "metered", record(1, energy=energy))
    where = ("--records", pages_folder / "metered")
    helper("hybridmem-report", *where, "--html", pages_folder / "energy.html")
    words = Outline((pages_folder / "energy.html").read_text()).words
    assert "Package energy by user, account" in words and words.count("Package energy") == 3
    assert words.count("Memory energy") == 1 and "Packages" not in words
    for view in ("jobs", "energy"):
        assert "  PACKAGE ENERGY" in helper("hybridmem-report", *where, "--view", view).stdout
    table = helper("hybridmem-report", *where, "--view", "energy", "--csv").stdout
    assert ",package_j,package_j_missing,memory_j," in table


def test_no_record_and_bad_lines_are_said(tmp_path):
    (tmp_path / "records" / "2025-03-01").mkdir(parents=True)
    (tmp_path / "records" / "2025-03-01" / "n1.jsonl").write_text("torn\n")
    text = make_report(tmp_path, "none.html").read_text()
    assert text.count("No record.") == 11 and "left out: 1 line (" in text  # one for each view


@pytest.mark.parametrize("program", ["report", "show"])
def test_a_page_that_cannot_be_written_is_an_error_and_leaves_nothing(pages_folder, tmp_path, program):
    words = ["20"] if program == "show" else []

    def run(path, status):
        where = ("--records", pages_folder / "records", "--html", path)
        return helper(f"hybridmem-{program}", *where, *words, status=status).stderr

    assert f"--html {tmp_path}/no/x.html: it cannot be written: No such file" in run(tmp_path / "no" / "x.html", 1)
    (tmp_path / "taken").mkdir()
    assert "it cannot be written: Is a directory" in run(tmp_path / "taken", 1)
    assert '"" is no file: name the page to write' in run("", 2)
    assert [each.name for each in tmp_path.iterdir()] == ["taken"]
    path = tmp_path / "page.html"
    path.write_text("old")
    run(path, 0)
    assert path.read_text().endswith("</html>\n") and path.stat().st_mode & 0o777 == 0o666 & ~current_mask()


@pytest.mark.parametrize("name", ["-", "link"])
def test_a_page_on_standard_output(pages_folder, tmp_path, name):
    """Standard output by the name "-", and by a link like /dev/stdout. The tests do not use /dev/stdout itself: a page
    that replaced it would harm everybody."""
    log, link = tmp_path / "log", tmp_path / "link"
    link.symlink_to("/proc/self/fd/1")
    log.write_text("before\n")
    for program, words in (("report", []), ("show", ["20"])):
        where = ("--records", pages_folder / "records", "--html", name)
        with log.open("a") as stream:
            command = [LIBEXEC / f"hybridmem-{program}", *map(str, where), *words]
            subprocess.run(command, stdout=stream, check=True, cwd=tmp_path)
    text = log.read_text()
    assert text.startswith("before\n<!DOCTYPE html>") and text.count("</html>\n") == 2
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "log"] and link.is_symlink()


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_is_followed(pages_folder, tmp_path, is_there):
    (tmp_path / "far").mkdir()
    page, link = tmp_path / "far" / "page.html", tmp_path / "link.html"
    link.symlink_to("far/page.html")
    if is_there:
        page.write_text("old")
    helper("hybridmem-report", "--records", pages_folder / "records", "--html", link)
    assert link.is_symlink() and page.read_text().endswith("</html>\n")
    assert [each.name for each in page.parent.iterdir()] == ["page.html"]
    around = tmp_path / "around.html"
    around.symlink_to(around)
    said = helper("hybridmem-report", "--records", pages_folder / "records", "--html", around, status=1).stderr
    assert "around.html: it cannot be written: Too many levels of symbolic links\n" in said


@pytest.mark.parametrize("is_linked", [True, False])
def test_a_pipe_is_written_into(pages_folder, tmp_path, is_linked):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    name = tmp_path / "link" if is_linked else pipe
    if is_linked:
        name.symlink_to(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    helper("hybridmem-show", "--records", pages_folder / "records", "--html", name, "20", timeout=60)
    assert pipe.is_fifo() and name.is_symlink() is is_linked
    reader.join(timeout=60)
    assert read and read[0].endswith(b"</html>\n")


def current_mask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_gap_in_the_samples_is_one_in_the_chart(tmp_path):
    made = memory(2 * GIB, 0)
    made["tiers"][0]["series"] = [GIB, None, 2 * GIB]
    made["tiers"][1]["series"] = [0, None, 0]
    write(tmp_path / "records", record(1, memory=made), record(2, memory=None), record(3, memory={"tiers": [7]}))
    path = make_show(tmp_path, "gap.html", "1")
    found = rects(path)
    assert [(each["x"], each["class"]) for each in found] == [("0.000", "c0"), ("1.000", "gap"), ("2.000", "c0")]
    assert (found[1]["height"], found[1]["data-tip"]) == ("100.000", "after 1 min 0 s: dram, pmem not measured")
    assert "not measured" in Outline(path.read_text()).words, "the legend has it"
    for job in ("2", "3"):
        assert "Memory by tier was not measured" in make_show(tmp_path, "none.html", job).read_text()


def test_an_impossible_size_has_no_part_in_a_charts_scale(tmp_path):
    """Such a size counts as not measured, as in the table. The other sizes make the scale."""
    made = memory(2 * GIB, 0)
    made["tiers"][0]["series"], made["tiers"][1]["series"] = [GIB, 2 * GIB], [(1 << 63) - 1, 0]
    write(tmp_path / "records", record(1, memory=made, exit_code=137), record(1, memory=made, node="n2"))
    path = make_show(tmp_path, "odd.html", "1")
    found = [(each["class"], each["y"], each["height"]) for each in rects(path)][:3]
    assert found == [("c0", "50.000", "50.000"), ("gap", "0.000", "50.000"), ("c0", "0.000", "100.000")]
    assert rects(path)[1]["data-tip"] == "after 0.0 s: pmem not measured"
    text = path.read_text()
    assert "at most 2.0 GiB" in text and "PiB" not in text and ">137 (signal 9)</td>" in text


def test_days_without_jobs_are_empty(pages_folder):
    found = rects(make_report(pages_folder, "days.html", "--view", "tiers"))
    days = {each["data-tip"].split(":")[0] for each in found}
    assert days == {f"2025-03-0{day}" for day in (1, 2, 3, 4, 5, 6, 8)}, "of day 7 there is no figure"


def test_days_that_the_chart_leaves_out_are_said(tmp_path):
    """The 400 days that end on 2025-03-01 begin on 2024-01-27."""
    ends = ("2023-05-01", "2024-01-26", "2024-01-26", "2024-01-27", "2025-03-01")
    made = (record(job, end=f"{day}T10:00:00.000Z", memory=memory(GIB, GIB)) for job, day in enumerate(ends, 1))
    write(tmp_path / "records", *made)
    path = make_report(tmp_path, "years.html", "--view", "tiers")
    assert {each["data-tip"].split(":")[0] for each in rects(path)} == {"2024-01-27", "2025-03-01"}
    said = ", the last 400 days: 2 earlier days with jobs are in the table alone"
    assert f"by the day on which jobs ended{said}</figcaption>" in path.read_text()
    path = make_report(tmp_path, "year.html", "--view", "tiers", "--since", "2024-01-27")
    assert "earlier days" not in path.read_text()


def test_a_page_has_the_peak_that_show_prints(pages_folder, tmp_path):
    """The peak of all tiers together, with its source; nothing for a job without one."""
    made = {**memory(GIB, GIB), "peak_source": "memory.peak of the job's cgroup"}
    write(tmp_path / "records", record(1, memory=made), record(2, memory=None), record(3, memory=7))
    line = "peak 2.0 GiB (memory.peak of the job's cgroup)"
    assert line in helper("hybridmem-show", "--records", tmp_path / "records", "1").stdout
    assert line in Outline(make_show(tmp_path, "peak.html", "1").read_text()).words
    for job in ("2", "3"):
        words = Outline(make_show(tmp_path, "no.html", job).read_text()).words
        assert f"Job {job}" in words and not any(word.startswith("peak ") for word in words)


def test_a_page_has_the_tiers_figures_that_show_prints(tmp_path):
    """The page and show have huge pages, if the record has them. The page alone has the capacity, for which a terminal
    has no room."""
    made = memory(3 * GIB, GIB)
    made["tiers"][0].update(hugetlb_bytes=2 * GIB + GIB // 2, capacity_bytes=16 * GIB)
    write(tmp_path / "records", record(1, memory=made))
    text = helper("hybridmem-show", "--records", tmp_path / "records", "1").stdout
    head, row = (re.split(r" {2,}", line.strip()) for line in re.findall(r".*TIER .*|.* dram +dram .*", text))
    words = Outline(make_show(tmp_path, "tiers.html", "1").read_text()).words
    words = words[words.index("Tier") :]
    titles, figures = words[: len(head) + 1], words[len(head) + 1 :][: len(head) + 1]
    assert (titles.pop(5), figures.pop(5)) == ("Capacity", "16.0 GiB")
    assert [title.upper() for title in titles] == head and head[-1] == "HUGETLB"
    assert figures == row and row[-1] == "2.5 GiB"


def test_a_page_of_many_runs_shows_few_nodes_and_has_all_in_tables(tmp_path):
    """An array may have thousands of tasks: with a chart for each, no browser could show the page."""
    tasks = [record(100 + i, array_job_id=100, array_task_id=i, memory=memory((i + 1) * GIB, 0)) for i in range(66)]
    write(tmp_path / "records", *tasks)
    outline = Outline(make_show(tmp_path, "array.html", "100").read_text())
    names = [attributes.get("id", "") for name, attributes in outline.elements if name == "section"]
    assert sum(name.startswith("node-") for name in names) == 64
    assert [name for name in names if name.startswith("nodes-")] == ["nodes-65", "nodes-66"]
    assert outline.words.count("In the table alone: 1 node. A page shows 64 nodes.") == 2
    assert "66.0 GiB" in outline.words
