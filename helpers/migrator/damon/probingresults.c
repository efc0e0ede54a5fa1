/* SPDX-License-Identifier: Apache-2.0 */
/* Takes what a burst has found. */
#include "probingparts.h"

#include <math.h>

#include "base/amount.h"
#include "base/pagesize.h"

#define STEP 2 /* levels: how far a block moves where all looks, or none, found a use */
/* A visit of whose looks more than this share find a use tells less than one with a shorter time would. A page of which
 * that is true is hardly used so seldom that only the share LIKELY of its looks find a use. */
#define SATURATED 0.8
#define LIKELY 0.6
/* One of HOTTEST of a process's pages, but two at least, are in use whenever the process runs. Of fewer pages than
 * LEAST_PAGES nobody knows whether they are; and fewer looks than LEAST_LOOKS tell next to nothing. */
#define HOTTEST 32
#define LEAST_PAGES 8
#define LEAST_LOOKS 3
/* With the times of so many levels, from the shortest on, a process that shares its CPUs waits for whole looks. */
#define WAITS 2
/* The usual level falls where more of a burst's visits than MANY found nearly all looks in use, and rises where more
 * than MOST found none. */
#define MANY 0.3
#define MOST 0.7
#define COMMON 0.6       /* of the blocks have the common level, or one with a longer time */
#define FIRST_SPREAD 1.0 /* assumed before any two visits were compared */
#define PAIRS 100        /* weight of that */
#define FADE 0.98        /* weight that older visits keep at each burst */
#define KEEP 0.9         /* weight that what older bursts took keeps at each burst */
#define PASS_LEARN 0.3   /* weight of the latest burst in the time of a pass */
#define LEARN 0.1        /* weight of the latest burst in the share of looks that a process runs in */

/* How often a page is used, per microsecond, of whose looks this share finds a use (as in heat.h). */
static double rate(double share, const struct hm_damon_visit *visit)
{
    return -log1p(-fmin(share, 1 - 0.5 / visit->looks)) / visit->look_us;
}

/* Compares a visit with the one before of the same block, if it was at the same level. */
static void compare(struct hm_damon_probing *probing, uint32_t block, unsigned level,
                    const struct hm_damon_visit *visit)
{
    double accesses = visit->accesses, looks = visit->looks;
    if (probing->last[block].level == level) {
        double before = probing->last[block].looks, n = looks + before; /* looks of both visits */
        double share = (accesses + probing->last[block].accesses) / n;
        double difference = accesses - probing->last[block].accesses * looks / before;
        probing->differed += difference * difference;
        probing->expected += looks * share * (1 - share) * (1 + looks / before) * n / (n - 1);
    }
    probing->last[block].accesses = (uint8_t)accesses;
    probing->last[block].looks = (uint8_t)looks;
    probing->last[block].level = (uint8_t)level;
}

double hm_damon_probing_spread(const struct hm_damon_probing *probing)
{
    double spread = (FIRST_SPREAD * PAIRS + probing->differed) / (PAIRS + probing->expected);
    return spread > 1 ? spread : 1;
}

/* Do some of the looks at the process's pages find it waiting for a CPU? */
static bool has_waits(const struct hm_damon_probing *probing, uint32_t process, unsigned level)
{
    unsigned shortest = probing->process[process].shortest;
    return shortest > 0 && level < shortest + WAITS;
}

/* So many looks have found the hottest of n pages in use; found[k] pages were in use in k looks. */
static uint32_t looks_of_hottest(const unsigned found[HM_DAMON_VISIT_LOOKS + 1], unsigned n)
{
    unsigned n_hottest = 0;
    for (uint32_t looks = HM_DAMON_VISIT_LOOKS; looks > LEAST_LOOKS; looks--) {
        n_hottest += found[looks];
        if (n_hottest > 1 && n_hottest * HOTTEST >= n)
            return looks;
    }
    return LEAST_LOOKS;
}

