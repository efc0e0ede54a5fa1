# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of hybridmem show: a run of it, and what it says where there is no record."""

from installed import helper


def show(folder, *words, **options):
    return helper("hybridmem-show", "--records", folder, *words, **options)


def no_record(job):
    when = (
        "a job with --hybrid-mem gets one at the end of its epilog, and one without it where the site records all jobs"
    )
    return f"no record of job {job} that you may read: {when}"
