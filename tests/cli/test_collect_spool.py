# SPDX-License-Identifier: Apache-2.0
"""Tests the folder of hybridmem-collect (spool_dir): which files are entries (one for each job that ended), what is set
aside, what is removed, and who may use it."""

import json
import os

import pytest
from collecting import END, Slurm, entry, leave, row
from hybridmem import collect, failure, moments, spool
from makerecords import record, write


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is torn"),
        ("{", "it is torn"),
        ("[]", "it is of another version"),
        ('{"spool": 2}', "it is of another version"),
        ('{"spool": 1}', "job_id is missing or wrong"),
        ("[" * 100000, "it is torn"),
        (" " * (spool.MOST_BYTES + 1), f"it is larger than {spool.MOST_BYTES} bytes"),
    ],
)
def test_files_that_are_no_entries(bench, text, why):
    (bench.folder / f"7.{END}.json").write_text(text)
    bench.collect()
    assert bench.left() == [] and bench.aside() == {f"7.{END}.json": f"{why}\n"}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"job_id": 8}, "it is not of the job and the end that its name says"),
        ({"nodes": "-x"}, "nodes is missing or wrong"),
        ({"nodes": "n1 n2"}, "nodes is missing or wrong"),
        ({"nodes": "../n1"}, "nodes is missing or wrong"),
        ({"cluster": "a b"}, "cluster is missing or wrong"),
        ({"cluster": "a=b"}, "cluster is missing or wrong"),
        ({"uid": True}, "uid is missing or wrong"),
        ({"uid": -1}, "uid is missing or wrong"),
        ({"end_s": 1 << 40}, "end_s is missing or wrong"),
        ({"start_s": 0}, "start_s is missing or wrong"),
        ({"array_job_id": 3}, "array_job_id and array_task_id do not go together"),
        ({"het_job_offset": 3}, "het_job_id and het_job_offset do not go together"),
        ({"asked": 1}, "asked is missing or wrong"),
    ],
)
def test_entries_out_of_their_form(changes, why):
    with pytest.raises(spool.Unreadable, match=why):
        spool.parse(json.dumps({**entry(), **changes}), f"7.{END}.json")


def test_links_and_folders_are_no_entries(bench, tmp_path):
    (tmp_path / "secret").write_text("root's")
    (bench.folder / f"7.{END}.json").symlink_to(tmp_path / "secret")
    (bench.folder / f"8.{END}.json").mkdir()
    bench.collect()
    assert bench.left() == [] and sorted(bench.aside()) == [f"7.{END}.json", f"8.{END}.json"]
    assert (tmp_path / "secret").read_text() == "root's"


def test_old_drafts_and_too_much_that_is_set_aside(bench, monkeypatch):
    monkeypatch.setattr(spool, "MOST_ASIDE", 2)
    bench.slurm = Slurm(*(row(job, end=END + job, text="other") for job in range(1, 5)))
    leave(bench.folder, *(entry(job, end_s=END + job) for job in range(1, 5)))
    write(bench.records, *(record(job) for job in range(1, 5)))
    for name, age in ((".1.draft", spool.DRAFT_S + 9), (".2.draft", 0)):
        (bench.folder / name).touch()
        os.utime(bench.folder / name, (bench.clock.now - age, bench.clock.now - age))
    bench.collect()
    assert len(bench.aside()) == 4
    bench.collect()
    assert sorted(bench.aside()) == [f"3.{END + 3}.json", f"4.{END + 4}.json"]
    assert len(list((bench.folder / "aside").iterdir())) == 4
    assert bench.said[-1] == f"removed 2 of the entries in {bench.folder}/aside: it keeps 2 for 90 days"
    assert not (bench.folder / ".1.draft").exists() and (bench.folder / ".2.draft").exists()


def age(path, bench, seconds):
    os.utime(path, (bench.clock.now - seconds,) * 2, follow_symlinks=False)


def test_what_was_set_aside_long_ago_is_removed(bench):
    """An entry is removed when the file of its reason (.why) is old. An old reason without an entry is removed, too:
    its entry was moved back. Other files stay."""
    aside = bench.folder / "aside"
    aside.mkdir()
    limit = spool.KEEP_ASIDE_S
    for name, seconds in (("1.5.json", limit + 9), ("2.5.json", limit - 9), ("notes", limit + 9)):
        leave(aside, entry(int(name[0]), end_s=5)) if name.endswith(".json") else (aside / name).touch()
        (aside / f"{name}.why").touch()
        age(aside / f"{name}.why", bench, seconds)
    (aside / "3.5.json.why").touch()
    age(aside / "3.5.json.why", bench, limit + 9)
    bench.collect()
    assert sorted(path.name for path in aside.iterdir()) == ["2.5.json", "2.5.json.why", "notes", "notes.why"]
    assert bench.said == [f"removed 1 of the entries in {aside}: it keeps 10000 for 90 days"]


