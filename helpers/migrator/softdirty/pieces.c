/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the memory of a process into pieces: the ranges that are looked at when its window ends (hm_softdirty_add_all in
 * softdirty.h). Pure. */
#include "parts.h"

struct pieces {                     /* the pieces of one process */
    struct hm_softdirty *softdirty; /* NULL: pieces are only counted */
    uint32_t space;
    uint64_t most_pages;  /* length of the largest piece allowed */
    struct hm_range open; /* the piece that may still grow; no pages: there is none */
    size_t n, most;       /* number of pieces, and how many are wanted at most */
    size_t taken;         /* pieces for which `softdirty` had room */
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

/* Adds the range to the open piece, with the hole between the two. Where a piece has `most_pages`, it ends, and the
 * next one begins. */
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

/*
 * Was the range there, in one mapping, when the window began? The kernel marks the whole of a mapping that is new, has
 * grown or was merged, so its marks say nothing.
 */
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
            end_piece(&pieces); /* no piece may reach over this range, as if it were a hole */
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
