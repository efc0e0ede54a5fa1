/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the exchange of pages between tiers: figures by hand, and against all placements that there are. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/decide/exchange.h"
#include "migrator/replay/sampler.h"

#define PAGES 6

/* Six pages, each an extent of its own, in up to four tiers. */
struct scene {
    struct hm_decider_options options;
    struct hm_extents *extents;
    struct hm_budget budget;
    unsigned tier[PAGES];    /* where they are */
    unsigned planned[PAGES]; /* where the plan has them */
    double belief;
    uint64_t moves_left;
};

/* Tiers with these latencies of reads and writes, and a page's price in lines. */
static void begin(struct scene *scene, unsigned n_tiers, const double *read, const double *write, double lines)
{
    *scene = (struct scene){
        .options = {.algorithm = "regions", .period = 1, .page_bytes = 4096, .max_extents = 16, .counts_memory = true},
        .budget = {.move_pages = UINT64_MAX, .phases_left = -1},
        .belief = 8,
        .moves_left = UINT64_MAX};
    hm_decider_set_latencies(&scene->options, n_tiers, read, write, lines);
    scene->extents = (struct hm_extents *)hm_decider_new(&scene->options, NULL);
    assert_non_null(scene->extents);
    scene->extents->n_phases = 2;
    scene->extents->base.n_extents = PAGES;
    for (size_t i = 0; i < PAGES; i++)
        scene->extents->base.extent[i] = (struct hm_extent){.first = 2 * i, .n_pages = 1};
}

/* Has a page, with its reads and writes in a phase, in a tier. */
static void put(struct scene *scene, size_t page, unsigned tier, double reads, double writes)
{
    struct hm_extent *extent = &scene->extents->base.extent[page];
    extent->reads = reads;
    extent->writes = writes;
    extent->priority = hm_extents_heat(scene->extents, extent);
    memset(extent->tier_pages, 0, sizeof(extent->tier_pages));
    extent->tier_pages[tier] = 1;
    scene->tier[page] = tier;
}

static uint64_t flow_of(const struct scene *scene, size_t page, unsigned from, unsigned to)
{
    return from == to ? 0 : *hm_extents_flow(scene->extents, scene->extents->flow, page, from, to);
}

/* Plans, and expects that each page has one place, and each tier room for what it gets. */
static void plan(struct scene *scene)
{
    struct hm_exchange exchange;
    unsigned n_tiers = scene->options.n_tiers;
    uint64_t used[HM_MAX_TIERS] = {0}, moves = 0;
    memset(scene->budget.used_pages, 0, sizeof(scene->budget.used_pages));
    for (size_t i = 0; i < PAGES; i++)
        scene->budget.used_pages[scene->tier[i]]++;
    hm_extents_order(scene->extents);
    hm_exchange_begin(&exchange, scene->extents, &scene->budget);
    exchange.belief = scene->belief;
    exchange.moves_left = scene->moves_left;
    hm_exchange_obey_caps(&exchange, &scene->budget);
    hm_exchange_promote(&exchange);
    for (size_t i = 0; i < PAGES; i++) {
        scene->planned[i] = scene->tier[i];
        for (unsigned to = 0; to < n_tiers; to++) {
            if (flow_of(scene, i, scene->tier[i], to) == 0)
                continue;
            assert_int_equal(flow_of(scene, i, scene->tier[i], to), 1);
            assert_int_equal(scene->planned[i], scene->tier[i]);
            scene->planned[i] = to;
            moves++;
        }
        used[scene->planned[i]]++;
    }
    for (unsigned tier = 0; tier + 1 < n_tiers; tier++)
        assert_true(used[tier] <= scene->budget.capacity_pages[tier]);
    assert_true(moves <= scene->moves_left);
    if (scene->moves_left != UINT64_MAX)
        assert_int_equal(exchange.moves_left, scene->moves_left - moves);
}

static void expect(const struct scene *scene, const unsigned *planned)
{
    for (size_t i = 0; i < PAGES; i++)
        if (scene->planned[i] != planned[i])
            fail_msg("page %zu goes to tier %u, not %u", i, scene->planned[i], planned[i]);
}

static const double reads[] = {1, 2, 5}, writes[] = {1, 2, 5};

