/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was counted while a job's monitor ran: energy, and traffic by tier, from the node's counters; and traffic of the
 * job's own resctrl group. struct hm_metered is part of the samples file (base/grown.h), so it never changes; new
 * members come at the end of struct hm_samples. The record decides whether the node's figures are the job's own.
 */
#ifndef HM_METER_MONITOR_METERED_H
#define HM_METER_MONITOR_METERED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "core/topology/topology.h"

#define HM_METERED_SOURCE 1000 /* bytes of a source's text; holds every reason that a usual node gives */

enum hm_domain {
    HM_DOMAIN_PACKAGE,  /* all sockets' processors */
    HM_DOMAIN_MEMORY,   /* all sockets' DRAM */
    HM_DOMAIN_PLATFORM, /* the whole node */
    HM_DOMAINS
};

enum hm_direction { HM_DIRECTION_READ, HM_DIRECTION_WRITE, HM_DIRECTIONS };

enum hm_group_bytes {
    HM_GROUP_TOTAL, /* between the last-level caches and memory, both ways, all tiers */
    HM_GROUP_LOCAL, /* the part of HM_GROUP_TOTAL that goes to memory of the processor's own socket */
    HM_GROUP_BYTES
};

struct hm_metered_figure {
    double amount;     /* 0 where it is unknown */
    uint64_t is_known; /* 0 or 1 */
};

struct hm_metered {
    uint64_t n_readings;                                           /* 0: nothing was counted */
    uint64_t first_mono_ns, last_mono_ns;                          /* CLOCK_MONOTONIC of the first and last reading */
    struct hm_metered_figure energy[HM_DOMAINS];                   /* J, from the first reading to the last */
    struct hm_metered_figure peak_w;                               /* W; hm_metered_power says of what */
    struct hm_metered_figure traffic[HM_MAX_TIERS][HM_DIRECTIONS]; /* B */
    /* which source counted the figures, or why a figure is unknown; "" before the first reading */
    char energy_source[HM_METERED_SOURCE];
    char traffic_source[HM_METERED_SOURCE];
    struct hm_metered_figure group[HM_GROUP_BYTES]; /* B, of the tasks in the job's resctrl group */
    char group_source[HM_METERED_SOURCE];           /* the same for the group; "": there is no group */
};

/* Seconds from the first reading to the last. */
double hm_metered_seconds(const struct hm_metered *metered);

/* The joules from which power is computed: of packages and DRAM where both are known, else of packages alone. Returns
 * false where packages are unknown. */
bool hm_metered_power(const struct hm_metered_figure energy[HM_DOMAINS], double *joules);

/* Find the first field that is out of range, or NULL. The structure may hold any bytes. Pure. */
const char *hm_metered_bad(const struct hm_metered *metered);

#endif
