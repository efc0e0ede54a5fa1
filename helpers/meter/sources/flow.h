/* SPDX-License-Identifier: Apache-2.0 */
/* Flows: the figures of a node as they are shown. A flow is the sum of the gauges of the best source for a quantity:
 * energy by socket, traffic by kind of memory. Where no source has a quantity (other than a resctrl group's bytes), it
 * gets a flow with the reason. Pure. */
#ifndef HM_METER_SOURCES_FLOW_H
#define HM_METER_SOURCES_FLOW_H

#include "sources.h"

#define HM_MOST_FLOWS 80 /* enough for the packages and memory of 32 sockets, and traffic */

struct hm_flow {
    enum hm_quantity quantity;
    enum hm_kind kind;  /* kind of memory; HM_KIND_UNKNOWN: all, or the kind of `tier` is unknown */
    int socket;         /* -1: the node */
    const char *source; /* NULL: none */
    struct hm_total total;
    int n_silent;           /* its gauges that have no value yet (hm_gauge_is_silent) and add nothing */
    char tier[HM_NAME];     /* for traffic: the tier; "": none, or several */
    char name[32];          /* "package-0", "dram read" */
    struct hm_error reason; /* why the amount is unknown; "" where it is known */
};

/*
 * Sum the gauges' totals into flows, energy first. `tried` has the sources, best first. `tiers` are the tiers of this
 * node, or NULL; each tier gets the reads and writes of its kind of memory. Where two tiers are of the same kind, the
 * flow is of both and has no tier's name. Returns how many flows there are.
 */
int hm_flows_sum(const struct hm_gauges *gauges, const struct hm_counters_tried *tried, int n_tried,
                 const struct hm_tiers *tiers, struct hm_flow flows[HM_MOST_FLOWS]);

/* Does the flow have a source, and is its amount known? */
bool hm_flow_is_known(const struct hm_flow *flow);

#endif
