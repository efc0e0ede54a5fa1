/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the account of what moves have gained (account.h). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "migrator/decide/account.h"
#include "unit/lib/rows.h"

#define ROOM 4

static struct hm_lifted room[2][ROOM];

static struct hm_account begin(void)
{
    return (struct hm_account){.span = room[0], .planned = room[1], .room = ROOM};
}

/* Notes a plan that lifts a part of pages 10 to 19, and lowers the same part of pages 50 to 59. */
static void plan(struct hm_account *account, double part, double slow, double fast, double cost)
{
    hm_account_begin(account);
    hm_account_lift(account, 0, 10, 1, 0, 0);
    hm_account_lift(account, 10, 10, slow, fast, part);
    hm_account_lift(account, 50, 10, fast, slow, -part);
    hm_account_end(account, cost);
}

/* A phase with samples in the lifted pages and in the lowered ones. */
static void see(struct hm_account *account, float up, float down, double missed)
{
    struct hm_cell cell[] = {{.first = 10, .n_pages = 10, .new_reads = up},
                             {.first = 50, .n_pages = 10, .new_reads = down}};
    struct hm_cells cells = {.cell = cell, .n = 2, .read_weight = 1, .write_weight = 1};
    hm_account_see(account, &cells, missed);
}

static void expect_near(double value, double wanted)
{
    if (fabs(value - wanted) > 1e-9)
        fail_msg("%.12f is not %.12f", value, wanted);
}

static void test_samples_count_for_and_against(void **state)
{
    (void)state;
    static const struct {
        double part, cost;
        float up, down;
        double gained;
        bool is_lost;
    } rows[] = {
        {1, 0, 1000, 0, 1000, false},  {1, 0, 0, 1000, -1000, true},    {0.5, 0, 1000, 200, 400, false},
        {1, 0, 500, 500, 0, false},    {1, 800, 1000, 0, 900, false},   {1, 8000, 500, 500, -1000, true},
        {1, 0, 0, 3, -3, false},       {1, 0, 5000, 5100, -100, false}, {-1, 0, 1000, 0, -1000, true},
        {0.001, 0, 1000, 0, 0, false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_account account = begin();
        plan(&account, rows[i].part, 1, 1, rows[i].cost);
        see(&account, rows[i].up, rows[i].down, 0);
        expect_near(account.gained, rows[i].gained);
        if (hm_account_is_lost(&account) != rows[i].is_lost)
            fail_msg("row %zu is%s lost", i, rows[i].is_lost ? " not" : "");
    }
}

/* Of several plans of a phase the last one counts, from the next phase on. */
static void test_the_last_plan_is_carried_out(void **state)
{
    (void)state;
    struct hm_account account = begin();
    plan(&account, -1, 1, 1, 80);
    plan(&account, 0.5, 1, 1, 8);
    expect_near(hm_account_lifted(&account, 10, 10), 0);
    see(&account, 0, 0, 0);
    expect_near(account.gained, -1); /* an eighth of the costs */
    expect_near(hm_account_lifted(&account, 10, 10), 0.5);
    expect_near(hm_account_lifted(&account, 5, 10), 0.25);
    expect_near(hm_account_lifted(&account, 50, 10), -0.5);
    expect_near(hm_account_lifted(&account, 20, 30), 0);
}

/* What is moved back counts no more; nor what is lifted by a plan that the tiers show not to be carried out. */
static void test_pages_that_are_back(void **state)
{
    (void)state;
    static const struct {
        double slow, fast, part, lifted;
    } rows[] = {{0, 1, -1, 0}, {0, 1, 0, 1}, {0, 1, 1, 1}, {1, 0, 0, 0}, {0.7, 0.3, 0, 0.3}, {0.7, 0.3, 0.4, 0.7}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_account account = begin();
        plan(&account, 1, 1, 0, 0);
        see(&account, 0, 0, 0);
        plan(&account, rows[i].part, rows[i].slow, rows[i].fast, 0);
        see(&account, 0, 0, 0);
        expect_near(hm_account_lifted(&account, 10, 10), rows[i].lifted);
        expect_near(hm_account_lifted(&account, 50, 10), -rows[i].lifted);
    }
}

/* Memory that is freed is forgotten; what is left of a span keeps its part. */
static void test_freed_memory(void **state)
{
    (void)state;
    struct hm_account account = begin();
    plan(&account, 1, 1, 1, 0);
    hm_account_forget(&account, 15, 52);
    see(&account, 0, 0, 0);
    expect_near(hm_account_lifted(&account, 10, 5), 1);
    expect_near(hm_account_lifted(&account, 15, 37), 0);
    expect_near(hm_account_lifted(&account, 52, 8), -1);
}

/* With more spans than room, neighbours are joined; what is lifted in all stays the same. */
static void test_many_spans(void **state)
{
    (void)state;
    struct hm_account account = begin();
    hm_account_begin(&account);
    for (uint64_t first = 0; first < 100; first += 10)
        hm_account_lift(&account, first, 5, 1, 1, first % 20 ? 0.2 : 0.8);
    hm_account_end(&account, 0);
    see(&account, 0, 0, 0);
    assert_true(account.n > 0 && account.n <= ROOM);
    expect_near(hm_account_lifted(&account, 0, 100) * 100, 25);
}

/* While pages only go back, what other moves would have gained counts in part, and what they would have lost in full:
 * after a while moves are tried again, if they would have gained. */
static void test_a_loss_is_made_good_by_what_was_missed(void **state)
{
    (void)state;
    static const struct {
        double missed;
        int phases; /* until moves are made again; 0: not in 30 */
    } rows[] = {{400, 10}, {2000, 2}, {0, 0}, {-100, 0}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_account account = begin();
        plan(&account, 1, 1, 1, 0);
        see(&account, 0, 1000, 0);
        plan(&account, -1, 1, 1, 0);
        int phases = 0;
        while (hm_account_is_lost(&account) && phases < 30) {
            see(&account, 500, 500, rows[i].missed);
            phases++;
        }
        assert_true(account.gained <= 0);
        if (rows[i].phases == 0 ? phases < 30 : phases > rows[i].phases)
            fail_msg("row %zu: %d phases", i, phases);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_count_for_and_against),
        cmocka_unit_test(test_the_last_plan_is_carried_out),
        cmocka_unit_test(test_pages_that_are_back),
        cmocka_unit_test(test_freed_memory),
        cmocka_unit_test(test_many_spans),
        cmocka_unit_test(test_a_loss_is_made_good_by_what_was_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