/* The hottest pages are in the last tier, the coldest in the first. A page that gives way to one from the last tier
 * does not end there if it is hotter than those of the tier between: it goes one step, and the coldest goes to the
 * last. */
static void test_three_tiers_are_sorted(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, 3, reads, writes, 1);
    put(&scene, 0, 0, 500, 0);
    put(&scene, 1, 0, 30, 0);
    put(&scene, 2, 1, 20, 0);
    put(&scene, 3, 1, 10, 0);
    put(&scene, 4, 2, 1000, 0);
    put(&scene, 5, 2, 0, 0);
    scene.budget.capacity_pages[0] = scene.budget.capacity_pages[1] = 2;
    plan(&scene);
    expect(&scene, (unsigned[]){0, 1, 1, 2, 0, 2});
    assert_int_equal(scene.extents->base.extent[4].verdict, HM_VERDICT_PROMOTE);
    assert_int_equal(scene.extents->base.extent[3].verdict, HM_VERDICT_DEMOTE);
    hm_decider_free(&scene.extents->base);
}

/*
 * A step from the last tier to the one between gains 3 for each read, the next step 1. Over 8 phases the former pays
 * for a page with more than (5 + 2) / (8 * 3) reads for each of its lines, and to go on to the first tier only where
 * the price, which is then 5 + 1, leaves more: a page whose step to the first tier gains less than it costs to make
 * room there goes one step.
 */
static void test_a_page_goes_one_step_or_two(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, 3, reads, writes, 100);
    put(&scene, 0, 0, 100, 0);
    put(&scene, 1, 0, 100, 0);
    put(&scene, 2, 2, 20, 0);  /* 20 * 3 * 8 is less than 700 */
    put(&scene, 3, 2, 40, 0);  /* pays for one step; 100 reads do not give way */
    put(&scene, 4, 2, 120, 0); /* 20 more reads do not pay for what gives way, 100 * (1 + 2) */
    put(&scene, 5, 2, 900, 0); /* pays for two steps */
    scene.budget.capacity_pages[0] = 2;
    scene.budget.capacity_pages[1] = 3;
    plan(&scene);
    expect(&scene, (unsigned[]){1, 0, 2, 1, 1, 0});
    hm_decider_free(&scene.extents->base);
}

/*
 * Between the first two tiers writes cost the same, between the last two reads do. So a page that is only read goes to
 * the first tier, for one that is only written, although both gain as much between the last tier and the first.
 */
static void test_reads_and_writes_count_by_tier(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, 3, (double[]){1, 3, 3}, (double[]){1, 1, 3}, 0.01);
    put(&scene, 0, 0, 0, 100);
    put(&scene, 1, 1, 100, 0);
    for (size_t i = 2; i < PAGES; i++)
        put(&scene, i, 2, 0, 0);
    scene.budget.capacity_pages[0] = scene.budget.capacity_pages[1] = 1;
    plan(&scene);
    expect(&scene, (unsigned[]){1, 0, 2, 2, 2, 2});
    hm_decider_free(&scene.extents->base);
}

/* What is above the cap of a tier goes to the next one that has room, and the coldest of it further down. */
static void test_caps_are_obeyed(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene, 3, reads, writes, 1e6);
    for (size_t i = 0; i < PAGES; i++)
        put(&scene, i, 0, (double)(10 * (i + 1)), 0);
    scene.budget.capacity_pages[0] = 3;
    scene.budget.capacity_pages[1] = 1;
    plan(&scene);
    expect(&scene, (unsigned[]){2, 2, 1, 0, 0, 0});
    assert_int_equal(scene.extents->base.extent[1].verdict, HM_VERDICT_CAP);
    hm_decider_free(&scene.extents->base);
}

/* What a placement gains over the one that is there, less the moves. */
static double value_of(const struct scene *scene, const unsigned *tier)
{
    double value = 0;
    for (size_t i = 0; i < PAGES; i++) {
        const struct hm_extent *extent = &scene->extents->base.extent[i];
        unsigned from = scene->tier[i], to = tier[i];
        value += scene->belief * (extent->reads * (scene->options.read_gain[from] - scene->options.read_gain[to]) +
                                  extent->writes * (scene->options.write_gain[from] - scene->options.write_gain[to]));
        value -= scene->options.move_cost[from][to];
    }
    return value;
}

