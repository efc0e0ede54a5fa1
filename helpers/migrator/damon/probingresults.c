/* SPDX-License-Identifier: Apache-2.0 */
/* Takes what a burst has found. */
#include "probingparts.h"

#include <math.h>

#include "base/amount.h"

#define PAGE_SHIFT 12
#define STEP 2 /* levels: how far a block moves where all looks, or none, found a use */
/* Of HM_DAMON_VISIT_LOOKS: a visit that finds more uses than SATURATED tells less than one with a shorter time would. A
 * page of which that is true is hardly used so seldom that only LIKELY looks find a use. */
#define SATURATED 8
#define LIKELY 6
/* The usual level falls where more of a burst's visits than MANY found nearly all looks in use, and rises where more
 * than MOST found none. */
#define MANY 0.3
#define MOST 0.7
#define FIRST_SPREAD 1.0 /* assumed before any two visits were compared */
#define PAIRS 100        /* weight of that */
#define FADE 0.98        /* weight that older visits keep at each burst */
#define KEEP 0.9         /* weight that what older bursts took keeps at each burst */

static double rate(uint32_t accesses, uint32_t look_us)
{
    double share = fmin((double)accesses / HM_DAMON_VISIT_LOOKS, 1 - 0.5 / HM_DAMON_VISIT_LOOKS);
    return -log1p(-share) / look_us;
}

/* Compares a visit with the one before of the same block, if it was at the same level. */
static void compare(struct hm_damon_probing *probing, uint32_t block, unsigned level, uint32_t accesses)
{
    if (probing->last[block].level == level) {
        const double n = 2 * HM_DAMON_VISIT_LOOKS; /* looks of both visits */
        double difference = (double)accesses - probing->last[block].accesses;
        double share = (accesses + probing->last[block].accesses) / n;
        probing->differed += difference * difference;
        probing->expected += n * share * (1 - share) * n / (n - 1);
    }
    probing->last[block].accesses = (uint8_t)accesses;
    probing->last[block].level = (uint8_t)level;
}

double hm_damon_probing_spread(const struct hm_damon_probing *probing)
{
    double spread = (FIRST_SPREAD * PAIRS + probing->differed) / (PAIRS + probing->expected);
    return spread > 1 ? spread : 1;
}

bool hm_damon_probing_take(struct hm_damon_probing *probing, const struct hm_damon_burst *burst, unsigned i,
                           uint32_t accesses, uint32_t look_us, struct hm_damon_region *region)
{
    uint32_t block = burst->probe[i].block;
    unsigned shortest = probing->process[burst->probe[i].process].shortest;
    uint64_t first, end;
    unsigned range = burst->probe[i].range;
    if (burst->level < shortest)
        return false;
    probing->n_busy += accesses > SATURATED;
    probing->n_idle += accesses == 0;
    compare(probing, block, burst->level, accesses);
    if (probing->is_done[block])
        return false;
    probing->level[block] = (uint8_t)burst->level;
    if (accesses > SATURATED && burst->level > shortest) {
        unsigned step = accesses == HM_DAMON_VISIT_LOOKS ? STEP : 1;
        probing->level[block] = (uint8_t)(burst->level > shortest + step ? burst->level - step : shortest);
        probing->before[block].accesses = (uint8_t)accesses;
        probing->before[block].look_us = look_us;
        return false;
    }
    /* The longer time before tells more where the shorter one found far fewer uses: the program has waited then. */
    if (probing->before[block].accesses > 0 && rate(LIKELY, probing->before[block].look_us) > rate(accesses, look_us)) {
        accesses = probing->before[block].accesses;
        look_us = probing->before[block].look_us;
    } else if (accesses == 0) {
        probing->level[block] = (uint8_t)hm_least(burst->level + STEP, HM_DAMON_LEVELS - 1);
    }
    hm_probing_find_pages(probing, block, &range, &first, &end);
    *region = (struct hm_damon_region){
        .start = first << PAGE_SHIFT, .end = end << PAGE_SHIFT, .accesses = accesses, .look_us = look_us};
    hm_probing_finish(probing, block);
    return true;
}

void hm_damon_probing_skip(struct hm_damon_probing *probing, const struct hm_damon_burst *burst, unsigned i)
{
    hm_probing_finish(probing, burst->probe[i].block);
}

/* The shortest level that any process may have. */
static unsigned lowest(const struct hm_damon_probing *probing)
{
    unsigned level = HM_DAMON_LEVELS - 1;
    for (unsigned p = 0; p < probing->n_processes; p++)
        level = probing->process[p].shortest < level ? probing->process[p].shortest : level;
    return level;
}

/* Moves the usual level by what the burst has found, if the burst was of that level. */
static void adapt(struct hm_damon_probing *probing, const struct hm_damon_burst *burst)
{
    if (burst->level == probing->usual && probing->n_busy > MANY * burst->n && probing->usual > lowest(probing))
        probing->usual--;
    else if (burst->level == probing->usual && probing->n_idle > MOST * burst->n &&
             probing->usual + 1 < HM_DAMON_LEVELS)
        probing->usual++;
    probing->n_busy = probing->n_idle = 0;
}

void hm_damon_probing_end(struct hm_damon_probing *probing, const struct hm_damon_burst *burst, double cpu_s,
                          const struct hm_damon_needs *needs, uint64_t now_ns)
{
    if (burst->n > 0) {
        probing->cpu_s = KEEP * probing->cpu_s + cpu_s;
        probing->n_visits = KEEP * probing->n_visits + burst->n;
    }
    adapt(probing, burst);
    probing->differed *= FADE;
    probing->expected *= FADE;
    if (probing->n_done < probing->n_blocks)
        return;
    probing->rounds++;
    probing->span_ns = now_ns - probing->begun_ns;
    /* The cost is measured with noise: blocks half or twice as large are no reason to begin anew. */
    uint64_t wanted = hm_probing_choose_size(probing, needs);
    if (wanted > 2 * probing->block_pages || wanted < probing->block_pages / 2)
        hm_probing_cut(probing, wanted, needs);
    else if (probing->rounds == 1) /* only now is the cost of a visit known */
        hm_probing_share_out(probing, needs);
    hm_probing_begin_round(probing, now_ns);
}
