/* SPDX-License-Identifier: Apache-2.0 */
/* Tests when a window of soft-dirty marks may begin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "migrator/live/live.h"
#include "unit/lib/rows.h"

#define MS UINT64_C(1000000)
#define BEGIN (1000 * MS) /* begin of the phase */
#define INTERVAL 10000    /* ms */

static const struct {
    bool hot_by_writes;
    unsigned longer;         /* number of intervals by which the phase was extended */
    uint64_t now_ms, due_ms; /* from the phase's begin; due_ms 0: no window in this phase any more */
} rows[] = {
    {false, 0, 0, 9950},
    {false, 0, 9990, 9950},
    {false, 1, 0, 19950},
    {true, 0, 0, 5000},
    {true, 0, 5100, 5000},
    {true, 0, 7400, 5000},
    {true, 0, 7600, 0}, /* half of the window is over, so none begins in this phase */
    {true, 0, 9500, 0},
    /* the phase was extended, so a window may begin later */
    {true, 1, 9600, 15000},
};

static void a_long_window_does_not_begin_late(void **state)
{
    (void)state;
    static struct hm_live live;
    struct hm_options options = {0};
    static char decider;
    live.options = &options;
    live.window.is_used = true;
    live.decider = (struct hm_decider *)(void *)&decider; /* not NULL; it is not used */
    live.phase_start_ns = BEGIN;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        options.hot_by_writes = rows[i].hot_by_writes;
        live.account.pace = (struct hm_pace){.interval_ms = INTERVAL, .longer = rows[i].longer};
        uint64_t due = hm_live_window_due(&live, BEGIN + rows[i].now_ms * MS);
        assert_true(due == (rows[i].due_ms > 0 ? BEGIN + rows[i].due_ms * MS : UINT64_MAX));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_long_window_does_not_begin_late)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
