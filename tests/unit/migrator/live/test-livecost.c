/* SPDX-License-Identifier: Apache-2.0 */
/* Tests when a decision is paid for, and when there is something to decide on. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "migrator/live/live.h"
#include "migrator/softdirty/parts.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static void a_decision_waits_for_samples_and_all_but_the_first_for_savings(void **state)
{
    (void)state;
    static const struct {
        const char *about;
        uint64_t samples, n_decided, phase_samples, cap_pages;
        bool has_rounds, is_open, is_paid;
        unsigned longer;
    } rows[] = {
        {"nothing is known", 0, 0, 0, UINT64_MAX, false, false, false, 0},
        {"few samples", 63, 0, 0, UINT64_MAX, false, false, false, 0},
        {"enough samples", 64, 0, 0, UINT64_MAX, false, false, true, 0},
        {"a round has ended", 0, 0, 0, UINT64_MAX, true, false, true, 0},
        {"a phase of so many samples was asked for", 10, 0, 10, UINT64_MAX, false, false, true, 0},
        {"perhaps above its cap", 0, 0, 0, 1000, false, false, true, 0},
        {"a window is open", 0, 0, 0, UINT64_MAX, false, true, true, 0},
        {"a later decision, which costs more than was saved", 100, 1, 0, UINT64_MAX, false, false, false, 0},
        {"a later decision, which is paid for", 100, 2, 0, UINT64_MAX, false, false, true, 0},
        {"the same after few samples", 63, 2, 0, UINT64_MAX, false, false, false, 0},
        {"the same in the last interval but one", 63, 2, 0, UINT64_MAX, false, false, false, HM_PACE_LONGEST - 2},
        {"the same in the last interval: a window may begin", 63, 2, 0, UINT64_MAX, false, false, true,
         HM_PACE_LONGEST - 1},
        {"the same, which costs more than was saved", 63, 1, 0, UINT64_MAX, false, false, false, HM_PACE_LONGEST - 1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        static struct hm_live live;
        struct hm_source source = {.state = {.samples = 1000 + rows[i].samples, .has_rounds = rows[i].has_rounds}};
        live.intake.source = &source;
        live.phase_first_sample = 1000;
        live.n_decided = rows[i].n_decided;
        live.cap_pages = rows[i].cap_pages;
        live.window.is_open = rows[i].is_open;
        live.account.pace.phase_samples = rows[i].phase_samples;
        live.account.pace.longer = rows[i].longer;
        hm_purse_init(&live.account.purse, 0.01, 1, 0);
        live.account.purse.decision_s = 1;
        live.account.purse.saved_s = rows[i].n_decided == 2 ? 1000 : 0;
        if (hm_live_is_paid(&live) != rows[i].is_paid)
            fail_msg("%s", rows[i].about);
    }
}

/* A cgroup that cannot be read in one moment has used what it had; one that never tells leaves it to the processes. */
static void the_cpu_time_of_a_step_has_one_measure(void **state)
{
    (void)state;
    static struct hm_live live;
    static const struct {
        const char *text; /* of cpu.stat; NULL: there is none */
        double used_s;
    } rows[] = {{"usage_usec 10000000\nuser_usec 1\n", 10}, {NULL, 10}, {"", 10}, {"usage_usec 12500000\n", 12.5}};
    live.account.cgroup.dir = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    live.account.has_cgroup = true;
    assert_true(hm_live_cgroup_s(&live) < 0);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        unlink(scratch_path("cpu.stat"));
        if (rows[i].text)
            scratch_write(scratch_path("cpu.stat"), rows[i].text);
        assert_float_equal(hm_live_job_s(&live), rows[i].used_s, 0);
    }
    live.account.cgroup_s = -1;
    live.account.process_s[0] = 1000;
    assert_float_equal(hm_live_job_s(&live), 1000, 0);
    close(live.account.cgroup.dir);
}

/* The faults of a source's windows were the job's, whether its migrator rests afterwards or has another source. */
static void the_cost_of_a_source_that_was_closed_stays(void **state)
{
    (void)state;
    static struct hm_live live;
    static struct hm_softdirty softdirty;
    static struct hm_progress progress;
    struct hm_source damon = {.state = {.kernel_cpu_s = 2}}, perf = {.state = {.kernel_cpu_s = -1}};
    softdirty.state = (struct hm_softdirty_state){.dirty_pages = 3000000, .fault_us = 1};
    live.shown.progress = &progress;
    live.window.softdirty = &softdirty;
    live.window.is_used = true;
    live.intake.source = &damon;
    hm_live_update_figures(&live);
    assert_float_equal(progress.kernel_cpu_s, 5, 1e-9);
    live.window.is_used = false;
    live.intake.retired.kernel_cpu_s = 2;
    live.intake.source = NULL;
    hm_live_update_figures(&live);
    assert_float_equal(progress.kernel_cpu_s, 5, 1e-9);
    live.intake.source = &perf;
    hm_live_update_figures(&live);
    assert_float_equal(progress.kernel_cpu_s, 5, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_decision_waits_for_samples_and_all_but_the_first_for_savings),
                                       cmocka_unit_test(the_cpu_time_of_a_step_has_one_measure),
                                       cmocka_unit_test(the_cost_of_a_source_that_was_closed_stays)};
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
