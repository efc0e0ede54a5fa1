/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assigns pages to tiers so that their accesses cost least, where each tier has room for so many pages. This is a
 * transportation problem: with two tiers the pages that gain most are in the first, but with more no single order
 * tells, as a step from one tier to the next may gain more for reads than for writes.
 *
 * Pages are added one by one, each along the cheapest chain of exchanges: it pushes a page from its tier to a second,
 * which pushes one to a third, until there is room. So the pages that are there are assigned at the least cost at each
 * step (successive shortest paths; Ahuja, Magnanti and Orlin, Network Flows, section 9.7). The result is exact up to
 * the rounding of sums.
 */
#ifndef HM_MIGRATOR_REPLAY_TRANSPORT_H
#define HM_MIGRATOR_REPLAY_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#include "core/topology/topology.h"

struct hm_transport {
    size_t n_pages;                                 /* below 2^32 */
    const uint64_t *reads, *writes;                 /* by page */
    unsigned n_tiers;                               /* 1 to HM_MAX_TIERS */
    double read[HM_MAX_TIERS], write[HM_MAX_TIERS]; /* what an access costs, by tier, in any order */
    uint64_t capacity[HM_MAX_TIERS];                /* pages; the last tier has room for all */
};

/* Sets the tier of each page. Takes about n_pages * n_tiers * (n_tiers + log n_pages) steps. Returns 0, or -1 (ENOMEM).
 */
int hm_transport_solve(const struct hm_transport *transport, uint8_t *tier);

#endif
