/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how the accesses to a region of memory are shared over the allocations in it, and over their slices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sites/record/spread.h"
#include "unit/lib/rows.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

/* Three allocations, with a hole of 2 MiB behind the second one. */
static struct hm_watch_range blocks[] = {
    {.start = 2 * MIB, .end = 3 * MIB, .entry = 0},
    {.start = 3 * MIB, .end = 6 * MIB, .entry = 1},
    {.start = 8 * MIB, .end = 9 * MIB, .entry = 2},
};
static const struct hm_watch_ranges ranges = {blocks, N_ROWS(blocks)};

static void note(void *data, const struct hm_watch_range *range, uint64_t from, uint64_t to, double part)
{
    double *parts = data;
    assert_true(from >= range->start && to <= range->end && from < to);
    parts[range->entry] += part;
}

static const struct {
    const char *what;
    uint64_t start, end, mapped;
    double parts[3], sum;
} rows[] = {
    {"within one", 2 * MIB, 3 * MIB, MIB, {1, 0, 0}, 1},
    {"a part of one", 3 * MIB, 3 * MIB + 4 * KIB, 4 * KIB, {0, 1, 0}, 1},
    {"by bytes", 2 * MIB, 6 * MIB, 4 * MIB, {0.25, 0.75, 0}, 1},
    {"parts of two", 2 * MIB + 512 * KIB, 4 * MIB, 3 * MIB / 2, {1.0 / 3, 2.0 / 3, 0}, 1},
    {"other memory has its part", 0, 4 * MIB, 4 * MIB, {0.25, 0.25, 0}, 0.5},
    {"a hole has none", 5 * MIB, 9 * MIB, 2 * MIB, {0, 0.5, 0.5}, 1},
    {"all of it", 0, 16 * MIB, 10 * MIB, {0.1, 0.3, 0.1}, 0.5},
    {"mappings that are older than the allocations", 2 * MIB, 6 * MIB, MIB, {0.25, 0.75, 0}, 1},
    {"no mapping is known", 2 * MIB, 6 * MIB, 0, {0.25, 0.75, 0}, 1},
    {"before all", 0, 2 * MIB, 2 * MIB, {0, 0, 0}, 0},
    {"in the hole", 6 * MIB, 8 * MIB, 2 * MIB, {0, 0, 0}, 0},
    {"behind all", 9 * MIB, 10 * MIB, MIB, {0, 0, 0}, 0},
    {"nothing", 3 * MIB, 3 * MIB, 0, {0, 0, 0}, 0},
    {"an end that overflows", 8 * MIB, 4 * KIB, 4 * KIB, {0, 0, 0}, 0},
};

static void test_regions_are_shared_by_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        double parts[3] = {0, 0, 0};
        print_message("%s\n", rows[i].what);
        double sum = hm_spread(&ranges, rows[i].start, rows[i].end, rows[i].mapped, note, parts);
        assert_float_equal(sum, rows[i].sum, 1e-9);
        for (size_t n = 0; n < N_ROWS(parts); n++)
            assert_float_equal(parts[n], rows[i].parts[n], 1e-9);
    }
}

static void test_a_region_is_shared_over_the_slices_of_a_large_allocation(void **state)
{
    (void)state;
    static struct hm_watch_heat heat;
    const struct hm_watch_range range = {.start = MIB, .end = MIB + 32 * 4 * KIB + 5};
    hm_spread_slices(&heat, &range, MIB + 4 * KIB, MIB + 12 * KIB, 6); /* slices 1 and 2 */
    hm_spread_slices(&heat, &range, MIB + 2 * KIB, MIB + 6 * KIB, 2);  /* halves of slices 0 and 1 */
    hm_spread_slices(&heat, &range, range.end - 5, range.end, 7);      /* what is over */
    assert_float_equal(heat.large.accesses[0], 1, 1e-9);
    assert_float_equal(heat.large.accesses[1], 4, 1e-9);
    assert_float_equal(heat.large.accesses[2], 3, 1e-9);
    assert_float_equal(heat.large.accesses[31], 7, 1e-9);
    assert_float_equal(heat.ordered.accesses[0], 0, 1e-9);
}

/* An allocation of 100 KiB that is at 60 KiB in the order, with slices of 64 KiB. */
static void test_a_region_is_shared_over_the_slices_of_an_order(void **state)
{
    (void)state;
    static struct hm_watch_heat heat = {.ordered = {.step_bytes = 64 * KIB}};
    struct hm_watch_range range = {.start = MIB, .end = MIB + 100 * KIB, .before = 60 * KIB};
    hm_spread_slices(&heat, &range, range.start, range.end, 100);
    assert_float_equal(heat.ordered.accesses[0], 4, 1e-9);
    assert_float_equal(heat.ordered.accesses[1], 64, 1e-9);
    assert_float_equal(heat.ordered.accesses[2], 32, 1e-9);
    range.before = 31 * 64 * KIB + 32 * KIB; /* most of it is behind the last slice, so a program has written this */
    hm_spread_slices(&heat, &range, range.start, range.end, 100);
    assert_float_equal(heat.ordered.accesses[31], 32, 1e-9);
    static struct hm_watch_heat unknown;
    hm_spread_slices(&unknown, &range, range.start, range.end, 100); /* no slices are known: nothing is counted */
    assert_float_equal(unknown.ordered.accesses[0], 0, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regions_are_shared_by_bytes),
        cmocka_unit_test(test_a_region_is_shared_over_the_slices_of_a_large_allocation),
        cmocka_unit_test(test_a_region_is_shared_over_the_slices_of_an_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
