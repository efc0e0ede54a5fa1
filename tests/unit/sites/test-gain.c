/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the packer gain where items have their times and tiers their bandwidths. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "packmodel.h"

#define MANY 14 /* items of which all choices are tried: more than gain tries all choices of */

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
        cmocka_unit_test(test_gain_is_never_worse_than_the_others),
        cmocka_unit_test(test_gain_is_near_the_best_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
