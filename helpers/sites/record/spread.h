/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which allocations the accesses to a span of a process's memory belong to: a byte that was sampled, or a region in
 * which a source has looked at a page here and there. Pure.
 */
#ifndef HM_SITES_RECORD_SPREAD_H
#define HM_SITES_RECORD_SPREAD_H

#include "watch.h"

/* Takes the part, 0..1, that bytes `from` to `to` - 1 of a range have of the accesses. */
typedef void hm_spread_sink(void *data, const struct hm_watch_range *range, uint64_t from, uint64_t to, double part);

/*
 * Spreads the accesses evenly over the span's bytes from `start` to `end` - 1, of which `mapped` are memory: the rest
 * is holes, which nobody can access. Where there are more bytes of ranges than that, they share the accesses alone.
 * Returns the sum of the parts: what is left is other memory's.
 */
double hm_spread(const struct hm_watch_ranges *ranges, uint64_t start, uint64_t end, uint64_t mapped,
                 hm_spread_sink *sink, void *data);

/* Adds accesses to bytes `from` to `to` - 1 of a range to the slices that these are in. */
void hm_spread_slices(struct hm_watch_heat *heat, const struct hm_watch_range *range, uint64_t from, uint64_t to,
                      double accesses);

#endif
