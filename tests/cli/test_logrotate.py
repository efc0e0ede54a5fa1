# SPDX-License-Identifier: Apache-2.0
"""Tests the logrotate snippet with a real logrotate: old records are removed with the users' copies, recent ones
stay."""

import os
import shutil
import subprocess
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

from makerecords import record, write

SNIPPET = Path(__file__).resolve().parents[2] / "etc" / "logrotate"
INSTALLED = "/var/lib/hybridmem/records"


def rotate(folder, config):
    """Runs logrotate as if it had seen every file long ago."""
    state = config.with_name("state")
    seen = "".join(f'"{path}" 2000-1-1-0:0:0\n' for path in sorted(folder.glob("2*/*.jsonl")))
    state.write_text("logrotate state -- version 2\n" + seen)
    state.chmod(0o600)
    program = shutil.which("logrotate", path="/usr/sbin:" + os.environ["PATH"])
    assert program, "install logrotate"
    done = subprocess.run([program, "--state", state, config], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_old_records_and_copies_are_removed(tmp_path):
    folder = tmp_path / "records"
    config = tmp_path / "logrotate"
    assert INSTALLED in SNIPPET.read_text()
    config.write_text(SNIPPET.read_text().replace(INSTALLED, str(folder)))
    config.chmod(0o644)
    now = datetime.now(timezone.utc)
    ages = {
        job: (now - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ") for job, days in ((1, 900), (2, 100), (3, 0))
    }
    write(folder, *(record(job, end=end) for job, end in ages.items()))
    for job, days in ((1, 900), (2, 100)):
        for path in folder.rglob(f"{ages[job][:10]}/*.jsonl"):
            os.utime(path, (time.time() - days * 86400,) * 2)
    (folder / ages[3][:10] / "n1.jsonl").unlink()
    for _ in range(2):
        rotate(folder, config)
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    young, today = ages[2][:10], ages[3][:10]
    assert left == sorted(
        [
            young,
            f"{young}/n1.jsonl",
            today,
            "by-user",
            "by-user/1001",
            *(f"by-user/1001/{day}" for day in (young, today)),
            *(f"by-user/1001/{day}/n1.jsonl" for day in (young, today)),
        ]
    )
