/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the present round of the broker's bursts has found so far. It is passed on as the round ends: a phase that ends
 * in the middle of a round would have seen some blocks once more often than others, as if they were so much hotter.
 */
#ifndef HM_MIGRATOR_SOURCES_DAMONROUND_H
#define HM_MIGRATOR_SOURCES_DAMONROUND_H

#include "migrator/damon/probing.h"
#include "migrator/damon/wire.h"
#include "source.h"

struct hm_damon_round {
    uint32_t rounds, generation; /* rounds that had ended before; number of the list of processes */
    size_t n;
    pid_t pid[HM_DAMON_MOST_BLOCKS]; /* of each observation: when the round ends, another may have its slot */
    struct hm_observation observation[HM_DAMON_MOST_BLOCKS];
};

/*
 * Passes on what the round has found, if this list is of another one. A new list of processes begins the round anew.
 * What was found of processes that are not in `ranks` any more is left out. If this list is of no round, the broker
 * looks in another way now: what the round has found cannot be compared with that, and is dropped.
 */
void hm_damon_round_end(struct hm_damon_round *round, const struct hm_damon_list *list, const struct hm_ranks *ranks,
                        hm_source_sink *sink, void *data);
/* Passes on what a list has found of a process; what bursts have found is kept until the round ends. */
void hm_damon_round_add(struct hm_damon_round *round, const struct hm_damon_list *list, pid_t pid,
                        const struct hm_observation *observation, size_t n, hm_source_sink *sink, void *data);

#endif
