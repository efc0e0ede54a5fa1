/* SPDX-License-Identifier: Apache-2.0 */
/* From DAMON's lists to moves: settings, heat and the decision code together, over programs that exist only here. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "drivenmodel.h"
#include "helpers/migrator/damonheat.h"
#include "simdamon.h"

#define RANKS 4
#define PAGES 5000
#define PHASES 30
#define PHASE_MS 10000
#define MOVES 4000     /* pages in a phase */
#define LOOK_S 5e-6    /* what a look at a region costs */
#define BUDGET 30000   /* millionths of a CPU */
#define STEP_MS 1200.0 /* of the program */
#define HOT 250        /* pages of each of its two hot arrays */
#define CAPACITY (RANKS * 2 * HOT)
#define ALWAYS 10     /* pages that are in use all the time: its stack, what it counts with */
#define EVEN_RATE 8.0 /* accesses of each page in a second, where all are alike */
#define BIAS 0.03     /* by so much more are found in each further process: its pages leave the TLB more often */
#define BUSY 0.1      /* of a step, in which a page of a hot array is used */

/* Two arrays of particles, each page in use for a tenth of a step, between lists that are read once in a step. */
struct program {
    bool is_even; /* all pages alike: nothing is to be gained */
    struct hm_random random;
};

static bool is_hot(uint64_t page)
{
    return (page >= 1500 && page < 1500 + HOT) || (page >= 3000 && page < 3000 + HOT);
}

static bool is_accessed(void *data, unsigned space, uint64_t page, double from_ms, double to_ms)
{
    struct program *program = data;
    if (page < ALWAYS)
        return true;
    if (program->is_even)
        return hm_random_share(&program->random) < 1 - exp(-EVEN_RATE * (1 + BIAS * space) * (to_ms - from_ms) * 1e-3);
    double place = is_hot(page) ? (double)(page % HOT) / HOT : (double)page / PAGES;
    double since = from_ms / STEP_MS + 0.3 * space - place; /* its use last began, in steps */
    since -= floor(since);
    return since < (is_hot(page) ? BUSY : 0) || since + (to_ms - from_ms) / STEP_MS >= 1;
}

static double heat_of(const void *data, unsigned space, uint64_t page, double *store)
{
    (void)data;
    (void)space;
    *store = 0;
    return page < PAGES && is_hot(page) ? 1 : 0;
}

static void hand_over(struct model *model, const struct simdamon *damon)
{
    for (size_t i = 0; i < damon->n; i++) {
        const struct simdamon_region *from = &damon->region[i];
        struct hm_damon_region region = {.start = (MODEL_BASE + from->first) << 12,
                                         .end = (MODEL_BASE + from->first + from->n_pages) << 12,
                                         .accesses = from->accesses};
        struct hm_observation seen = hm_damon_heat(&region, HM_DAMON_LOOKS, from->space);
        if (from->accesses > 0)
            hm_decider_observe(model->decider, &seen, 1);
    }
}

/* As the broker does it: over the regions in which there was any access. */
static double share_accessed(const struct simdamon *damon)
{
    double accessed = 0, touched = 0;
    for (size_t i = 0; i < damon->n; i++) {
        const struct simdamon_region *region = &damon->region[i];
        touched += region->accesses > 0 ? (double)region->n_pages : 0;
        accessed += (double)region->accesses / HM_DAMON_LOOKS * (double)region->n_pages;
    }
    return touched > 0 ? accessed / touched : -1;
}

/* Share of the hot pages that the fast tier holds, on average over the second half; `moved` pages in all. */
static double run(struct program *program, uint64_t seed, uint64_t *moved)
{
    static struct model model;
    static struct simdamon damon;
    const struct hm_damon_needs needs = {.interval_ms = PHASE_MS, .budget = BUDGET, .n_processes = RANKS};
    struct hm_damon_settings settings = hm_damon_tune_first(&needs);
    double share = 0, end_ms = 0;
    *moved = 0;
    program->random.state = seed;
    model_begin_at(&model, HM_DAMON_TOUCH, HM_DAMON_ERROR, RANKS, CAPACITY);
    for (uint64_t page = 0; page < CAPACITY / RANKS; page++)
        for (unsigned space = 0; space < RANKS; space++, model.used++)
            model.is_fast[space][page] = true;
    simdamon_begin(&damon, RANKS, PAGES, seed);
    for (int phase = 0; phase < PHASES; phase++) {
        for (end_ms += PHASE_MS; damon.now_ms < end_ms;) {
            double begun_ms = damon.now_ms;
            uint64_t looks = simdamon_aggregate(&damon, &settings, is_accessed, program);
            hand_over(&model, &damon);
            struct hm_damon_measured measured = {.cpu_s = (double)looks * LOOK_S,
                                                 .wall_s = (damon.now_ms - begun_ms) * 1e-3,
                                                 .accessed = share_accessed(&damon)};
            hm_damon_tune(&needs, &measured, &settings);
        }
        model_decide(&model, MOVES);
        *moved += model.moved;
        share += phase >= PHASES / 2 ? model_share(&model, heat_of, NULL) / (PHASES - PHASES / 2) : 0;
    }
    model_end(&model);
    return share;
}

/* Hot by a factor of some three only, beside pages that are always in use. */
static void what_is_swept_often_is_found(void **state)
{
    (void)state;
    double sum = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct program program = {0};
        uint64_t moved;
        double share = run(&program, seed, &moved);
        print_message("seed %d: %.3f of the hot pages, %d moved\n", (int)seed, share, (int)moved);
        sum += share;
        assert_true(moved < 10 * CAPACITY);
    }
    assert_true(sum / 4 > 0.75);
}

static void nothing_is_found_where_nothing_is(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct program program = {.is_even = true};
        uint64_t moved;
        run(&program, seed, &moved);
        print_message("seed %d: %d moved\n", (int)seed, (int)moved);
        assert_true(moved < RANKS * PAGES / 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_swept_often_is_found),
        cmocka_unit_test(nothing_is_found_where_nothing_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
