/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the way from bursts of looks to moves, with a simulated program: each of its blocks of 64 KiB is hotter or
 * colder than its neighbours, by Zipf's law. All of them are used often enough that looks all the time would find the
 * whole memory in use.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "migrator/damon/heat.h"
#include "migrator/damon/probing.h"
#include "migrator/replay/sampler.h"
#include "unit/lib/pageshift.h"
#include "unit/migrator/decide/drivenmodel.h"

#define RANKS 4
#define BLOCKS 640     /* of a rank */
#define BLOCK_PAGES 16 /* 64 KiB */
#define FAST 64        /* blocks of a rank that the fast tier has room for */
#define CAPACITY (RANKS * FAST * BLOCK_PAGES)
#define RATE 1.3e6   /* accesses of a rank per second */
#define SLICE_MS 4.0 /* how long a rank has a CPU, if two ranks share it */
#define PHASE_MS 10000
#define MOVES 4000     /* pages that may be moved in a phase */
#define BUDGET 24000   /* millionths of a CPU */
#define VISIT_S 270e-6 /* cost of a visit, as on an emulated CPU */

static bool is_shared; /* are there two ranks on each CPU? */
static struct hm_random chance;
static uint16_t rank_of[RANKS][BLOCKS]; /* of each block by its heat: 0 is the hottest */
static double share_of[BLOCKS];         /* of a rank's accesses, by the block's rank */

/* a program under DAMON and the decision code */
static struct model model;
static struct hm_damon_process process[RANKS];
static struct hm_damon_probing probing;
static const struct hm_damon_needs needs = {.interval_ms = PHASE_MS, .budget = BUDGET};
static double now_ms;

/* ------------------------------------------------------------------ the program */

static void begin_program(uint64_t seed)
{
    double sum = 0;
    chance.state = seed;
    for (unsigned i = 0; i < BLOCKS; i++)
        sum += 1.0 / (i + 1);
    for (unsigned i = 0; i < BLOCKS; i++)
        share_of[i] = 1 / sum / (i + 1);
    for (unsigned space = 0; space < RANKS; space++)
        for (uint16_t i = 0; i < BLOCKS; i++) {
            uint64_t other = hm_random_below(&chance, i + 1u);
            rank_of[space][i] = rank_of[space][other];
            rank_of[space][other] = i;
        }
}

static double best_share(void)
{
    double share = 0;
    for (unsigned rank = 0; rank < FAST; rank++)
        share += share_of[rank];
    return share;
}

static double heat_of(const void *data, unsigned space, uint64_t page, double *store)
{
    (void)data;
    *store = 0;
    return page < BLOCKS * BLOCK_PAGES ? share_of[rank_of[space][page / BLOCK_PAGES]] : 0;
}

/* How much of the time the rank works: all of it, or twice as fast in half of the slices, chosen at random. */
static double work_ms(unsigned space, double from_ms, double to_ms)
{
    double sum = 0;
    if (!is_shared)
        return to_ms - from_ms;
    for (uint64_t slice = (uint64_t)(from_ms / SLICE_MS); (double)slice * SLICE_MS < to_ms; slice++) {
        struct hm_random random = {slice * RANKS + space};
        double first = fmax(from_ms, (double)slice * SLICE_MS), last = fmin(to_ms, (double)(slice + 1) * SLICE_MS);
        sum += hm_random_next(&random) & 1 ? 2 * (last - first) : 0;
    }
    return sum;
}

static bool is_accessed(unsigned space, uint64_t page, double from_ms, double to_ms)
{
    double rate = RATE * share_of[rank_of[space][page / BLOCK_PAGES]] / BLOCK_PAGES;
    return hm_random_share(&chance) < 1 - exp(-rate * work_ms(space, from_ms, to_ms) * 1e-3);
}

/* ------------------------------------------------------------------ the broker and the migrator */

