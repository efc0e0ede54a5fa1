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
static unsigned n_plans;
static double belief;

const struct hm_move *__wrap_hm_decider_plan(struct hm_decider *decider, const struct hm_budget *budget, size_t *count);
struct hm_extent *__wrap_hm_decider_extents(struct hm_decider *decider, size_t *count);
double __wrap_hm_decider_belief(const struct hm_decider *decider);

const struct hm_move *__wrap_hm_decider_plan(struct hm_decider *decider, const struct hm_budget *budget, size_t *count)
{
    (void)decider;
    planned.limit = budget->move_pages;
    n_plans++;
    *count = 1;
    return &planned;
}

struct hm_extent *__wrap_hm_decider_extents(struct hm_decider *decider, size_t *count)
{
    (void)decider;
    *count = N_ROWS(extents);
    return extents;
}

double __wrap_hm_decider_belief(const struct hm_decider *decider)
{
    (void)decider;
    return belief;
}

/* A job that has used 100 s of CPU time on each of its CPUs. Its purse has `saved_s`, and its fast tier has room. */
static struct hm_live *begin(unsigned n_cpus, double saved_s, double page_s)
{
    static struct hm_live live;
    static const struct hm_options options = {.lat_read = 4, .lat_write = 4};
    live.options = &options;
    live.nodes.n_tiers = 2;
    live.cap_pages = UINT64_MAX;
    hm_purse_init(&live.account.purse, 0.01, n_cpus, 0);
    hm_purse_look(&live.account.purse, n_cpus * 100, n_cpus - saved_s);
    hm_purse_set_left(&live.account.purse, -1, 100);
    live.account.purse.page_s = page_s;
    n_plans = 0;
    belief = 1;
    return &live;
}

/* The plan for an extent of which all pages are in the slow tier, and of which as many go up as may. */
static struct hm_live_planned plan(struct hm_live *live, struct hm_live_end *end, uint64_t extent,
                                   struct hm_budget *budget)
{
    end->extent = extents;
    end->n_extents = N_ROWS(extents);
    planned = (struct hm_move){.first = extents[extent].first, .n_pages = 100000, .from = 1};
    return hm_live_plan(live, end, budget, 10);
}

