/* SPDX-License-Identifier: Apache-2.0 */
#include "mover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/pagesize.h"

#define HUGE_SWITCH "/sys/kernel/mm/transparent_hugepage/enabled"
#define LEAST_BATCH 128 /* smallest value of batch_pages, and the first */
#define BATCH_S 0.03    /* wanted time of a batch: a request to end waits only for a few of these */
#define WINDOW 4096     /* moves that are sorted by process together */
#define LOOK 1024       /* pages looked up together; more where a huge page has more */

int hm_mover_init(struct hm_mover *mover, struct hm_nodes *nodes, const struct hm_ranks *ranks,
                  const struct hm_maps *maps, bool (*stop)(void *data), void *data, struct hm_error *error)
{
    char text[256];
    *mover = (struct hm_mover){.nodes = nodes,
                               .ranks = ranks,
                               .maps = maps,
                               .stop = stop,
                               .data = data,
                               .refused = -1,
                               .batch_pages = LEAST_BATCH};
    hm_present_init(&mover->present);
    mover->has_huge = hm_file_read_start(HUGE_SWITCH, text, sizeof(text)) == 0 && !strstr(text, "[never]");
    mover->batch = calloc(1, sizeof(*mover->batch));
    if (mover->batch && hm_unmovable_init(&mover->unmovable) == 0)
        return 0;
    hm_mover_free(mover);
    return hm_fail(error, ENOMEM, "no memory for moving pages");
}

void hm_mover_free(struct hm_mover *mover)
{
    free(mover->batch);
    mover->batch = NULL;
    hm_unmovable_free(&mover->unmovable);
}

void hm_mover_begin(struct hm_mover *mover, uint64_t room_pages, uint64_t budget_pages)
{
    hm_nodes_refresh(mover->nodes);
    mover->room_pages = room_pages;
    mover->budget_pages = budget_pages;
    mover->moved = (struct hm_moved){0};
    mover->busy_s = 0;
    mover->turn++;
}

void hm_mover_forget(struct hm_mover *mover, uint64_t first, uint64_t n_pages)
{
    hm_unmovable_forget(&mover->unmovable, first, n_pages);
}

/* ------------------------------------------------------------------ a batch and its outcome */

static void count_one(struct hm_mover *mover, const struct hm_candidate *candidate)
{
    uint64_t page = HM_PAGE(mover->space, candidate->page);
    uint64_t *moved = mover->to_fast ? &mover->moved.promoted : &mover->moved.demoted;
    *moved += candidate->n_moved;
    if (candidate->n_moved > 0) {
        hm_nodes_give(mover->nodes, candidate->from, (uint64_t)candidate->n_moved * hm_page_size());
        mover->budget_pages = hm_less(mover->budget_pages, mover->budget_pages == UINT64_MAX ? 0 : candidate->n_moved);
        if (!mover->to_fast)
            mover->room_pages += mover->room_pages == UINT64_MAX ? 0 : candidate->n_moved;
    }
    if (candidate->outcome < HM_OUTCOME_UNMOVED)
        return;
    enum hm_unmoved reason = candidate->outcome - HM_OUTCOME_UNMOVED;
    mover->moved.unmoved[reason]++;
    if (reason == HM_UNMOVED_SHARED || reason == HM_UNMOVED_BUSY)
        hm_unmovable_add(&mover->unmovable, page, reason == HM_UNMOVED_SHARED);
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
        if (mover->to_fast && mover->room_pages != UINT64_MAX)
            mover->room_pages += aside - used;
    }
}

