# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem's systemd units, without running systemd: systemd-analyze reads them, and says how exposed a service
is."""

import re
import subprocess

import pytest
from installed import PREFIX, has_memmode

FOLDER = PREFIX / "lib" / "systemd" / "system"
SERVICES = ["collect", "expire", "export", "ingest", *(["memmode"] if has_memmode else []), "reap", "wipe@"]
EXPOSURE = re.compile(r"^# Exposure \(systemd-analyze security\): (\d\.\d) at most\.", re.MULTILINE)


def analyze(*words):
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False)


def unit(name):
    return FOLDER / f"hybridmem-{name}.service"


def test_all_services_are_tested():
    assert sorted(FOLDER.glob("*.service")) == sorted(map(unit, SERVICES))


@pytest.mark.parametrize("path", [*map(unit, SERVICES), *FOLDER.glob("*.timer")], ids=lambda path: path.name)
def test_systemd_understands_each_line(path):
    done = analyze("verify", "--man=no", path)
    wrong = [line for line in done.stderr.splitlines() if "hybridmem" in line]  # others are of the system's own units
    assert (done.returncode, wrong) == (0, [])


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_no_more_exposed_than_it_says(name):
    limit = float(EXPOSURE.search(unit(name).read_text())[1])
    done = analyze("security", "--no-pager", "--offline=yes", f"--threshold={limit * 10:.0f}", unit(name))
    assert done.returncode == 0, done.stdout + done.stderr
    assert limit <= 3 or "It is above 3 because " in unit(name).read_text()


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_that_works_at_a_shutdown_says_how_long(name):
    """Not TimeoutStartSec=, which may be long, and not the default of the site's."""
    text = unit(name).read_text()
    assert ("\nExecStop=" in text) == bool(re.search(r"^TimeoutStopSec=[1-5]min$", text, re.MULTILINE))


@pytest.mark.parametrize("name", ["reap", "wipe@"])
def test_copies_of_records_keep_the_call_that_they_are_written_with(name):
    """hybridmem opens users' copies of records with openat2(2). RestrictSUIDSGID= makes this call fail: with it, no
    user would get a copy."""
    assert not re.search(r"^RestrictSUIDSGID=yes", unit(name).read_text(), re.MULTILINE)
