/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of the fast tier that a step keeps: its cap, at the pace that the purse pays for, and its share, which is
 * the right of other jobs. */
#include <stdlib.h>

#include "base/amount.h"
#include "base/pagesize.h"
#include "phaseparts.h"

#define PHASES_TO_GIVE_BACK 4 /* a phase demotes this part of what the step has above its share, paid for or not */
/* Decisions after which a step of which no page was seen in use counts as idle, so that all of its memory is cold. */
#define BLIND 3

bool hm_live_is_blind(const struct hm_live *live, const struct hm_live_end *end)
{
    return end->n_extents == 0 && live->n_decided < BLIND;
}

uint64_t hm_live_above_cap(const struct hm_live *live, const struct hm_live_end *end)
{
    return hm_live_is_blind(live, end) ? 0 : hm_less(end->used_pages[0], live->cap_pages);
}

uint64_t hm_live_used(const struct hm_live *live, const struct hm_live_end *end, unsigned tier)
{
    uint64_t used = end->used_pages[tier] - end->gap_pages[tier];
    uint64_t above = tier == 0 ? hm_less(used, hm_least(live->cap_pages, live->share.pages)) : 0;
    return used - hm_least(above, end->unseen_pages[tier]);
}

static size_t demote(const struct hm_live *live, const struct hm_extent *gaps, size_t count, unsigned from,
                     uint64_t pages, struct hm_move *moves)
{
    unsigned to = live->nodes.n_tiers - 1;
    size_t n = 0;
    for (size_t i = 0; i < count && pages > 0; i++) {
        const struct hm_extent *gap = &gaps[i];
        if (gap->tier_pages[from] == 0)
            continue;
        moves[n++] =
            (struct hm_move){.first = gap->first, .n_pages = gap->n_pages, .limit = pages, .from = from, .to = to};
        pages = hm_less(pages, gap->tier_pages[from]);
    }
    return n;
}

size_t hm_live_demote_unused(struct hm_live *live, const struct hm_live_end *end, unsigned from, uint64_t pages,
                             struct hm_move *moves)
{
    return demote(live, live->gaps, end->n_gaps, from, pages, moves);
}

static int compare_priority(const void *a, const void *b)
{
    const struct hm_extent *x = *(const struct hm_extent *const *)a, *y = *(const struct hm_extent *const *)b;
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/*
 * How many pages are to be demoted after the plan's moves: what is still above the cap, as far as it is paid for, and a
 * part of what is above the share, so that the step gives back over some phases, and keeps what is hot while it does.
 */
static uint64_t pages_over(const struct hm_live *live, const struct hm_live_end *end, uint64_t paid_pages)
{
    const struct hm_moved *moved = &live->mover.moved;
    uint64_t used = hm_less(end->used_pages[0] + moved->into_fast, moved->out_of_fast);
    uint64_t left = hm_less(paid_pages, moved->promoted + moved->demoted);
    uint64_t above_cap = hm_live_is_blind(live, end) ? 0 : hm_less(used, live->cap_pages);
    return hm_most(hm_least(above_cap, left), hm_less(used, live->share.pages) / PHASES_TO_GIVE_BACK);
}

/*
 * Demotes the coldest pages. The plan may have fallen short: pages could not be moved, or the few pages that were
 * looked up in an extent misled it. An idle step has hardly any CPU time to use; what other jobs have a right to is
 * more important than the overhead.
 */
void hm_live_enforce_limits(struct hm_live *live, const struct hm_live_end *end, uint64_t rate_pages,
                            uint64_t paid_pages)
{
    uint64_t promoted = live->mover.moved.promoted, demoted = live->mover.moved.demoted;
    uint64_t over = pages_over(live, end, paid_pages);
    if (over == 0)
        return;
    live->mover.budget_pages = rate_pages == UINT64_MAX ? UINT64_MAX : hm_less(rate_pages, promoted + demoted);
    struct hm_move *moves = calloc(end->n_gaps + end->n_unseen + end->n_extents + 1, sizeof(*moves));
    const struct hm_extent **by_priority = calloc(end->n_extents + 1, sizeof(*by_priority));
    if (moves && by_priority) {
        size_t n = hm_live_demote_unused(live, end, 0, UINT64_MAX, moves);
        n += demote(live, live->gaps + end->n_gaps, end->n_unseen, 0, UINT64_MAX, moves + n);
        for (size_t i = 0; i < end->n_extents; i++)
            by_priority[i] = &end->extent[i];
        if (end->n_extents > 1)
            qsort(by_priority, end->n_extents, sizeof(const struct hm_extent *), compare_priority);
        for (size_t i = 0; i < end->n_extents; i++)
            moves[n++] = (struct hm_move){.first = by_priority[i]->first,
                                          .n_pages = by_priority[i]->n_pages,
                                          .limit = by_priority[i]->n_pages,
                                          .to = 1};
        for (size_t i = 0; i < n && over > 0 && !hm_live_is_told(live); i++) {
            uint64_t before = live->mover.moved.out_of_fast;
            moves[i].limit = over;
            hm_mover_run(&live->mover, &moves[i], 1);
            over = hm_less(over, live->mover.moved.out_of_fast - before);
        }
    }
    free(by_priority);
    free(moves);
}

void hm_live_watch_cap(struct hm_live *live, const struct hm_live_end *end, double phase_s)
{
    uint64_t bytes[2], pages = end->used_pages[0] + live->mover.moved.into_fast;
    uint64_t used = hm_less(pages, live->mover.moved.out_of_fast) * hm_page_size();
    struct hm_progress *progress = live->shown.progress;
    if (live->cap_pages == UINT64_MAX)
        return;
    if (live->n_decided == 0)
        progress->first_above_cap_bytes = hm_less(end->used_pages[0], live->cap_pages) * hm_page_size();
    if (hm_live_read_usage(live, bytes))
        used = bytes[0];
    uint64_t above = hm_less(used, live->cap_pages * hm_page_size());
    progress->above_cap_bytes = hm_most(progress->above_cap_bytes, above);
    if (end->used_pages[0] > live->cap_pages)
        progress->above_cap_s += phase_s;
}