/* Carries the batch out, and learns how many pages the next one may have. */
static void flush(struct hm_mover *mover)
{
    struct hm_batch *batch = mover->batch;
    if (batch->n == 0)
        return;
    size_t n = batch->n;
    double start = hm_clock_s(CLOCK_MONOTONIC);
    batch->refused = batch->full = -1;
    /* Whether the process is still the step's is checked right before the move: the kernel checks only the user. */
    if (hm_ranks_is_ours(mover->ranks, mover->space))
        hm_batch_move(batch, mover->ranks->rank[mover->space].pid);
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
        mover->batch_pages = wanted < LEAST_BATCH      ? LEAST_BATCH
                             : wanted > HM_BATCH_PAGES ? HM_BATCH_PAGES
                                                       : (size_t)wanted;
    }
    batch->n = 0;
}

/* ------------------------------------------------------------------ what goes in */

/* Adds the page to the batch. Returns false if no node has room for it, or room_pages leaves none in the fast tier. */
static bool add(struct hm_mover *mover, uint64_t page, int from, bool may_be_huge)
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
    if (mover->to_fast && mover->room_pages < wanted)
        return false;
    candidate->to = hm_nodes_take(mover->nodes, from, mover->to_fast, wanted * hm_page_size());
    if (candidate->to < 0)
        return false;
    if (mover->to_fast && mover->room_pages != UINT64_MAX)
        mover->room_pages -= wanted;
    candidate->aside = (uint16_t)wanted;
    batch->n++;
    return true;
}

/*
 * Adds the page. A batch that has batch_pages already, or has no room for the whole of a huge page that begins, is
 * carried out first. A huge page stays in one batch. If there is no room for the page, the batch is carried out, which
 * may free some, and the page is tried again.
 */
static bool add_or_flush(struct hm_mover *mover, uint64_t page, int from, bool may_be_huge)
{
    struct hm_batch *batch = mover->batch;
    size_t more = !may_be_huge ? 1 : page % hm_huge_pages() == 0 ? hm_huge_pages() : 0;
    if ((batch->n >= mover->batch_pages && more > 0) || batch->n + more > HM_BATCH_PAGES || batch->n == HM_BATCH_PAGES)
        flush(mover);
    if (add(mover, page, from, may_be_huge))
        return true;
    flush(mover);
    return add(mover, page, from, may_be_huge);
}

/*
 * May the page be in a transparent huge page? All pages of a huge page are present, in the same mapping, and on the
 * same node.
 */
static bool may_be_huge(const struct hm_range *range, const uint64_t *page, const int *status, size_t i, size_t n)
{
    uint64_t block = page[i] / hm_huge_pages() * hm_huge_pages(), end = block + hm_huge_pages();
    if (block < range->first || end > range->first + range->n_pages)
        return false;
    bool next_differs = i + 1 < n && page[i] + 1 < end && (page[i + 1] != page[i] + 1 || status[i + 1] != status[i]);
    bool last_differs = i > 0 && page[i] > block && (page[i - 1] != page[i] - 1 || status[i - 1] != status[i]);
    return !next_differs && !last_differs;
}

static bool is_spent(const struct hm_mover *mover, uint64_t limit)
{
    return limit == 0 || mover->batch->n >= mover->budget_pages;
}

/* Notes where the move stops, as its limit or the budget is used up. */
static bool stop_at(struct hm_mover *mover, uint64_t page)
{
    mover->stopped_at = HM_PAGE(mover->space, page);
    return false;
}

/* Adds the pages of one range to batches. Returns false if nothing more of this move is to be done. */
static bool gather(struct hm_mover *mover, const struct hm_range *range, uint64_t first, uint64_t end, uint64_t *limit)
{
    pid_t pid = mover->ranks->rank[mover->space].pid;
    uint64_t *page = mover->page;
    int *status = mover->status;
    size_t look = hm_most(LOOK, hm_huge_pages());
    hm_present_begin(&mover->present, first, end, mover->turn);
    for (;;) {
        if (is_spent(mover, *limit))
            return stop_at(mover, first);
        if (mover->stop(mover->data))
            return false;
        size_t n = hm_present_next(&mover->present, page, mover->may_be_huge, look);
        if (n == 0)
            return true;
        if (hm_batch_query(mover->batch, pid, page, status, n) != 0)
            return false;
        for (size_t i = 0; i < n; i++) {
            if (status[i] < 0 || hm_nodes_is_fast(mover->nodes, status[i]) == mover->to_fast ||
                hm_unmovable_has(&mover->unmovable, HM_PAGE(mover->space, page[i])))
                continue;
            bool is_huge = mover->has_huge && mover->may_be_huge[i] && may_be_huge(range, page, status, i, n);
            if (is_spent(mover, *limit))
                return stop_at(mover, page[i]);
            if (!add_or_flush(mover, page[i], status[i], is_huge))
                return false;
            --*limit;
        }
        first = page[n - 1] + 1;
    }
}