def test_what_killed_processes_left_is_removed(bench):
    """Drafts are removed only when they are old, as a living process may be writing one; notes of failures
    (.failed) are removed when their entry is gone."""
    bench.clock.now = END - 10  # the wait for the job's record is not over, so the entry stays
    leave(bench.folder, entry())
    (bench.folder / "aside").mkdir()
    for name, seconds in ((".5.draft", spool.DRAFT_S + 9), (".6.draft", 9), ("aside/.7.json.draft", spool.DRAFT_S + 9)):
        (bench.folder / name).touch()
        age(bench.folder / name, bench, seconds)
    for name in (f"7.{END}.json.failed", f"8.{END}.json.failed"):
        (bench.folder / name).touch()
    collector = bench.collector()
    collector.visit_all()
    left = {".6.draft", "aside", f"7.{END}.json", f"7.{END}.json.failed"}
    assert {path.name for path in bench.folder.iterdir()} == left
    assert list((bench.folder / "aside").iterdir()) == []
    bench.clock.now += spool.DRAFT_S
    collector.visit_all()
    assert not (bench.folder / ".6.draft").exists()


def test_files_that_cannot_be_removed_stop_nothing_else(bench):
    """Folders in place of files: each is reported once, and everything else is done."""
    stuck = [bench.folder / name for name in (".5.draft", "9.5.json.failed", "aside/1.5.json")]
    for path in stuck:
        path.mkdir(parents=True)
    (bench.folder / "aside" / "1.5.json.why").touch()
    for path in (stuck[0], bench.folder / "aside" / "1.5.json.why"):
        age(path, bench, spool.KEEP_ASIDE_S + 9)
    write(bench.records, record(7))
    collector = bench.collector()
    for _ in range(3):
        leave(bench.folder, entry())
        collector.visit_all()
        bench.clock.now += collect.TIDY_S
        assert bench.left() == []
    assert len(bench.said) == 3 and all(any(f"'{path}'" in line for line in bench.said) for path in stuck)
    assert (bench.folder / "aside" / "1.5.json.why").exists(), "an entry never lies there without its reason"


def test_a_folder_that_is_away_for_a_while(bench):
    """Each failure is reported once, and its end."""
    leave(bench.folder, entry())
    collector = bench.collector()
    away = bench.folder.with_name("away")
    for _ in range(2):
        bench.folder.rename(away)
        for _ in range(3):
            collector.visit_all()
        away.rename(bench.folder)
        collector.visit_all()
    away = f"[Errno 2] No such file or directory: '{bench.folder}'"
    assert bench.said == [away, f"goes on again, after: {away}"] * 2


def test_an_entry_that_an_administrator_removes_meanwhile(bench):
    leave(bench.folder, entry())
    write(bench.records, record(7))
    collector = bench.collector()
    bench.slurm.write = lambda *_: (bench.folder / f"7.{END}.json").unlink()
    collector.visit_all()
    assert bench.left() == [] and bench.said == []


def test_an_entry_from_the_future(bench):
    (name,) = leave(bench.folder, entry(end_s=END + 2 * moments.AHEAD_S))
    bench.collect()
    assert bench.aside() == {name: "the job's end is in the future: look at the clock of slurmctld's host\n"}


def test_a_folder_aside_that_has_gone(bench):
    """An entry that cannot be set aside stays, and is reported."""
    leave(bench.folder, entry())
    write(bench.records, record(7))
    bench.slurm = Slurm(row(text="other"))
    collector = bench.collector()
    (bench.folder / "aside").rmdir()
    collector.visit_all()
    assert bench.left() and len(bench.said) == 1 and "No such file or directory" in bench.said[0]


def test_only_one_collector_has_the_folder(bench):
    first, second = spool.Spool(bench.folder), spool.Spool(bench.folder)
    first.open()
    with pytest.raises(failure.Failure, match=f"another hybridmem-collect has {bench.folder}"):
        second.open()
    os.close(first.holder)
    second.open()


def test_folders_that_are_not_trusted(bench, tmp_path):
    bench.folder.chmod(0o770)
    link = tmp_path / "link"
    link.symlink_to(bench.records)
    for path, said in (
        (bench.folder, "others than its owner may write in"),
        (link, "is no folder"),
        (tmp_path / "none", "No such file or directory"),
    ):
        with pytest.raises(failure.Failure, match=said):
            spool.Spool(path).open()
