/* SPDX-License-Identifier: Apache-2.0 */
#include "mover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/files.h"
#include "base/pagesize.h"
#include "migrator/watch/claims.h"
#include "moverparts.h"
#include "pool.h"

#define HUGE_SWITCHES "/sys/kernel/mm/transparent_hugepage/"
#define WINDOW 4096  /* moves that are sorted by process together */
#define LOOK 1024    /* present pages found together; more where a huge page has more */
#define ASK_LEAST 64 /* of them are looked up together at least: a call takes as long as some pages */

enum answer { ANSWER_NONE, ANSWER_YES, ANSWER_NO };

static bool is_on(const char *path)
{
    char text[256];
    return hm_file_read_start(path, text, sizeof(text)) == 0 && !strstr(text, "[never]") && !strstr(text, "[deny]");
}

int hm_mover_init(struct hm_mover *mover, struct hm_nodes *nodes, const struct hm_ranks *ranks,
                  const struct hm_maps *maps, bool (*stop)(void *data), void *data, struct hm_error *error)
{
    *mover = (struct hm_mover){.nodes = nodes,
                               .ranks = ranks,
                               .maps = maps,
                               .stop = stop,
                               .data = data,
                               .refused = -1,
                               .batch_pages = HM_MOVER_LEAST_BATCH};
    hm_present_init(&mover->present);
    mover->has_huge = is_on(HUGE_SWITCHES "enabled") || is_on(HUGE_SWITCHES "shmem_enabled");
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
    mover->room_pages = room_pages;
    mover->budget_pages = budget_pages;
    mover->moved = (struct hm_moved){0};
    mover->busy_s = 0;
    mover->looked_again = 0;
    mover->turn++;
}

