/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the memory into blocks. */
#include "probingparts.h"

#include <math.h>
#include <string.h>

#include "base/amount.h"
#include "base/pagesize.h"

#define SHARED_LEVEL 9       /* 8 ms: a process that shares its CPUs seldom waits longer for one */
#define ALONE 0.9            /* share of time: a process that runs so long shares its CPUs with none */
#define FIRST_VISIT_S 200e-6 /* assumed CPU time of a visit, until it is measured */
#define UNLIKE 2.0           /* times as much or as little: more is another cost */
#define ROUND_PHASES 6       /* a round should take no longer than this, if blocks of SMALLEST pages allow that */
#define SMALLEST 16          /* pages of a block: 64 KiB or more; smaller ones are seldom unlike their neighbours */
/*
 * A burst has so few pages that the CPU time for looking at them once is this share of the time between two looks at
 * the first level. Kernels before 6.7 end an aggregation by the clock: what this takes is missing from the looks there.
 */
#define LOOK_PARTS 0.5
#define FEWEST_PROBES 16 /* of a burst; so few only where going over more takes longer than the time between looks */

static double visit_s(const struct hm_damon_probing *probing)
{
    return probing->n_visits > 0 ? probing->cpu_s / probing->n_visits : FIRST_VISIT_S;
}

bool hm_probing_has_other_cost(const struct hm_damon_probing *probing)
{
    return visit_s(probing) > UNLIKE * FIRST_VISIT_S || visit_s(probing) < FIRST_VISIT_S / UNLIKE;
}

/* Blocks of a range from page `first` to `end` - 1. */
static uint64_t count_blocks(uint64_t first, uint64_t end, uint64_t block_pages)
{
    return (end - 1) / block_pages - first / block_pages + 1;
}

static uint64_t count_all(const struct hm_damon_probing *probing, uint64_t block_pages)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < probing->n_ranges; i++)
        n += count_blocks(probing->range[i].first, probing->range[i].end, block_pages);
    return n;
}

uint64_t hm_probing_choose_size(const struct hm_damon_probing *probing, const struct hm_damon_needs *needs)
{
    double paid = needs->budget * 1e-6 * ROUND_PHASES * needs->interval_ms * 1e-3 / visit_s(probing);
    uint64_t most = paid < HM_DAMON_MOST_BLOCKS ? (uint64_t)paid : HM_DAMON_MOST_BLOCKS, block_pages = SMALLEST;
    most = hm_most(most, (uint64_t)2 * probing->n_ranges); /* a range may have a border of the largest blocks in it */
    while (count_all(probing, block_pages) > most)
        block_pages *= 2;
    return block_pages;
}

void hm_probing_share_out(struct hm_damon_probing *probing, const struct hm_damon_needs *needs)
{
    double length_s = hm_damon_level_us(HM_PROBING_FIRST) * 1e-6 * HM_DAMON_VISIT_LOOKS;
    double paid_s = needs->budget * 1e-6 * needs->interval_ms * 1e-3;
    double wanted = fmax(fmin(LOOK_PARTS * length_s, paid_s) / visit_s(probing), HM_PROBING_ENOUGH);
    if (probing->pass_us > 0)
        wanted = fmin(wanted, fmax(2 * hm_damon_level_us(probing->common) / probing->pass_us, FEWEST_PROBES));
    wanted = fmin(wanted, HM_DAMON_MOST_PROBES);
    uint32_t left = HM_DAMON_MOST_PROBES - probing->n_processes; /* beyond the one for each */
    for (unsigned p = 0; p < probing->n_processes; p++) {
        if (probing->process[p].has_ended)
            continue;
        uint32_t n_blocks = probing->process[p].n_blocks;
        double part = wanted * n_blocks / probing->n_blocks - 1;
        uint32_t more = part > 0 ? (uint32_t)hm_least(hm_least((uint64_t)part, left), n_blocks - 1) : 0;
        probing->process[p].n_probes = 1 + more;
        left -= more;
    }
}

