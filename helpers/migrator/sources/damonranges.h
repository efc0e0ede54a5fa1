/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the address ranges in which DAMON looks. By itself, DAMON makes three regions of an address space: all from
 * the lowest to the highest mapping, without the two largest holes. Other holes of many GB may remain in the regions,
 * where its few random looks find nothing. Pure.
 */
#ifndef HM_MIGRATOR_SOURCES_DAMONRANGES_H
#define HM_MIGRATOR_SOURCES_DAMONRANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "migrator/damon/wire.h"
#include "migrator/watch/maps.h"

/*
 * Chooses at most HM_DAMON_RANGES ranges, by ascending address, that contain all pages of `maps` except 2 % at most,
 * and as little else as possible. `resident` is how many pages of the process are in memory; nobody knows which. So if
 * it is less than the pages of `maps`, the 2 % are of `resident`. Sets process->range and n_ranges (0 if there are no
 * pages).
 */
void hm_damon_ranges_choose(const struct hm_maps *maps, uint64_t resident, struct hm_damon_process *process);

/*
 * Are the present ranges still good enough for these mappings? New ranges restart DAMON, which loses what it has found
 * out. So the old ranges are good enough if at most 5 % of the pages, counted as above, are outside of them, and if
 * they are at most about twice as long as new ones would be.
 */
bool hm_damon_ranges_fit(const struct hm_damon_process *process, const struct hm_maps *maps, uint64_t resident);

#endif