void hm_mover_forget(struct hm_mover *mover, const struct hm_gone *gone, size_t n)
{
    hm_unmovable_forget(&mover->unmovable, gone, n);
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

/*
 * How many of the pages from `at` to `n` - 1 are looked up together: hardly more than may still be moved. All of them
 * if one may be in a huge page, as only the places of all its pages tell whether it is.
 */
static size_t count_to_ask(const struct hm_mover *mover, size_t at, size_t n, uint64_t limit)
{
    for (size_t i = at; i < n && mover->has_huge; i++)
        if (mover->may_be_huge[i])
            return n - at;
    uint64_t left = hm_least(limit, mover->budget_pages - mover->batch->n);
    return hm_least(n - at, hm_most(left, ASK_LEAST));
}

/* May the page be moved without harm to others? Each call of take() asks at most once. */
static bool is_harmless(const struct hm_mover *mover, const struct hm_mapped *mapped, enum answer *pool)
{
    if (!mapped || mapped->kind != HM_MEMORY_HUGETLB)
        return true;
    if (*pool == ANSWER_NONE)
        *pool = hm_pool_may_take("/sys", mover->nodes, mover->to) ? ANSWER_YES : ANSWER_NO;
    return *pool == ANSWER_YES;
}

/*
 * Is the page not worth another try? One that was shared is, when its process has it for itself, which the page map of
 * the process tells for a whole block: for memory that has its home there.
 */
static bool is_unmovable(struct hm_mover *mover, uint64_t page)
{
    uint64_t key = hm_mover_key(mover, page), block = key / HM_UNMOVABLE_BLOCK;
    if (!hm_unmovable_has(&mover->unmovable, key))
        return false;
    if (key != HM_PAGE(mover->space, page) || block == mover->looked_again)
        return true;
    mover->looked_again = block;
    hm_unmovable_look_again(&mover->unmovable, mover->present.pagemap, key);
    return hm_unmovable_has(&mover->unmovable, key);
}

/*
 * Is the page of a file where private memory is expected? Nobody has written to this page of a program's data, or else
 * a file has come in place of private memory since the mappings were read: whose, is not known. Notes it as unmovable,
 * until its process has a page of its own there.
 */
static bool is_of_unknown_file(struct hm_mover *mover, const struct hm_mapped *mapped, size_t i)
{
    uint64_t key = HM_PAGE(mover->space, mover->page[i]);
    if (mapped || !mover->is_file[i])
        return false;
    hm_unmovable_forget_one(&mover->unmovable, key); /* however often it was looked at: it was never tried */
    hm_unmovable_add(&mover->unmovable, key, true);
    return true;
}

/* Adds those of the n pages that were found to batches that are to be moved. Returns as gather(). */
static bool take(struct hm_mover *mover, const struct hm_range *range, size_t n, uint64_t *limit)
{
    pid_t pid = mover->ranks->rank[mover->space].pid;
    const uint64_t *page = mover->page;
    int *status = mover->status;
    size_t known = 0;
    enum answer pool = ANSWER_NONE;
    for (size_t i = 0; i < n; i++) {
        if (is_spent(mover, *limit))
            return stop_at(mover, page[i]);
        if (i == known) {
            size_t more = count_to_ask(mover, i, n, *limit);
            if (hm_batch_query(mover->batch, pid, page + i, status + i, more) != 0)
                return false;
            known += more;
        }
        if (status[i] < 0 || hm_nodes_tier(mover->nodes, status[i]) != mover->from)
            continue;
        const struct hm_mapped *mapped = hm_maps_mapped(&mover->maps[mover->space], page[i]);
        if (is_of_unknown_file(mover, mapped, i) || is_unmovable(mover, page[i]))
            continue;
        if (!is_harmless(mover, mapped, &pool)) {
            mover->moved.unmoved[HM_UNMOVED_ROOM]++;
            continue;
        }
        bool is_huge = (mover->has_huge || (mapped && mapped->kind == HM_MEMORY_HUGETLB)) && mover->may_be_huge[i] &&
                       may_be_huge(range, page, status, i, n);
        if (!hm_mover_add(mover, page[i], status[i], is_huge, mapped))
            return false;
        --*limit;
    }
    return true;
}

/* Adds the pages of one range to batches. Returns false if nothing more of this move is to be done. */
static bool gather(struct hm_mover *mover, const struct hm_range *range, uint64_t first, uint64_t end, uint64_t *limit)
{
    size_t look = hm_most(LOOK, hm_huge_pages());
    hm_present_begin(&mover->present, first, end, mover->turn);
    for (;;) {
        if (is_spent(mover, *limit))
            return stop_at(mover, first);
        if (mover->stop(mover->data))
            return false;
        size_t n = hm_present_next(&mover->present, mover->page, mover->may_be_huge, mover->is_file, look);
        if (n == 0)
            return true;
        if (!take(mover, range, n, limit))
            return false;
        first = mover->page[n - 1] + 1;
    }
}

/* Opens the page map of a move's process, unless the last move has left it open: to do so takes as long as to move some
 * pages. */
static void open_present(struct hm_mover *mover, uint32_t space)
{
    if (mover->present.pagemap >= 0 && space == mover->opened) {
        mover->present.missing = HM_PRESENT_MISSING;
        return;
    }
    hm_present_close(&mover->present);
    hm_present_open(&mover->present, mover->ranks->rank[space].pid, mover->maps[space].n_pages);
    mover->opened = space;
}

/* Makes the process and the tiers those of the batch. Returns false if the process is gone. */
static bool enter(struct hm_mover *mover, uint32_t space, const struct hm_move *move)
{
    if (!hm_ranks_is_there(mover->ranks, space))
        return false;
    if (mover->batch->n > 0 && (space != mover->space || move->from != mover->from || move->to != mover->to))
        hm_mover_flush(mover);
    mover->space = space;
    mover->from = move->from;
    mover->to = move->to;
    open_present(mover, space);
    return true;
}

/*
 * Adds the pages that other processes map, too, as they see them: each process has only those in its page tables that
 * it has used. Pages that were moved before have left the tier, and are not moved again.
 */
static void move_aliases(struct hm_mover *mover, const struct hm_move *move, uint64_t limit)
{
    struct hm_alias place = {0};
    bool goes_on = true;
    while (goes_on && hm_claims_next(mover->maps, mover->ranks->n, move->first, move->n_pages, &place)) {
        if (!enter(mover, place.space, move))
            continue;
        goes_on =
            gather(mover, &place.mapped->range, place.range.first, place.range.first + place.range.n_pages, &limit);
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
    uint64_t first = HM_PAGE_NUMBER(move->first), end = first + move->n_pages, limit = move->limit, start = first;
    if (!enter(mover, HM_PAGE_SPACE(move->first), move))
        return;
    if (!hm_move_is_up(move) && mover->next_down >= move->first && mover->next_down - move->first < move->n_pages)
        start = HM_PAGE_NUMBER(mover->next_down);
    mover->stopped_at = 0;
    bool goes_on = move_span(mover, start, end, &limit) && (start == first || move_span(mover, first, start, &limit));
    if (!hm_move_is_up(move) && limit < move->limit && mover->stopped_at > 0)
        mover->next_down = mover->stopped_at;
    if (goes_on && mover->maps[HM_PAGE_SPACE(move->first)].n_mapped > 0)
        move_aliases(mover, move, limit);
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
        while (done + n < count && n < WINDOW && pages < HM_BATCH_PAGES && moves[done + n].from == moves[done].from &&
               moves[done + n].to == moves[done].to) {
            const struct hm_move *move = &moves[done + n++];
            pages += move->limit < move->n_pages ? move->limit : move->n_pages;
        }
        if (n > 1)
            qsort(moves + done, n, sizeof(*moves), compare_moves);
        for (size_t i = 0; i < n && !mover->stop(mover->data); i++)
            move_one(mover, &moves[done + i]);
        done += n;
        if (done == count || moves[done].from != mover->from || moves[done].to != mover->to)
            hm_mover_flush(mover);
        if (mover->stop(mover->data))
            break;
    }
    if (!mover->stop(mover->data))
        hm_mover_flush(mover);
    hm_present_close(&mover->present);
}
