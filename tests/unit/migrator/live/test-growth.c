/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how much a step is expected to allocate, by what it had at earlier looks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "migrator/live/growth.h"
#include "unit/lib/rows.h"

#define S UINT64_C(1000000000)
#define UNKNOWN HM_GROWTH_UNKNOWN

/* Looks are a second apart, in MiB; the last one is now. The migrator reacts within `reaction` seconds. */
static const struct {
    const char *what;
    uint64_t look[12];
    int n;
    uint64_t reaction, expected;
} rows[] = {
    {"no look", {0}, 0, 2, UNKNOWN},
    {"too young", {5, 9}, 2, 2, UNKNOWN},
    {"just old enough", {5, 7, 9}, 3, 2, 4},
    {"quiet", {50, 50, 50, 50, 50, 50}, 6, 2, 0},
    {"allocated once, at its start", {0, 50, 50, 50, 50, 50}, 6, 2, 0},
    {"grows", {10, 20, 30, 40, 50, 60}, 6, 2, 20},
    {"grows, and the migrator is slow", {10, 20, 30, 40, 50, 60}, 6, 4, 40},
    {"begins to grow", {10, 10, 10, 10, 10, 17}, 6, 2, 7},
    {"bursts, at the bottom", {10, 30, 10, 30, 10, 30, 10}, 7, 2, 20},
    {"bursts, at the top: what is there is not expected once more", {10, 30, 10, 30, 10, 30}, 6, 2, 0},
    {"bursts that grow, at the top", {10, 30, 10, 10, 10, 35}, 6, 2, 5},
    {"bursts on growing memory", {10, 30, 20, 40, 30, 50, 40}, 7, 2, 10},
    {"gives back", {90, 90, 90, 90, 90, 20}, 6, 2, 70},
    {"has given back, and grows again", {90, 20, 20, 20, 30, 40}, 6, 2, 50},
};

static void test_what_is_expected(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_growth growth = {.n = 0};
        for (int k = 0; k < rows[i].n; k++)
            hm_growth_note(&growth, (uint64_t)(100 + k) * S, rows[i].look[k]);
        uint64_t now = (uint64_t)(100 + rows[i].n - 1), bytes = rows[i].n ? rows[i].look[rows[i].n - 1] : 0;
        uint64_t expected = hm_growth_expected(&growth, now * S, rows[i].reaction * S, bytes);
        if (expected != rows[i].expected)
            fail_msg("%s: %llu", rows[i].what, (unsigned long long)expected);
    }
}

static void test_what_was_long_ago_does_not_count(void **state)
{
    (void)state;
    struct hm_growth growth = {.n = 0};
    hm_growth_note(&growth, 0, 90);
    for (uint64_t k = 1; k < HM_GROWTH_LOOKS; k++)
        hm_growth_note(&growth, k * S, 10);
    assert_int_equal(hm_growth_expected(&growth, HM_GROWTH_LOOKS * S, 2 * S, 10), 80);
    hm_growth_note(&growth, HM_GROWTH_LOOKS * S, 10);
    assert_int_equal(hm_growth_expected(&growth, HM_GROWTH_LOOKS * S, 2 * S, 10), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_expected),
                                       cmocka_unit_test(test_what_was_long_ago_does_not_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
