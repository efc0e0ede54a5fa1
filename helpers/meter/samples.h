/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the monitor measures, in a fixed-layout file that root made in a root-owned folder and handed over as a descriptor: it survives the monitor's
 * death at any moment, and root reads it as plain bounded data. The monitor maps it shared and writes; only the epilog reads.
 */
#ifndef HM_SAMPLES_H
#define HM_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "../core/error.h"
#include "../core/tiers.h"

#define HM_SAMPLES_MAGIC 0x484d5331u
#define HM_SAMPLES_VERSION 1
#define HM_SAMPLES_POINTS 256

struct hm_usage { /* bytes of one tier at one moment */
    uint64_t anon;   /* anonymous pages */
    uint64_t file;   /* page cache, without shared memory */
    uint64_t shmem;  /* shared memory and tmpfs */
    uint64_t kernel; /* page tables, kernel stacks and slab, where the kernel tells them by node */
    uint64_t hugetlb;
};

struct hm_samples {
    uint32_t magic, version, bytes;
    /* set by root before the monitor starts */
    uint32_t n_tiers;
    struct hm_set tier_nodes[HM_MAX_TIERS];
    uint32_t interval_ms;            /* between samples */
    /* set by the monitor */
    uint32_t stride;                 /* samples per kept point: 1, 2, 4 ... ; a point is the sample with the largest total among them */
    uint32_t n_points;               /* 0..HM_SAMPLES_POINTS */
    uint64_t n_samples;
    uint64_t first_ns, last_ns;      /* CLOCK_REALTIME of the first and last sample */
    bool has_memory_peak;
    uint64_t memory_peak;            /* the kernel's memory.peak of the job */
    bool has_hugetlb;
    char missing[HM_WARNING];        /* why something could not be read, "" otherwise */
    struct hm_usage peak[HM_MAX_TIERS];     /* all tiers at the moment of the largest total */
    uint64_t tier_peak[HM_MAX_TIERS];       /* largest sum of each tier by itself */
    double tier_sum[HM_MAX_TIERS];          /* over samples, for the mean */
    uint64_t point[HM_SAMPLES_POINTS][HM_MAX_TIERS];
    uint64_t pending[HM_MAX_TIERS];         /* the point being gathered */
    uint32_t n_pending;
    uint32_t finished;               /* 1: the monitor ended by itself or was asked to; 0: it died */
};

/* Create (O_EXCL, 0600) and initialise; returns the descriptor or -1. */
int hm_samples_create(const char *path, const struct hm_tiers *tiers, uint32_t interval_ms, struct hm_error *error);
/* Read and check (magic, size, counts in range). 0 or -1. */
int hm_samples_read(const char *path, struct hm_samples *samples, struct hm_error *error);
/* Add one sample (pure): peaks, sums, points; doubles the stride when the points are full. `total` order is the file's tier order. */
void hm_samples_add(struct hm_samples *samples, const struct hm_usage usage[HM_MAX_TIERS], uint64_t now_ns);
/* anon + file + shmem + kernel + hugetlb */
uint64_t hm_usage_total(const struct hm_usage *usage);

#endif
