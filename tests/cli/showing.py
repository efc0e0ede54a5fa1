# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of hybridmem show: a run of it, and what it says where there is no record."""

from installed import helper


def show(folder, *words, **options):
    return helper("hybridmem-show", "--records", folder, *words, **options)


def no_record(job):
    return f"no record of job {job} that you may read: a job gets its record at the end of its epilog"
