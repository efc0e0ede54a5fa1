/* SPDX-License-Identifier: Apache-2.0 */
/* Tests when a phase ends, and how much may be moved at its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "migrator/live/pace.h"
#include "unit/lib/rows.h"

#define S UINT64_C(1000000000)

static void test_phases_by_time(void **state)
{
    (void)state;
    struct hm_pace pace = {.interval_ms = 10000};
    assert_int_equal(hm_pace_due(&pace, 5 * S), 15 * S);
    assert_false(hm_pace_is_over(&pace, 5 * S, 15 * S - 1, UINT64_MAX));
    assert_true(hm_pace_is_over(&pace, 5 * S, 15 * S, 0));
    assert_int_equal(hm_pace_due(&pace, UINT64_MAX - S), UINT64_MAX);
    pace.interval_ms = UINT64_MAX;
    assert_int_equal(hm_pace_due(&pace, 0), UINT64_MAX);
}

static void test_phases_by_samples(void **state)
{
    (void)state;
    struct hm_pace pace = {.interval_ms = 10, .phase_samples = 1000};
    assert_int_equal(hm_pace_due(&pace, 0), UINT64_MAX);
    assert_false(hm_pace_is_over(&pace, 0, 3600 * S, 999));
    assert_true(hm_pace_is_over(&pace, 0, 1, 1000));
}

static void test_phases_that_are_not_paid_for(void **state)
{
    (void)state;
    struct hm_pace pace = {.interval_ms = 10000};
    assert_false(hm_pace_lengthen(&pace, true));
    assert_int_equal(hm_pace_due(&pace, 0), 10 * S);
    for (unsigned i = 2; i <= HM_PACE_LONGEST; i++) {
        assert_true(hm_pace_lengthen(&pace, false));
        assert_int_equal(hm_pace_due(&pace, 0), i * 10 * S);
    }
    assert_false(hm_pace_lengthen(&pace, false)); /* the phase is long enough now */
    assert_int_equal(hm_pace_due(&pace, 0), 10 * S);
    pace.phase_samples = 1000;
    assert_true(hm_pace_lengthen(&pace, false));
    assert_false(hm_pace_is_over(&pace, 0, 0, 1999));
    assert_true(hm_pace_is_over(&pace, 0, 0, 2000));
    assert_false(hm_pace_lengthen(&pace, true));
    assert_true(hm_pace_is_over(&pace, 0, 0, 1000));
}

static void test_budget(void **state)
{
    (void)state;
    static const struct {
        struct hm_pace pace;
        double now_s;
        uint64_t pages;
    } rows[] = {
        {{.interval_ms = 10000}, 1000, UINT64_MAX},
        {{.interval_ms = 10000, .rate = 200 << 20}, 1000, 512000},        /* 2000 MiB in a phase */
        {{.interval_ms = 500, .rate = 4096}, 1000, 0},                    /* half a page */
        {{.interval_ms = 1000000, .rate = UINT64_MAX}, 1000, UINT64_MAX}, /* more pages than there can be */
        {{.interval_ms = 10000, .end_s = 2000}, 1000, UINT64_MAX},        /* the speed of moving is not known yet */
        {{.interval_ms = 10000, .end_s = 2000, .bytes_per_s = 4096e3}, 1000, 100000}, /* a tenth of 1000 s */
        {{.interval_ms = 10000, .end_s = 2000, .bytes_per_s = 4096e3, .rate = 4096}, 1000, 10},
        {{.interval_ms = 10000, .end_s = 2000, .bytes_per_s = 4096e3}, 1999, 100},
        /* a step that runs after the end: it was another one */
        {{.interval_ms = 10000, .end_s = 2000, .bytes_per_s = 4096e3}, 2000, UINT64_MAX},
        {{.interval_ms = 10000, .end_s = 2000, .bytes_per_s = 4096e3, .rate = 4096}, 3000, 10},
    };
    for (size_t i = 0; i < 2 * N_ROWS(rows); i++) { /* with pages of 4 KiB, then with pages of 64 KiB */
        struct hm_pace pace = rows[i / 2].pace;
        uint64_t pages = rows[i / 2].pages;
        pace.page_bytes = i % 2 ? 65536 : 4096;
        pages = i % 2 && pages != UINT64_MAX ? pages / 16 : pages;
        if (hm_pace_budget(&pace, rows[i / 2].now_s) != pages)
            fail_msg("row %zu: %llu", i / 2, (unsigned long long)hm_pace_budget(&pace, rows[i / 2].now_s));
        pace.end_s = 0;
        assert_int_equal(hm_pace_rate(&pace), hm_pace_budget(&pace, rows[i / 2].now_s));
    }
}

static void test_phases_left(void **state)
{
    (void)state;
    struct hm_pace pace = {.interval_ms = 10000};
    assert_true(hm_pace_phases_left(&pace, 1000, 10) < 0);
    pace.end_s = 1500;
    assert_float_equal(hm_pace_phases_left(&pace, 1000, 10), 50, 1e-9);
    assert_true(hm_pace_phases_left(&pace, 1500, 10) < 0);
    assert_true(hm_pace_phases_left(&pace, 1000, 0) < 0);
}

/* A step that runs after its end proves that end wrong, unless Slurm is just ending it. */
static void test_an_end_that_is_over(void **state)
{
    (void)state;
    static const struct {
        int64_t end_s;
        double now_s, left_s;
        bool is_outlived;
    } rows[] = {{0, 1000, -1, false},
                {1500, 1499.5, 0.5, false},
                {1500, 1500, -1, false},
                {1500, 1800, -1, false},
                {1500, 1801, -1, true}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_pace pace = {.end_s = rows[i].end_s};
        assert_float_equal(hm_pace_left_s(&pace, rows[i].now_s), rows[i].left_s, 0);
        assert_int_equal(hm_pace_is_outlived(&pace, rows[i].now_s), rows[i].is_outlived);
    }
}

static void test_learning(void **state)
{
    (void)state;
    struct hm_pace pace = {.interval_ms = 10000};
    hm_pace_learn(&pace, 4096, 1); /* too little to tell the speed */
    hm_pace_learn(&pace, UINT64_C(1) << 30, 0);
    assert_true(pace.bytes_per_s <= 0);
    hm_pace_learn(&pace, UINT64_C(1) << 30, 1);
    assert_float_equal(pace.bytes_per_s, 0x1p30, 1);
    hm_pace_learn(&pace, UINT64_C(1) << 31, 1);
    assert_float_equal(pace.bytes_per_s, 1.5 * 0x1p30, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases_by_time),
        cmocka_unit_test(test_phases_by_samples),
        cmocka_unit_test(test_phases_that_are_not_paid_for),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_phases_left),
        cmocka_unit_test(test_an_end_that_is_over),
        cmocka_unit_test(test_learning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
