/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that an advance is spent where the moves are expected to pay for it, and only there. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "migrator/live/phaseparts.h"
#include "unit/lib/rows.h"

/* A page that is promoted gets one of a million accesses; so it makes waits shorter by 3 / 4,000,000 at least, where
 * the slow tier's latency is four times the fast one's. */
static struct hm_extent extents[] = {
    {.first = 100, .n_pages = 100000, .tier_pages = {0, 100000}, .priority = 3e-6},
    {.first = 200000, .n_pages = 100000, .tier_pages = {0, 100000}, .priority = 27e-6},
};
static struct hm_move planned;

const struct hm_move *__wrap_hm_decider_plan(struct hm_decider *decider, const struct hm_budget *budget, size_t *count);
struct hm_extent *__wrap_hm_decider_extents(struct hm_decider *decider, size_t *count);

const struct hm_move *__wrap_hm_decider_plan(struct hm_decider *decider, const struct hm_budget *budget, size_t *count)
{
    (void)decider;
    planned.limit = budget->move_pages;
    budget->share->told += 0.25;
    *count = 1;
    return &planned;
}

struct hm_extent *__wrap_hm_decider_extents(struct hm_decider *decider, size_t *count)
{
    (void)decider;
    *count = N_ROWS(extents);
    return extents;
}

static void an_advance_has_to_pay(void **state)
{
    (void)state;
    /* A job of one CPU that has run for 100 s. */
    static const struct {
        const char *about;
        double page_s, saved_s, limit_s;
        uint64_t extent, most, pages;
    } rows[] = {
        {"the moves pay", 2e-5, 1, -1, 1, UINT64_MAX, 90000},
        {"other limits hold", 2e-5, 1, -1, 1, 5000, 5000},
        {"what they gain is less than their CPU time", 1e-2, 100, -1, 0, UINT64_MAX, 10000},
        {"the job is about to end", 0x1p-16, 1, 101, 1, UINT64_MAX, 65536},
        {"all is spent: the least that each decision may move", 1e-2, -1, -1, 0, UINT64_MAX, HM_PURSE_LEAST},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        static struct hm_live live;
        static struct hm_progress progress;
        static const struct hm_options options = {.lat_read = 4};
        struct hm_live_end end = {.extent = extents, .n_extents = N_ROWS(extents)};
        struct hm_heat_share share = {.told = 0.5};
        struct hm_budget budget = {.move_pages = rows[i].most, .share = &share};
        size_t count;
        live.options = &options;
        live.shown.progress = &progress;
        progress.gain_s = 0;
        planned = (struct hm_move){.first = extents[rows[i].extent].first, .n_pages = 100000, .from = 1};
        hm_purse_init(&live.account.purse, 0.01, 1, 0);
        hm_purse_look(&live.account.purse, 100, 1 - rows[i].saved_s);
        hm_purse_set_left(&live.account.purse, rows[i].limit_s < 0 ? -1 : rows[i].limit_s - 100, 100);
        live.account.purse.page_s = rows[i].page_s;
        hm_live_plan(&live, &end, &budget, 10, &count);
        if (budget.move_pages != rows[i].pages)
            fail_msg("%s: %llu pages", rows[i].about, (unsigned long long)budget.move_pages);
        assert_true(progress.gain_s > 0);
        assert_float_equal(share.told, 0.75, 1e-9); /* however often it planned */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_advance_has_to_pay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
