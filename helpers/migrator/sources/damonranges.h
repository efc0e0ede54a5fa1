/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where DAMON is to look in a process. Left to itself it makes three regions of an address space, with all that lies
 * between heap, mappings and stack: mostly holes of many GB, in which its few random looks find nothing. Pure.
 */
#ifndef HM_MIGRATOR_SOURCES_DAMONRANGES_H
#define HM_MIGRATOR_SOURCES_DAMONRANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "migrator/damon/wire.h"
#include "migrator/watch/maps.h"

/*
 * HM_DAMON_RANGES ranges of addresses at most, ascending, that hold all pages of `maps` but for 2 %, with as little
 * else as that takes. Of `resident` where that is less: which of the mapped pages are in memory is not known. Fills
 * process->range and n_ranges: 0 where there are no pages.
 */
void hm_damon_ranges_choose(const struct hm_maps *maps, uint64_t resident, struct hm_damon_process *process);

/* Do the ranges that were chosen before still do for these mappings? A new watch costs what DAMON has learnt: not for 5
 * % of the pages, counted as above, outside them. */
bool hm_damon_ranges_fit(const struct hm_damon_process *process, const struct hm_maps *maps, uint64_t resident);

#endif