void hm_probing_cut(struct hm_damon_probing *probing, uint64_t block_pages, const struct hm_damon_needs *needs)
{
    unsigned i = 0;
    probing->block_pages = block_pages;
    probing->n_blocks = 0;
    for (unsigned p = 0; p < probing->n_processes; p++) {
        probing->process[p].first_block = probing->n_blocks;
        for (; i < probing->n_ranges && probing->range[i].process == p; i++) {
            probing->range[i].first_block = probing->n_blocks;
            probing->n_blocks += (uint32_t)count_blocks(probing->range[i].first, probing->range[i].end, block_pages);
        }
        probing->process[p].n_blocks = probing->n_blocks - probing->process[p].first_block;
        /* Where processes come and go, rounds begin anew before they end: not with the same blocks each time. */
        probing->process[p].cursor = (uint32_t)(hm_random_share(&probing->random) * probing->process[p].n_blocks);
        probing->process[p].shortest = SHARED_LEVEL;
    }
    probing->common = HM_PROBING_FIRST;
    memset(probing->level, HM_PROBING_UNKNOWN, sizeof(probing->level));
    memset(probing->last, HM_PROBING_UNKNOWN, sizeof(probing->last));
    hm_probing_share_out(probing, needs);
}

void hm_probing_finish(struct hm_damon_probing *probing, uint32_t block)
{
    probing->n_done += !probing->is_done[block];
    probing->is_done[block] = true;
    probing->before[block].accesses = 0;
}

void hm_damon_probing_set_share(struct hm_damon_probing *probing, uint32_t process, double share)
{
    probing->process[process].shortest = share >= ALONE ? 0 : SHARED_LEVEL;
}

void hm_damon_probing_leave_out(struct hm_damon_probing *probing, uint32_t process)
{
    probing->process[process].has_ended = true;
    probing->process[process].n_probes = 0;
    for (uint32_t b = 0; b < probing->process[process].n_blocks; b++)
        hm_probing_finish(probing, probing->process[process].first_block + b);
}

void hm_probing_begin_round(struct hm_damon_probing *probing, uint64_t now_ns)
{
    memset(probing->is_done, 0, sizeof(probing->is_done));
    memset(probing->before, 0, sizeof(probing->before));
    probing->n_done = 0;
    probing->begun_ns = now_ns;
    for (unsigned p = 0; p < probing->n_processes; p++)
        if (probing->process[p].has_ended)
            hm_damon_probing_leave_out(probing, p);
}

void hm_damon_probing_begin(struct hm_damon_probing *probing, const struct hm_damon_process *process, unsigned n,
                            const struct hm_damon_needs *needs, uint64_t now_ns)
{
    probing->n_ranges = 0;
    probing->n_processes = n;
    probing->usual = HM_PROBING_FIRST;
    for (unsigned p = 0; p < n; p++) {
        probing->process[p].has_ended = probing->process[p].has_waited = false;
        probing->process[p].running = probing->process[p].n_running = 0;
        for (uint32_t r = 0; r < process[p].n_ranges; r++) {
            probing->range[probing->n_ranges].process = p;
            probing->range[probing->n_ranges].first = process[p].range[r].start >> hm_page_shift();
            probing->range[probing->n_ranges++].end = process[p].range[r].end >> hm_page_shift();
        }
    }
    hm_probing_cut(probing, hm_probing_choose_size(probing, needs), needs);
    hm_probing_begin_round(probing, now_ns);
    probing->span_ns = (uint64_t)(probing->n_blocks * visit_s(probing) / (needs->budget * 1e-6) * 1e9);
}

void hm_probing_find_pages(const struct hm_damon_probing *probing, uint32_t block, unsigned *range, uint64_t *first,
                           uint64_t *end)
{
    while (*range + 1 < probing->n_ranges && probing->range[*range + 1].first_block <= block)
        ++*range;
    uint64_t number = probing->range[*range].first / probing->block_pages + block - probing->range[*range].first_block;
    *first = hm_most(number * probing->block_pages, probing->range[*range].first);
    *end = hm_least((number + 1) * probing->block_pages, probing->range[*range].end);
}
