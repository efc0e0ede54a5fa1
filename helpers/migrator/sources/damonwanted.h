/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the processes of a step in whose memory DAMON looks. */
#ifndef HM_MIGRATOR_SOURCES_DAMONWANTED_H
#define HM_MIGRATOR_SOURCES_DAMONWANTED_H

#include <stdbool.h>
#include <stdint.h>

#include "migrator/damon/wire.h"
#include "migrator/watch/maps.h"
#include "migrator/watch/ranks.h"

struct hm_damon_wanted {
    struct hm_damon_watch watch; /* only its processes are set here */
    uint32_t space[HM_DAMON_TARGETS], n;
    uint64_t resident[HM_DAMON_TARGETS]; /* in pages */
    uint32_t n_unseen;                   /* processes that are not watched, and were not left out on purpose */
    uint32_t n_denied;                   /* those of them that the broker would refuse, as they are not dumpable */
};

/*
 * Chooses the processes to watch, and the ranges of their memory: all except the smallest, such as shells beside the
 * ranks, which together have less than a hundredth of the memory, or a tenth if they have used hardly any CPU time;
 * each would need as many looks as a rank. Those of the list that was sent last, `wanted->watch`, stay unless others
 * are far larger. If there are too many, the smallest are not watched, nor are those that the broker would refuse: both
 * are marked (hm_rank.has_unseen). `maps` is indexed by space, a process's number (ranks.h).
 */
void hm_damon_wanted_choose(struct hm_damon_wanted *wanted, const struct hm_ranks *ranks, const struct hm_maps *maps);
/*
 * Is the new list worth sending in place of the last one, `sent`? It restarts the kdamond, which then has to find its
 * regions again. So no list is sent just because a few processes have ended.
 */
bool hm_damon_wanted_is_news(const struct hm_damon_wanted *wanted, const struct hm_damon_watch *sent,
                             const struct hm_maps *maps);
/*
 * A number that is another one where processes have come or gone, or may have mapped other memory. To find that out
 * takes no system call.
 */
uint64_t hm_damon_wanted_shape(const struct hm_ranks *ranks, const struct hm_maps *maps);

#endif
