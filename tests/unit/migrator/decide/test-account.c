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
static void plan(struct hm_account *account, double part, double cost)
{
    hm_account_begin(account);
    hm_account_lift(account, 0, 10, 0);
    hm_account_lift(account, 10, 10, part);
    hm_account_lift(account, 50, 10, -part);
    hm_account_end(account, cost);
}

/* A phase with samples in these pages. `there`: the part of them that is in the tier to which the plan takes it. */
static void see(struct hm_account *account, float up, float down, double missed, double there)
{
    struct hm_cell cell[] = {{.first = 10, .n_pages = 10, .new_reads = up},
                             {.first = 50, .n_pages = 10, .new_reads = down}};
    struct hm_cells cells = {.cell = cell, .n = 2, .read_weight = 1, .write_weight = 1};
    hm_account_see(account, &cells, missed);
    hm_account_begin(account);
    hm_account_check(account, 10, 10, there < 0 ? -there : 0, there > 0 ? there : 0);
    hm_account_check(account, 50, 10, there > 0 ? there : 0, there < 0 ? -there : 0);
    hm_account_add(account);
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
        double gained; /* of gains at most 3 % are saved */
        bool is_lost;
    } rows[] = {
        {1, 0, 500, 490, 10, false},   {1, 0, 1000, 0, 30, false},       {1, 0, 0, 1000, -1000, true},
        {1, 0, 500, 500, 0, false},    {0.5, 0, 510, 500, 5, false},     {1, 80, 500, 500, -10, false},
        {1, 0, 0, 3, -3, false},       {1, 0, 5000, 5100, -100, false},  {-1, 0, 1000, 0, -1000, true},
        {0.001, 0, 0, 1000, 0, false}, {1, 8000, 500, 500, -1000, true},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_account account = begin();
        plan(&account, rows[i].part, rows[i].cost);
        see(&account, rows[i].up, rows[i].down, 0, rows[i].part);
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
    plan(&account, -1, 80);
    plan(&account, 0.5, 8);
    expect_near(hm_account_lifted(&account, 10, 10), 0);
    see(&account, 0, 0, 0, 0.5);
    expect_near(account.gained, -1);                          /* an eighth of the costs */
    expect_near(hm_account_lifted(&account, 10, 10), 0.4375); /* an eighth less: pages become where they are */
    expect_near(hm_account_lifted(&account, 5, 10), 0.4375 / 2);
    expect_near(hm_account_lifted(&account, 50, 10), -0.4375);
    expect_near(hm_account_lifted(&account, 20, 30), 0);
}

/* What the tiers show not to have been carried out counts neither as a gain nor as a cost. */
static void test_moves_that_were_not_carried_out(void **state)
{
    (void)state;
    static const double there[] = {1, 0.25, 0};
    for (size_t i = 0; i < N_ROWS(there); i++) {
        struct hm_account account = begin();
        plan(&account, 1, 800);
        see(&account, 0, 1000, 0, there[i]);
        expect_near(account.gained, -1100 * there[i]);
    }
}

/* Pages that go back count no more; a wider span tells nothing of the tiers of those within it. */
static void test_pages_that_are_back(void **state)
{
    (void)state;
    struct hm_account account = begin();
    plan(&account, 1, 0);
    see(&account, 0, 0, 0, 1);
    plan(&account, -0.875, 0);
    see(&account, 0, 1000, 0, 1);
    expect_near(account.gained, 0);
    account = begin();
    plan(&account, 1, 0);
    see(&account, 0, 0, 0, 1);
    hm_account_see(&account, &(struct hm_cells){.n = 0}, 0);
    hm_account_begin(&account);
    hm_account_check(&account, 0, 100, 0.1, 0.1);
    hm_account_add(&account);
    expect_near(hm_account_lifted(&account, 10, 10), 0.875 * 0.875);
}

/* Memory that is freed is forgotten, before the last plan and after it; what is left of a span keeps its part. */
static void test_freed_memory(void **state)
{
    (void)state;
    struct hm_account account = begin();
    plan(&account, 1, 0);
    see(&account, 0, 0, 0, 1);
    plan(&account, 0, 0);
    const struct hm_gone gone[] = {{14, 2}, {18, 34}};
    hm_account_forget(&account, gone, 2);
    for (int seen = 0; seen < 2; seen++) {
        double part = hm_account_lifted(&account, 10, 1);
        assert_true(part > 0.7);
        expect_near(hm_account_lifted(&account, 10, 4), part);
        expect_near(hm_account_lifted(&account, 14, 2), 0);
        expect_near(hm_account_lifted(&account, 16, 2), part);
        expect_near(hm_account_lifted(&account, 18, 34), 0);
        expect_near(hm_account_lifted(&account, 52, 8), -part);
        see(&account, 0, 0, 0, 1);
    }
}

/* With more spans than room, neighbours are joined; what is lifted in all stays the same. */
static void test_many_spans(void **state)
{
    (void)state;
    struct hm_account account = begin();
    hm_account_begin(&account);
    for (uint64_t first = 0; first < 100; first += 10)
        hm_account_lift(&account, first, 5, first % 20 ? 0.2 : 0.8);
    hm_account_end(&account, 0);
    hm_account_see(&account, &(struct hm_cells){.n = 0}, 0);
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
    } rows[] = {{400, 10}, {4000, 1}, {0, 0}, {-100, 0}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_account account = begin();
        plan(&account, 1, 0);
        see(&account, 0, 1000, 0, 1);
        int phases = 0;
        while (hm_account_is_lost(&account) && phases < 30) {
            see(&account, 500, 500, rows[i].missed, 1);
            phases++;
        }
        if (rows[i].phases == 0 ? phases < 30 : phases > rows[i].phases)
            fail_msg("row %zu: %d phases", i, phases);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_count_for_and_against),
        cmocka_unit_test(test_the_last_plan_is_carried_out),
        cmocka_unit_test(test_moves_that_were_not_carried_out),
        cmocka_unit_test(test_pages_that_are_back),
        cmocka_unit_test(test_freed_memory),
        cmocka_unit_test(test_many_spans),
        cmocka_unit_test(test_a_loss_is_made_good_by_what_was_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
