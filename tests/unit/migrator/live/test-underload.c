/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what a migrator knows of its tiers under load: by the counters in the monitor's file, by samples, or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "meter/monitor/samples.h"
#include "migrator/live/live.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define SECOND UINT64_C(1000000000)
#define PEAKS "channels separate\nfast idle 100ns peak 240GB/s\nslow idle 250ns peak 100GB/s\n"

static struct hm_live live;
static struct hm_progress progress;
static struct hm_options options;
static const struct hm_extent extent = {.reads = 3, .writes = 1};

/* A file of a monitor's, with a fast tier of node 0 and a slow one of node 1. */
static struct hm_samples *make_file(const char *path)
{
    static struct hm_tiers tiers;
    tiers.n_tiers = 2;
    for (unsigned i = 0; i < 2; i++) {
        snprintf(tiers.tier[i].name, HM_NAME, "%s", i == 0 ? "dram" : "cxl");
        hm_set_add(&tiers.tier[i].nodes, i);
    }
    int fd = hm_samples_create(path, &tiers, 1000, NULL);
    assert_true(fd >= 0);
    struct hm_samples *samples = hm_samples_map(fd, NULL);
    assert_non_null(samples);
    close(fd);
    return samples;
}

/* The counters read so many seconds after the first reading, with these GB read from each tier, and a fifth written. */
static void count(struct hm_samples *samples, unsigned s, double fast_gb, double slow_gb)
{
    const double gb[2] = {fast_gb, slow_gb};
    for (int tier = 0; tier < 2; tier++) {
        samples->metered.traffic[tier][HM_DIRECTION_READ] = (struct hm_metered_figure){gb[tier] * 0.8e9, 1};
        samples->metered.traffic[tier][HM_DIRECTION_WRITE] = (struct hm_metered_figure){gb[tier] * 0.2e9, 1};
    }
    samples->metered.n_readings++;
    samples->metered.first_mono_ns = SECOND;
    samples->metered.last_mono_ns = (1 + s) * SECOND;
}

static void begin(const char *traffic)
{
    memset(&live, 0, sizeof(live));
    hm_progress_init(&progress, 0);
    options = (struct hm_options){
        .traffic = traffic, .load = "", .peaks = PEAKS, .algorithm = "regions", .lat_read = 2.5, .lat_write = 2.5};
    hm_set_clear(&options.fast);
    hm_set_clear(&options.slow);
    hm_set_add(&options.fast, 0);
    hm_set_add(&options.slow, 1);
    live.options = &options;
    live.shown.progress = &progress;
    hm_live_begin_load(&live);
    hm_live_open_load(&live);
    assert_true(live.load.has_curves);
}

static struct hm_heat_share *look(double phase_s)
{
    return hm_live_look_at_load(&live, &extent, 1, phase_s);
}

static void the_counters_tell_the_traffic(void **state)
{
    const char *path = scratch_path("job.samples");
    struct hm_samples *samples = make_file(path);
    (void)state;
    begin(path);
    assert_string_equal(progress.balance_why, "no decision was made yet");
    assert_null(look(10)); /* nothing was counted yet */
    count(samples, 0, 0, 0);
    assert_null(look(10));
    assert_int_equal(progress.balance_phases, 0);
    assert_non_null(strstr(progress.balance_why, "no counters"));

    count(samples, 10, 200, 10); /* 20 and 1 GB/s: the fast tier is far from used up */
    assert_null(look(10));
    assert_int_equal(progress.balance_phases, 1);
    assert_float_equal(progress.balance_share, 1, 0);
    assert_float_equal(progress.fast_traffic, 20e9, 1);
    assert_float_equal(progress.slow_traffic, 1e9, 1);
    assert_string_equal(progress.traffic_source, "counters");
    assert_string_equal(progress.balance_why, "");

    struct hm_heat_share *share = NULL; /* 230 GB/s to the fast tier alone, until the calm phase counts little */
    for (unsigned s = 20; s <= 100; s += 10) {
        count(samples, s, 200 + 230.0 * (s - 10), 10);
        share = look(10);
    }
    assert_non_null(share);
    assert_true(share->fast > 0.6 && share->fast < 0.95 && share->gain > 1);
    assert_float_equal(share->now, 1, 0);
    assert_true(progress.balance_share > share->fast && progress.balance_share < 1);
    assert_true(hm_live_wants_balance(&live));
    assert_int_equal(progress.balance_phases, 10); /* while it does not rest, only phases count */

    samples->metered.traffic[1][HM_DIRECTION_READ].is_known = 0; /* a counter is gone, and so is the balance */
    samples->metered.traffic[1][HM_DIRECTION_READ].amount = 0;
    assert_null(look(10));
    assert_false(hm_live_wants_balance(&live));
    hm_live_close_load(&live);
    munmap(samples, sizeof(*samples));
}

