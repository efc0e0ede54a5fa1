/* SPDX-License-Identifier: Apache-2.0 */
/* A batch of the mover: what goes in, and its outcome. */
#include <errno.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/pagesize.h"
#include "cpus.h"
#include "migrator/watch/powers.h"
#include "moverparts.h"

#define BATCH_S 0.03 /* wanted time of a batch: a request to end waits only for a few of these */

uint64_t hm_mover_key(const struct hm_mover *mover, uint64_t page)
{
    const struct hm_mapped *mapped = hm_maps_mapped(&mover->maps[mover->space], page);
    return mapped ? mapped->home + (page - mapped->range.first) : HM_PAGE(mover->space, page);
}

static void count_one(struct hm_mover *mover, const struct hm_candidate *candidate)
{
    uint64_t *moved = mover->to < mover->from ? &mover->moved.promoted : &mover->moved.demoted;
    *moved += candidate->n_moved;
    mover->moved.into_fast += mover->to == 0 ? candidate->n_moved : 0;
    mover->moved.out_of_fast += mover->from == 0 ? candidate->n_moved : 0;
    if (candidate->n_moved > 0) {
        enum hm_memory_kind kind = hm_maps_kind(&mover->maps[mover->space], candidate->page);
        mover->moved.has_apart = mover->moved.has_apart || kind == HM_MEMORY_FILE || kind == HM_MEMORY_HUGETLB;
        hm_nodes_admit(mover->nodes, candidate->to);
        hm_nodes_give(mover->nodes, candidate->from, (uint64_t)candidate->n_moved * hm_page_size());
        mover->budget_pages = hm_less(mover->budget_pages, mover->budget_pages == UINT64_MAX ? 0 : candidate->n_moved);
        if (mover->from == 0)
            mover->room_pages += mover->room_pages == UINT64_MAX ? 0 : candidate->n_moved;
    }
    if (candidate->outcome == HM_OUTCOME_MOVED || candidate->outcome == HM_OUTCOME_WITH_HUGE)
        hm_unmovable_forget_one(&mover->unmovable, hm_mover_key(mover, candidate->page));
    if (candidate->outcome < HM_OUTCOME_UNMOVED)
        return;
    enum hm_unmoved reason = candidate->outcome - HM_OUTCOME_UNMOVED;
    mover->moved.unmoved[reason]++;
    if (reason == HM_UNMOVED_SHARED || reason == HM_UNMOVED_BUSY)
        hm_unmovable_add(&mover->unmovable, hm_mover_key(mover, candidate->page), reason == HM_UNMOVED_SHARED);
}

/*
 * Gives back room that was reserved and not used. If more was used than reserved, the unsigned sums wrap around, so
 * that the room shrinks by the difference.
 */
static void give_back(struct hm_mover *mover)
{
    const struct hm_batch *batch = mover->batch;
    for (size_t i = 0; i < batch->n; i++) {
        uint64_t aside = batch->candidate[i].aside, used = batch->candidate[i].n_moved;
        hm_nodes_give(mover->nodes, batch->candidate[i].to, aside * hm_page_size());
        hm_nodes_give(mover->nodes, batch->candidate[i].to, 0 - used * hm_page_size());
        if (mover->to == 0 && mover->room_pages != UINT64_MAX)
            mover->room_pages += aside - used;
    }
}

void hm_mover_flush(struct hm_mover *mover)
{
    struct hm_batch *batch = mover->batch;
    if (batch->n == 0)
        return;
    size_t n = batch->n;
    double start = hm_clock_s(CLOCK_MONOTONIC);
    batch->refused = batch->full = -1;
    errno = 0;
    /* Whether the process is still the step's, and a file the user's, is checked right before the move: the kernel
     * checks only the process's user. */
    if (hm_ranks_is_ours(mover->ranks, mover->space)) {
        pid_t pid = mover->ranks->rank[mover->space].pid;
        bool is_stale = mover->part && !hm_powers_owns(pid, mover->part->whole);
        batch->for_all = mover->part && mover->part->is_own;
        if (!is_stale)
            hm_batch_move(batch, pid);
        mover->moved.is_stale = mover->moved.is_stale || is_stale;
    } else {
        mover->lacks_files = mover->lacks_files || errno == EMFILE || errno == ENFILE;
    }
    double took = hm_clock_s(CLOCK_MONOTONIC) - start;
    for (size_t i = 0; i < n; i++)
        count_one(mover, &batch->candidate[i]);
    give_back(mover);
    if (batch->refused >= 0)
        hm_nodes_close(mover->nodes, mover->refused = batch->refused);
    if (batch->full >= 0)
        hm_nodes_fill(mover->nodes, batch->full);
    mover->busy_s += took;
    /* batch_pages goes half way to the length that would have taken BATCH_S. */
    if (n >= mover->batch_pages / 2 && took > 0) {
        double wanted = ((double)n * BATCH_S / took + (double)mover->batch_pages) / 2;
        mover->batch_pages = wanted < HM_MOVER_LEAST_BATCH ? HM_MOVER_LEAST_BATCH
                             : wanted > HM_BATCH_PAGES     ? HM_BATCH_PAGES
                                                           : (size_t)wanted;
    }
    batch->n = 0;
}

