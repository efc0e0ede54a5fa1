# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of installed commands."""

import functools
import json
import tempfile
from pathlib import Path

import pytest
from browser import Browser, Tab
from collecting import Bench
from guiding import HERE, compiled, profile_of, profiled
from htmlpages import make_pages, write_records
from installed import check_root, helper
from ipmctlnode import Node
from monitoring import Job
from replaying import algorithms
from siteprofiles import VALIDATOR, give_accesses, give_sampling
from slurmsite import Site
from standins import sysfs_of
from sysfstree import Sysfs


@pytest.fixture
def bench(tmp_path):
    """What a collector works on: a database and a clock in memory, and two folders."""
    return Bench(tmp_path)


@pytest.fixture
def configure(tmp_path):
    """Gives a function that writes a configuration. Root trusts the file, as only its owner may write it."""

    def write(text):
        path = tmp_path / "hybridmem.conf"
        path.write_bytes(text.encode("latin-1"))
        path.chmod(0o644)
        return path

    return write


@pytest.fixture
def open_folder():
    """A folder that other users may enter. Folders of pytest's own may be closed to them."""
    with tempfile.TemporaryDirectory(prefix="hm-open.") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def job(open_folder):
    """A job whose monitor takes a sample every 50 ms."""
    return Job(open_folder, 50)


@pytest.fixture
def counters(job):
    """A made-up /sys with the counters that the job's monitor reads."""
    return sysfs_of(job)


@pytest.fixture
def node(configure):
    """A node with Optane modules. Its programs get a /tmp of their own, so its files are elsewhere."""
    check_root()
    with tempfile.TemporaryDirectory(prefix="hm-ipmctl.", dir="/var/tmp") as name:
        yield Node(Path(name), configure)


@pytest.fixture
def sysfs(tmp_path):
    """A made-up /sys."""
    return Sysfs(tmp_path)


@pytest.fixture
def open_sysfs(open_folder):
    """A made-up /sys that other users may enter."""
    return Sysfs(open_folder)


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    return Site(folder)


@pytest.fixture(params=["default", "bins"])
def algorithm(request):
    """An algorithm of replay: the default one, and the published one."""
    return algorithms()[0] if request.param == "default" else request.param


@pytest.fixture
def trace(tmp_path):
    """Gives a function that writes a trace and returns its path."""

    def write(text, name="app.trace"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture(scope="module")
def pages_folder(tmp_path_factory):
    """A folder with records, and pages of them."""
    return write_records(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module")
def pages(pages_folder):
    return make_pages(pages_folder)


@pytest.fixture(scope="module")
def browser():
    made = Browser()
    yield made
    made.close()


@pytest.fixture
def tab(browser):
    tabs = []

    def make(path, **options):
        tabs.append(Tab(browser, **options))
        return tabs[-1].open(path)

    yield make
    for each in tabs:
        each.close()


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """Gives the programs whose allocations are known, sites-NAME.c."""
    folder = tmp_path_factory.mktemp("programs")
    return functools.cache(lambda name: compiled(folder / name, source=HERE / f"sites-{name}.c"))


@pytest.fixture(scope="session")
def probe(programs):
    return programs("probe")


@pytest.fixture
def sites_run(tmp_path):
    """Runs a program, and returns its profile and what was said."""

    def run_it(*words, status=0, options=(), **more):
        output = tmp_path / "profile.json"
        done = helper("hybridmem-sites", "run", "-o", output, *options, "--", *words, status=status, **more)
        assert list(tmp_path.glob("profile.json*")) == [output]
        profile = json.loads(output.read_text())
        VALIDATOR.validate(profile)
        return profile, done

    return run_it


@pytest.fixture(scope="session")
def profile(probe, tmp_path_factory):
    """The probe's profile, by which three of its sites are used."""
    return profile_of(probe, tmp_path_factory.mktemp("profile") / "probe.json")


@pytest.fixture(scope="session")
def small_profile(probe, tmp_path_factory):
    """A profile of the probe's small allocations: those of one caller and of one size class are hot."""
    path = tmp_path_factory.mktemp("small") / "small.json"
    made = profiled(probe, path, "small")
    give_sampling(made, samples=1000, elsewhere=100)
    for site in made["sites"]:
        if site["frames"]:
            give_accesses(site, 600 if site["peak_bytes"] == 400 * 8192 else 0)
        else:
            give_accesses(site, 300 if site["class_bytes"] == 128 else 0)
        site["slices"] = None  # of the samples that there were by chance
    path.write_text(json.dumps(made))
    return path
