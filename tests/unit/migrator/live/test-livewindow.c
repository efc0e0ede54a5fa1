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
    {false, 0, 9970, 9950},
    {false, 0, 9980, 0}, /* half of the window is over, so none begins in this phase */
    {false, 0, 12000, 0},
    {false, 1, 0, 19950},
    {true, 0, 0, 5000},
    {true, 0, 5100, 5000},
    {true, 0, 7400, 5000},
    {true, 0, 7600, 0},
    {true, 0, 9500, 0},
    /* the phase was extended, so a window may begin later */
    {true, 1, 9600, 15000},
};

static struct hm_live live;
static struct hm_options options;

static int set_up(void **state)
{
    (void)state;
    static char decider;
    live.options = &options;
    live.window.is_used = true;
    live.decider = (struct hm_decider *)(void *)&decider; /* not NULL; it is not used */
    live.phase_start_ns = BEGIN;
    return 0;
}

static void a_window_does_not_begin_late(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        options.hot_by_writes = rows[i].hot_by_writes;
        live.account.pace = (struct hm_pace){.interval_ms = INTERVAL, .longer = rows[i].longer};
        uint64_t due = hm_live_window_due(&live, BEGIN + rows[i].now_ms * MS);
        assert_true(due == (rows[i].due_ms > 0 ? BEGIN + rows[i].due_ms * MS : UINT64_MAX));
    }
}

/* It begins with a phase that is shorter than a window, and near the end of one that counts samples. */
static void the_time_of_a_window_follows_the_length_of_the_phase(void **state)
{
    (void)state;
    static const struct {
        uint64_t interval_ms, phase_samples, samples, now_ms;
        unsigned longer;
        int64_t due_ms; /* -1: no window in this phase any more */
    } due[] =
        {
            {60, 0, 0, 0, 0, 10},          {20, 0, 0, 9, 0, -30},       {20, 0, 0, 11, 0, -1},
            {10, 200, 0, 5, 0, -1},        {10, 200, 100, 500, 0, 950}, {10, 200, 200, 1000, 0, -1},
            {10, 200, 200, 1000, 1, 1950}, /* it was extended, and counts twice as many */
        };
    struct hm_source source = {.state = {.has_rounds = false}};
    live.intake.source = &source;
    options.hot_by_writes = false;
    for (size_t i = 0; i < N_ROWS(due); i++) {
        live.account.pace = (struct hm_pace){
            .interval_ms = due[i].interval_ms, .phase_samples = due[i].phase_samples, .longer = due[i].longer};
        source.state.samples = due[i].samples;
        uint64_t wanted = due[i].due_ms == -1 ? UINT64_MAX : BEGIN + (uint64_t)due[i].due_ms * MS;
        if (hm_live_window_due(&live, BEGIN + due[i].now_ms * MS) != wanted)
            fail_msg("row %zu", i);
    }
    live.intake.source = NULL;
}

/* It lasts until the round has ended, and not until the phase was to end. */
static void a_short_window_may_begin_while_the_phase_waits_for_looks(void **state)
{
    (void)state;
    struct hm_source source = {.state = {.has_rounds = true}};
    live.intake.source = &source;
    live.account.pace = (struct hm_pace){.interval_ms = INTERVAL};
    options.hot_by_writes = false;
    assert_true(hm_live_window_due(&live, BEGIN + 12000 * MS) == BEGIN + 9950 * MS);
    options.hot_by_writes = true;
    assert_true(hm_live_window_due(&live, BEGIN + 12000 * MS) == UINT64_MAX);
    options.hot_by_writes = false;
    source.state.rounds = 1;
    assert_true(hm_live_window_due(&live, BEGIN + 12000 * MS) == UINT64_MAX);
    live.intake.source = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_does_not_begin_late),
        cmocka_unit_test(the_time_of_a_window_follows_the_length_of_the_phase),
        cmocka_unit_test(a_short_window_may_begin_while_the_phase_waits_for_looks),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
