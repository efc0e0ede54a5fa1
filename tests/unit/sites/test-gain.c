/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the packer gain, and the measure of choices, where items have their times and tiers their bandwidths. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "packmodel.h"
#include "unit/lib/rows.h"

#define MANY 14 /* items of which all choices are tried: more than gain tries all choices of */

static double bytes_of(const struct world *world, size_t at, int part)
{
    return part < 0 ? 0 : (double)(world->series_of[at] ? world->series[at][part] : world->item[at].bytes);
}

static double density_of(const struct world *world, size_t at)
{
    double all = 0;
    for (int part = 0; part < HM_PACK_PARTS; part++)
        all += bytes_of(world, at, part);
    return all > 0 ? world->item[at].value / all : 0;
}

/* The same as hm_pack_measure, where something is known of the time: item by item, who comes first has the room. */
static double kept_of(const struct world *world, const bool *is_fast)
{
    double held[MOST] = {0}, kept = 0;
    for (int part = 0; part < HM_PACK_PARTS; part++) {
        double coming[MOST] = {0}, all_held = 0, all_coming = 0;
        for (size_t i = 0; i < world->n; i++) {
            double now = bytes_of(world, i, part), before = bytes_of(world, i, part - 1);
            if (!is_fast[i])
                continue;
            held[i] *= now < before ? now / before : 1;
            coming[i] = fmax(now - before, 0);
            all_held += held[i];
            all_coming += coming[i];
        }
        double left = fmax((double)world->scene.capacity - all_held, 0);
        for (size_t i = 0; i < world->n; i++) {
            held[i] += all_coming > left ? coming[i] * left / all_coming : coming[i];
            kept += held[i] * density_of(world, i);
        }
    }
    return kept;
}

static bool has_series(const struct world *world)
{
    for (size_t i = 0; i < world->n; i++)
        if (world->series_of[i] && world->item[i].value > 0 && world->item[i].bytes > 0)
            return true;
    return false;
}

static void test_the_measure_gives_the_room_to_who_comes_first(void **state)
{
    struct hm_random random = {4};
    static struct world world;
    (void)state;
    for (int round = 0; round < 300; round++) {
        bool is_fast[MOST];
        struct hm_pack_result result = {.is_fast = is_fast};
        make_world(&random, MOST, &world);
        for (size_t i = 0; i < world.n; i++)
            is_fast[i] = hm_random_next(&random) % 2 == 0 && world.item[i].value > 0 && world.item[i].bytes > 0;
        assert_int_equal(hm_pack_measure(&world.scene, world.item, world.n, &result), 0);
        double kept = kept_of(&world, is_fast);
        if (has_series(&world))
            assert_float_equal(result.kept, kept, 1e-6 * (1 + kept));
        assert_true(result.kept <= result.bound * (1 + 1e-9));
    }
}

#define HALF (HM_PACK_PARTS / 2)
#define ALL 0, HM_PACK_PARTS /* parts in which an item has its bytes */
#define EARLY 0, HALF
#define LATE HALF, HM_PACK_PARTS
#define NEVER 0, 0 /* the series has no bytes */
#define UNKNOWN -1, 0

/* What is kept of all these items with room for 10 bytes. */
static const struct {
    struct hm_pack_item item[3];
    int parts[3][2];
    double kept;
} kept_rows[] = {
    /* nothing is known of the time: the hottest bytes have no room; nor is it where only the time of what is never
     * taken is known */
    {{{10, 100}, {10, 10}}, {{UNKNOWN}, {UNKNOWN}}, 10},
    {{{10, 100}, {10, 10}}, {{NEVER}, {NEVER}}, 10},
    {{{10, 100}, {10, 10}, {5, 0}}, {{UNKNOWN}, {UNKNOWN}, {ALL}}, 10},
    /* who comes first has the room */
    {{{10, 100}, {10, 10}}, {{ALL}, {LATE}}, 100},
    {{{10, 100}, {10, 10}}, {{LATE}, {ALL}}, 10},
    /* who comes at the same time has equal shares; of an item whose time is not known this is the beginning */
    {{{10, 100}, {10, 10}}, {{ALL}, {ALL}}, 55},
    {{{10, 100}, {10, 10}}, {{UNKNOWN}, {ALL}}, 55},
    {{{10, 100}, {10, 10}}, {{UNKNOWN}, {LATE}}, 100},
    /* shares go by bytes: 2 of 5, and 8 of 20 */
    {{{5, 100}, {20, 10}}, {{ALL}, {ALL}}, 44},
    /* what is slow stays so when there is room again, and the next one has it */
    {{{10, 100}, {10, 10}}, {{EARLY}, {ALL}}, 55},
    {{{10, 100}, {10, 10}, {10, 1000}}, {{EARLY}, {ALL}, {LATE}}, 555},
};

