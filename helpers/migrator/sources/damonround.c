/* SPDX-License-Identifier: Apache-2.0 */
#include "damonround.h"

#include <string.h>

/* Keeps what was found of processes that still have their slot. */
static void keep(struct hm_damon_round *round, const struct hm_ranks *ranks)
{
    size_t n = 0;
    for (size_t i = 0; i < round->n; i++) {
        uint32_t space = HM_PAGE_SPACE(round->observation[i].page);
        if (space < ranks->n && ranks->rank[space].pid == round->pid[i])
            round->observation[n++] = round->observation[i];
    }
    round->n = n;
}

void hm_damon_round_end(struct hm_damon_round *round, const struct hm_damon_list *list, const struct hm_ranks *ranks,
                        hm_source_sink *sink, void *data)
{
    if (list->way == HM_DAMON_BURSTS && list->rounds == round->rounds && list->head.generation == round->generation)
        return;
    keep(round, ranks);
    if (round->n > 0 && list->way == HM_DAMON_BURSTS)
        sink(data, round->observation, round->n);
    round->n = 0;
    round->rounds = list->rounds;
    round->generation = list->head.generation;
}

void hm_damon_round_add(struct hm_damon_round *round, const struct hm_damon_list *list, pid_t pid,
                        const struct hm_observation *observation, size_t n, hm_source_sink *sink, void *data)
{
    sink(data, observation, list->way == HM_DAMON_BURSTS ? 0 : n);
    if (list->way != HM_DAMON_BURSTS)
        return;
    n = n < HM_DAMON_MOST_BLOCKS - round->n ? n : HM_DAMON_MOST_BLOCKS - round->n;
    memcpy(round->observation + round->n, observation, n * sizeof(*observation));
    for (size_t i = 0; i < n; i++)
        round->pid[round->n++] = pid;
}