static void an_advance_has_to_pay(void **state)
{
    (void)state;
    static const struct {
        const char *about;
        double page_s, saved_s, limit_s, belief;
        uint64_t extent, most, gap_pages; /* gap: pages of the fast tier that make room, which is full with them */
        uint64_t pages;
        unsigned n_plans;
    } rows[] = {
        {"the moves pay", 0x1p-15, 1, -1, 1, 1, UINT64_MAX, 0, 58982, 3},
        {"little of the gain is believed", 0x1p-15, 1, -1, 0.3, 1, UINT64_MAX, 0, 32768, 2},
        {"most of it", 0x1p-15, 1, -1, 0.7, 1, UINT64_MAX, 0, 58982, 3},
        {"most of it, and room has to be made", 0x1p-15, 1, -1, 0.7, 1, UINT64_MAX, 200000, 32768, 2},
        {"other limits hold, and nothing is paid ahead", 2e-5, 1, -1, 1, 1, 5000, 0, 5000, 1},
        {"the savings are enough for the whole plan", 0x1p-19, 1, -1, 1, 1, UINT64_MAX, 0, 524288, 1},
        {"what they gain is less than their CPU time", 1e-2, 100, -1, 1, 0, UINT64_MAX, 0, 10000, 2},
        {"the job is about to end", 0x1p-16, 1, 101, 1, 1, UINT64_MAX, 0, 65536, 2},
        {"all is spent: the least that each decision may move", 1e-2, -1, -1, 1, 0, UINT64_MAX, 0, HM_PURSE_LEAST, 1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_live *live = begin(1, rows[i].saved_s, rows[i].page_s);
        struct hm_live_end end = {.used_pages = {rows[i].gap_pages},
                                  .gap_pages = {rows[i].gap_pages},
                                  .capacity_pages = {rows[i].gap_pages ? rows[i].gap_pages : UINT64_MAX}};
        struct hm_budget budget = {.move_pages = rows[i].most};
        belief = rows[i].belief;
        hm_purse_set_left(&live->account.purse, rows[i].limit_s < 0 ? -1 : rows[i].limit_s - 100, 100);
        struct hm_live_planned made = plan(live, &end, rows[i].extent, &budget);
        if (budget.move_pages != rows[i].pages || n_plans != rows[i].n_plans)
            fail_msg("%s: %llu pages, %u plans", rows[i].about, (unsigned long long)budget.move_pages, n_plans);
        assert_true(made.gain_s > 0);
        assert_int_equal(made.promoted, rows[i].pages < 100000 ? rows[i].pages : 100000);
        assert_int_equal(made.pages, made.promoted * (rows[i].gap_pages ? 2 : 1));
    }
}

/* Of four CPUs that the job has for 400 s, it uses one: then a gain lasts for eight phases of that one CPU's time. */
static void idle_cpus_gain_nothing(void **state)
{
    (void)state;
    static const struct {
        double age_s;
        uint64_t pages;
    } rows[] = {{100, 42000}, {400, 10000}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_live *live = begin(4, 1, 1e-4);
        struct hm_live_end end = {.capacity_pages = {UINT64_MAX}};
        struct hm_budget budget = {.move_pages = UINT64_MAX};
        hm_purse_set_left(&live->account.purse, -1, rows[i].age_s);
        plan(live, &end, 1, &budget);
        assert_int_equal(budget.move_pages, rows[i].pages);
    }
}

/* Little is known of memory when a job is young: what is above the cap goes down as far as savings pay for it. */
static void the_cap_is_not_paid_ahead(void **state)
{
    (void)state;
    static const struct {
        double saved_s;
        uint64_t most, pages, paid;
    } rows[] = {{0, UINT64_MAX, HM_PURSE_LEAST, HM_PURSE_LEAST},
                {0.3, UINT64_MAX, 3000, 3000},
                {0.3, 7, 7, 3000}}; /* so little may be moved before the job's end: that does not concern the cap */
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_live *live = begin(1, rows[i].saved_s, 1e-4);
        struct hm_live_end end = {.used_pages = {100000}, .capacity_pages = {UINT64_MAX}};
        struct hm_budget budget = {.move_pages = rows[i].most};
        live->cap_pages = 1000;
        struct hm_live_planned made = plan(live, &end, 0, &budget);
        assert_int_equal(budget.move_pages, rows[i].pages);
        assert_int_equal(made.paid_pages, rows[i].paid);
    }
}

/* Where heat is balanced between the tiers, the gain is not that of the latencies. */
static void a_balance_has_no_known_gain(void **state)
{
    (void)state;
    struct hm_live *live = begin(1, 1, 1e-2);
    struct hm_live_end end = {.capacity_pages = {UINT64_MAX}};
    struct hm_heat_share share = {.told = 0.5};
    struct hm_budget budget = {.move_pages = UINT64_MAX, .share = &share};
    struct hm_live_planned made = plan(live, &end, 0, &budget);
    assert_true(made.gain_s < 0);
    assert_int_equal(n_plans, 1); /* a plan learns from the phase (decide.h), which counts once */
    assert_int_equal(budget.move_pages, HM_PURSE_LEAST);
    budget.move_pages = UINT64_MAX;
    live->account.purse.page_s = 0x1p-15;
    plan(live, &end, 0, &budget);
    assert_int_equal(budget.move_pages, 58982);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_advance_has_to_pay),
        cmocka_unit_test(idle_cpus_gain_nothing),
        cmocka_unit_test(the_cap_is_not_paid_ahead),
        cmocka_unit_test(a_balance_has_no_known_gain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