static void test_examples_of_what_is_kept(void **state)
{
    (void)state;
    for (size_t row = 0; row < N_ROWS(kept_rows); row++) {
        uint64_t series[3][HM_PACK_PARTS] = {{0}};
        const uint64_t *series_of[3] = {NULL};
        bool is_fast[3] = {true, true, true};
        struct hm_pack_result result = {.is_fast = is_fast};
        const struct hm_pack_scene scene = {.capacity = 10, .series = series_of};
        for (size_t i = 0; i < 3; i++) {
            for (int part = kept_rows[row].parts[i][0]; part >= 0 && part < kept_rows[row].parts[i][1]; part++)
                series[i][part] = kept_rows[row].item[i].bytes;
            series_of[i] = kept_rows[row].parts[i][0] < 0 ? NULL : series[i];
        }
        assert_int_equal(hm_pack_measure(&scene, kept_rows[row].item, 3, &result), 0);
        assert_float_equal(result.kept, kept_rows[row].kept, 1e-9);
    }
}

/* At no time as much over the capacity as the largest item that is taken. */
static bool is_allowed(const struct world *world, const struct hm_pack_result *result)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < world->n; i++)
        if (result->is_fast[i] && world->item[i].value > 0 && world->item[i].bytes > largest)
            largest = world->item[i].bytes;
    return result->bytes <= world->scene.capacity || result->bytes - world->scene.capacity < largest;
}

static void test_gain_is_never_worse_than_the_others(void **state)
{
    struct hm_random random = {5};
    static struct world world;
    bool is_fast[MOST];
    size_t n_better = 0, rounds = ROUNDS;
    (void)state;
    for (size_t round = 0; round < rounds; round++) {
        make_world(&random, MOST, &world);
        double best = 0;
        for (size_t i = 1; hm_packer_at(i); i++)
            best = fmax(best, pack_world(hm_packer_at(i)->name, &world, is_fast).score);
        struct hm_pack_result result = pack_world("gain", &world, is_fast);
        assert_true(result.score >= best * (1 - 1e-9));
        assert_true(is_allowed(&world, &result));
        n_better += result.score > best * 1.01;
        for (size_t i = 0; i < world.n; i++)
            assert_true(!is_fast[i] || (world.item[i].value > 0 && world.item[i].bytes > 0));
    }
    assert_true(n_better > rounds / 4);
}

/* The best score of all choices that are allowed. */
static double best_score(const struct world *world)
{
    double best = 0;
    bool is_fast[MANY];
    for (unsigned choice = 0; choice < 1u << world->n; choice++) {
        struct hm_pack_result result = {.is_fast = is_fast};
        for (size_t i = 0; i < world->n; i++)
            is_fast[i] = choice >> i & 1;
        assert_int_equal(hm_pack_measure(&world->scene, world->item, world->n, &result), 0);
        if (is_allowed(world, &result))
            best = fmax(best, result.score);
    }
    return best;
}

/* Of few items it finds the best choice; of more one that is within NEAR of it. */
#define NEAR 0.97
static void test_gain_is_near_the_best_choice(void **state)
{
    struct hm_random random = {6};
    static struct world world;
    bool is_fast[MOST];
    double least = 1;
    (void)state;
    for (int round = 0; round < 200; round++) {
        make_world(&random, 8, &world);
        double best = best_score(&world);
        assert_float_equal(pack_world("gain", &world, is_fast).score, best, 1e-6 * best);
    }
    for (int round = 0; round < 12; round++) {
        do
            make_world(&random, MANY, &world);
        while (world.n < MANY);
        least = fmin(least, pack_world("gain", &world, is_fast).score / best_score(&world));
    }
    print_message("gain has at least %.4f of the best choice of %d items\n", least, MANY);
    assert_true(least >= NEAR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_measure_gives_the_room_to_who_comes_first),
        cmocka_unit_test(test_examples_of_what_is_kept),
        cmocka_unit_test(test_gain_is_never_worse_than_the_others),
        cmocka_unit_test(test_gain_is_near_the_best_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