/* The slowest tier to which the page may go: what goes down may go further than planned, but for pages of hugetlbfs,
 * as other jobs may have reserved those of that tier. */
static unsigned lowest(const struct hm_mover *mover, const struct hm_mapped *mapped)
{
    bool is_bound = mover->to < mover->from || (mapped && mapped->kind == HM_MEMORY_HUGETLB);
    return is_bound ? mover->to : mover->nodes->n_tiers - 1;
}

/* Takes room for a page, down to this tier. Returns the node, or -1. */
static int take_room(struct hm_mover *mover, int from, unsigned lowest_tier, uint64_t bytes)
{
    int node = -1;
    for (unsigned tier = mover->to; node < 0 && tier <= lowest_tier; tier++)
        node = hm_nodes_take(mover->nodes, from, tier, bytes);
    return node;
}

/*
 * Asks where the process may run, once in a phase unless its moves alternate with those of others: room is taken near
 * to that. Most processes that map shared memory, too, have no page to move: only those with one are asked, as that
 * takes a call for each thread.
 */
static void bind_to_cpus(struct hm_mover *mover)
{
    struct hm_set cpus;
    if (mover->space == mover->bound && mover->turn == mover->bound_turn)
        return;
    mover->bound = mover->space;
    mover->bound_turn = mover->turn;
    if (!hm_nodes_matter(mover->nodes))
        return;
    hm_cpus_of(mover->ranks->rank[mover->space].pid, &cpus);
    hm_nodes_bind(mover->nodes, &cpus);
}

/* Adds the page to the batch. Returns false if no node has room for it, or room_pages leaves none in the fast tier. */
static bool add(struct hm_mover *mover, uint64_t page, int from, bool may_be_huge, const struct hm_mapped *mapped)
{
    struct hm_batch *batch = mover->batch;
    struct hm_candidate *candidate = &batch->candidate[batch->n];
    const struct hm_candidate *before = batch->n > 0 ? candidate - 1 : NULL;
    *candidate = (struct hm_candidate){.page = page, .from = from, .to = -1, .may_be_huge = may_be_huge};
    if (may_be_huge && before && before->may_be_huge && before->from == from &&
        before->page / hm_huge_pages() == page / hm_huge_pages()) {
        candidate->to = before->to;
        batch->n++;
        return true;
    }
    uint64_t wanted = may_be_huge ? hm_huge_pages() : 1;
    if (mover->to == 0 && mover->room_pages < wanted)
        return false;
    bind_to_cpus(mover);
    candidate->to = take_room(mover, from, lowest(mover, mapped), wanted * hm_page_size());
    if (candidate->to < 0)
        return false;
    if (mover->to == 0 && mover->room_pages != UINT64_MAX)
        mover->room_pages -= wanted;
    candidate->aside = (uint16_t)wanted;
    batch->n++;
    return true;
}

bool hm_mover_add(struct hm_mover *mover, uint64_t page, int from, bool may_be_huge, const struct hm_mapped *mapped)
{
    struct hm_batch *batch = mover->batch;
    bool is_checked = mapped && (mapped->is_own || mapped->kind == HM_MEMORY_FILE);
    const struct hm_mapped *part = is_checked ? mapped : NULL;
    if (part != mover->part)
        hm_mover_flush(mover);
    mover->part = part;
    size_t more = !may_be_huge ? 1 : page % hm_huge_pages() == 0 ? hm_huge_pages() : 0;
    if ((batch->n >= mover->batch_pages && more > 0) || batch->n + more > HM_BATCH_PAGES || batch->n == HM_BATCH_PAGES)
        hm_mover_flush(mover);
    if (add(mover, page, from, may_be_huge, mapped))
        return true;
    hm_mover_flush(mover);
    return add(mover, page, from, may_be_huge, mapped);
}