/* The program's first pages are in the fast tier, as many as fit. */
static void begin(uint64_t seed)
{
    begin_program(seed);
    now_ms = 0;
    memset(&probing, 0, sizeof(probing));
    probing.random.state = seed;
    model_begin_at(&model, hm_damon_touch(), HM_DAMON_ERROR, true, RANKS, CAPACITY);
    for (unsigned space = 0; space < RANKS; space++) {
        for (uint64_t page = 0; page < CAPACITY / RANKS; page++, model.used++)
            model.is_fast[space][page] = true;
        process[space] = (struct hm_damon_process){
            .n_ranges = 1,
            .range = {{MODEL_BASE << hm_page_shift(), (MODEL_BASE + BLOCKS * BLOCK_PAGES) << hm_page_shift()}}};
    }
    hm_damon_probing_begin(&probing, process, RANKS, &needs, 0);
    for (unsigned space = 0; space < RANKS; space++)
        hm_damon_probing_set_share(&probing, space, is_shared ? 0.5 : 1);
}

/* Counts the looks that find a use of the page, one after the other. */
static uint32_t visit(const struct hm_damon_probe *probe, double look_ms)
{
    uint32_t accesses = 0;
    for (int look = 0; look < HM_DAMON_VISIT_LOOKS; look++)
        accesses += is_accessed(probe->process, probe->page - MODEL_BASE, now_ms + look * look_ms,
                                now_ms + (look + 1) * look_ms);
    return accesses;
}

/* Passes on what a visit has found, as the migrator does. */
static void observe(const struct hm_damon_region *region, uint32_t space)
{
    struct hm_observation seen = hm_damon_heat(region, (double)probing.span_ns * 1e-9, space);
    seen.excess = (float)((1 + seen.excess) * hm_damon_probing_spread(&probing) - 1);
    if (region->accesses > 0)
        hm_decider_observe(model.decider, &seen, 1);
}

/* Runs one burst, as the broker does, and waits for the next one. */
static void run_burst(void)
{
    static struct hm_damon_burst burst;
    static struct hm_damon_seen seen[HM_DAMON_MOST_PROBES];
    struct hm_damon_visit visited = {.looks = 0};
    hm_damon_probing_choose(&probing, &burst);
    for (unsigned i = 0; i < burst.n; i++)
        seen[i] = (struct hm_damon_seen){true, visit(&burst.probe[i], burst.look_us * 1e-3)};
    for (unsigned i = 0; i < burst.n; i++) {
        struct hm_damon_region region;
        if (i == 0 || burst.probe[i].process != burst.probe[i - 1].process) {
            visited.look_us = burst.look_us;
            hm_damon_probing_count_looks(&probing, &burst, i, seen, &visited);
        }
        visited.accesses = seen[i].accesses;
        if (hm_damon_probing_take(&probing, &burst, i, &visited, &region))
            observe(&region, burst.probe[i].process);
    }
    double cpu_s = burst.n * VISIT_S;
    double wait_ms = cpu_s / (needs.budget * 1e-6) * 1000 * (0.5 + hm_random_share(&chance));
    now_ms += fmax(burst.look_us * 1e-3 * HM_DAMON_VISIT_LOOKS, wait_ms);
    hm_damon_probing_end(&probing, &burst, cpu_s, &needs, (uint64_t)(now_ms * 1e6));
}

/* Runs a phase, and until a round has ended. */
static void do_phase(void)
{
    uint32_t rounds = probing.rounds;
    for (double end_ms = now_ms + PHASE_MS; now_ms < end_ms || probing.rounds == rounds;)
        run_burst();
    model_decide(&model, MOVES);
}

/* The accesses that the fast tier gets after so many rounds, as a share of the most that it could get. */
static double share_after(uint32_t rounds)
{
    begin(1);
    while (probing.rounds < rounds)
        do_phase();
    double share = model_share(&model, heat_of, NULL) / best_share();
    print_message("%.3f of the best share after %u rounds, %.0f s\n", share, probing.rounds, now_ms * 1e-3);
    model_end(&model);
    return share;
}

static void hot_blocks_all_over_the_memory_are_found(void **state)
{
    (void)state;
    is_shared = false;
    assert_true(share_after(2) >= 0.9);
}

/* What a process does not use while it waits for a CPU is not taken for cold. */
static void hot_blocks_of_processes_that_share_cpus_are_found(void **state)
{
    (void)state;
    is_shared = true;
    assert_true(share_after(2) >= 0.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hot_blocks_all_over_the_memory_are_found),
        cmocka_unit_test(hot_blocks_of_processes_that_share_cpus_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
