/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that a migrator of a step is never dumpable, as its user could trace a dumpable one; how it begins anew when
 * its source looks in another way; and defaults of options that depend on others. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "migrator/live/live.h"
#include "unit/lib/rows.h"

static bool was_dumpable, is_dumpable;

int __wrap_prctl(int option, ...);

int __wrap_prctl(int option, ...)
{
    va_list arguments;
    va_start(arguments, option);
    unsigned long value = va_arg(arguments, unsigned);
    va_end(arguments);
    if (option == PR_SET_DUMPABLE) {
        is_dumpable = value == 1;
        was_dumpable = was_dumpable || is_dumpable;
    }
    return 0;
}

static void a_steps_migrator_is_never_dumpable(void **state)
{
    (void)state;
    static struct hm_live live;
    struct hm_options options = {.uid = 1000, .gid = 1000, .cgroup = "", .overhead = 0.01, .shares = "", .traffic = ""};
    hm_live_begin(&live, &options);
    assert_false(was_dumpable);
    hm_softdirty_free(live.window.softdirty);
    /* A migrator that a user has started can read its own page map only while it is dumpable. */
    options.uid = options.gid = HM_OPTIONS_NO_ID;
    hm_live_begin(&live, &options);
    assert_true(was_dumpable);
    assert_false(is_dumpable);
    hm_softdirty_free(live.window.softdirty);
}

/* ------------------------------------------------------------------ rounds of looks */

/* Reads a source that has nothing to say. */
static int read_nothing(struct hm_source *source, const struct hm_ranks *ranks, hm_source_sink *sink, void *data,
                        struct hm_error *error)
{
    (void)source, (void)ranks, (void)error;
    sink(data, NULL, 0);
    return 0;
}

static void a_source_that_looks_in_another_way_ends_a_round_first(void **state)
{
    (void)state;
    static struct hm_live live;
    struct hm_options options = {.algorithm = "regions", .lat_read = 2, .lat_write = 2};
    struct hm_source source = {.state = {.unit = 1}, .read = read_nothing};
    struct hm_decider_options setup = {
        .algorithm = "regions", .n_tiers = 2, .period = 1, .page_bytes = 4096, .max_extents = 16};
    live.options = &options;
    live.intake.source = &source;
    live.decider = hm_decider_new(&setup, NULL);
    assert_non_null(live.decider);
    assert_true(hm_live_has_looked(&live)); /* looks that never stop are at all of the memory */
    source.state.ways = 1;
    source.state.has_rounds = true;
    source.state.rounds = 7;
    live.intake.n_later = 3;
    uintptr_t before = (uintptr_t)live.decider;
    hm_live_read_source(&live);
    uintptr_t after = (uintptr_t)live.decider;
    assert_true(after != before); /* what it knew cannot be compared with what comes now */
    assert_int_equal(live.intake.n_later, 0);
    assert_int_equal(live.intake.dropped, 3);
    assert_false(hm_live_has_looked(&live));
    source.state.rounds = 8;
    assert_true(hm_live_has_looked(&live));
    hm_live_read_source(&live); /* in the same way as before */
    assert_true(hm_live_has_looked(&live));
    assert_true((uintptr_t)live.decider == after);
    hm_decider_free(live.decider);
}

static int read_no_more(struct hm_source *source, const struct hm_ranks *ranks, hm_source_sink *sink, void *data,
                        struct hm_error *error)
{
    (void)source, (void)ranks, (void)sink, (void)data;
    return hm_fail(error, EPROTO, "no answer");
}

static void close_nothing(struct hm_source *source)
{
    (void)source;
}

/* A source that waits for an answer waits no more then. */
static void a_source_that_ends_with_the_migrator_is_no_failure(void **state)
{
    (void)state;
    static struct hm_live live;
    static struct hm_progress progress;
    struct hm_options options = {.algorithm = "regions"};
    struct hm_source source = {.state = {.name = "clock", .samples = 7}, .read = read_no_more, .close = close_nothing};
    int told[2];
    assert_int_equal(pipe(told), 0);
    assert_int_equal(write(told[1], "", 1), 1);
    live.options = &options;
    live.shown.progress = &progress;
    live.signals = told[0];
    live.intake.source = &source;
    hm_live_read_source(&live);
    assert_null(live.intake.source);
    assert_int_equal(hm_live_samples(&live), 7);
    assert_int_equal(progress.n_warnings, 0);
    close(told[0]);
    close(told[1]);
}

/* A list in which the source looks in bursts from now on. */
static int read_the_first_burst(struct hm_source *source, const struct hm_ranks *ranks, hm_source_sink *sink,
                                void *data, struct hm_error *error)
{
    source->state.ways = 1;
    source->state.has_rounds = true;
    return read_nothing(source, ranks, sink, data, error);
}

static void no_decision_is_made_before_a_round_has_ended(void **state)
{
    (void)state;
    static struct hm_live live;
    struct hm_options options = {.algorithm = "regions", .lat_read = 2, .lat_write = 2};
    struct hm_source source = {.state = {.unit = 1, .samples = 70}, .read = read_the_first_burst};
    struct hm_decider_options setup = {
        .algorithm = "regions", .n_tiers = 2, .period = 1, .page_bytes = 4096, .max_extents = 16};
    const uint64_t interval_ns = 1000000, lengths = 100;
    live.options = &options;
    live.intake.source = &source;
    live.decider = hm_decider_new(&setup, NULL);
    assert_non_null(live.decider);
    live.account.pace = (struct hm_pace){.interval_ms = interval_ns / 1000000, .longer = 3};
    /* The list waits to be read when the phase ends. With it, the phase begins anew. */
    live.phase_start_ns = hm_clock_ns(CLOCK_MONOTONIC) - lengths * interval_ns;
    uint64_t before = live.phase_start_ns;
    hm_live_end_phase(&live);
    assert_int_equal(live.n_decided, 0);
    assert_true(live.phase_start_ns >= before + lengths * interval_ns);
    assert_int_equal(live.account.pace.longer, 0);
    assert_int_equal(live.phase_first_sample, 70);
    /* The phase lasts as long as the round. */
    live.phase_start_ns = before;
    assert_false(hm_live_phase_is_over(&live, before + lengths * interval_ns));
    hm_live_end_phase(&live);
    assert_int_equal(live.n_decided, 0);
    source.state.rounds++;
    assert_true(hm_live_phase_is_over(&live, before + interval_ns));
    hm_decider_free(live.decider);
}

static void test_how_many_extents_an_algorithm_has(void **state)
{
    (void)state;
    static const struct {
        const char *algorithm;
        unsigned given, extents;
    } rows[] = {{"regions", 0, 8192}, {"bins", 0, 1000}, {"regions", 16, 16}, {"bins", 5000, 5000}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_options options = {.algorithm = rows[i].algorithm, .max_extents = rows[i].given};
        assert_int_equal(hm_live_max_extents(&options), rows[i].extents);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_steps_migrator_is_never_dumpable),
        cmocka_unit_test(a_source_that_looks_in_another_way_ends_a_round_first),
        cmocka_unit_test(a_source_that_ends_with_the_migrator_is_no_failure),
        cmocka_unit_test(no_decision_is_made_before_a_round_has_ended),
        cmocka_unit_test(test_how_many_extents_an_algorithm_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
