/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flows: what is shown of a node. The gauges of the best source that has a quantity, summed: energy by socket, traffic
 * by kind of memory. A flow that no source has is there, too, with the reason. Pure.
 */
#ifndef HM_METER_SOURCES_FLOW_H
#define HM_METER_SOURCES_FLOW_H

#include "sources.h"

#define HM_MOST_FLOWS 80 /* energy of 32 sockets' packages and memory, and traffic */

struct hm_flow {
    enum hm_quantity quantity;
    enum hm_kind kind;  /* of memory; HM_KIND_UNKNOWN: all */
    int socket;         /* -1: the node */
    const char *source; /* NULL: none */
    struct hm_total total;
    int n_silent;           /* gauges of it that told of nothing yet (hm_gauge_is_silent), and add nothing */
    char tier[HM_NAME];     /* of traffic; "": none, or not one */
    char name[32];          /* "package-0", "dram read" */
    struct hm_error reason; /* why the amount is not known; "" where it is */
};

/*
 * Sum the gauges' totals to at most HM_MOST_FLOWS flows, energy first. `tried` has the sources in their order, best
 * first. `tiers` are those of this node, for which read and write are asked, each known by its kind of memory: where
 * two are of one kind, the flow is of both, and has no tier's name. NULL: not known. Returns how many.
 */
int hm_flows_sum(const struct hm_gauges *gauges, const struct hm_counters_tried *tried, int n_tried,
                 const struct hm_tiers *tiers, struct hm_flow flows[HM_MOST_FLOWS]);

/* Has it a source, and is its amount known? */
bool hm_flow_is_known(const struct hm_flow *flow);

#endif
