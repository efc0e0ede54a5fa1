/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the pages of a burst. */
#include "probingparts.h"

#include <string.h>

/* The level that a block of process p should have now. */
static unsigned level_of(const struct hm_damon_probing *probing, unsigned p, uint32_t block)
{
    unsigned level = probing->level[block] == HM_PROBING_UNKNOWN ? probing->usual : probing->level[block];
    return level > probing->process[p].shortest ? level : probing->process[p].shortest;
}

/* Counts the living processes' blocks of each level; `are_open`: only those that had no visit in this round. */
static void count_levels(const struct hm_damon_probing *probing, bool are_open, uint32_t n[HM_DAMON_LEVELS])
{
    memset(n, 0, HM_DAMON_LEVELS * sizeof(n[0]));
    for (unsigned p = 0; p < probing->n_processes; p++)
        for (uint32_t i = 0; i < probing->process[p].n_blocks && !probing->process[p].has_ended; i++) {
            uint32_t b = probing->process[p].first_block + i;
            n[level_of(probing, p, b)] += !are_open || !probing->is_done[b];
        }
}

/*
 * The level of the next burst: the shortest one that has enough blocks without a visit, as these are the busiest. If
 * none has, that of the most blocks.
 */
static unsigned choose_level(const struct hm_damon_probing *probing)
{
    uint32_t n[HM_DAMON_LEVELS];
    unsigned best = 0;
    count_levels(probing, true, n);
    for (unsigned level = 0; level < HM_DAMON_LEVELS; level++) {
        if (n[level] >= HM_PROBING_ENOUGH)
            return level;
        best = n[level] > n[best] ? level : best;
    }
    return best;
}

/* Adds a page of the block to the burst, if possible not the one after the last page: DAMON would join the two. */
static void add(struct hm_damon_probing *probing, struct hm_damon_burst *burst, uint32_t block, unsigned *range)
{
    uint64_t first, end;
    hm_probing_find_pages(probing, block, range, &first, &end);
    struct hm_damon_probe probe = {.process = probing->range[*range].process,
                                   .block = block,
                                   .range = *range,
                                   .page = first + hm_random_next(&probing->random) % (end - first)};
    const struct hm_damon_probe *last = burst->n > 0 ? &burst->probe[burst->n - 1] : NULL;
    if (last && last->process == probe.process && last->page + 1 == probe.page && probe.page + 1 < end)
        probe.page++;
    burst->probe[burst->n++] = probe;
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* A step that reaches all of n blocks, if they are a circle, and goes to all parts of it soon. */
static uint32_t stride_over(uint32_t n)
{
    uint32_t stride = (uint32_t)(n * 0.618);
    while (stride == 0 || common_divisor(stride, n) != 1)
        stride++;
    return stride;
}

/*
 * Marks the blocks of process p for a burst. They are spread over its memory: what happens in the time of one burst is
 * not taken for the heat of one part. The first pass takes blocks of the level, the second all that had no visit, the
 * last any.
 */
static void mark(struct hm_damon_probing *probing, unsigned p, unsigned level, bool *is_chosen)
{
    uint32_t first = probing->process[p].first_block, n = probing->process[p].n_blocks, n_chosen = 0;
    uint32_t stride = n > 0 ? stride_over(n) : 1, at = probing->process[p].cursor;
    for (int pass = 0; pass < 3; pass++)
        for (uint32_t i = 0; i < n && n_chosen < probing->process[p].n_probes; i++, at = (at + stride) % n) {
            uint32_t b = first + at;
            bool is_wanted = pass == 2 || (!probing->is_done[b] && (pass == 1 || level_of(probing, p, b) == level));
            if (!is_wanted || is_chosen[b])
                continue;
            is_chosen[b] = true;
            n_chosen++;
        }
    probing->process[p].cursor = at;
}

/* How long DAMON has to wait between two looks, so that they are as far apart as the burst's level says. */
static uint32_t wait_us(const struct hm_damon_probing *probing, const struct hm_damon_burst *burst)
{
    double wait = hm_damon_level_us(burst->level) - probing->pass_us * burst->n / 2;
    return wait > hm_damon_level_us(0) ? (uint32_t)wait : hm_damon_level_us(0);
}

void hm_damon_probing_choose(struct hm_damon_probing *probing, struct hm_damon_burst *burst)
{
    bool is_chosen[HM_DAMON_MOST_BLOCKS] = {false};
    unsigned level = choose_level(probing), range = 0;
    *burst = (struct hm_damon_burst){.level = level};
    for (unsigned p = 0; p < probing->n_processes; p++)
        mark(probing, p, level, is_chosen);
    for (uint32_t b = 0; b < probing->n_blocks; b++)
        if (is_chosen[b])
            add(probing, burst, b, &range);
    burst->look_us = wait_us(probing, burst);
}

double hm_damon_probing_share_of(const struct hm_damon_probing *probing, unsigned level)
{
    uint32_t n[HM_DAMON_LEVELS], sum = 0, all = 0;
    count_levels(probing, false, n);
    for (unsigned other = 0; other < HM_DAMON_LEVELS; other++) {
        sum += other >= level ? n[other] : 0;
        all += n[other];
    }
    return all > 0 ? (double)sum / all : 0;
}
