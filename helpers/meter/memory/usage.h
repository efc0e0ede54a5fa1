/* SPDX-License-Identifier: Apache-2.0 */
/* What of a tier is in use at one moment. */
#ifndef HM_METER_MEMORY_USAGE_H
#define HM_METER_MEMORY_USAGE_H

#include <stdint.h>

#define HM_USAGE_MOST (UINT64_MAX - 1) /* bytes; UINT64_MAX is left to those who keep that nothing was seen */

enum hm_peak_source {
    HM_PEAK_NONE,
    HM_PEAK_KERNEL, /* memory.peak */
    HM_PEAK_SAMPLED /* largest memory.current seen: before Linux 5.19 */
};

struct hm_usage {    /* bytes of one tier at one moment */
    uint64_t anon;   /* anonymous pages */
    uint64_t file;   /* page cache, without shared memory */
    uint64_t shmem;  /* shared memory and tmpfs */
    uint64_t kernel; /* page tables, kernel stacks and slab, where the kernel tells them by node */
    uint64_t hugetlb;
};

/* a + b, at most HM_USAGE_MOST. */
uint64_t hm_usage_add(uint64_t a, uint64_t b);

/* anon + file + shmem + kernel + hugetlb, at most HM_USAGE_MOST. */
uint64_t hm_usage_total(const struct hm_usage *usage);

#endif
