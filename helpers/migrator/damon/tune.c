/* SPDX-License-Identifier: Apache-2.0 */
#include "tune.h"

#define FIRST_LOOK_US 20000.0
#define SHORTEST_LOOK_US 5000.0
#define LONGEST_LOOK_US 250000.0 /* the broker and all its clients wait for an aggregation at a change of settings */
#define FIRST_COST_S 3e-6
#define WANTED_REGIONS 40 /* of a process: fewer only where the longest look is too dear with these */
#define FEWEST_REGIONS 6  /* of a process, in any case: three lie around heap, mappings and stack */
#define LEAST_REGIONS 10
/*
 * DAMON splits all regions at random places as long as there are no more than half of the most. It joins neighbours
 * whose accesses differ by less than a tenth of what the busiest region has, which is most of them where one page is
 * always in use, up to the size that the fewest would have. With few fewest, warm arrays are lost between cold ones;
 * with as many as 0.8 of half of the most, hardly two are ever joined, no further one is split, and all borders stay
 * where they were when something else was hot. In between regions stay small and their borders wander: the decision
 * code puts the lists together.
 */
#define SPLIT_ROOM 2
#define JOIN_ROOM 2
#define SATURATED 0.4 /* share of accessed looks from which on warm and hot are not told apart */
#define SPARSE 0.05   /* below this most looks say nothing */

static double clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* Two aggregations in a phase, of 5 s at most. */
static double longest_look_us(const struct hm_damon_needs *needs)
{
    return clamp(needs->interval_ms * 1000.0 / (2 * HM_DAMON_LOOKS), SHORTEST_LOOK_US, LONGEST_LOOK_US);
}

/*
 * The settings nearest to this time between looks within the budget: cost [CPUs] = regions * cost_s / look_s. Regions
 * give way first, down to what is wanted, then the time, then the regions again.
 */
static struct hm_damon_settings fit(const struct hm_damon_needs *needs, double look_us, double cost_s)
{
    double budget = needs->budget * 1e-6;
    double processes = needs->n_processes > 0 ? needs->n_processes : 1;
    double longest = longest_look_us(needs);
    look_us = clamp(look_us, SHORTEST_LOOK_US, longest);
    double wanted = processes * WANTED_REGIONS * cost_s / budget * 1e6;
    if (look_us < wanted)
        look_us = clamp(wanted, look_us, longest);
    double most = HM_DAMON_MOST_REGIONS / SPLIT_ROOM;
    double fewest = clamp(processes * FEWEST_REGIONS, LEAST_REGIONS, most);
    double regions = clamp(budget * look_us * 1e-6 / cost_s, fewest, most);
    return (struct hm_damon_settings){.look_us = (uint32_t)look_us,
                                      .min_regions = (uint32_t)(regions / JOIN_ROOM),
                                      .max_regions = (uint32_t)regions * SPLIT_ROOM};
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
    /* By half of the most, so that the number that DAMON settles at is in the cost. */
    double cost_s = measured->cpu_s / measured->wall_s * look_us * 1e-6 * SPLIT_ROOM / settings->max_regions;
    if (measured->accessed > SATURATED)
        look_us /= 2;
    else if (measured->accessed < SPARSE)
        look_us *= 2;
    struct hm_damon_settings better = fit(needs, look_us, cost_s);
    if (is_near(better.look_us, settings->look_us) && is_near(better.max_regions, settings->max_regions))
        return false;
    *settings = better;
    return true;
}
