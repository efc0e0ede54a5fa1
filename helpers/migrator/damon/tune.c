/* SPDX-License-Identifier: Apache-2.0 */
#include "tune.h"

#include <math.h>

#define FIRST_LOOK_US 20000.0
#define SHORTEST_LOOK_US 5000.0
/* An aggregation then takes 5 s. A change of settings makes the broker and all its clients wait for one aggregation. */
#define LONGEST_LOOK_US 250000.0
/* Where nearly all looks find nothing, an aggregation of the same length has no more than so many: each then tells
 * more, and there can be as many more regions. */
#define FEWEST_LOOKS 5
#define SELDOM ((double)HM_DAMON_LOOKS / FEWEST_LOOKS)
#define FIRST_COST_S 3e-6 /* assumed cost of one look at one region, until it is measured */
/* for each process; fewer only if they cost too much even with the longest time between looks that the phase allows
 * (longest_look_us) */
#define WANTED_REGIONS 40
#define FEWEST_REGIONS 6 /* for each process, in any case: the most ranges that one can have (HM_DAMON_RANGES) */
#define LEAST_REGIONS 10 /* for all processes together */
#define KERNELS_LEAST 3  /* DAMON refuses a smaller min_regions */
/*
 * How the limits for DAMON's number of regions follow from the number that we want. DAMON splits all regions at random
 * places while it has no more than half of max_regions: SPLIT_ROOM. It joins neighbours whose accesses differ by less
 * than a tenth of the busiest region's, up to the size that min_regions allows: JOIN_ROOM. If one page is always in
 * use, most regions differ by less than a tenth of its accesses, and are joined. So with a small min_regions, warm
 * arrays are lost between cold ones. If min_regions is close to half of max_regions (0.8 of that half), hardly two
 * regions are ever joined. Then none can be split any more, and all borders stay where they were when other memory was
 * hot. In between, regions stay small and their borders wander; the decision code combines the lists.
 *
 * DAMON never joins regions of two ranges. A process often has six ranges: an array, heap, stack, and the data of some
 * libraries. So each range takes a region, however small it is, and min_regions follows from the regions that are left.
 * If it followed from all, and regions were few, the pieces of a few arrays would soon be more than half of
 * max_regions.
 */
#define SPLIT_ROOM 2
#define JOIN_ROOM 2.5
#define SATURATED 0.4 /* share of looks that found an access, above which warm and hot memory look the same */
#define MOST_LONGER 8 /* times that the time between two looks grows at once, where next to nothing is found */
/* share of all looks that found an access, below which they tell too little of most memory */
#define SELDOM_USED 0.05

static double clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* A phase gets at least two aggregations, if the budget allows; one takes at most 5 s. */
static double longest_look_us(const struct hm_damon_needs *needs)
{
    return clamp(needs->interval_ms * 1000.0 / (2 * HM_DAMON_LOOKS), SHORTEST_LOOK_US, LONGEST_LOOK_US);
}

void hm_damon_tune_min(const struct hm_damon_needs *needs, struct hm_damon_settings *settings)
{
    double left = (double)settings->max_regions / SPLIT_ROOM - needs->n_ranges;
    settings->min_regions = (uint32_t)fmax(left / JOIN_ROOM, KERNELS_LEAST);
}

/*
 * Returns settings within the budget, with a time between looks near `look_us`: cost [CPUs] = regions * cost_s /
 * look_s. If the budget is too small, the number of regions falls first, down to WANTED_REGIONS for each process; then
 * the time grows, up to longest_look_us(); then the number of regions falls further, down to the fewest; then the time
 * grows again, up to LONGEST_LOOK_US. If even that costs more than the budget, the settings exceed it.
 */
static struct hm_damon_settings fit(const struct hm_damon_needs *needs, double look_us, double cost_s)
{
    double budget = needs->budget * 1e-6;
    double processes = needs->n_processes > 0 ? needs->n_processes : 1;
    double longest = longest_look_us(needs);
    look_us = clamp(look_us, SHORTEST_LOOK_US, SELDOM * longest);
    double wanted = processes * WANTED_REGIONS * cost_s / budget * 1e6;
    if (look_us < wanted)
        look_us = clamp(wanted, look_us, fmax(look_us, longest));
    double most = HM_DAMON_MOST_REGIONS / SPLIT_ROOM;
    double fewest = clamp(processes * FEWEST_REGIONS, LEAST_REGIONS, most);
    double regions = clamp(budget * look_us * 1e-6 / cost_s, fewest, most);
    /* The budget holds also for many processes and short phases: these then have less than two aggregations. */
    if (regions * cost_s / (look_us * 1e-6) > budget)
        look_us = clamp(regions * cost_s / budget * 1e6, look_us, fmax(look_us, LONGEST_LOOK_US));
    double looks = clamp(longest_look_us(needs) * HM_DAMON_LOOKS / look_us, FEWEST_LOOKS, HM_DAMON_LOOKS);
    struct hm_damon_settings settings = {
        .look_us = (uint32_t)look_us, .looks = (uint32_t)looks, .max_regions = (uint32_t)regions * SPLIT_ROOM};
    hm_damon_tune_min(needs, &settings);
    return settings;
}

struct hm_damon_settings hm_damon_tune_first(const struct hm_damon_needs *needs)
{
    return fit(needs, FIRST_LOOK_US, FIRST_COST_S);
}

static bool is_near(double a, double b)
{
    return a <= b * 1.25 && b <= a * 1.25;
}

bool hm_damon_tune(const struct hm_damon_needs *needs, const struct hm_damon_measured *measured,
                   struct hm_damon_settings *settings)
{
    double look_us = settings->look_us;
    if (measured->cpu_s <= 0 || measured->wall_s <= 0)
        return false;
    /* DAMON settles at half of max_regions, so the measured cost is that of so many regions. */
    double cost_s = measured->cpu_s / measured->wall_s * look_us * 1e-6 * SPLIT_ROOM / settings->max_regions;
    if (measured->used < SELDOM_USED)
        look_us *= clamp(SELDOM_USED / measured->used, 2, MOST_LONGER);
    else if (measured->accessed > SATURATED)
        look_us /= 2;
    struct hm_damon_settings better = fit(needs, look_us, cost_s);
    if (is_near(better.look_us, settings->look_us) && is_near(better.max_regions, settings->max_regions))
        return false;
    *settings = better;
    return true;
}
