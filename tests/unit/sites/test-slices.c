/* SPDX-License-Identifier: Apache-2.0 */
/* Tests slices of sites: where an access is, and how many accesses each slice is expected to have. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "sites/profile/slices.h"
#include "unit/lib/rows.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

static const struct {
    uint64_t step, before, bytes;
    int slice;
} orders[] = {
    {64 * KIB, 0, 1, 0},
    {64 * KIB, 64 * KIB - 2, 4, 1}, /* its middle is behind the border */
    {64 * KIB, 64 * KIB - 3, 4, 0},
    {64 * KIB, 31 * 64 * KIB, 100, 31},
    {64 * KIB, 32 * 64 * KIB, 100, HM_SLICES},
    {1, UINT64_C(1) << 60, 1, HM_SLICES},
};

static void test_where_an_allocation_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(orders); i++)
        assert_int_equal(hm_slices_at(orders[i].step, orders[i].before, orders[i].bytes), orders[i].slice);
    assert_int_equal(hm_slices_of_block(32 * MIB, 31 * MIB - 1, 4), 31);
    assert_int_equal(hm_slices_of_block(32 * MIB, MIB - 3, 4), 0);
    assert_int_equal(hm_slices_of_block(MIB + 31, MIB + 30, 1), 31); /* what is over belongs to the last */
}

static void test_bytes(void **state)
{
    const struct hm_slices order = {.is_known = true, .step_bytes = MIB, .extent_bytes = 5 * MIB / 2};
    const struct hm_slices large = {.is_known = true}, none = {.is_known = false};
    (void)state;
    assert_int_equal(hm_slices_count(&none), 0);
    assert_int_equal(hm_slices_count(&large), HM_SLICES);
    assert_int_equal(hm_slices_count(&order), 3);
    assert_float_equal(hm_slices_bytes(&large, 7), 1.0 / 32, 1e-12);
    assert_float_equal(hm_slices_bytes(&order, 0), 0.4, 1e-12);
    assert_float_equal(hm_slices_bytes(&order, 2), 0.2, 1e-12);
    assert_float_equal(hm_slices_bytes(&order, 3), 0, 1e-12);
}

static void test_wider_slices_have_the_accesses_of_two(void **state)
{
    struct hm_slices slices = {.is_known = true, .step_bytes = 64 * KIB, .extent_bytes = 2 * MIB};
    (void)state;
    for (int i = 0; i < HM_SLICES; i++)
        slices.accesses[i] = i;
    hm_slices_widen(&slices, 2 * MIB);
    assert_int_equal(slices.step_bytes, 64 * KIB);
    hm_slices_widen(&slices, 2 * MIB + 1);
    assert_int_equal(slices.step_bytes, 128 * KIB);
    assert_float_equal(slices.accesses[0], 1, 0);
    assert_float_equal(slices.accesses[15], 61, 0);
    assert_float_equal(slices.accesses[16], 0, 0);
}

static void test_slices_of_two_runs(void **state)
{
    struct hm_slices small = {
        .is_known = true, .step_bytes = MIB, .extent_bytes = 2 * MIB, .accesses = {1, 2}, .samples = 2};
    struct hm_slices wide = {
        .is_known = true, .step_bytes = 2 * MIB, .extent_bytes = 3 * MIB, .accesses = {10, 20}, .samples = 7};
    struct hm_slices large = {.is_known = true, .accesses = {5}}, same = small;
    (void)state;
    hm_slices_add(&same, &wide);
    assert_true(same.is_known && same.step_bytes == 2 * MIB && same.extent_bytes == 3 * MIB);
    assert_float_equal(same.accesses[0], 13, 0);
    assert_float_equal(same.accesses[1], 20, 0);
    assert_float_equal(same.samples, 9, 0);
    hm_slices_add(&wide, &small);
    assert_float_equal(wide.accesses[0], 13, 0);
    hm_slices_add(&large, &large);
    assert_true(large.is_known && large.accesses[0] == 10);
    hm_slices_add(&large, &small);
    assert_int_equal(hm_slices_count(&large), 0);
    struct hm_slices largest = {true, UINT64_C(1) << 60, UINT64_C(1) << 60, {1}, 1},
                     odd = {true, 3 * MIB, 3 * MIB, {1}, 1};
    hm_slices_add(&largest, &wide);
    assert_true(largest.is_known && largest.step_bytes == UINT64_C(1) << 60);
    assert_float_equal(largest.accesses[0], 34, 0);
    hm_slices_add(&odd, &wide); /* slices that are no multiples of the others */
    assert_int_equal(hm_slices_count(&odd), 0);
}

/* Samples of a site whose slices are all used alike, as chance has them. */
static struct hm_slices sampled(int n, uint64_t seed)
{
    struct hm_slices slices = {.is_known = true, .samples = n};
    struct hm_random random = {seed};
    for (int i = 0; i < n; i++)
        slices.accesses[hm_random_next(&random) % HM_SLICES]++;
    return slices;
}

/* The largest difference of an expected rate from the site's, as a part of it. */
static double difference(const struct hm_slices *slices)
{
    double share[HM_SLICES], most = 0, sum = 0;
    hm_slices_expect(slices, share);
    for (int i = 0; i < HM_SLICES; i++) {
        most = fmax(most, fabs(share[i] * HM_SLICES - 1));
        sum += share[i];
    }
    assert_float_equal(sum, 1, 1e-9);
    return most;
}

/* In few sites a slice seems to be used more or less than others, though some have twice as many samples. */
static void test_chance_makes_no_slice_hot(void **state)
{
    static const int numbers[] = {20, 200, 2000};
    (void)state;
    for (size_t i = 0; i < N_ROWS(numbers); i++) {
        int n_wrong = 0;
        for (uint64_t seed = 1; seed <= 300; seed++) {
            struct hm_slices slices = sampled(numbers[i], seed);
            n_wrong += difference(&slices) > 1e-9;
        }
        assert_true(n_wrong <= 300 * 0.075);
    }
    struct hm_slices slices = sampled(200, 1);
    slices.samples = 0;
    assert_true(difference(&slices) < 1e-9);
    assert_true(difference(&(struct hm_slices){.is_known = true}) < 1e-9);
    assert_true(difference(&(struct hm_slices){.is_known = true, .accesses = {1e-310}, .samples = 1e18}) < 1e-9);
}

/* Three slices that have nine of ten samples; what a sample stands for does not count. */
static void test_hot_slices_are_told_by_few_samples(void **state)
{
    const struct hm_slices slices = {
        .is_known = true, .accesses = {[3] = 900, [4] = 1100, [5] = 1000, [20] = 300}, .samples = 33};
    double share[HM_SLICES];
    (void)state;
    hm_slices_expect(&slices, share);
    assert_float_equal(share[3], share[4], 1e-9);
    assert_true(share[3] + share[4] + share[5] > 0.65);
    assert_true(share[20] < share[3] && share[30] > 0.1 / HM_SLICES && share[30] < share[3] / 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where_an_allocation_is),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_wider_slices_have_the_accesses_of_two),
        cmocka_unit_test(test_slices_of_two_runs),
        cmocka_unit_test(test_chance_makes_no_slice_hot),
        cmocka_unit_test(test_hot_slices_are_told_by_few_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