/* A site's monitor may read the counters more seldom than phases end. */
static void the_balance_stays_until_the_counters_are_read_again(void **state)
{
    const char *path = scratch_path("seldom.samples");
    struct hm_samples *samples = make_file(path);
    (void)state;
    begin(path);
    count(samples, 0, 0, 0);
    assert_null(look(1));
    assert_null(look(1)); /* nothing is known yet that could stay */
    assert_int_equal(progress.balance_phases, 0);
    count(samples, 10, 2300, 0);
    struct hm_heat_share *share = look(1);
    assert_non_null(share);
    double fast = share->fast, gain = share->gain;
    for (int i = 0; i < 2; i++) { /* two intervals of the monitor's, of 1 s */
        assert_ptr_equal(look(1), share);
        assert_float_equal(share->fast, fast, 0);
        assert_float_equal(share->gain, gain, 0);
        assert_true(share->now < 0);
        assert_int_equal(progress.balance_phases, 1);
    }
    assert_null(look(1)); /* the monitor has ended */
    assert_false(hm_live_wants_balance(&live));
    count(samples, 20, 4600, 0);
    assert_non_null(look(1));
    assert_ptr_equal(look(1), share);
    hm_live_close_load(&live);
    munmap(samples, sizeof(*samples));
}

static void the_balance_stays_for_twice_the_time_between_two_readings(void **state)
{
    (void)state;
    static const struct {
        uint32_t interval_ms;
        double stays_s;
    } rows[] = {{10, 2}, {1000, 2}, {4000, 8}, {3600000, 14}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const char *path = scratch_path("rhythm.samples");
        struct hm_samples *samples = make_file(path);
        samples->interval_ms = rows[i].interval_ms;
        begin(path);
        count(samples, 0, 0, 0);
        look(1);
        count(samples, 10, 2300, 0);
        look(1);
        assert_non_null(look(rows[i].stays_s));
        assert_null(look(0.5));
        hm_live_close_load(&live);
        munmap(samples, sizeof(*samples));
        unlink(path);
    }
}

/* All of the step is in the fast tier, so that its migrator rests; there is too much traffic for that. */
static void a_rest_ends_where_the_bandwidth_is_used_up(void **state)
{
    const char *path = scratch_path("resting.samples");
    struct hm_samples *samples = make_file(path);
    (void)state;
    begin(path);
    live.rest.is_resting = true;
    count(samples, 0, 0, 0);
    assert_false(hm_live_wants_balance(&live));
    count(samples, 10, 2000, 0);
    assert_true(hm_live_wants_balance(&live));
    hm_live_close_load(&live);
    munmap(samples, sizeof(*samples));
}

static void samples_estimate_the_traffic_where_they_count_memory(void **state)
{
    struct hm_source source = {.state = {.counts_memory = true}};
    (void)state;
    begin("");
    live.intake.source = &source;
    live.account.tally.last = 1;
    live.account.tally.last_weight = 230e9 * 10 / 64;
    struct hm_heat_share *share = look(10);
    assert_non_null(share);
    assert_float_equal(progress.fast_traffic, 230e9, 1e3);
    assert_float_equal(progress.slow_traffic, 0, 1);
    assert_string_equal(progress.traffic_source, "samples");
    source.state.counts_memory = false; /* loads and stores, which caches may have served */
    assert_null(look(10));
    hm_live_close_load(&live);
}

static void without_curves_there_is_a_reason(void **state)
{
    (void)state;
    begin("");
    live.load.has_curves = false;
    options.peaks = "";
    hm_live_open_load(&live);
    assert_string_equal(progress.balance_why, "the latencies of the tiers under load are not known");
    options.hot_by_writes = true;
    hm_live_open_load(&live);
    assert_string_equal(progress.balance_why, "only writes make data hot");
    options.hot_by_writes = false;
    options.algorithm = "bins";
    hm_live_open_load(&live);
    assert_string_equal(progress.balance_why, "the algorithm bins does not balance");
    options.algorithm = "regions";
    assert_int_equal(progress.n_warnings, 0);
    assert_null(look(10));
    options.load = scratch_path("missing.load");
    hm_live_open_load(&live);
    assert_string_equal(progress.balance_why, "the latencies of the tiers under load cannot be read");
    assert_int_equal(progress.n_warnings, 1);
    assert_non_null(strstr(progress.warning[0], "missing.load: No such file or directory"));
    hm_live_close_load(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_counters_tell_the_traffic),
        cmocka_unit_test(the_balance_stays_until_the_counters_are_read_again),
        cmocka_unit_test(the_balance_stays_for_twice_the_time_between_two_readings),
        cmocka_unit_test(a_rest_ends_where_the_bandwidth_is_used_up),
        cmocka_unit_test(samples_estimate_the_traffic_where_they_count_memory),
        cmocka_unit_test(without_curves_there_is_a_reason),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
