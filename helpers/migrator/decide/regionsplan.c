/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/amount.h"
#include "regionparts.h"

/* Phases that a placement is expected to last: what does not pay by then is not worth the risk. */
#define LASTS 8.0
/* Of a phase's samples: a plan that promises less is made of noise, however many samples there are. */
#define LEAST_GAIN 0.002

/* On the way through the regions: the hottest from the top, the coldest from the bottom. */
struct plan {
    struct hm_regions *regions;
    size_t cold;         /* place in the order of the coldest that has fast pages left */
    uint64_t cold_left;  /* of them */
    uint64_t room;       /* free pages in the fast tier */
    uint64_t moves_left; /* of the budget */
    double belief;       /* phases for which a gain is believed */
};

static const struct hm_region *ordered; /* qsort gives its function nothing else */

static int compare_priority(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    double p = ordered[x].priority, q = ordered[y].priority;
    return p != q ? (p > q) - (p < q) : (x > y) - (x < y);
}

static struct hm_region *region_at(const struct plan *plan, size_t place)
{
    return &plan->regions->base.region[plan->regions->order[place]];
}

static void order_regions(struct hm_regions *regions)
{
    for (size_t i = 0; i < regions->base.n_regions; i++)
        regions->order[i] = (uint32_t)i;
    ordered = regions->base.region;
    qsort(regions->order, regions->base.n_regions, sizeof(*regions->order), compare_priority);
}

/* A plan of ordered regions without any moves yet. */
static struct plan begin_plan(struct hm_regions *regions, const struct hm_budget *budget)
{
    struct plan plan = {.regions = regions, .moves_left = UINT64_MAX, .belief = LASTS};
    for (size_t i = 0; i < regions->base.n_regions; i++) {
        regions->amount[i] = 0;
        regions->base.region[i].verdict = regions->n_phases > 1 ? HM_VERDICT_PLACED : HM_VERDICT_NEW;
    }
    plan.cold_left = regions->base.n_regions > 0 ? region_at(&plan, 0)->fast_pages : 0;
    if (budget->used_pages < budget->capacity_pages)
        plan.room = budget->capacity_pages - budget->used_pages;
    return plan;
}

/* Go on to a region below place `end` that has fast pages left. Returns false where there is none. */
static bool find_cold(struct plan *plan, size_t end)
{
    while (plan->cold < end && plan->cold_left == 0)
        if (++plan->cold < end)
            plan->cold_left = region_at(plan, plan->cold)->fast_pages;
    return plan->cold < end;
}

static void move(struct plan *plan, size_t place, uint64_t pages, enum hm_verdict verdict)
{
    plan->regions->amount[plan->regions->order[place]] += pages;
    region_at(plan, place)->verdict = verdict;
    plan->moves_left -= pages;
}

static void demote(struct plan *plan, uint64_t pages, enum hm_verdict verdict)
{
    move(plan, plan->cold, pages, verdict);
    plan->cold_left -= pages;
}

/* The cap comes before all else. */
static void obey_cap(struct plan *plan, uint64_t over)
{
    while (over > 0 && plan->moves_left > 0 && find_cold(plan, plan->regions->base.n_regions)) {
        uint64_t pages = hm_least(hm_least(over, plan->cold_left), plan->moves_left);
        demote(plan, pages, HM_VERDICT_CAP);
        over -= pages;
    }
}

/* Promote what the region has in the slow tier, while it pays. Returns what stopped that, HM_VERDICT_PROMOTE for
 * nothing. */
static enum hm_verdict promote(struct plan *plan, size_t hot)
{
    const struct hm_decider_options *options = &plan->regions->base.options;
    struct hm_region *region = region_at(plan, hot);
    uint64_t left = region->slow_pages;
    if (plan->room > 0) {
        if (region->priority * plan->belief <= options->promote_cost)
            return HM_VERDICT_COST;
        uint64_t pages = hm_least(hm_least(left, plan->room), plan->moves_left);
        move(plan, hot, pages, HM_VERDICT_PROMOTE);
        plan->room -= pages;
        left -= pages;
    }
    while (left > 0) {
        if (plan->moves_left < 2)
            return HM_VERDICT_BUDGET;
        if (!find_cold(plan, hot))
            return HM_VERDICT_ROOM;
        double gain = region->priority * (1 - options->error) - region_at(plan, plan->cold)->priority;
        if (gain * plan->belief <= options->promote_cost + options->demote_cost)
            return region->priority * plan->belief <= options->promote_cost ? HM_VERDICT_COST : HM_VERDICT_ROOM;
        uint64_t pages = hm_least(hm_least(left, plan->cold_left), plan->moves_left / 2);
        demote(plan, pages, HM_VERDICT_DEMOTE);
        move(plan, hot, pages, HM_VERDICT_PROMOTE);
        left -= pages;
    }
    return HM_VERDICT_PROMOTE;
}

