/* SPDX-License-Identifier: Apache-2.0 */
#include "damonwanted.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process.h"
#include "base/random.h"
#include "damonranges.h"
#include "migrator/watch/resident.h"

/* share of the memory: the smallest processes, which together have less, are not watched */
#define SMALL 0.01
/* A process that has used less than this share of the CPU time of all is idle. Idle processes are not watched, the
 * smallest first, as long as all that are not watched have no more than this share of the memory. */
#define IDLE 0.01
#define IDLE_MOST 0.1
/* A process that is watched already counts for so many times its size, so that ranks of nearly the same size do not
 * take turns: each change begins all looks anew. */
#define STAYS 2

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
    bool is_news = sent->head.n > 0 && wanted->n * 3 <= sent->head.n * 2;
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
    uint64_t resident, weight; /* weight: the lightest are left out first */
    double cpu_s;              /* so far; negative: not known */
    bool is_left_out;
};

static int compare_weight(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->weight != y->weight ? (x->weight < y->weight) - (x->weight > y->weight)
                                  : (x->space > y->space) - (x->space < y->space);
}

/* Lists all living processes that have movable memory, the heaviest first. Returns their number. */
static uint32_t find_candidates(const struct hm_damon_watch *sent, const struct hm_ranks *ranks,
                                const struct hm_maps *maps, struct candidate *candidate)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < ranks->n && s < HM_RANKS; s++) {
        const struct hm_rank *rank = &ranks->rank[s];
        if (rank->pid <= 0 || rank->is_gone || maps[s].n_pages + maps[s].n_aliases == 0)
            continue;
        candidate[n++] = (struct candidate){
            .space = s, .resident = hm_resident_pages(rank->pid), .cpu_s = hm_process_cpu_s(rank->pid)};
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct hm_rank *rank = &ranks->rank[candidate[i].space];
        const struct hm_damon_process process = {.start_time = rank->start_time, .pid = rank->pid};
        candidate[i].weight = candidate[i].resident * (find_sent(sent, &process) ? STAYS : 1);
    }
    qsort(candidate, n, sizeof(candidate[0]), compare_weight);
    return n;
}

/* Leaves out the processes that are small, or idle and not large. */
static void leave_out(struct candidate *candidate, uint32_t n)
{
    double resident = 0, cpu_s = 0, left_out = 0;
    for (uint32_t i = 0; i < n; i++) {
        resident += (double)candidate[i].resident;
        cpu_s += candidate[i].cpu_s > 0 ? candidate[i].cpu_s : 0;
    }
    for (uint32_t i = n; i-- > 0;) {
        bool is_idle = candidate[i].cpu_s >= 0 && candidate[i].cpu_s < IDLE * cpu_s;
        double with = left_out + (double)candidate[i].resident;
        candidate[i].is_left_out = with < (is_idle ? IDLE_MOST : SMALL) * resident;
        left_out = candidate[i].is_left_out ? with : left_out;
    }
}

void hm_damon_wanted_choose(struct hm_damon_wanted *wanted, const struct hm_ranks *ranks, const struct hm_maps *maps)
{
    static struct candidate candidate[HM_RANKS];
    struct hm_maps all = {.n = 0};
    uint32_t n = find_candidates(&wanted->watch, ranks, maps, candidate);
    wanted->n = wanted->n_unseen = wanted->n_denied = 0;
    leave_out(candidate, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t s = candidate[i].space;
        struct hm_rank *rank = &ranks->rank[s];
        bool has_room = wanted->n < HM_DAMON_TARGETS;
        rank->has_unseen = !candidate[i].is_left_out && (!has_room || !is_watchable(rank));
        wanted->n_unseen += rank->has_unseen;
        wanted->n_denied += rank->has_unseen && has_room;
        if (candidate[i].is_left_out || rank->has_unseen)
            continue;
        struct hm_damon_process process = {.start_time = rank->start_time, .pid = rank->pid};
        hm_damon_ranges_choose(hm_maps_with_aliases(&maps[s], &all), candidate[i].resident, &process);
        wanted->watch.process[wanted->n] = process;
        wanted->resident[wanted->n] = candidate[i].resident;
        wanted->space[wanted->n++] = s;
    }
    hm_maps_free(&all);
}

/* One more number goes into the shape. */
static void mix(uint64_t *shape, uint64_t number)
{
    struct hm_random random = {*shape ^ number};
    *shape = hm_random_next(&random);
}

uint64_t hm_damon_wanted_shape(const struct hm_ranks *ranks, const struct hm_maps *maps)
{
    uint64_t shape = 0;
    for (uint32_t s = 0; s < ranks->n; s++) {
        mix(&shape, (uint64_t)ranks->rank[s].pid << 1 | ranks->rank[s].is_gone);
        for (size_t i = 0; i < maps[s].n; i++) {
            mix(&shape, maps[s].range[i].first);
            mix(&shape, maps[s].range[i].n_pages);
        }
        for (size_t i = 0; maps[s].n_aliases > 0 && i < maps[s].n_mapped; i++) {
            mix(&shape, maps[s].mapped[i].range.first);
            mix(&shape, maps[s].mapped[i].range.n_pages);
        }
    }
    return shape;
}
