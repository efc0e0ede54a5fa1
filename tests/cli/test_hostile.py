# SPDX-License-Identifier: Apache-2.0
"""Tests what root's commands make of files and processes of users who mean harm."""

import sys

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
