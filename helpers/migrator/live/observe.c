/* SPDX-License-Identifier: Apache-2.0 */
/* Passes what a source has seen to the decision code: by the home of the memory, and only of memory that may be moved.
 */
#include "live.h"

#define CHUNK 256

struct chunk { /* observations collected for one call of hm_decider_observe */
    struct hm_live *live;
    size_t n;
    struct hm_observation observation[CHUNK];
};

static void hand_over(struct chunk *chunk)
{
    if (chunk->n > 0)
        hm_decider_observe(chunk->live->decider, chunk->observation, chunk->n);
    chunk->n = 0;
}

static void add(struct chunk *chunk, struct hm_observation observation)
{
    struct hm_live *live = chunk->live;
    if (live->window.is_used)
        hm_softdirty_split(live->window.softdirty, &observation, 1);
    hm_tally_add(&live->account.tally, &observation, (double)live->intake.source->state.unit, true);
    chunk->observation[chunk->n++] = observation;
    if (chunk->n == CHUNK)
        hand_over(chunk);
}

/*
 * Adds the part of the observation from page `from` to `to` - 1. The observation's weight is spread evenly over
 * `pages` pages. The part is cut where the known share of writes changes.
 */
static void add_part(struct chunk *chunk, const struct hm_observation *observation, uint64_t from, uint64_t to,
                     uint64_t pages)
{
    const struct hm_live *live = chunk->live;
    for (uint64_t end; from < to; from = end) {
        end = live->window.is_used ? hm_softdirty_border(live->window.softdirty, from) : to;
        end = end < to ? end : to;
        struct hm_observation part = *observation;
        float share = (float)((double)(end - from) / (double)pages);
        part.page = from;
        part.n_pages = end - from;
        part.reads *= share;
        part.writes *= share;
        add(chunk, part);
    }
}

static uint64_t count_aliases(const struct hm_maps *maps, uint64_t first, uint64_t end)
{
    uint64_t pages = 0;
    if (maps->n_aliases == 0)
        return 0;
    for (size_t i = hm_maps_find_mapped(maps, first); i < maps->n_mapped && maps->mapped[i].range.first < end; i++)
        pages += maps->mapped[i].is_alias ? hm_range_cut(maps->mapped[i].range, first, end).n_pages : 0;
    return pages;
}

/* Adds the parts of the observation that have their home elsewhere, as if they had been seen there. */
static void add_aliases(struct chunk *chunk, const struct hm_maps *maps, const struct hm_observation *observation,
                        uint64_t pages)
{
    uint64_t first = HM_PAGE_NUMBER(observation->page), end = first + observation->n_pages;
    if (maps->n_aliases == 0)
        return;
    for (size_t i = hm_maps_find_mapped(maps, first); i < maps->n_mapped && maps->mapped[i].range.first < end; i++) {
        const struct hm_mapped *mapped = &maps->mapped[i];
        struct hm_range part = hm_range_cut(mapped->range, first, end);
        uint64_t home = mapped->home + (part.first - mapped->range.first);
        if (mapped->is_alias)
            add_part(chunk, observation, home, home + part.n_pages, pages);
    }
}

/* Adds the pages of the observation that may be moved; they share its weight. Returns false if there are none. */
static bool add_movable(struct chunk *chunk, const struct hm_observation *observation)
{
    uint32_t space = HM_PAGE_SPACE(observation->page);
    uint64_t first = HM_PAGE_NUMBER(observation->page), end = first + observation->n_pages;
    if (space >= HM_RANKS)
        return false;
    const struct hm_maps *maps = &chunk->live->intake.maps[space];
    uint64_t pages = hm_maps_count(maps, first, observation->n_pages) + count_aliases(maps, first, end);
    for (size_t i = hm_maps_find(maps, first); i < maps->n && maps->range[i].first < end; i++) {
        uint64_t from = maps->range[i].first > first ? maps->range[i].first : first;
        uint64_t to = maps->range[i].first + maps->range[i].n_pages;
        add_part(chunk, observation, HM_PAGE(space, from), HM_PAGE(space, to < end ? to : end), pages);
    }
    add_aliases(chunk, maps, observation, pages);
    return pages > 0;
}

void hm_live_take(void *data, const struct hm_observation *observations, size_t count)
{
    struct hm_live *live = data;
    struct chunk chunk = {.live = live};
    if (live->intake.source->state.ways != live->intake.ways)
        hm_live_begin_anew(live);
    for (size_t i = 0; i < count; i++) {
        if (add_movable(&chunk, &observations[i]))
            continue;
        if (live->intake.n_later < HM_LIVE_LATER)
            live->intake.later[live->intake.n_later++] = observations[i];
        else
            live->intake.dropped++;
    }
    hand_over(&chunk);
}

void hm_live_observe_later(struct hm_live *live)
{
    struct chunk chunk = {.live = live};
    for (size_t i = 0; i < live->intake.n_later; i++)
        if (!add_movable(&chunk, &live->intake.later[i]))
            hm_tally_add(&live->account.tally, &live->intake.later[i], (double)live->intake.source->state.unit, false);
    hand_over(&chunk);
    live->intake.n_later = 0;
}