/* Moves up to *limit pages of the span from `first` to `end` - 1. Returns false if nothing more of this move is to be
 * done. */
static bool move_span(struct hm_mover *mover, uint64_t first, uint64_t end, uint64_t *limit)
{
    const struct hm_maps *maps = &mover->maps[mover->space];
    for (size_t i = hm_maps_find(maps, first); i < maps->n && maps->range[i].first < end; i++) {
        const struct hm_range *range = &maps->range[i];
        uint64_t from = range->first > first ? range->first : first;
        uint64_t to = range->first + range->n_pages < end ? range->first + range->n_pages : end;
        if (!gather(mover, range, from, to, limit))
            return false;
    }
    return true;
}

/* A demotion goes on where the last one of the span has stopped, and comes to the pages before at its end: a long one
 * takes many phases, and would else look at all that is down already in each. */
static void move_one(struct hm_mover *mover, const struct hm_move *move)
{
    uint32_t space = HM_PAGE_SPACE(move->first);
    uint64_t first = HM_PAGE_NUMBER(move->first), end = first + move->n_pages, limit = move->limit, start = first;
    if (space >= mover->ranks->n || mover->ranks->rank[space].pid == 0 || mover->ranks->rank[space].is_gone)
        return;
    if (mover->batch->n > 0 && (space != mover->space || move->to_fast != mover->to_fast))
        flush(mover);
    mover->space = space;
    mover->to_fast = move->to_fast;
    if (!move->to_fast && mover->next_down >= move->first && mover->next_down - move->first < move->n_pages)
        start = HM_PAGE_NUMBER(mover->next_down);
    mover->stopped_at = 0;
    hm_present_open(&mover->present, mover->ranks->rank[space].pid, mover->maps[space].n_pages);
    if (move_span(mover, start, end, &limit) && start > first)
        move_span(mover, first, start, &limit);
    hm_present_close(&mover->present);
    if (!move->to_fast && limit < move->limit && mover->stopped_at > 0)
        mover->next_down = mover->stopped_at;
}

static int compare_moves(const void *a, const void *b)
{
    const struct hm_move *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

void hm_mover_run(struct hm_mover *mover, struct hm_move *moves, size_t count)
{
    mover->batch->n = 0;
    for (size_t done = 0; done < count;) {
        /*
         * Moves in the same process share a call, so they are sorted within a window. If room is short, the order of
         * the plan still decides, except within a window.
         */
        size_t n = 0;
        uint64_t pages = 0;
        while (done + n < count && n < WINDOW && pages < HM_BATCH_PAGES &&
               moves[done + n].to_fast == moves[done].to_fast) {
            const struct hm_move *move = &moves[done + n++];
            pages += move->limit < move->n_pages ? move->limit : move->n_pages;
        }
        if (n > 1)
            qsort(moves + done, n, sizeof(*moves), compare_moves);
        for (size_t i = 0; i < n && !mover->stop(mover->data); i++)
            move_one(mover, &moves[done + i]);
        done += n;
        if (done == count || moves[done].to_fast != mover->to_fast)
            flush(mover);
        if (mover->stop(mover->data))
            break;
    }
    if (!mover->stop(mover->data))
        flush(mover);
}
