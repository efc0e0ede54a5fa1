/* SPDX-License-Identifier: Apache-2.0 */
/* Tests a migrator's budget of CPU time: what it earns, and what may be spent. Also tests when the migrator rests. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "migrator/live/purse.h"
#include "migrator/live/rest.h"
#include "unit/lib/rows.h"

#define MIB (UINT64_C(1) << 20)
#define NONE UINT64_MAX

static void test_earned_and_spent(void **state)
{
    (void)state;
    static const struct {
        double job_s, spent_s, saved_s;
    } rows[] = {
        {100, 0, 0},                          /* CPU time before the start does not count */
        {200, 0.25, 0.75}, {300, 0.25, 1.75}, /* saved over phases */
        {300, 2, 0},                          /* an idle job earns nothing */
        {300, 3, -1},      {250, 3, -1},      /* the sum could not be read, or processes have ended */
        {350, 3, -0.5},    {450, 3.5, 0},     /* nothing is earned twice */
    };
    struct hm_purse purse;
    hm_purse_init(&purse, 0.01, 1, 100);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        hm_purse_look(&purse, rows[i].job_s, rows[i].spent_s);
        assert_float_equal(purse.saved_s, rows[i].saved_s, 1e-9);
    }
}

/* What may have been spent after `ran_s` seconds of a job that keeps its two CPUs busy, if all is spent as soon as it
 * may be: 1.8 times the share in two minutes, less and less of it later, and no more than the share from 504 s on and
 * when the job ends. */
static void test_an_advance(void **state)
{
    (void)state;
    static const struct {
        double ran_s, limit_s; /* limit < 0: not known */
        double spent_s;        /* in seconds of the share */
    } rows[] = {
        {10, -1, 18},    {30, -1, 54},       {120, -1, 216},  {300, -1, 351},    {500, -1, 501},        {504, -1, 504},
        {600, -1, 600},  {86400, -1, 86400}, {30, 86400, 54}, {300, 86400, 351}, {120, 200, 200},       {190, 200, 200},
        {200, 200, 200}, {210, 200, 210},    {30, 40, 40},    {300, 320, 320},   {86380, 86400, 86380},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_purse purse;
        double left_s = rows[i].limit_s - rows[i].ran_s;
        hm_purse_init(&purse, 0.01, 2, 100);
        hm_purse_look(&purse, 100 + 2 * rows[i].ran_s, 0);
        hm_purse_set_left(&purse, rows[i].limit_s < 0 ? -1 : left_s > 0 ? left_s : 0, rows[i].ran_s);
        if (fabs(hm_purse_has(&purse) - rows[i].spent_s * 0.02) > 1e-9)
            fail_msg("row %zu: %g s", i, hm_purse_has(&purse) / 0.02);
    }
}

/* A job that uses its CPUs for a quarter of the time earns a quarter in what is left, too. What was spent of an advance
 * is earned first, before there is anything again. */
static void test_an_advance_is_earned_later(void **state)
{
    (void)state;
    struct hm_purse purse;
    hm_purse_init(&purse, 0.01, 2, 0);
    hm_purse_look(&purse, 100, 1.5); /* 50 s of both CPUs */
    hm_purse_set_left(&purse, 80, 200);
    assert_float_equal(purse.used, 0.25, 1e-9);
    assert_float_equal(purse.debt_s, 0.5, 1e-9);
    assert_float_equal(hm_purse_has(&purse), -0.1, 1e-9);
    hm_purse_look(&purse, 200, 1.5);
    hm_purse_set_left(&purse, 0, 200);
    assert_float_equal(hm_purse_has(&purse), 0.5, 1e-9);
    assert_float_equal(purse.debt_s, 0.5, 1e-9);
    assert_float_equal(purse.earned_s, 2, 1e-9);
}

