/* SPDX-License-Identifier: Apache-2.0 */
/* The hottest pages of the slow tier against the coldest of the fast one, while a move surely pays. */
#include <math.h>
#include <stdlib.h>

#include "regionspart.h"

/* Standard errors by which a gain is taken to be smaller, and a loss larger, than its mean: one move in six goes wrong
 * by chance. */
#define ERRORS 1.0
/* How samples relate to accesses to memory differs from page to page by more than this factor: a page that is not
 * hotter by it may well be colder. */
#define SURELY_HOTTER 1.3
/* Heat that has been so for n phases is expected to stay for as many again; evidence counts less with age, so that its
 * weight is about half of n after five phases, and at most 5. */
#define HORIZON 2

/* One plan in the making. */
struct plan {
    struct hm_regions *regions;
    const struct hm_budget *budget;
    uint64_t used, left; /* pages in the fast tier; that may still move */
    size_t low;          /* next region to give way, in `order` */
};

static int compare_priority(const void *a, const void *b, void *data)
{
    const struct hm_region *region = data;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (region[x].priority != region[y].priority)
        return region[x].priority < region[y].priority ? -1 : 1;
    return (x > y) - (x < y);
}

static double relative_error(const struct hm_regions *regions, size_t at)
{
    return 1 / sqrt(regions->support[at] + 1);
}

static double horizon(const struct plan *plan, size_t at)
{
    double phases = HORIZON * plan->regions->weight[at], left = plan->budget->phases_left;
    return left >= 0 && left < phases ? left : phases;
}

/* What a page of the slow region gains over the horizon, above what one of the fast region (`fast` < 0: a free page)
 * loses. */
static double gain_of(const struct plan *plan, size_t slow, ptrdiff_t fast, double errors, double surely)
{
    const struct hm_regions *regions = plan->regions;
    const struct hm_region *region = regions->base.region;
    double phases = horizon(plan, slow), lost = 0;
    double gained = region[slow].priority * (1 - errors * relative_error(regions, slow));
    if (fast >= 0) {
        lost = region[fast].priority * (1 + errors * relative_error(regions, (size_t)fast)) * surely;
        phases = fmin(phases, horizon(plan, (size_t)fast));
    }
    return (gained - lost) * phases;
}

/* The coldest region that still has pages in the fast tier, or -1. */
static ptrdiff_t coldest_fast(struct plan *plan, size_t high)
{
    const struct hm_regions *regions = plan->regions;
    for (; plan->low < high; plan->low++) {
        size_t at = regions->order[plan->low];
        if (regions->base.region[at].fast_pages > regions->amount[at])
            return (ptrdiff_t)at;
    }
    return -1;
}

/* Why it is not moved now, or PROMOTE: it pays. */
static enum hm_verdict judge(const struct plan *plan, size_t slow, ptrdiff_t fast, bool has_room)
{
    const struct hm_decider_options *options = &plan->regions->base.options;
    double cost = options->promote_cost + (has_room ? 0 : options->demote_cost);
    if (!has_room && fast < 0)
        return HM_VERDICT_ROOM;
    fast = has_room ? -1 : fast;
    if (gain_of(plan, slow, fast, ERRORS, SURELY_HOTTER) > cost)
        return plan->left < (has_room ? 1 : 2) ? HM_VERDICT_BUDGET : HM_VERDICT_PROMOTE;
    if (plan->regions->weight[slow] <= 1)
        return HM_VERDICT_NEW;
    return gain_of(plan, slow, fast, 0, 1) > cost ? HM_VERDICT_DOUBT : HM_VERDICT_COST;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Move what pays of the region order[high]. Returns false where nothing less hot can pay. */
static bool promote(struct plan *plan, size_t high)
{
    struct hm_regions *regions = plan->regions;
    size_t hot = regions->order[high];
    struct hm_region *region = &regions->base.region[hot];
    if (region->verdict == HM_VERDICT_DEMOTE || region->verdict == HM_VERDICT_CAP)
        return false;
    while (region->slow_pages > regions->amount[hot]) {
        bool has_room = plan->used < plan->budget->capacity_pages;
        ptrdiff_t cold = has_room ? -1 : coldest_fast(plan, high);
        enum hm_verdict verdict = judge(plan, hot, cold, has_room);
        uint64_t pages = region->slow_pages - regions->amount[hot];
        if (verdict != HM_VERDICT_PROMOTE) {
            region->verdict = regions->amount[hot] > 0 ? HM_VERDICT_PROMOTE : verdict;
            return verdict != HM_VERDICT_ROOM && verdict != HM_VERDICT_BUDGET;
        }
        if (has_room) {
            pages = smaller(smaller(pages, plan->budget->capacity_pages - plan->used), plan->left);
            plan->used += pages;
            plan->left -= pages;
        } else {
            struct hm_region *gives = &regions->base.region[cold];
            pages = smaller(smaller(pages, gives->fast_pages - regions->amount[cold]), plan->left / 2);
            regions->amount[cold] += pages;
            plan->left -= 2 * pages;
            gives->verdict = HM_VERDICT_DEMOTE;
        }
        regions->amount[hot] += pages;
        region->verdict = HM_VERDICT_PROMOTE;
    }
    return true;
}

/* Bring the fast tier within its cap: the coldest go. */
static void keep_cap(struct plan *plan)
{
    struct hm_regions *regions = plan->regions;
    while (plan->used > plan->budget->capacity_pages && plan->left > 0) {
        ptrdiff_t cold = coldest_fast(plan, regions->base.n_regions);
        if (cold < 0)
            return;
        struct hm_region *region = &regions->base.region[cold];
        uint64_t pages = smaller(region->fast_pages - regions->amount[cold], plan->left);
        pages = smaller(pages, plan->used - plan->budget->capacity_pages);
        regions->amount[cold] += pages;
        region->verdict = HM_VERDICT_CAP;
        plan->used -= pages;
        plan->left -= pages;
    }
}

void hm_regions_plan(struct hm_decider *decider, const struct hm_budget *budget)
{
    struct hm_regions *regions = (struct hm_regions *)decider;
    struct plan plan = {.regions = regions, .budget = budget, .used = budget->used_pages, .left = budget->move_pages};
    size_t n = decider->n_regions;
    for (size_t i = 0; i < n; i++) {
        regions->order[i] = (uint32_t)i;
        regions->amount[i] = 0;
        decider->region[i].verdict = HM_VERDICT_PLACED;
    }
    qsort_r(regions->order, n, sizeof(*regions->order), compare_priority, decider->region);
    keep_cap(&plan);
    for (size_t high = n; high > plan.low && promote(&plan, high - 1); high--)
        ;
    for (size_t i = 0; i < n; i++)
        if (decider->region[i].verdict == HM_VERDICT_DEMOTE || decider->region[i].verdict == HM_VERDICT_CAP)
            hm_decider_add_move(decider, &decider->region[i], regions->amount[i], false);
    for (size_t i = 0; i < n; i++)
        if (decider->region[i].verdict == HM_VERDICT_PROMOTE)
            hm_decider_add_move(decider, &decider->region[i], regions->amount[i], true);
}
