/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the way from DAMON's lists of regions to moves: settings, heat and decision code together, with simulated
 * programs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "migrator/damon/heat.h"
#include "simdamon.h"
#include "unit/lib/pageshift.h"
#include "unit/migrator/decide/drivenmodel.h"

#define RANKS 4
#define PAGES 5000
#define PHASES 30
#define PHASE_MS 10000
#define MOVES 4000     /* pages that may be moved in a phase */
#define LOOK_S 5e-6    /* cost of a look at a region */
#define STEP_MS 1200.0 /* length of the program's steps */
#define HOT 250        /* pages of each of the program's two hot arrays */
#define CAPACITY (RANKS * 2 * HOT)
#define ALWAYS 10     /* pages that are always in use: stack and counters */
#define EVEN_RATE 8.0 /* accesses of each page per second, if all pages are alike */
/* how many more accesses are found in each further process, as its pages leave the TLB more often */
#define BIAS 0.03
#define BUSY 0.1       /* share of a step in which a page of a hot array is used */
#define PARTS 10       /* parts of the program with a hot part */
#define COLD_RATE 3.0  /* accesses of each page per second outside of the hot part */
#define HOT_RATE 500.0 /* the same in the hot part */
#define ARRAYS_COLD_RATE 0.5
#define ARRAYS_HOT_RATE 100.0
#define ARRAY 4090          /* pages of the array that has small ranges beside it; its hot part is a tenth, too */
#define ARRAYS_LOOK_S 20e-6 /* cost of a look at a region there, as on an emulated CPU */
#define UNCOUNTED 2         /* phases before the small ranges are counted */
#define FOUND 15            /* phases after that, in which all of the hot part is found */
#define SETTLED 4           /* phases before the one in which the hot part moves; two more follow */

/*
 * The programs. SWEPT has two arrays of particles, each page in use for a tenth of a step; its other pages are read
 * once in a step. EVEN uses all pages alike, so that nothing can be gained. SWEPT and EVEN also have a few pages that
 * are always in use (ALWAYS). WITH_HOT_PART has one hot part. BESIDE_SMALL has one, too, in an array; heap, stack and
 * the data of libraries are ranges of their own, and few of their pages are in use.
 */
enum kind { SWEPT, EVEN, WITH_HOT_PART, BESIDE_SMALL };

/* Budgets in millionths of a CPU. Some programs have less, thus fewer regions: their borders then matter more. */
static const uint32_t budgets[] = {[SWEPT] = 30000, [EVEN] = 30000, [WITH_HOT_PART] = 20000, [BESIDE_SMALL] = 6000};

static const struct simdamon_range ranges[] = {{0, ARRAY}, {6000, 33}, {7000, 13}, {7100, 2}, {7200, 1}, {8000, 33}};
static const uint64_t in_use[] = {6000, 7005, 7200, 8030, 8031}; /* pages of the small ranges, all the time */
#define N_RANGES (sizeof(ranges) / sizeof(ranges[0]))

struct program {
    enum kind kind;
    unsigned hot_part;
    struct hm_random random;
};

static bool is_hot(uint64_t page)
{
    return (page >= 1500 && page < 1500 + HOT) || (page >= 3000 && page < 3000 + HOT);
}

static bool is_in_array(uint64_t page, unsigned part)
{
    return page < ARRAY && page * PARTS / ARRAY == part;
}

static bool is_in_use(uint64_t page)
{
    for (size_t i = 0; i < sizeof(in_use) / sizeof(in_use[0]); i++)
        if (in_use[i] == page)
            return true;
    return false;
}

/* Is there at least one access in this time? `rate` is in accesses per second. */
static bool is_hit(struct program *program, double rate, double time_ms)
{
    return hm_random_share(&program->random) < 1 - exp(-rate * time_ms * 1e-3);
}

