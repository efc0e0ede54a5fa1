# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests inside the guest: how often a job's monitor has read memory and counters, by its samples file."""

import ctypes

import slurm


class Samples(ctypes.Structure):
    """The beginning of struct hm_samples (helpers/meter/monitor/samples.h), up to the number of counter readings."""

    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("magic", "version", "bytes", "n_tiers")),
        ("tier_name", ctypes.c_char * 24 * 8),
        ("tier_kind", ctypes.c_uint32 * 8),
        ("tier_nodes", ctypes.c_uint64 * 128 * 8),
        ("interval_ms", ctypes.c_uint32),
        ("finished", ctypes.c_uint32),
        ("n_samples", ctypes.c_uint64),
        ("times", ctypes.c_uint64 * 4),
        ("peak_source", ctypes.c_uint32),
        ("has_hugetlb", ctypes.c_uint32),
        ("memory_peak", ctypes.c_uint64),
        ("missing", ctypes.c_char * 200),
        ("peak", ctypes.c_uint64 * 5 * 8),
        ("tier_figures", ctypes.c_uint64 * 3 * 8),
        ("n_readings", ctypes.c_uint64),
    )


def samples_file(job_id):
    return Samples.from_buffer_copy((slurm.JOBS / f"{job_id}.samples").read_bytes())


def samples(job_id):
    """How often the monitor has sampled."""
    return samples_file(job_id).n_samples


def wait_sampled(job_id):
    """Waits for two samples from now on, so that the present state of the job is in its samples."""
    for _ in range(2):
        before = samples(job_id)
        slurm.wait_for(lambda: samples(job_id) > before, f"a sample of {job_id}")  # noqa: B023


def wait_metered(job_id):
    """Waits for a reading of the node's counters that began after this call. They are read less often than memory."""
    before = samples_file(job_id).n_readings
    slurm.wait_for(lambda: samples_file(job_id).n_readings >= before + 2, f"readings of the counters for {job_id}")
