/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the limit that packer gain gives to one item, so that all room is used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "packmodel.h"

#define HALF (HM_PACK_PARTS / 2)

/* What the others leave goes to one item more, with a limit: the choice fits, and keeps as much as is served of it. */
static void test_gain_limits_an_item_to_what_the_others_leave(void **state)
{
    struct hm_random random = {7};
    static struct world world;
    bool is_fast[MOST], plain_fast[MOST], is_limitable[MOST];
    size_t n_limited = 0;
    (void)state;
    for (int round = 0; round < 5 * ROUNDS; round++) {
        make_world(&random, 4, &world);
        struct hm_pack_result plain = pack_world("gain", &world, plain_fast);
        for (size_t i = 0; i < world.n; i++)
            is_limitable[i] = hm_random_next(&random) % 4 > 0;
        world.scene.is_limitable = is_limitable;
        struct hm_pack_result result = pack_world("gain", &world, is_fast);
        assert_true(result.score >= plain.score * (1 - 1e-9));
        if (result.limit_bytes == 0) {
            assert_memory_equal(is_fast, plain_fast, world.n * sizeof(bool));
            continue;
        }
        n_limited++;
        assert_true(is_fast[result.limited] && is_limitable[result.limited]);
        assert_true(result.bytes <= world.scene.capacity && result.limit_bytes <= world.scene.capacity);
        assert_float_equal(result.kept, result.value, 1e-9 * result.value);
    }
    print_message("%zu of %d choices have a limit\n", n_limited, 5 * ROUNDS);
    assert_true(n_limited > ROUNDS / 10);
}

/* Where all can be limited and nothing is known of the time, no choice keeps more. */
static void test_gain_with_a_limit_reaches_the_bound(void **state)
{
    struct hm_random random = {8};
    struct hm_pack_item item[MOST];
    bool is_fast[MOST], is_limitable[MOST];
    uint64_t sum;
    (void)state;
    memset(is_limitable, true, sizeof(is_limitable));
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = make_items(&random, item, MOST, &sum);
        struct hm_pack_scene scene = {.capacity = sum / 3, .is_limitable = is_limitable};
        struct hm_pack_result result = {.is_fast = is_fast};
        assert_int_equal(hm_pack_into(hm_packer_find("gain", NULL), &scene, item, n, &result), 0);
        assert_float_equal(result.kept, result.bound, 1e-9 * (1 + result.bound));
    }
}

/* What was hot in a large item has no room beside b, which comes later. */
static void test_a_limit_leaves_room_for_who_comes_later(void **state)
{
    static const uint64_t early[HM_PACK_PARTS] = {[0 ... HM_PACK_PARTS - 1] = 100}, late[HM_PACK_PARTS] = {[HALF] = 6};
    static const struct hm_pack_item item[] = {{100, 100}, {6, 60}, {20, 1}};
    static const bool is_limitable[] = {true, true, false};
    const uint64_t *series[] = {early, late, NULL};
    struct hm_pack_scene scene = {.capacity = 10, .series = series, .is_limitable = is_limitable};
    bool is_fast[3];
    struct hm_pack_result result = {.is_fast = is_fast};
    (void)state;
    assert_int_equal(hm_pack_into(hm_packer_find("gain", NULL), &scene, item, 3, &result), 0);
    assert_true(is_fast[0] && is_fast[1] && !is_fast[2]);
    assert_int_equal(result.limited, 0);
    assert_int_equal(result.limit_bytes, 4);
    assert_float_equal(result.kept, 64, 1e-9);
    assert_int_equal(result.bytes, 10);
    assert_int_equal(hm_pack_into(hm_packer_find("hotset", NULL), &scene, item, 3, &result), 0);
    assert_int_equal(result.limit_bytes, 0);
}

/* The first and the last have all of the room. The second with a part of the first gains as much, but for rounding. */
static void test_no_item_is_limited_for_nothing(void **state)
{
    static const struct hm_pack_item item[] = {{8, 8 / 3.0}, {7, 7 / 3.0}, {2, 2 / 3.0}};
    static const bool is_limitable[] = {true, true, true};
    const struct hm_pack_scene scene = {.capacity = 10, .is_limitable = is_limitable};
    bool is_fast[3];
    struct hm_pack_result result = {.is_fast = is_fast};
    (void)state;
    assert_int_equal(hm_pack_into(hm_packer_find("gain", NULL), &scene, item, 3, &result), 0);
    assert_true(is_fast[0] && !is_fast[1] && is_fast[2]);
    assert_int_equal(result.limit_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gain_limits_an_item_to_what_the_others_leave),
        cmocka_unit_test(test_gain_with_a_limit_reaches_the_bound),
        cmocka_unit_test(test_a_limit_leaves_room_for_who_comes_later),
        cmocka_unit_test(test_no_item_is_limited_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