static bool is_accessed(void *data, unsigned space, uint64_t page, double from_ms, double to_ms)
{
    struct program *program = data;
    if (program->kind == WITH_HOT_PART)
        return is_hit(program, page * PARTS / PAGES == program->hot_part ? HOT_RATE : COLD_RATE, to_ms - from_ms);
    if (program->kind == BESIDE_SMALL && page >= ARRAY)
        return is_in_use(page);
    if (program->kind == BESIDE_SMALL)
        return is_hit(program, is_in_array(page, program->hot_part) ? ARRAYS_HOT_RATE : ARRAYS_COLD_RATE,
                      to_ms - from_ms);
    if (page < ALWAYS)
        return true;
    if (program->kind == EVEN)
        return is_hit(program, EVEN_RATE * (1 + BIAS * space), to_ms - from_ms);
    double place = is_hot(page) ? (double)(page % HOT) / HOT : (double)page / PAGES;
    double since = from_ms / STEP_MS + 0.3 * space - place; /* steps since its last use began */
    since -= floor(since);
    return since < (is_hot(page) ? BUSY : 0) || since + (to_ms - from_ms) / STEP_MS >= 1;
}

static double heat_of(const void *data, unsigned space, uint64_t page, double *store)
{
    const struct program *program = data;
    (void)space;
    *store = 0;
    if (program->kind == BESIDE_SMALL)
        return is_in_array(page, program->hot_part);
    return page < PAGES && (program->kind == SWEPT ? is_hot(page) : page * PARTS / PAGES == program->hot_part) ? 1 : 0;
}

static void hand_over(struct model *model, const struct simdamon *damon, const struct hm_damon_settings *settings)
{
    for (size_t i = 0; i < damon->n; i++) {
        const struct simdamon_region *from = &damon->region[i];
        struct hm_damon_region region = {.start = (MODEL_BASE + from->first) << hm_page_shift(),
                                         .end = (MODEL_BASE + from->first + from->n_pages) << hm_page_shift(),
                                         .accesses = from->accesses,
                                         .looks = (uint16_t)settings->looks,
                                         .look_us = settings->look_us};
        struct hm_observation seen = hm_damon_heat(&region, settings->looks * settings->look_us * 1e-6, from->space);
        if (from->accesses > 0)
            hm_decider_observe(model->decider, &seen, 1);
    }
}

/* The share of looks that find an access, as the broker calculates it: over the regions with any access, or over all.
 */
static double share_accessed(const struct simdamon *damon, uint32_t looks, bool of_all)
{
    double accessed = 0, touched = 0;
    for (size_t i = 0; i < damon->n; i++) {
        const struct simdamon_region *region = &damon->region[i];
        touched += of_all || region->accesses > 0 ? (double)region->n_pages : 0;
        accessed += (double)region->accesses / looks * (double)region->n_pages;
    }
    return touched > 0 ? accessed / touched : -1;
}

/* a program under DAMON and the decision code */
struct trial {
    struct program program;
    struct model model;
    struct simdamon damon;
    struct hm_damon_needs needs;
    struct hm_damon_settings settings;
    double end_ms; /* end of the phase */
};

/* The program's first pages are in the fast tier, as many as fit. */
static void begin(struct trial *trial, const struct program *program, uint64_t seed)
{
    *trial = (struct trial){.program = *program,
                            .needs = {.interval_ms = PHASE_MS,
                                      .budget = budgets[program->kind],
                                      .n_processes = RANKS,
                                      .n_ranges = RANKS * (program->kind == BESIDE_SMALL ? N_RANGES : 1)}};
    trial->program.random.state = seed;
    trial->settings = hm_damon_tune_first(&trial->needs);
    model_begin_at(&trial->model, hm_damon_touch(), HM_DAMON_ERROR, false, RANKS, CAPACITY);
    for (uint64_t page = 0; page < CAPACITY / RANKS; page++)
        for (unsigned space = 0; space < RANKS; space++, trial->model.used++)
            trial->model.is_fast[space][page] = true;
    if (program->kind == BESIDE_SMALL)
        simdamon_begin_in(&trial->damon, RANKS, ranges, N_RANGES, seed);
    else
        simdamon_begin(&trial->damon, RANKS, PAGES, seed);
}

