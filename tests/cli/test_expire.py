# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem-expire: old records are removed with the users' copies, recent ones stay."""

import os
import time
from datetime import datetime, timedelta, timezone

from installed import helper
from makerecords import record, write


def day(age):
    return (datetime.now(timezone.utc) - timedelta(days=age)).strftime("%Y-%m-%d")


def age(path, days):
    os.utime(path, (time.time() - days * 86400,) * 2)


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_old_records_and_copies_are_removed(tmp_path):
    days = [day(each) for each in (900, 732, 729, 0)]
    write(tmp_path, *(record(job, end=f"{end}T12:00:00Z") for job, end in enumerate(days, 1)))
    for path in tmp_path.rglob("*.jsonl"):
        age(path, 729 if days[2] in path.parts else 0 if days[3] in path.parts else 900)
    for _ in range(2):
        helper("hybridmem-expire", "730", tmp_path)
    left = [f"{end}{rest}" for end in days[2:] for rest in ("", "/n1.jsonl")]
    assert names(tmp_path) == sorted([*left, "by-user", "by-user/1001", *(f"by-user/1001/{name}" for name in left)])


def test_what_is_not_an_old_record_stays(tmp_path):
    """A file of a young day, a young file, one of another name, and what is behind a symbolic link."""
    folder, outside = tmp_path / "records", tmp_path / "outside"
    old, young = day(900), day(10)
    for place in (folder / old, folder / young, folder / "by-user" / "1001" / f"{old}\n{old}", outside / old):
        place.mkdir(parents=True)
        (place / "n1.jsonl").touch()
        age(place / "n1.jsonl", 900)
    for name in ("new.jsonl", "notes"):
        (folder / old / name).touch()
    age(folder / old / "notes", 900)
    (folder / "by-user" / "1001" / old).symlink_to(outside / old)
    (folder / "by-user" / "1002").symlink_to(outside)
    (folder / old / "n2.jsonl").symlink_to(outside / old / "n1.jsonl")
    before = names(tmp_path)
    helper("hybridmem-expire", "730", folder)
    assert sorted({*names(tmp_path), f"records/{old}/n1.jsonl"}) == before
    assert not (folder / old / "n1.jsonl").exists()


def test_a_folder_that_is_not_there_yet_is_no_error(tmp_path):
    assert helper("hybridmem-expire", "730", tmp_path / "none").stderr == ""
    said = helper("hybridmem-expire", "730", tmp_path / "none" / "records", status=1).stderr
    assert "there is no folder for it, or it may not be seen" in said
    helper("hybridmem-expire", "730 days", tmp_path, status=2)