/* The most that any placement gains: the tiers of the pages are the digits of a number. */
static double best_value(const struct scene *scene)
{
    unsigned tier[PAGES] = {0};
    double best = 0;
    for (;;) {
        uint64_t used[HM_MAX_TIERS] = {0};
        size_t page = 0;
        bool fits = true;
        for (size_t i = 0; i < PAGES; i++)
            used[tier[i]]++;
        for (unsigned k = 0; k + 1 < scene->options.n_tiers; k++)
            fits = fits && used[k] <= scene->budget.capacity_pages[k];
        best = fits ? fmax(best, value_of(scene, tier)) : best;
        while (page < PAGES && ++tier[page] == scene->options.n_tiers)
            tier[page++] = 0;
        if (page == PAGES)
            return best;
    }
}

static void put_anywhere(struct scene *scene, struct hm_random *random)
{
    for (size_t i = 0; i < PAGES; i++) {
        unsigned tier = (unsigned)hm_random_below(random, scene->options.n_tiers);
        put(scene, i, tier, (double)hm_random_below(random, 1000), (double)hm_random_below(random, 300));
        scene->budget.capacity_pages[tier]++;
    }
    for (unsigned tier = 0; tier + 1 < scene->options.n_tiers; tier++)
        scene->budget.capacity_pages[tier] += hm_random_below(random, 2);
}

/* Without a price, and with one order of the pages for all tiers, the plan is the best placement. */
static void test_free_moves_give_the_best_placement(void **state)
{
    struct hm_random random = {1};
    (void)state;
    for (int i = 0; i < 400; i++) {
        static const double gains[] = {1, 1.5, 3, 7};
        struct scene scene;
        begin(&scene, 2 + i % 3, gains, gains, 0);
        put_anywhere(&scene, &random);
        plan(&scene);
        double best = best_value(&scene), got = value_of(&scene, scene.planned);
        if (!(got >= best * (1 - 1e-9)))
            fail_msg("case %d, %u tiers: %g, not %g", i, scene.options.n_tiers, got, best);
        hm_decider_free(&scene.extents->base);
    }
}

/* With prices, and orders that differ by tier, exchanges of two pages come near to the best: nothing is ever lost. */
static void test_prices_are_worth_it(void **state)
{
    struct hm_random random = {1};
    double sum = 0, sum_best = 0;
    (void)state;
    for (int i = 0; i < 600; i++) {
        static const double gain_read[] = {1, 1.5, 3, 4}, gain_write[] = {1, 1.2, 5, 12};
        struct scene scene;
        begin(&scene, 2 + i % 3, gain_read, gain_write, 10.0 * (double)(i % 40));
        put_anywhere(&scene, &random);
        plan(&scene);
        double best = best_value(&scene), got = value_of(&scene, scene.planned);
        if (!(got >= 0 && got <= best * (1 + 1e-9)))
            fail_msg("case %d, %u tiers: %g, best %g", i, scene.options.n_tiers, got, best);
        sum += got;
        sum_best += best;
        hm_decider_free(&scene.extents->base);
    }
    if (!(sum >= 0.99 * sum_best))
        fail_msg("%.4f of the best", sum / sum_best);
}

/* However few moves are allowed, they are not exceeded, and what is saved is counted. */
static void test_budgets_hold(void **state)
{
    struct hm_random random = {3};
    (void)state;
    for (int i = 0; i < 400; i++) {
        struct scene scene;
        begin(&scene, 2 + i % 3, (double[]){1, 1.5, 3, 7}, (double[]){1, 2, 3, 4}, 1);
        put_anywhere(&scene, &random);
        scene.moves_left = hm_random_below(&random, 6);
        plan(&scene);
        assert_true(value_of(&scene, scene.planned) >= 0);
        hm_decider_free(&scene.extents->base);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_tiers_are_sorted),
        cmocka_unit_test(test_a_page_goes_one_step_or_two),
        cmocka_unit_test(test_reads_and_writes_count_by_tier),
        cmocka_unit_test(test_caps_are_obeyed),
        cmocka_unit_test(test_free_moves_give_the_best_placement),
        cmocka_unit_test(test_prices_are_worth_it),
        cmocka_unit_test(test_budgets_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