void hm_damon_probing_count_looks(struct hm_damon_probing *probing, const struct hm_damon_burst *burst, unsigned first,
                                  const struct hm_damon_seen *seen, struct hm_damon_visit *visit)
{
    unsigned found[HM_DAMON_VISIT_LOOKS + 1] = {0}, n = 0;
    uint32_t process = burst->probe[first].process;
    for (unsigned i = first; i < burst->n && burst->probe[i].process == process; i++)
        if (seen[i].is_known) {
            found[hm_least(seen[i].accesses, HM_DAMON_VISIT_LOOKS)]++;
            n++;
        }
    visit->looks = HM_DAMON_VISIT_LOOKS;
    if (n < LEAST_PAGES || !has_waits(probing, process, burst->level))
        return;
    visit->looks = looks_of_hottest(found, n);
    double share = (double)visit->looks / HM_DAMON_VISIT_LOOKS, *running = &probing->process[process].running;
    *running += (share - *running) * fmax(LEARN, 1.0 / ++probing->process[process].n_running);
    visit->look_us = (uint32_t)(visit->look_us / *running);
    bool *has_waited = &probing->process[process].has_waited;
    *has_waited = visit->looks == LEAST_LOOKS && !*has_waited;
    visit->looks = *has_waited ? 0 : visit->looks;
}

/* Does the visit find the block too hot for its level? Then the block is visited again, with a shorter time. */
static bool is_too_hot(struct hm_damon_probing *probing, uint32_t block, unsigned level, unsigned shortest,
                       const struct hm_damon_visit *visit)
{
    if (visit->accesses <= SATURATED * visit->looks || level <= shortest)
        return false;
    unsigned step = visit->accesses == visit->looks ? STEP : 1;
    probing->level[block] = (uint8_t)(level > shortest + step ? level - step : shortest);
    probing->before[block] = *visit;
    return true;
}

bool hm_damon_probing_take(struct hm_damon_probing *probing, const struct hm_damon_burst *burst, unsigned i,
                           const struct hm_damon_visit *seen, struct hm_damon_region *region)
{
    struct hm_damon_visit visit = *seen;
    uint32_t block = burst->probe[i].block;
    unsigned shortest = probing->process[burst->probe[i].process].shortest;
    uint64_t first, end;
    unsigned range = burst->probe[i].range;
    if (burst->level < shortest || visit.looks == 0)
        return false;
    visit.accesses = visit.accesses < visit.looks ? visit.accesses : visit.looks;
    probing->n_busy += visit.accesses > SATURATED * visit.looks;
    probing->n_idle += visit.accesses == 0;
    compare(probing, block, burst->level, &visit);
    if (probing->is_done[block])
        return false;
    probing->level[block] = (uint8_t)burst->level;
    if (is_too_hot(probing, block, burst->level, shortest, &visit))
        return false;
    /* The longer time before tells more where the shorter one found far fewer uses: the program has waited then. */
    const struct hm_damon_visit *before = &probing->before[block];
    if (before->accesses > 0 && rate(LIKELY, before) > rate((double)visit.accesses / visit.looks, &visit))
        visit = *before;
    else if (visit.accesses == 0)
        probing->level[block] = (uint8_t)hm_least(burst->level + STEP, HM_DAMON_LEVELS - 1);
    hm_probing_find_pages(probing, block, &range, &first, &end);
    *region = (struct hm_damon_region){.start = first << hm_page_shift(),
                                       .end = end << hm_page_shift(),
                                       .accesses = (uint16_t)visit.accesses,
                                       .looks = (uint16_t)visit.looks,
                                       .look_us = visit.look_us};
    hm_probing_finish(probing, block);
    return true;
}

uint32_t hm_damon_probing_learn_pass(struct hm_damon_probing *probing, const struct hm_damon_burst *burst,
                                     double period_us)
{
    double passes_us = fmax(period_us - burst->look_us, 0);
    double weight = probing->pass_us > 0 ? PASS_LEARN : 1;
    if (burst->n > 0)
        probing->pass_us += (passes_us / burst->n - probing->pass_us) * weight;
    return (uint32_t)(burst->look_us + passes_us / 2);
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

/* Finds the level that most blocks have, or a longer one. Returns whether it differs by much from the one before. */
static bool has_other_level(struct hm_damon_probing *probing)
{
    unsigned level = 0, before = probing->common;
    while (level + 1 < HM_DAMON_LEVELS && hm_damon_probing_share_of(probing, level + 1) >= COMMON)
        level++;
    if (level + STEP > before && level < before + STEP)
        return false;
    probing->common = level;
    return true;
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
    else if (has_other_level(probing) || (probing->rounds == 1 && hm_probing_has_other_cost(probing)))
        hm_probing_share_out(probing, needs);
    hm_probing_begin_round(probing, now_ns);
}
