/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that observations are sorted (pending.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "migrator/decide/pending.h"
#include "unit/lib/rows.h"

#define MOST 3000

static struct hm_observation seen[MOST], spare[MOST];

/* Does `b` follow `a`? The number in the order in which they came is in `offset`. */
static bool follows(const struct hm_observation *a, const struct hm_observation *b)
{
    if (a->page != b->page)
        return a->page < b->page;
    return a->n_pages != b->n_pages ? a->n_pages < b->n_pages : a->offset < b->offset;
}

/* Bits in which pages and lengths may differ. */
static const struct {
    size_t n;
    uint64_t page, n_pages;
} lists[] = {
    {0, 0, 0},
    {1, UINT64_MAX, UINT64_MAX},
    {2, 1, 0},
    {MOST, 0, 0}, /* all alike */
    {MOST, 0xff, 0},
    {MOST, 0x100, 0x3},
    {MOST, 0x30000000f00f, 0},
    {MOST, 0, UINT64_MAX},
    {MOST, 0x3, UINT64_C(1) << 63},
    {MOST, UINT64_MAX, UINT64_MAX},
};

static void observations_are_sorted_and_all_there(void **state)
{
    (void)state;
    struct hm_random random = {1};
    for (size_t row = 0; row < N_ROWS(lists); row++) {
        size_t n = lists[row].n;
        uint64_t sum = 0;
        for (size_t i = 0; i < n; i++) {
            seen[i] = (struct hm_observation){.page = hm_random_next(&random) & lists[row].page,
                                              .n_pages = hm_random_next(&random) & lists[row].n_pages,
                                              .offset = (uint32_t)i};
            sum += seen[i].page * (2 * i + 1) + seen[i].n_pages;
        }
        hm_pending_sort(seen, spare, n);
        for (size_t i = 0; i < n; i++) {
            if (i > 0 && !follows(&seen[i - 1], &seen[i]))
                fail_msg("row %zu: %zu is before %zu", row, i - 1, i);
            sum -= seen[i].page * (2 * (uint64_t)seen[i].offset + 1) + seen[i].n_pages;
        }
        assert_true(sum == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(observations_are_sorted_and_all_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