static void aggregate(struct trial *trial)
{
    double begun_ms = trial->damon.now_ms;
    uint64_t looks = simdamon_aggregate(&trial->damon, &trial->settings, is_accessed, &trial->program);
    hand_over(&trial->model, &trial->damon, &trial->settings);
    double look_s = trial->program.kind == BESIDE_SMALL ? ARRAYS_LOOK_S : LOOK_S;
    struct hm_damon_measured measured = {.cpu_s = (double)looks * look_s,
                                         .wall_s = (trial->damon.now_ms - begun_ms) * 1e-3,
                                         .accessed = share_accessed(&trial->damon, trial->settings.looks, false),
                                         .used = share_accessed(&trial->damon, trial->settings.looks, true)};
    hm_damon_tune(&trial->needs, &measured, &trial->settings);
}

/* Runs a phase. Returns the share of the hot pages in the fast tier at its end. */
static double do_phase(struct trial *trial)
{
    for (trial->end_ms += PHASE_MS; trial->damon.now_ms < trial->end_ms;)
        aggregate(trial);
    model_decide(&trial->model, MOVES);
    return model_share(&trial->model, heat_of, &trial->program);
}

static struct trial trial;

/*
 * The share of the hot pages in the fast tier, as the mean over the second half of the phases. `moved` is the number
 * of moved pages in all.
 */
static double run(enum kind kind, uint64_t seed, uint64_t *moved)
{
    double share = 0;
    *moved = 0;
    begin(&trial, &(struct program){.kind = kind}, seed);
    for (int phase = 0; phase < PHASES; phase++) {
        double now = do_phase(&trial);
        *moved += trial.model.moved;
        share += phase >= PHASES / 2 ? now / (PHASES - PHASES / 2) : 0;
    }
    model_end(&trial.model);
    return share;
}

/* Hot memory is only some three times as hot as the rest, and some pages are always in use. */
static void what_is_swept_often_is_found(void **state)
{
    (void)state;
    double sum = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        uint64_t moved;
        double share = run(SWEPT, seed, &moved);
        print_message("seed %d: %.3f of the hot pages, %d moved\n", (int)seed, share, (int)moved);
        sum += share;
        assert_true(moved < 10 * CAPACITY);
    }
    assert_true(sum / 4 > 0.75);
}

static void little_is_moved_where_nothing_is_hot(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        uint64_t moved;
        run(EVEN, seed, &moved);
        print_message("seed %d: %d moved\n", (int)seed, (int)moved);
        assert_true(moved < RANKS * PAGES / 100);
    }
}

/* After the hot part has moved, the regions still have the borders of the part that was hot before. */
static void a_jump_is_followed(void **state)
{
    (void)state;
    double sum = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        begin(&trial, &(struct program){.kind = WITH_HOT_PART, .hot_part = 5}, seed);
        for (int phase = 0; phase < SETTLED; phase++)
            do_phase(&trial);
        while (trial.damon.now_ms < trial.end_ms + PHASE_MS / 2.0) /* the hot part moves in the middle of a phase */
            aggregate(&trial);
        trial.program.hot_part = 8;
        do_phase(&trial);
        do_phase(&trial);
        double share = do_phase(&trial);
        print_message("seed %d: %.3f of the hot pages\n", (int)seed, share);
        sum += share;
        model_end(&trial.model);
    }
    assert_true(sum / 4 > 0.98);
}

/*
 * Where regions are few, the small ranges must not use up so many that DAMON cannot split the arrays any more: the hot
 * part of some rank would never be found. The small ranges may be counted later, when the broker is asked again to
 * watch the same processes: the settings are tuned by then.
 */
static void a_hot_part_beside_small_ranges_is_found(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        double share = 0;
        begin(&trial, &(struct program){.kind = BESIDE_SMALL, .hot_part = 5}, seed);
        trial.needs.n_ranges = RANKS;
        trial.settings = hm_damon_tune_first(&trial.needs);
        for (int phase = 0; phase < UNCOUNTED; phase++)
            do_phase(&trial);
        trial.needs.n_ranges = RANKS * N_RANGES;
        hm_damon_tune_min(&trial.needs, &trial.settings);
        for (int phase = 0; phase < FOUND; phase++)
            share = do_phase(&trial);
        print_message("seed %d: %.3f of the hot pages\n", (int)seed, share);
        assert_true(share > 0.95);
        model_end(&trial.model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_swept_often_is_found),
        cmocka_unit_test(little_is_moved_where_nothing_is_hot),
        cmocka_unit_test(a_jump_is_followed),
        cmocka_unit_test(a_hot_part_beside_small_ranges_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
