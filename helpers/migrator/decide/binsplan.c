/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the moves of the algorithm "bins". */
#include "base/search.h"
#include "binsparts.h"

static void add_up(struct hm_bins *bins)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < bins->base.n_extents; i++) {
        sum += bins->base.extent[bins->order[i]].tier_pages[0];
        bins->fast_upto[i] = sum;
    }
}

/*
 * Takes as many of the bins order[*low] to order[high - 1], from the first on, as free at least `need` pages (1 or
 * more) of the fast tier, or all of them. Returns how many pages they free. Moves *low past the bins taken.
 */
static uint64_t find_room(const struct hm_bins *bins, uint64_t need, size_t high, size_t *low)
{
    uint64_t before = *low > 0 ? bins->fast_upto[*low - 1] : 0;
    size_t last = hm_search_upto(bins->fast_upto, high, sizeof(*bins->fast_upto), 0, before + need - 1);
    *low = last < high ? last + 1 : high;
    return *low > 0 ? bins->fast_upto[*low - 1] - before : 0;
}

/*
 * Exchanges bins: the hottest of the slow tier for the coldest of the fast tier, while the difference in priority per
 * page exceeds the cost. Where there is room, a bin is promoted without an exchange. As in the paper that bins.c names,
 * to promote a page costs one read from the slow tier and one write to the fast one, and to demote a page the same in
 * the other direction. As this is not counted for each of the page's lines, the cost is next to nothing.
 */
static void exchange(struct hm_bins *bins, const struct hm_budget *budget, uint64_t used, uint64_t left, size_t low)
{
    const struct hm_decider_options *options = &bins->base.options;
    uint64_t capacity = budget->capacity_pages[0];
    double promote = (options->read_gain[1] + 2) / options->period,
           demote = (options->write_gain[1] + 2) / options->period;
    for (size_t high = bins->base.n_extents; high > low; high--) {
        struct hm_extent *hot = &bins->base.extent[bins->order[high - 1]];
        uint64_t need = hot->tier_pages[1], room = used < capacity ? capacity - used : 0;
        size_t next = low;
        uint64_t found = need > room ? find_room(bins, need - room, high - 1, &next) : 0;
        if (need == 0)
            continue;
        double pivot = next > low ? bins->base.extent[bins->order[next - 1]].priority : 0;
        if (room + found < need)
            hot->verdict = HM_VERDICT_ROOM;
        else if (hot->priority <= pivot + (next > low ? promote + demote : promote))
            hot->verdict = HM_VERDICT_COST;
        else if (need + found > left)
            hot->verdict = HM_VERDICT_BUDGET;
        else {
            hot->verdict = HM_VERDICT_PROMOTE;
            for (; low < next; low++)
                if (bins->base.extent[bins->order[low]].tier_pages[0] > 0)
                    bins->base.extent[bins->order[low]].verdict = HM_VERDICT_DEMOTE;
            used = used + need - found;
            left -= need + found;
        }
    }
}

void hm_bins_plan(struct hm_decider *decider, const struct hm_budget *budget)
{
    struct hm_bins *bins = (struct hm_bins *)decider;
    uint64_t used = budget->used_pages[0], left = budget->move_pages;
    size_t low = 0, n = decider->n_extents;
    for (size_t i = 0; i < n; i++) {
        decider->extent[i].verdict = HM_VERDICT_PLACED;
        double pages = (double)(decider->extent[i].tier_pages[0] + decider->extent[i].tier_pages[1]);
        decider->extent[i].priority = pages > 0 ? bins->priority[i] / pages : 0;
    }
    hm_decider_order(decider, bins->order);
    add_up(bins);
    for (; low < n && used > budget->capacity_pages[0]; low++) {
        struct hm_extent *cold = &decider->extent[bins->order[low]];
        if (cold->tier_pages[0] == 0)
            continue;
        cold->verdict = HM_VERDICT_CAP;
        used -= cold->tier_pages[0] < used ? cold->tier_pages[0] : used;
        left -= cold->tier_pages[0] < left ? cold->tier_pages[0] : left;
    }
    exchange(bins, budget, used, left, low);
    for (size_t i = 0; i < n; i++)
        if (decider->extent[i].verdict == HM_VERDICT_CAP || decider->extent[i].verdict == HM_VERDICT_DEMOTE)
            hm_decider_add_move(decider, &decider->extent[i], decider->extent[i].tier_pages[0], 0, 1);
    for (size_t i = 0; i < n; i++)
        if (decider->extent[i].verdict == HM_VERDICT_PROMOTE)
            hm_decider_add_move(decider, &decider->extent[i], decider->extent[i].tier_pages[1], 1, 0);
}
