/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange.h"

#include <math.h>
#include <string.h>

#include "base/amount.h"

/* How far an extent's share of pages in the fast tier may go past `even`. The hottest go first and so far, as few of
 * their pages take much heat: a small correction then moves few pages. */
#define SLACK 0.07

/* Pages of an extent that the plan has in one tier so far, and that may go to another. */
struct group {
    size_t extent;
    unsigned origin, tier, to; /* where they are now, where the plan has them, where they would go */
    uint64_t pages;            /* 0: there is none */
    double cost;               /* what it adds for a page to go there; less than 0 if it saves */
    int moves;                 /* how many moves of a page it adds */
};

static uint64_t *flow(const struct hm_exchange *exchange, size_t i, unsigned from, unsigned to)
{
    return hm_extents_flow(exchange->extents, exchange->extents->flow, i, from, to);
}

static struct hm_extent *extent_of(const struct hm_exchange *exchange, size_t i)
{
    return &exchange->extents->base.extent[i];
}

void hm_exchange_begin(struct hm_exchange *exchange, struct hm_extents *extents, const struct hm_budget *budget)
{
    unsigned n_tiers = extents->base.options.n_tiers;
    *exchange = (struct hm_exchange){.extents = extents, .moves_left = UINT64_MAX, .heat_room = INFINITY, .even = 1};
    memcpy(exchange->move_cost, extents->base.options.move_cost, sizeof(exchange->move_cost));
    for (unsigned tier = 0; tier + 1 < n_tiers; tier++)
        exchange->room[tier] = hm_less(budget->capacity_pages[tier], budget->used_pages[tier]);
    exchange->room[n_tiers - 1] = UINT64_MAX;
    for (size_t i = 0; i < extents->base.n_extents; i++)
        extents->base.extent[i].verdict = extents->n_phases > 1 ? HM_VERDICT_PLACED : HM_VERDICT_NEW;
    memset(extents->flow, 0, extents->base.n_extents * hm_extents_flows(extents) * sizeof(*extents->flow));
    memset(extents->kept, 0, extents->base.n_extents * hm_extents_flows(extents) * sizeof(*extents->kept));
}

/* The extent's pages in `tier`, in the plan so far, that are in the tier `origin` now. */
static uint64_t pages_at(const struct hm_exchange *exchange, size_t i, unsigned origin, unsigned tier)
{
    if (origin != tier)
        return *flow(exchange, i, origin, tier);
    uint64_t pages = extent_of(exchange, i)->tier_pages[tier];
    for (unsigned to = 0; to < exchange->extents->base.options.n_tiers; to++)
        pages -= to == tier ? 0 : *flow(exchange, i, tier, to);
    return pages;
}

static double cost_of(const struct hm_exchange *exchange, unsigned from, unsigned to)
{
    return from == to ? 0 : exchange->move_cost[from][to];
}

/* The group of an extent that can go from one tier to another: of those that the plan has moved already last. */
static struct group group_at(const struct hm_exchange *exchange, size_t i, unsigned tier, unsigned to)
{
    struct group group = {.extent = i, .origin = tier, .tier = tier, .to = to};
    unsigned n = exchange->extents->base.options.n_tiers;
    for (unsigned k = 0; k < n && group.pages == 0; k++) {
        group.origin = (tier + k) % n;
        group.pages = pages_at(exchange, i, group.origin, tier);
    }
    group.cost = cost_of(exchange, group.origin, to) - cost_of(exchange, group.origin, tier);
    group.moves = (group.origin != to) - (group.origin != tier);
    return group;
}

static void move(struct hm_exchange *exchange, const struct group *group, uint64_t pages, enum hm_verdict verdict)
{
    if (group->origin != group->tier)
        *flow(exchange, group->extent, group->origin, group->tier) -= pages;
    if (group->origin != group->to)
        *flow(exchange, group->extent, group->origin, group->to) += pages;
    bool is_up = group->to < group->tier;
    double step = hm_extents_step(exchange->extents, extent_of(exchange, group->extent),
                                  is_up ? group->to : group->tier, is_up ? group->tier : group->to);
    exchange->extents->lifted[group->extent] += (is_up ? step : -step) * (double)pages;
    extent_of(exchange, group->extent)->verdict = verdict;
    exchange->moves_left -= (uint64_t)group->moves * pages; /* adds where moves are saved, as unsigned sums wrap */
}

/* 0 <= x < 1, and always the same for an extent: Fibonacci hashing of its first page (Knuth, The Art of Computer
 * Programming 3, 6.4). Extents that lie evenly have even chances. */
static double chance_of(const struct hm_extent *extent)
{
    return (double)(extent->first * UINT64_C(0x9e3779b97f4a7c15) >> 11) * 0x1p-53;
}

/*
 * How many pages of the extent may leave the fast tier (`sign` is 1) or go there (-1), so that the tier's share of them
 * stays near `even`; no limit if that is 1. An extent of few pages cannot have that share: its limit is rounded up or
 * down by chance, so that many of them have the share together. The chance is that of its first page, so that the same
 * extents are in the fast tier in each phase.
 */
