/* SPDX-License-Identifier: Apache-2.0 */
/* All memory of the processes with a window, cut into pieces: no I/O. */
#include "parts.h"

struct pieces {                     /* of one process */
    struct hm_softdirty *softdirty; /* NULL: they are only counted */
    uint32_t space;
    uint64_t most_pages; /* of a piece */
    struct hm_range open;
    size_t n, taken, most;
};

static void end_piece(struct pieces *pieces)
{
    if (pieces->open.n_pages == 0)
        return;
    pieces->n++;
    if (pieces->softdirty && pieces->taken < pieces->most)
        pieces->taken +=
            hm_softdirty_add(pieces->softdirty, HM_PAGE(pieces->space, pieces->open.first), pieces->open.n_pages);
    pieces->open.n_pages = 0;
}

/* The range joins the open piece as far as that one reaches, holes between them included. */
static void cut(struct pieces *pieces, const struct hm_range *range)
{
    uint64_t at = range->first, end = range->first + range->n_pages;
    while (at < end) {
        uint64_t reach = pieces->open.first + pieces->most_pages;
        if (pieces->open.n_pages > 0 && at >= reach)
            end_piece(pieces);
        if (pieces->open.n_pages == 0) {
            pieces->open.first = at;
            reach = at + pieces->most_pages;
        }
        at = end < reach ? end : reach;
        pieces->open.n_pages = at - pieces->open.first;
    }
}

/* Memory that has come or grown in the window shows the marks of the whole mapping that it was made or merged into:
 * what is in none that was there before is left out. */
static bool is_steady(const struct hm_range *range, const struct hm_maps *begun)
{
    size_t i = hm_maps_find(begun, range->first);
    return i < begun->n && begun->range[i].first <= range->first &&
           begun->range[i].first + begun->range[i].n_pages >= range->first + range->n_pages;
}

static struct pieces cut_all(struct pieces pieces, const struct hm_maps *begun, const struct hm_maps *now)
{
    for (size_t i = 0; i < now->n; i++) {
        if (is_steady(&now->range[i], begun))
            cut(&pieces, &now->range[i]);
        else
            end_piece(&pieces); /* what is left out is in no hole */
    }
    end_piece(&pieces);
    return pieces;
}

size_t hm_softdirty_add_all(struct hm_softdirty *softdirty, uint32_t space, const struct hm_maps *begun,
                            const struct hm_maps *now, size_t most)
{
    struct pieces pieces = {.space = space, .most = most > 0 ? most : 1};
    pieces.most_pages = now->n_pages / pieces.most + 1;
    if (pieces.most_pages < HM_SOFTDIRTY_PAGES)
        pieces.most_pages = HM_SOFTDIRTY_PAGES;
    while (cut_all(pieces, begun, now).n > pieces.most && pieces.most_pages >> HM_PAGE_BITS == 0)
        pieces.most_pages *= 2;
    pieces.softdirty = softdirty;
    return cut_all(pieces, begun, now).taken;
}
