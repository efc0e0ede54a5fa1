# SPDX-License-Identifier: Apache-2.0
"""Tests hybridmem config check: what summaries of jobs in Slurm's database want."""

import os

import pytest
from installed import LIBEXEC
from slurmsite import any_status

SPOOL = f"{LIBEXEC}/hybridmem-spool"
DATABASE = "accounting_storage/slurmdbd"


def summary_lines(site, configure, settings, text="summary_field = SystemComment\n"):
    """The lines of check about summaries; the spool folder is `spool` beside the site's slurm.conf."""
    site.settings.update(settings)
    path = configure(f'spool_dir = "{site.folder}/spool"\n{text}')
    names = ("EpilogSlurmctld", "AccountingStorageType", "spool_dir")
    return [line for line in any_status(site, "--config", path) if line.split(maxsplit=2)[1] in names]


def test_without_summaries_nothing_is_checked_for_them(site, configure):
    assert summary_lines(site, configure, {}, "") == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, f"change  EpilogSlurmctld is not set, and leaves no summaries: make it {SPOOL} (slurm.conf)"),
        (
            {"EpilogSlurmctld": "(null)"},
            f"change  EpilogSlurmctld is not set, and leaves no summaries: make it {SPOOL} (slurm.conf)",
        ),
        (
            {"EpilogSlurmctld": "/none/epilog", "SlurmctldHost[0]": "localhost"},
            f"change  EpilogSlurmctld is /none/epilog, and leaves no summaries: have it call {SPOOL} (slurm.conf)",
        ),
        # as on a compute node
        (
            {"EpilogSlurmctld": "/none/epilog", "SlurmctldHost[0]": "ctl.not.this(10.0.0.1)"},
            f"note    EpilogSlurmctld is /none/epilog, which cannot be read here: check on slurmctld's host that it "
            f"calls {SPOOL}",
        ),
        (
            {"EpilogSlurmctld": "{folder}/plugstack.conf"},
            f"change  EpilogSlurmctld is {{folder}}/plugstack.conf, and leaves no summaries: have it call {SPOOL}",
        ),
        ({"EpilogSlurmctld": SPOOL}, f"ok      EpilogSlurmctld is {SPOOL}"),
        # from Slurm 24.05 on
        ({"EpilogSlurmctld[0]": "/none/epilog", "EpilogSlurmctld[1]": SPOOL}, f"ok      EpilogSlurmctld is {SPOOL}"),
        ({"EpilogSlurmctld": "{script}"}, "ok      EpilogSlurmctld is {script}, which has hybridmem-spool"),
        (
            {"EpilogSlurmctldTimeout": SPOOL},
            f"change  EpilogSlurmctld is not set, and leaves no summaries: make it {SPOOL}",
        ),
    ],
)
def test_slurmctlds_epilog(site, configure, settings, said):
    script = site.folder / "epilog"
    script.write_text("#!/bin/sh\n/opt/hybridmem-spool\n")
    settings = {
        name: value.replace("{script}", str(script)).replace("{folder}", str(site.folder))
        for name, value in settings.items()
    }
    first = summary_lines(site, configure, {"AccountingStorageType": DATABASE, **settings})[0]
    assert first.startswith(said.replace("{script}", str(script)).replace("{folder}", str(site.folder)))


@pytest.mark.parametrize("value", ["accounting_storage/none", "(null)", None])
def test_summaries_want_a_database(site, configure, value):
    said = summary_lines(site, configure, {} if value is None else {"AccountingStorageType": value})
    assert said[1] == (
        f"change  AccountingStorageType is {value or 'not set'}, which has no field for summaries: use {DATABASE}, or "
        "summary_field = none in hybridmem.conf"
    )
    assert f"ok      AccountingStorageType is {DATABASE}" in summary_lines(
        site, configure, {"AccountingStorageType": DATABASE}
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize(
    ("mode", "owner", "said"),
    [
        (
            None,
            0,
            "change  spool_dir {path}: No such file or directory: make it with install -d -o slurm -m 0700 {path}",
        ),
        (0o700, 64030, "ok      spool_dir {path} belongs to slurm"),
        (
            0o700,
            0,
            "change  spool_dir {path} must be a folder of SlurmUser that nobody else may write: chown slurm {path}",
        ),
        (0o770, 64030, "change  spool_dir {path} must be a folder of SlurmUser that nobody else may write: "),
    ],
)
def test_the_spool_folder_on_slurmctlds_host(site, configure, mode, owner, said):
    path = site.folder / "spool"
    if mode is not None:
        path.mkdir()
        path.chmod(mode)
        os.chown(path, owner, -1)
    settings = {"SlurmUser": "slurm(64030)", "SlurmctldHost[0]": "other(10.0.0.1)"}
    assert not any("spool_dir" in line for line in summary_lines(site, configure, settings))
    settings["SlurmctldHost[1]"] = f"{os.uname().nodename}(10.0.0.2)"
    assert summary_lines(site, configure, settings)[-1].startswith(said.format(path=path))
