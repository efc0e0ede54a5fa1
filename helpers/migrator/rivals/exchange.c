/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange.h"

#include "base/amount.h"

const struct hm_rival_page *hm_rival_page_of(const struct hm_rival *rival, size_t extent)
{
    static const struct hm_rival_page never_sampled;
    uint32_t index = rival->page_of[extent];
    return index == HM_RIVAL_HOLE ? &never_sampled : &rival->page[index];
}

static void demote(struct hm_rival *rival, size_t place, uint64_t pages, enum hm_verdict verdict)
{
    uint32_t i = rival->order[place];
    rival->amount[i] += pages;
    rival->base.extent[i].verdict = verdict;
}

void hm_rival_demote_at(struct hm_rival *rival, size_t place)
{
    demote(rival, place, 1, HM_VERDICT_DEMOTE);
}

/* The extent's pages in the fast tier that the plan has not demoted yet. */
static uint64_t fast_left(const struct hm_rival *rival, size_t place)
{
    uint32_t i = rival->order[place];
    return rival->base.extent[i].tier_pages[0] - rival->amount[i];
}

uint64_t hm_rival_begin_plan(struct hm_rival *rival, const struct hm_budget *budget)
{
    uint64_t over = hm_less(budget->used_pages[0], budget->capacity_pages[0]), left = budget->move_pages;
    for (size_t i = 0; i < rival->base.n_extents; i++) {
        rival->base.extent[i].priority = hm_rival_page_of(rival, i)->rank;
        rival->base.extent[i].verdict = HM_VERDICT_PLACED;
        rival->amount[i] = 0;
    }
    hm_decider_order(&rival->base, rival->order);
    for (size_t place = 0; place < rival->base.n_extents && over > 0 && left > 0; place++) {
        uint64_t pages = hm_least(hm_least(fast_left(rival, place), over), left);
        if (pages == 0)
            continue;
        demote(rival, place, pages, HM_VERDICT_CAP);
        over -= pages;
        left -= pages;
    }
    return left;
}

void hm_rival_promote(struct hm_rival *rival, const struct hm_budget *budget, uint64_t left, hm_rival_rule *rule)
{
    uint64_t room = hm_less(budget->capacity_pages[0], budget->used_pages[0]);
    enum hm_verdict stopped = HM_VERDICT_PROMOTE;
    for (size_t hot = rival->base.n_extents, cold = 0; hot-- > 0;) {
        uint32_t i = rival->order[hot];
        struct hm_extent *extent = &rival->base.extent[i];
        if (extent->tier_pages[1] == 0 || rival->page_of[i] == HM_RIVAL_HOLE)
            continue;
        while (room == 0 && cold < hot && fast_left(rival, cold) == 0)
            cold++;
        if (stopped == HM_VERDICT_PROMOTE && room == 0 && cold >= hot)
            stopped = HM_VERDICT_ROOM;
        if (stopped == HM_VERDICT_PROMOTE && left < (room > 0 ? 1 : 2))
            stopped = HM_VERDICT_BUDGET;
        extent->verdict = stopped;
        if (stopped != HM_VERDICT_PROMOTE)
            continue;
        extent->verdict =
            rule(rival, &rival->page[rival->page_of[i]], room > 0 ? NULL : hm_rival_page_of(rival, rival->order[cold]));
        if (extent->verdict == HM_VERDICT_PROMOTE) {
            rival->amount[i] = 1;
            left -= room > 0 ? 1 : 2;
            if (room == 0)
                hm_rival_demote_at(rival, cold);
            room -= room > 0;
        } else if (extent->verdict != HM_VERDICT_NEW && extent->verdict != HM_VERDICT_PLACED) {
            stopped = extent->verdict;
        }
    }
}

void hm_rival_end_plan(struct hm_rival *rival)
{
    for (unsigned from = 0; from < 2; from++)
        for (size_t i = 0; i < rival->base.n_extents; i++)
            if ((rival->base.extent[i].verdict == HM_VERDICT_PROMOTE) == (from == 1))
                hm_decider_add_move(&rival->base, &rival->base.extent[i], rival->amount[i], from, 1 - from);
}

void hm_rival_plan(struct hm_rival *rival, const struct hm_budget *budget, hm_rival_rule *rule)
{
    hm_rival_promote(rival, budget, hm_rival_begin_plan(rival, budget), rule);
    hm_rival_end_plan(rival);
}