/* An advance is paid back by a quarter of what is earned, and decisions go on. */
static void test_an_advance_is_paid_back(void **state)
{
    (void)state;
    struct hm_purse purse;
    hm_purse_init(&purse, 0.01, 1, 0);
    hm_purse_look(&purse, 120, 1.2 + 0.96); /* all of it is spent */
    hm_purse_look(&purse, 220, 1.2 + 0.96);
    assert_float_equal(hm_purse_has(&purse), 0.75, 1e-9);
    hm_purse_look(&purse, 120 + 384, 1.2 + 0.96 + 0.75 * 3.84);
    assert_float_equal(purse.saved_s, 0, 1e-9);
    assert_float_equal(hm_purse_has(&purse), 0, 1e-9);
}

static void test_parts_and_pages(void **state)
{
    (void)state;
    static const struct {
        struct hm_purse purse;
        double half_s;
        uint64_t pages;
    } rows[] = {
        {{.saved_s = 0}, 0, HM_PURSE_LEAST},
        {{.saved_s = 1.00001}, 0.500005, 50000}, /* the cost of a page is not known yet, and assumed: 20 us */
        {{.saved_s = 0.01}, 0.005, HM_PURSE_LEAST},
        {{.saved_s = 1, .page_s = 1e-4}, 0.5, 10000},
        {{.saved_s = 100, .page_s = 1e-4}, 50, 1000000},
        {{.saved_s = 0.01, .page_s = 1e-4}, 0.005, HM_PURSE_LEAST},
        {{.saved_s = -5, .page_s = 1e-4}, 0, HM_PURSE_LEAST},
        {{.saved_s = 1, .page_s = 1e-300}, 0.5, UINT64_MAX},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_float_equal(hm_purse_part(&rows[i].purse, 0.5), rows[i].half_s, 1e-9);
        if (hm_purse_pages(&rows[i].purse, true) != rows[i].pages)
            fail_msg("row %zu: %llu", i, (unsigned long long)hm_purse_pages(&rows[i].purse, true));
    }
}

/* A job that hardly runs earns nothing. For the cap, the time of its idle CPUs counts, as far as it is needed. */
static void test_idle_cpus_pay_for_the_cap(void **state)
{
    (void)state;
    static const struct {
        double job_s, passed_s; /* CPU time of the job in this time */
        uint64_t pages;
        double saved_s; /* afterwards, in hundredths of a second */
    } rows[] = {
        {0, 10, 100000, 20},  /* two CPUs, for ten seconds */
        {20, 10, 100000, 20}, /* no CPU was idle: what the job earns is all */
        {10, 10, 100000, 20}, /* the half */
        {0, 10, 0, 0},        /* nothing is above the cap */
        {0, 10, 500, 5},      /* no more than is needed */
        {30, 10, 500, 30},    /* processes that share CPUs cannot use more than there is; nor does this take any away */
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_purse purse;
        hm_purse_init(&purse, 0.01, 2, 100);
        purse.page_s = 1e-4;
        hm_purse_look(&purse, 100 + rows[i].job_s, 0);
        hm_purse_add_idle(&purse, rows[i].passed_s, rows[i].pages);
        assert_float_equal(purse.saved_s, rows[i].saved_s / 100, 1e-9);
        assert_float_equal(purse.earned_s, rows[i].saved_s / 100, 1e-9);
        hm_purse_add_idle(&purse, 0, 100000); /* the time is spent */
        assert_float_equal(purse.saved_s, rows[i].saved_s / 100, 1e-9);
    }
}

/* What was paid ahead for other moves is not what the cap lacks. */
static void test_idle_cpus_pay_no_debt(void **state)
{
    (void)state;
    struct hm_purse purse;
    hm_purse_init(&purse, 0.01, 2, 100);
    purse.page_s = 1e-4;
    hm_purse_look(&purse, 100, 3);
    hm_purse_add_idle(&purse, 100, 500);
    assert_float_equal(purse.saved_s, -3 + 0.05, 1e-9);
}

