/* SPDX-License-Identifier: Apache-2.0 */
/* The traffic of this node's slow tier, by the meter's table of sources (meter/sources). */
#ifndef HM_SITES_MBI_COUNTERS_H
#define HM_SITES_MBI_COUNTERS_H

#include "alloc/layout.h"
#include "core/config/config.h"
#include "core/tiers/tiers.h"
#include "meter/sources/flow.h"

#define HM_MBI_WRAP_MS 1000 /* between two readings: no counter wraps twice in it */

struct hm_mbi_counters { /* large */
    struct hm_config config;
    struct hm_tiers tiers;
    struct hm_counters_setup setup;
    struct hm_gauges gauges;
    struct hm_counters_tried tried[HM_METERS];
    int n_tried;
    struct hm_flow flow[HM_MOST_FLOWS];
};

/* What was counted of the slow tier. */
struct hm_mbi_traffic {
    double read_bytes, write_bytes;
    const char *source;
};

/* Finds the tiers of this machine, or of hwloc's XML file. `counters` is zeroed by the caller; hm_mbi_counters_close
 * has to follow, whatever is returned. Returns 0, or -1 with a text: the node has one tier, or counters cannot tell the
 * slow one. */
int hm_mbi_counters_find(struct hm_mbi_counters *counters, const char *topology, struct hm_error *error);
/* Opens the counters, after that. Counting begins now. Returns 0, or -1 with a text: no source counts the slow tier's
 * reads and writes apart from those of other tiers. */
int hm_mbi_counters_open(struct hm_mbi_counters *counters, struct hm_error *error);
/* Reads the counters, at the latest HM_MBI_WRAP_MS after the last time. */
void hm_mbi_counters_read(struct hm_mbi_counters *counters);
/* What was counted up to the last reading. Returns 0, or -1 with the reason why it is not known. */
int hm_mbi_counters_sum(struct hm_mbi_counters *counters, struct hm_mbi_traffic *traffic, struct hm_error *error);
void hm_mbi_counters_close(struct hm_mbi_counters *counters);

/*
 * How often, since boot, the kernel took memory of another node than one of the layout's slow nodes, which was wanted,
 * or of a slow node for another that was wanted, as there was no room. Returns 0, or -1 with a text.
 */
int hm_mbi_misses(const struct hm_layout *layout, uint64_t *misses, struct hm_error *error);

#endif
