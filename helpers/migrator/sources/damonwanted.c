/* SPDX-License-Identifier: Apache-2.0 */
#include "damonwanted.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "damonranges.h"
#include "migrator/watch/resident.h"

/* share of the memory: the smallest processes, which together have less, are not watched */
#define SMALL 0.01

static bool is_watchable(const struct hm_rank *rank)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)rank->pid); /* the file that the broker looks at, too */
    return rank->pid > 0 && !rank->is_gone && stat(path, &status) == 0 && status.st_uid == geteuid();
}

/* Finds the process in the list that was sent last; NULL: it is not there. */
static const struct hm_damon_process *find_sent(const struct hm_damon_watch *watch,
                                                const struct hm_damon_process *process)
{
    for (uint32_t i = 0; i < watch->head.n; i++)
        if (watch->process[i].pid == process->pid && watch->process[i].start_time == process->start_time)
            return &watch->process[i];
    return NULL;
}

bool hm_damon_wanted_is_news(const struct hm_damon_wanted *wanted, const struct hm_damon_watch *sent,
                             const struct hm_maps *maps)
{
    struct hm_maps all = {.n = 0};
    bool is_news = wanted->n * 2 < sent->head.n;
    for (uint32_t i = 0; i < wanted->n && !is_news; i++) {
        const struct hm_damon_process *before = find_sent(sent, &wanted->watch.process[i]);
        const struct hm_maps *watched = hm_maps_with_aliases(&maps[wanted->space[i]], &all);
        is_news = !before || !hm_damon_ranges_fit(before, watched, wanted->resident[i]);
    }
    hm_maps_free(&all);
    return is_news;
}

/* a process that may be watched, and its pages in memory */
struct candidate {
    uint32_t space;
    uint64_t resident;
};

static int compare_resident(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->resident != y->resident ? (x->resident < y->resident) - (x->resident > y->resident)
                                      : (x->space > y->space) - (x->space < y->space);
}

/* Lists all living processes that have movable memory, the largest first. Returns their number. */
static uint32_t find_candidates(const struct hm_ranks *ranks, const struct hm_maps *maps, struct candidate *candidate,
                                uint64_t *resident)
{
    uint32_t n = 0;
    *resident = 0;
    for (uint32_t s = 0; s < ranks->n && s < HM_RANKS; s++) {
        const struct hm_rank *rank = &ranks->rank[s];
        if (rank->pid <= 0 || rank->is_gone || maps[s].n_pages + maps[s].n_aliases == 0)
            continue;
        candidate[n] = (struct candidate){s, hm_resident_pages(rank->pid)};
        *resident += candidate[n++].resident;
    }
    qsort(candidate, n, sizeof(candidate[0]), compare_resident);
    return n;
}

void hm_damon_wanted_choose(struct hm_damon_wanted *wanted, const struct hm_ranks *ranks, const struct hm_maps *maps)
{
    static struct candidate candidate[HM_RANKS];
    struct hm_maps all = {.n = 0};
    uint64_t resident, left;
    uint32_t n = find_candidates(ranks, maps, candidate, &resident);
    wanted->n = 0;
    left = resident;
    for (uint32_t i = 0; i < n && wanted->n < HM_DAMON_TARGETS && (double)left >= SMALL * (double)resident; i++) {
        uint32_t s = candidate[i].space;
        const struct hm_rank *rank = &ranks->rank[s];
        left -= candidate[i].resident;
        if (!is_watchable(rank))
            continue;
        struct hm_damon_process process = {.start_time = rank->start_time, .pid = rank->pid};
        hm_damon_ranges_choose(hm_maps_with_aliases(&maps[s], &all), candidate[i].resident, &process);
        wanted->watch.process[wanted->n] = process;
        wanted->resident[wanted->n] = candidate[i].resident;
        wanted->space[wanted->n++] = s;
    }
    hm_maps_free(&all);
}
