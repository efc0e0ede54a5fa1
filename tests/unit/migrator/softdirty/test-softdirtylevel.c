/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how much each process is believed to write, if windows of soft-dirty marks differ, by chance or in fact. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "migrator/softdirty/level.h"

#define RANKS 4
#define MANY 200

static struct hm_softdirty_level level[RANKS];
static uint64_t seed;

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < RANKS; i++)
        level[i] = (struct hm_softdirty_level){0};
    seed = 7;
    return 0;
}

/* Returns a random number, evenly distributed. */
static double even(double low, double high)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (double)(seed >> 11) / (double)(UINT64_C(1) << 53);
}

/* Returns the level that is believed of a rank. */
static double told(int rank)
{
    struct hm_softdirty_belief belief = hm_softdirty_level_believe(level, RANKS);
    return hm_softdirty_level_of(&level[rank], &belief);
}

static void nothing_is_told_before_a_window(void **state)
{
    (void)state;
    struct hm_softdirty_belief belief = hm_softdirty_level_believe(level, RANKS);
    assert_int_equal(belief.n, 0);
}

/* All ranks behave alike, but their first windows differ by chance. */
static void one_window_tells_no_difference(void **state)
{
    (void)state;
    static const double seen[RANKS] = {0.11, 0.33, 0.13, 0.21};
    for (int i = 0; i < RANKS; i++)
        hm_softdirty_level_see(&level[i], seen[i]);
    for (int i = 0; i < RANKS; i++)
        assert_true(fabs(told(i) - 0.195) < 1e-9);
}

static void a_process_that_was_not_seen_has_the_mean(void **state)
{
    (void)state;
    hm_softdirty_level_see(&level[0], 0.2);
    hm_softdirty_level_see(&level[1], 0.4);
    assert_true(fabs(told(3) - 0.3) < 1e-9);
}

static void random_windows_make_no_difference_between_ranks(void **state)
{
    (void)state;
    int believed = 0;
    for (int window = 0; window < MANY; window++) {
        for (int i = 0; i < RANKS; i++)
            hm_softdirty_level_see(&level[i], even(0, 0.6));
        believed += hm_softdirty_level_believe(level, RANKS).real > 0;
    }
    assert_true(believed < MANY / 10);
}

static void a_real_difference_is_believed_soon(void **state)
{
    (void)state;
    for (int window = 0; window < 4; window++)
        for (int i = 0; i < RANKS; i++)
            hm_softdirty_level_see(&level[i], i == 2 ? even(0.6, 0.8) : even(0.05, 0.15));
    assert_true(told(2) > 0.6);
    assert_true(told(0) < 0.2);
}

static void a_change_is_followed(void **state)
{
    (void)state;
    for (int window = 0; window < MANY; window++)
        hm_softdirty_level_see(&level[0], 0.1);
    assert_true(fabs(told(0) - 0.1) < 1e-9);
    for (int window = 0; window < MANY; window++)
        hm_softdirty_level_see(&level[0], 0.9);
    assert_true(fabs(told(0) - 0.9) < 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_told_before_a_window, set_up),
        cmocka_unit_test_setup(one_window_tells_no_difference, set_up),
        cmocka_unit_test_setup(a_process_that_was_not_seen_has_the_mean, set_up),
        cmocka_unit_test_setup(random_windows_make_no_difference_between_ranks, set_up),
        cmocka_unit_test_setup(a_real_difference_is_believed_soon, set_up),
        cmocka_unit_test_setup(a_change_is_followed, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
