/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory of a tier a job uses at one moment. */
#ifndef HM_METER_MEMORY_USAGE_H
#define HM_METER_MEMORY_USAGE_H

#include <stdint.h>

#define HM_USAGE_MOST (UINT64_MAX - 1) /* in bytes; UINT64_MAX can then mean that there was no sample */

enum hm_peak_source {
    HM_PEAK_NONE,
    HM_PEAK_KERNEL, /* memory.peak */
    HM_PEAK_SAMPLED /* the largest memory.current seen, where memory.peak cannot be read (as before Linux 5.19) */
};

struct hm_usage {    /* bytes of one tier at one moment */
    uint64_t anon;   /* anonymous pages */
    uint64_t file;   /* page cache, without shared memory */
    uint64_t shmem;  /* shared memory and tmpfs */
    uint64_t kernel; /* page tables, kernel stacks and slab, as far as the kernel tells them by node */
    uint64_t hugetlb;
};

/* a + b, at most HM_USAGE_MOST. */
uint64_t hm_usage_add(uint64_t a, uint64_t b);

/* anon + file + shmem + kernel + hugetlb, at most HM_USAGE_MOST. */
uint64_t hm_usage_total(const struct hm_usage *usage);

#endif
