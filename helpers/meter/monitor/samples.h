/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples file: what the monitor measures, as one structure (base/grown.h). Root makes the file in a folder of
 * root's, and gives the monitor its descriptor. So the file survives the death of the monitor at any moment, and root
 * reads it as plain data of fixed size. The monitor maps it, shared, and writes it. The epilog reads it for the record,
 * and the plugin before it starts another monitor for the job.
 *
 * Time is counted in ticks, the multiples of the interval on CLOCK_MONOTONIC, which are the same for every monitor of a
 * node. A point stands for `stride` ticks, so the time of a sample alone decides its point. Samples may come early,
 * late or twice, and a point without a sample stays empty.
 */
#ifndef HM_METER_MONITOR_SAMPLES_H
#define HM_METER_MONITOR_SAMPLES_H

#include <stdint.h>

#include "base/error.h"
#include "core/tiers/tiers.h"
#include "meter/memory/usage.h"
#include "metered.h"

#define HM_SAMPLES_MAGIC 0x484d5331u
#define HM_SAMPLES_VERSION 3
#define HM_SAMPLES_POINTS 256      /* most points */
#define HM_SAMPLES_NONE UINT64_MAX /* value of point[i][0] where the point has no sample */
/* The usual time between two readings of the counters is the interval, but within these bounds (s). */
#define HM_SAMPLES_METER_LEAST 1
#define HM_SAMPLES_METER_MOST 7

/* The structure only grows: new members come at its end, and are 0 in the files of earlier releases of hybridmem. */
struct hm_samples {
    uint32_t magic, version, bytes;
    /* set by root before the monitor starts */
    uint32_t n_tiers;
    char tier_name[HM_MAX_TIERS][HM_NAME];
    uint32_t tier_kind[HM_MAX_TIERS]; /* enum hm_kind */
    struct hm_set tier_nodes[HM_MAX_TIERS];
    uint32_t interval_ms;
    /* set by the monitor */
    uint32_t finished; /* 1: the monitor ended as it should; 0: it runs, was killed, or has failed */
    uint64_t n_samples;
    uint64_t first_ns, last_ns;           /* CLOCK_REALTIME of the first and last sample */
    uint64_t first_mono_ns, last_mono_ns; /* CLOCK_MONOTONIC of the first and last sample */
    uint32_t peak_source;                 /* enum hm_peak_source */
    uint32_t has_hugetlb;                 /* 0 or 1 */
    uint64_t memory_peak;                 /* peak of the job's cgroup, as the kernel charges it */
    char missing[HM_WARNING];             /* the first thing that was wrong with the samples, as a text; "": nothing */
    struct hm_usage peak[HM_MAX_TIERS];   /* usage of all tiers at the moment of the largest total */
    uint64_t tier_peak[HM_MAX_TIERS];     /* largest total of each tier */
    uint64_t tier_last[HM_MAX_TIERS];     /* totals of the last sample */
    double tier_sum[HM_MAX_TIERS];        /* byte-seconds from the first sample to the last */
    struct hm_metered metered;
    uint64_t stride;                                 /* ticks per point: 1, 2, 4 ... */
    uint32_t n_points;                               /* 0..HM_SAMPLES_POINTS */
    uint64_t point[HM_SAMPLES_POINTS][HM_MAX_TIERS]; /* totals of the largest sample of each point */
};

/*
 * Create the file (O_EXCL, 0600, its blocks reserved) with the tiers' names, kinds and nodes; `interval_ms` 1 to
 * 86400000. Returns the descriptor (read and write, close-on-exec), or -1 with nothing left behind.
 */
int hm_samples_create(const char *path, const struct hm_tiers *tiers, uint32_t interval_ms, struct hm_error *error);

/* Map the file and check it. Returns the mapping, for munmap(2), or NULL. */
struct hm_samples *hm_samples_map(int fd, struct hm_error *error);

/* Read the file and check it. Returns 0, or -1: ENOENT and the like, EBADMSG where the file is too short or
 * hm_samples_check refuses it. */
int hm_samples_read(const char *path, struct hm_samples *samples, struct hm_error *error);

/* The same of an open file. It may be read while the monitor writes it. */
int hm_samples_read_fd(int fd, struct hm_samples *samples, struct hm_error *error);

/* Is every count, text and figure in range? Returns 0, or -1 (EBADMSG) with the field's name. Pure. */
int hm_samples_check(const struct hm_samples *samples, struct hm_error *error);

/* Add a sample taken at `real_ns` (CLOCK_REALTIME) and `mono_ns` (CLOCK_MONOTONIC) to peaks, sums and points. When the
 * points are full, the stride is doubled. `usage` is in the order of the file's tiers. Pure. */
void hm_samples_add(struct hm_samples *samples, const struct hm_usage usage[HM_MAX_TIERS], uint64_t real_ns,
                    uint64_t mono_ns);

/* The mean of a tier from the first sample to the last, in bytes; the sample itself where there is only one. */
double hm_samples_mean(const struct hm_samples *samples, uint32_t tier);

#endif