static void test_what_a_page_costs(void **state)
{
    (void)state;
    struct hm_purse purse = {.share = 0.01};
    hm_purse_learn(&purse, 0, 1);
    hm_purse_learn(&purse, 63, 1); /* too few pages to tell the cost */
    hm_purse_learn(&purse, 1000, 0);
    assert_true(purse.page_s <= 0);
    hm_purse_learn(&purse, 1000, 0.1);
    assert_float_equal(purse.page_s, 1e-4, 1e-9);
    hm_purse_learn(&purse, 1000, 0.25);
    assert_float_equal(purse.page_s, 2e-4, 1e-9);
    hm_purse_learn(&purse, 75, 0.075); /* ten times as much for each of so few pages */
    assert_float_equal(purse.page_s, 0.225 / 825, 1e-9);
}

static void test_decisions_leave_half_for_moving(void **state)
{
    (void)state;
    struct hm_purse purse = {.saved_s = 0};
    assert_true(hm_purse_affords_decision(&purse)); /* the cost of a decision is not known yet */
    hm_purse_learn_decision(&purse, 0);
    assert_true(purse.decision_s <= 0);
    hm_purse_learn_decision(&purse, 0.2); /* the first counts half */
    assert_float_equal(purse.decision_s, 0.1, 1e-9);
    hm_purse_learn_decision(&purse, 0.3);
    assert_float_equal(purse.decision_s, 0.2, 1e-9);
    purse.saved_s = 0.39;
    assert_false(hm_purse_affords_decision(&purse));
    purse.saved_s = 0.4;
    assert_true(hm_purse_affords_decision(&purse));
    purse.saved_s = -1;
    assert_false(hm_purse_affords_decision(&purse));
}

static void test_is_there_work(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes[2], cap_bytes;
        bool has_work;
    } rows[] = {
        {{0, 0}, NONE, false},
        {{0, 4 * MIB - 1}, NONE, false},
        {{0, 4 * MIB}, NONE, true},
        {{1000 * MIB, 10 * MIB - 1}, NONE, false}, /* less than a hundredth of what is in the fast tier */
        {{1000 * MIB, 10 * MIB}, NONE, true},
        {{8 * MIB, 0}, 8 * MIB, false},
        {{8 * MIB + 4096, 0}, 8 * MIB, true},
        {{4096, 0}, 0, true},
        {{UINT64_MAX, 0}, NONE, false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++)
        if (hm_rest_has_work(rows[i].bytes, rows[i].cap_bytes) != rows[i].has_work)
            fail_msg("row %zu", i);
}

static void test_resting(void **state)
{
    (void)state;
    static const uint64_t little[2] = {MIB, 0}, much[2] = {MIB, 100 * MIB};
    static const struct {
        const uint64_t *bytes;
        bool is_resting;
    } rows[] = {
        {little, true},  {little, true},                   /* resting from the start */
        {much, false},   {little, false}, {little, false}, /* a third one would begin a rest */
        {much, false},   {little, false}, {little, false}, {little, true},
        {little, true},  {much, false},   {little, false}, {NULL, false}, /* NULL: not known, so there may be work */
        {little, false}, {little, false}, {little, true},  {NULL, false},
    };
    struct hm_rest rest = {.is_resting = true};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        hm_rest_next(&rest, rows[i].bytes, NONE);
        if (rest.is_resting != rows[i].is_resting)
            fail_msg("row %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_earned_and_spent),
        cmocka_unit_test(test_an_advance),
        cmocka_unit_test(test_an_advance_is_earned_later),
        cmocka_unit_test(test_an_advance_is_paid_back),
        cmocka_unit_test(test_parts_and_pages),
        cmocka_unit_test(test_idle_cpus_pay_for_the_cap),
        cmocka_unit_test(test_idle_cpus_pay_no_debt),
        cmocka_unit_test(test_what_a_page_costs),
        cmocka_unit_test(test_decisions_leave_half_for_moving),
        cmocka_unit_test(test_is_there_work),
        cmocka_unit_test(test_resting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
