# SPDX-License-Identifier: Apache-2.0
"""Tests what root's commands make of files and processes of users who mean harm."""

import os
import sys
from pathlib import Path

import pytest
from installed import DATA

sys.path.insert(0, str(DATA / "python"))
from hybridmem import running, whole


def test_an_environment_of_any_size_is_read_in_part(tmp_path, monkeypatch):
    """A process can make its environment look as large as it likes, without having the memory."""
    process = tmp_path / "4711"
    process.mkdir()
    (process / "cgroup").write_text("0::/system.slice/slurmstepd.scope/x/step_0/user/task_0\n")
    with (process / "environ").open("wb") as stream:
        stream.write(b"A=1\0SLURM_JOB_ID=12\0")
        stream.truncate(1 << 42)
    monkeypatch.setattr(running, "PROC", str(tmp_path))
    assert running.has_job(12, 0)
    assert not running.has_job(13, 0)


def test_a_draft_that_became_a_link_gets_no_rights(tmp_path):
    """A user who owns the folder can put a link in the place of the draft."""
    secret, draft, target = (tmp_path / name for name in ("secret", ".draft", "target"))
    secret.write_text("keys")
    secret.chmod(0o600)
    draft.symlink_to(secret)
    with pytest.raises(OSError, match="symbolic links"):
        whole.settle(draft, target)
    assert secret.stat().st_mode & 0o777 == 0o600 and not target.exists()


def test_a_link_of_others_in_a_shared_folder_is_not_followed(tmp_path, monkeypatch):
    """As open() with O_CREAT refuses it. The caller, the owner of the link and that of the folder are three users."""
    shared, secret = tmp_path / "shared", tmp_path / "secret"
    shared.mkdir()
    shared.chmod(0o1777)
    (shared / "page.html").symlink_to(secret)
    own, look = os.geteuid(), Path.stat

    def stat(path, **words):
        found = look(path, **words)
        return os.stat_result((*found[:4], own + 2, *found[5:])) if path == shared else found

    monkeypatch.setattr(Path, "stat", stat)
    whole.write(shared / "page.html", b"page")  # one's own link; its target is missing
    assert secret.read_bytes() == b"page" and (shared / "page.html").is_symlink()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    for _ in range(2):
        with pytest.raises(whole.records.Failure, match="Permission denied"):
            whole.write(shared / "page.html", b"other")
        assert secret.read_bytes() == b"page"
        (shared / "page.html").unlink()
        (shared / "page.html").write_bytes(b"a file")  # nor a file of others


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another user")
def test_a_file_that_root_replaces_stays_its_owners(tmp_path):
    target = tmp_path / "page.html"
    target.write_bytes(b"old")
    os.chown(target, 4242, 4243)
    whole.write(target, b"new")
    assert (target.stat().st_uid, target.stat().st_gid, target.read_bytes()) == (4242, 4243, b"new")
