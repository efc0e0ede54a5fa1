/* SPDX-License-Identifier: Apache-2.0 */
/* What accesses cost in the tiers of a node, for plans of sites. */
#ifndef HM_SITES_COMMANDS_COSTS_H
#define HM_SITES_COMMANDS_COSTS_H

#include "base/error.h"

struct hm_sites_costs {
    /* A read from the slow tier and a write to it, as multiples of those of the fast tier, as the migrator counts them;
     * more than 1. 0: not known. */
    double read, write;
    double fast_mbs, slow_mbs; /* where the tiers have channels of their own; 0: they share them, or it is not known */
    char text[160];            /* for people; "": nothing was read */
};

/* Reads them of this node, or of hwloc's XML. Returns 0, or -1 with a text. */
int hm_sites_costs_read(const char *topology, struct hm_sites_costs *costs, struct hm_error *error);

#endif