/* Hottest first; once one does not pay, those below it do not either. */
static void promote_all(struct plan *plan)
{
    enum hm_verdict stopped = HM_VERDICT_PROMOTE;
    for (size_t hot = plan->regions->base.n_regions; hot-- > plan->cold;) {
        struct hm_region *region = region_at(plan, hot);
        if (region->slow_pages == 0 || plan->regions->amount[plan->regions->order[hot]] > 0)
            continue;
        if (stopped == HM_VERDICT_PROMOTE)
            stopped = promote(plan, hot);
        if (stopped != HM_VERDICT_PROMOTE && region->verdict != HM_VERDICT_PROMOTE)
            region->verdict = stopped;
    }
}

/* Are promotions and the demotions for them to gain next to nothing? */
static bool is_noise(const struct hm_regions *regions)
{
    double gain = 0;
    for (size_t i = 0; i < regions->base.n_regions; i++) {
        const struct hm_region *region = &regions->base.region[i];
        double heat = hm_regions_heat(regions, region) * (double)regions->amount[i];
        if (region->verdict == HM_VERDICT_PROMOTE)
            gain += heat;
        else if (region->verdict == HM_VERDICT_DEMOTE)
            gain -= heat;
    }
    return gain < LEAST_GAIN * regions->trust.samples;
}

/* All stays where it is, but for what the cap takes. */
static void drop_moves(struct hm_regions *regions)
{
    for (size_t i = 0; i < regions->base.n_regions; i++) {
        struct hm_region *region = &regions->base.region[i];
        if (regions->amount[i] == 0 || region->verdict == HM_VERDICT_CAP)
            continue;
        region->verdict = HM_VERDICT_DOUBT;
        regions->amount[i] = 0;
    }
}

static void give_out(struct hm_regions *regions, bool up)
{
    for (size_t i = 0; i < regions->base.n_regions; i++) {
        const struct hm_region *region = &regions->base.region[i];
        if ((region->verdict == HM_VERDICT_PROMOTE) == up)
            hm_decider_add_move(&regions->base, region, regions->amount[i], up);
    }
}

/* What would be moved if every gain were certain: the next phase shows which are. */
static void try_out(struct hm_regions *regions, const struct hm_budget *budget)
{
    struct plan plan = begin_plan(regions, budget);
    promote_all(&plan);
    hm_trust_begin(&regions->trust);
    if (is_noise(regions))
        return;
    for (size_t i = 0; i < regions->base.n_regions; i++) {
        const struct hm_region *region = &regions->base.region[i];
        if (regions->amount[i] == 0)
            continue;
        double pages = (double)regions->amount[i];
        double part = pages / (double)(region->fast_pages + region->slow_pages);
        struct hm_promise promise = {region->first, region->n_pages,
                                     region->verdict == HM_VERDICT_PROMOTE ? part : -part};
        hm_trust_promise(&regions->trust, &promise, hm_regions_heat(regions, region) * pages);
    }
}

void hm_regions_plan(struct hm_decider *decider, const struct hm_budget *budget)
{
    struct hm_regions *regions = (struct hm_regions *)decider;
    order_regions(regions);
    try_out(regions, budget);
    struct plan plan = begin_plan(regions, budget);
    plan.moves_left = budget->move_pages;
    if (budget->phases_left >= 0 && budget->phases_left < plan.belief)
        plan.belief = budget->phases_left;
    plan.belief *= hm_trust_factor(&regions->trust);
    if (budget->used_pages > budget->capacity_pages)
        obey_cap(&plan, budget->used_pages - budget->capacity_pages);
    promote_all(&plan);
    if (is_noise(regions))
        drop_moves(regions);
    give_out(regions, false);
    give_out(regions, true);
}
