/* SPDX-License-Identifier: Apache-2.0 */
/* Which pages of the sites' memory change tiers (pages.h). */
#include <errno.h>
#include <stdlib.h>

#include "base/amount.h"
#include "base/pagesize.h"
#include "pages.h"

struct order { /* a stretch, and when its turn is */
    double rank;
    size_t at;
};

static int compare_order(const void *a, const void *b)
{
    const struct order *left = a, *right = b;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    return (left->at > right->at) - (left->at < right->at);
}

/* Plans moves in one direction, of the stretches that were chosen or of the others, at most `limit` pages. The hottest
 * go up first, the coldest down. Returns how many moves there are then. */
static size_t plan(const struct hm_online_pages *pages, const struct order *order, const bool *is_fast, bool is_chosen,
                   bool goes_up, uint64_t limit, struct hm_move *move, size_t n)
{
    unsigned from = goes_up ? 1 : 0;
    for (size_t i = 0; i < pages->n && limit > 0; i++) {
        size_t at = order[goes_up ? pages->n - 1 - i : i].at;
        const struct hm_extent *extent = &pages->extent[at];
        if (is_fast[pages->entry[at]] != is_chosen || extent->tier_pages[from] == 0)
            continue;
        move[n++] = (struct hm_move){
            .first = extent->first, .n_pages = extent->n_pages, .limit = limit, .from = from, .to = 1 - from};
        limit = hm_less(limit, extent->tier_pages[from]);
    }
    return n;
}

int hm_online_pages_move(struct hm_online_pages *pages, const bool *is_fast, const double *rank, uint64_t capacity,
                         uint64_t budget)
{
    struct order *order = calloc(pages->n + 1, sizeof(*order));
    struct hm_move *move = calloc(2 * pages->n + 1, sizeof(*move));
    uint64_t used = 0, up = 0, others = 0, bytes = hm_page_size();
    int status = order && move ? 0 : -1;
    for (size_t i = 0; status == 0 && i < pages->n; i++) {
        const uint64_t *tier_pages = pages->extent[i].tier_pages;
        bool is_chosen = is_fast[pages->entry[i]];
        order[i] = (struct order){rank[pages->entry[i]], i};
        used += tier_pages[0];
        up += is_chosen ? tier_pages[1] : 0;
        others += is_chosen ? 0 : tier_pages[0];
    }
    uint64_t most = hm_least(capacity / bytes, used + hm_nodes_room(&pages->nodes, 0) / bytes);
    uint64_t down = hm_least(hm_less(used + up, most), others), excess = hm_less(used - others, most);
    uint64_t sum = hm_least(up, hm_less(most, used - down - excess)) + down + excess;
    double part = sum > budget ? (double)budget / (double)sum : 1;
    hm_mover_begin(&pages->mover, 0, budget);
    if (status == 0) {
        qsort(order, pages->n, sizeof(*order), compare_order);
        size_t n = plan(pages, order, is_fast, false, false, (uint64_t)((double)down * part), move, 0);
        n = plan(pages, order, is_fast, true, false, (uint64_t)((double)excess * part), move, n);
        hm_mover_run(&pages->mover, move, n);
        /* What has left the tier makes room only where no more is there than may be. */
        pages->mover.room_pages = hm_less(most, hm_less(used, pages->mover.moved.demoted));
        n = plan(pages, order, is_fast, true, true, up, move, 0);
        hm_mover_run(&pages->mover, move, n);
    }
    free(order);
    free(move);
    errno = ENOMEM;
    return status;
}