static uint64_t uneven(const struct hm_exchange *exchange, size_t i, int sign)
{
    const struct hm_extent *extent = extent_of(exchange, i);
    if (!(exchange->even < 1))
        return UINT64_MAX;
    double present = (double)(extent->tier_pages[0] + extent->tier_pages[1]);
    double fast = (double)(pages_at(exchange, i, 0, 0) + pages_at(exchange, i, 1, 0));
    double limit = floor((exchange->even - sign * SLACK) * present + chance_of(extent));
    double more = sign * (fast - limit);
    return more > 0 ? (uint64_t)more : 0;
}

/* How many pages of the extent may go to a slower tier (`sign` is 1) or to a faster one (-1). */
static uint64_t may_go(const struct hm_exchange *exchange, size_t i, int sign)
{
    uint64_t most = uneven(exchange, i, sign);
    return exchange->only_back ? hm_least(most, (uint64_t)fmax(0, sign * exchange->extents->lifted[i])) : most;
}

/* How many of `most` pages have this heat together, where each has `each`. */
static uint64_t pages_of_heat(double heat, double each, uint64_t most)
{
    return heat < each * (double)most ? (uint64_t)(heat / each) : most;
}

/* How many times so many moves the budget still allows. */
static uint64_t allowed(const struct hm_exchange *exchange, int moves)
{
    return moves > 0 ? exchange->moves_left / (uint64_t)moves : UINT64_MAX;
}

/*
 * The coldest group of the pair's faster tier, of extents below place `end`. It has no pages if there is none.
 */
static struct group find_cold(struct hm_exchange *exchange, unsigned k, size_t end)
{
    const struct hm_extents_pair *pair = &exchange->extents->pair[k];
    struct group group = {.pages = 0};
    for (; exchange->cold[k] < end; exchange->cold[k]++) {
        group = group_at(exchange, pair->order[exchange->cold[k]], pair->up, pair->down);
        if (exchange->only_back)
            group.pages = hm_least(group.pages, may_go(exchange, group.extent, 1));
        if (group.pages > 0)
            break;
    }
    return group;
}

/* The number of a pair. */
static unsigned pair_of(const struct hm_exchange *exchange, unsigned up, unsigned down)
{
    unsigned k = 0;
    while (exchange->extents->pair[k].up != up || exchange->extents->pair[k].down != down)
        k++;
    return k;
}

/* Demotes `over` pages of a tier to the next one that has room. */
static void obey_cap(struct hm_exchange *exchange, unsigned tier, uint64_t over)
{
    while (over > 0 && exchange->moves_left > 0) {
        unsigned to = tier + 1;
        while (exchange->room[to] == 0)
            to++;
        struct group cold = find_cold(exchange, pair_of(exchange, tier, to), exchange->extents->base.n_extents);
        uint64_t pages = hm_least(hm_least(over, cold.pages), hm_least(exchange->moves_left, exchange->room[to]));
        if (pages == 0)
            return;
        move(exchange, &cold, pages, HM_VERDICT_CAP);
        exchange->room[to] -= exchange->room[to] == UINT64_MAX ? 0 : pages;
        over -= pages;
    }
}

void hm_exchange_obey_caps(struct hm_exchange *exchange, const struct hm_budget *budget)
{
    struct hm_extents *extents = exchange->extents;
    unsigned n_tiers = extents->base.options.n_tiers;
    for (unsigned tier = 0; tier + 1 < n_tiers; tier++)
        obey_cap(exchange, tier, hm_less(budget->used_pages[tier], budget->capacity_pages[tier]));
    memcpy(extents->kept, extents->flow, extents->base.n_extents * hm_extents_flows(extents) * sizeof(*extents->kept));
}

void hm_exchange_shed(struct hm_exchange *exchange)
{
    const struct hm_extents_pair *pair = &exchange->extents->pair[0];
    for (size_t place = exchange->extents->base.n_extents;
         place-- > 0 && exchange->heat_room < 0 && exchange->moves_left > 0;) {
        struct group hot = group_at(exchange, pair->order[place], 0, 1);
        double gain = pair->gain[hot.extent];
        /* Below the extent that does not pay, none does. */
        if (gain * exchange->belief <= cost_of(exchange, 0, 1))
            return;
        uint64_t most = hm_least(hm_least(hot.pages, may_go(exchange, hot.extent, 1)), exchange->moves_left);
        uint64_t pages = pages_of_heat(-exchange->heat_room, gain, most);
        if (pages == 0)
            continue;
        move(exchange, &hot, pages, HM_VERDICT_SHED);
        exchange->heat_room += gain * (double)pages;
    }
}

/* Promotes pages of an extent into free room. Returns what stopped it; HM_VERDICT_PROMOTE: nothing. */
static enum hm_verdict fill_room(struct hm_exchange *exchange, const struct hm_extents_pair *pair, size_t i)
{
    uint64_t *room = &exchange->room[pair->up];
    double gain = pair->gain[i];
    for (unsigned k = 0; k < exchange->extents->base.options.n_tiers; k++) {
        struct group hot = group_at(exchange, i, pair->down, pair->up);
        hot.pages = hm_least(hot.pages, may_go(exchange, i, -1));
        if (hot.pages == 0 || *room == 0 || allowed(exchange, hot.moves) == 0)
            break;
        if (gain * exchange->belief <= hot.cost)
            return HM_VERDICT_COST;
        uint64_t most = hm_least(hm_least(hot.pages, *room), allowed(exchange, hot.moves));
        uint64_t pages = pages_of_heat(exchange->heat_room, gain, most);
        if (pages == 0)
            return HM_VERDICT_SHARE;
        move(exchange, &hot, pages, HM_VERDICT_PROMOTE);
        exchange->heat_room -= gain * (double)pages;
        *room -= pages;
        exchange->room[pair->down] += exchange->room[pair->down] == UINT64_MAX ? 0 : pages;
        if (pages < most)
            break;
    }
    return HM_VERDICT_PROMOTE;
}

/* Promotes pages of the extent at this place of the pair's order, as long as that pays. Returns what stopped it;
 * HM_VERDICT_PROMOTE: nothing. */
static enum hm_verdict promote(struct hm_exchange *exchange, unsigned k, size_t place)
{
    const struct hm_extents_pair *pair = &exchange->extents->pair[k];
    double error = exchange->extents->base.options.error, hot_gain = pair->gain[pair->order[place]];
    enum hm_verdict stopped = fill_room(exchange, pair, pair->order[place]);
    while (stopped == HM_VERDICT_PROMOTE) {
        struct group hot = group_at(exchange, pair->order[place], pair->down, pair->up), cold;
        hot.pages = hm_least(hot.pages, may_go(exchange, hot.extent, -1));
        if (hot.pages == 0)
            break;
        if (allowed(exchange, hot.moves + 1) == 0)
            return HM_VERDICT_BUDGET;
        cold = find_cold(exchange, k, place);
        if (cold.pages == 0)
            return HM_VERDICT_ROOM;
        double cold_gain = pair->gain[cold.extent], more = hot_gain - cold_gain;
        double gain = hot_gain * (1 - error) - cold_gain;
        if (gain * exchange->belief <= hot.cost + cold.cost)
            return hot_gain * exchange->belief <= hot.cost ? HM_VERDICT_COST : HM_VERDICT_ROOM;
        uint64_t most = hm_least(hm_least(hot.pages, cold.pages), allowed(exchange, hot.moves + cold.moves));
        uint64_t pages = pages_of_heat(exchange->heat_room, more, most);
        if (pages == 0)
            return HM_VERDICT_SHARE;
        exchange->heat_room -= more * (double)pages;
        move(exchange, &cold, pages, HM_VERDICT_DEMOTE);
        exchange->gives_way = true;
        move(exchange, &hot, pages, HM_VERDICT_PROMOTE);
    }
    return stopped;
}

static bool moves(enum hm_verdict verdict)
{
    return verdict == HM_VERDICT_PROMOTE || verdict == HM_VERDICT_DEMOTE || verdict == HM_VERDICT_CAP;
}

/* Promotes from the slower tier of a pair to the faster one, the hottest extents first. If one does not pay, colder
 * ones do not either. */
static void promote_pair(struct hm_exchange *exchange, unsigned k)
{
    const struct hm_extents_pair *pair = &exchange->extents->pair[k];
    enum hm_verdict stopped = HM_VERDICT_PROMOTE;
    exchange->gives_way = false;
    for (size_t place = exchange->extents->base.n_extents; place-- > exchange->cold[k];) {
        size_t i = pair->order[place];
        struct hm_extent *extent = extent_of(exchange, i);
        bool gives_way =
            exchange->gives_way && place == exchange->cold[k] && *flow(exchange, i, pair->up, pair->down) > 0;
        if (gives_way || group_at(exchange, i, pair->down, pair->up).pages == 0)
            continue;
        if (stopped == HM_VERDICT_PROMOTE)
            stopped = promote(exchange, k, place);
        /* What nothing stopped, and yet did not move, was not to go back, or has its even share. */
        if (!moves(extent->verdict) && stopped == HM_VERDICT_PROMOTE)
            extent->verdict = exchange->only_back ? HM_VERDICT_LOST : HM_VERDICT_SHARE;
        else if (!moves(extent->verdict))
            extent->verdict = stopped;
    }
    exchange->cold[k] = 0;
}

void hm_exchange_promote(struct hm_exchange *exchange)
{
    for (unsigned round = 1; round < exchange->extents->base.options.n_tiers; round++)
        for (unsigned k = 0; k < exchange->extents->n_pairs; k++)
            promote_pair(exchange, k);
}
