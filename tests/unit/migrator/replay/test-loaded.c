/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the replay under load: figures by hand, and how near our placement comes to the least cost there is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "migrator/replay/replay.h"
#include "unit/lib/rows.h"

#define COLUMNS "phase,page_hex,raw_reads,raw_writes,mem_reads,mem_writes\n"
#define PHASE_S (64e-9 * 1000) /* with 1000 lines in a phase the traffic is 1 GB/s */

/* Two pages in each of two phases; with half of the four pages, the fast tier has room for two of them. */
static const char tiny[] =
    "# phase_seconds: 0.5\n" COLUMNS "0,10,1,0,300,100\n0,11,1,0,500,100\n1,20,1,0,800,0\n1,21,1,0,150,50\n";

static struct hm_curve curve_of(double idle_ns, double most_gbs, double most_ns)
{
    struct hm_curve curve = {.n = 0};
    assert_int_equal(hm_curve_add(&curve, 0, idle_ns, NULL), 0);
    assert_int_equal(hm_curve_add(&curve, most_gbs, most_ns, NULL), 0);
    return curve;
}

static struct hm_replay_options options_of(double fast, const struct hm_load *load, double phase_s)
{
    return (struct hm_replay_options){.n_tiers = 2,
                                      .tier = {{"fast", fast, 1, 1}, {"slow", 0, 2, 5}},
                                      .algorithm = "regions",
                                      .period = 65536,
                                      .sampled = HM_SAMPLED_RAW,
                                      .max_extents = HM_REPLAY_BINS,
                                      .seed = 1,
                                      .load = load,
                                      .phase_s = phase_s};
}

static void expect(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * expected))
        fail_msg("%.12g, not %.12g", got, expected);
}

/* The fast tier has a latency of 100 ns and 100 more for each GB/s, the slow one of 300 ns and 100 more. */
static void test_figures_by_hand(void **state)
{
    const struct hm_load load = {HM_CHANNELS_SEPARATE, curve_of(100, 10, 1100), curve_of(300, 10, 1300)};
    const struct hm_replay_options options = options_of(0.5, &load, PHASE_S);
    struct hm_trace trace;
    struct hm_score score;
    (void)state;
    assert_int_equal(hm_trace_parse("tiny", tiny, strlen(tiny), &trace, NULL), 0);
    assert_float_equal(trace.phase_s, 0.5, 0);

    /* pages 10 and 11 are in the fast tier, and 20 and 21 in the slow one: 1 GB/s of each in one phase */
    assert_int_equal(hm_replay_first_touch(&trace, &options, &score), 0);
    expect(score.amat, (1000 * 2.0 + 1000 * 4.0) / 2000);
    expect(score.fast_ns, 200);
    expect(score.slow_ns, 400);
    expect(score.share_mem, 0.5);

    /* pages 11 and 20 (600 and 800 accesses) are in the fast tier */
    assert_int_equal(hm_replay_static_oracle(&trace, &options, &score), 0);
    expect(score.amat, (600 * 1.6 + 400 * 3.4 + 800 * 1.8 + 200 * 3.2) / 2000);
    expect(score.fast_ns, (600 * 160.0 + 800 * 180.0) / 1400);

    /* pages 10 and 11; then 20 and 21, which are new, so that two pages are demoted: 128 lines of each tier */
    assert_int_equal(hm_replay_phase_oracle(&trace, &options, &score), 0);
    expect(score.amat, (1000 * 2.0 + 1128 * 2.128 + 128 * 3.128) / 2000);
    assert_int_equal(score.demoted, 2);
    expect(score.fast_ns, (200.0 + 212.8) / 2);

    /* the cost of a share x of 1 GB/s is x (1 + x) + (1 - x) (3 + 1 - x), least for x = 1 */
    assert_int_equal(hm_replay_balanced(&trace, &options, &score), 0);
    expect(score.amat, 2);
    expect(score.share_mem, 1);
    assert_true(isnan(score.slow_ns) && isnan(score.share_raw) && isnan(score.slow_writes));

    /* with four times the traffic x (1 + 4 x) + (1 - x) (3 + 4 - 4 x) is least for x = 5/8 */
    const struct hm_replay_options busy = options_of(0.5, &load, PHASE_S / 4);
    assert_int_equal(hm_replay_balanced(&trace, &busy, &score), 0);
    expect(score.share_mem, 0.625);
    expect(score.amat, 0.625 * 3.5 + 0.375 * 4.5);
    /* one page in the fast tier: at most 600 and 800 of the accesses */
    const struct hm_replay_options small = options_of(0.25, &load, PHASE_S / 4);
    assert_int_equal(hm_replay_balanced(&trace, &small, &score), 0);
    expect(score.share_mem, (0.6 + 0.625) / 2);
    hm_trace_free(&trace);
}

/* A trace in a thousand times less traffic costs what it costs by the latencies without load. */
static void test_without_traffic_latencies_are_idle(void **state)
{
    const struct hm_load load = {HM_CHANNELS_SHARED, curve_of(100, 1e6, 101), curve_of(200, 1e6, 201)};
    struct hm_replay_options options = options_of(0.5, &load, 1);
    struct hm_trace trace;
    struct hm_score loaded, score;
    (void)state;
    assert_int_equal(hm_trace_parse("tiny", tiny, strlen(tiny), &trace, NULL), 0);
    assert_int_equal(hm_replay_phase_oracle(&trace, &options, &loaded), 0);
    options.load = NULL;
    options.tier[1].write = 2;
    assert_int_equal(hm_replay_phase_oracle(&trace, &options, &score), 0);
    assert_float_equal(loaded.amat, score.amat, 1e-6);
    assert_true(isnan(score.fast_ns) && isnan(score.slow_ns));
    hm_trace_free(&trace);
}

static void watch_first(void *data, size_t phase, const struct hm_extent *extents, size_t n_extents,
                        const uint8_t *tier, const struct hm_move *moves, size_t n_moves)
{
    (void)extents, (void)n_extents, (void)moves, (void)n_moves;
    if (phase == 0)
        memcpy(data, tier, 4);
}

/* Four pages in one phase; the fast tier saturates at three times the traffic of the slow one, so three begin there. */
static void test_new_pages_begin_in_both_tiers_where_there_is_room(void **state)
{
    static const char text[] = COLUMNS "0,10,1,0,1,0\n0,11,1,0,1,0\n0,12,1,0,1,0\n0,13,1,0,1,0\n";
    static const struct {
        enum hm_channels channels;
        double fast;
        uint8_t tier[4];
    } rows[] = {{HM_CHANNELS_SEPARATE, 1, {1, 0, 0, 0}},
                {HM_CHANNELS_SEPARATE, 0.75, {1, 0, 0, 0}},
                {HM_CHANNELS_SEPARATE, 0.5, {0, 0, 1, 1}},
                {HM_CHANNELS_SHARED, 1, {0, 0, 0, 0}}};
    struct hm_trace trace;
    (void)state;
    assert_int_equal(hm_trace_parse("even", text, strlen(text), &trace, NULL), 0);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct hm_load load = {rows[i].channels, curve_of(100, 30, 200), curve_of(200, 10, 400)};
        const struct hm_replay_options options = options_of(rows[i].fast, &load, 1);
        struct hm_replay_result result;
        uint8_t tier[4];
        assert_int_equal(hm_replay_run(&trace, &options, watch_first, tier, &result, NULL), 0);
        assert_memory_equal(tier, rows[i].tier, sizeof(tier));
    }
    hm_trace_free(&trace);
}

/* The second half of a replay. */
struct half {
    const struct hm_trace *trace;
    const struct hm_replay_options *options;
    double ours, best, hottest; /* costs */
};

static int compare_heat(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Adds what the phase's accesses cost where they are, with the best share, and with as many as fit in the fast tier. */
static void watch_half(void *data, size_t phase, const struct hm_extent *extents, size_t n_extents, const uint8_t *tier,
                       const struct hm_move *moves, size_t n_moves)
{
    struct half *half = data;
    const struct hm_trace_phase *rows = &half->trace->phase[phase];
    double unit = HM_LINE_BYTES / half->options->phase_s / 1e9, all = 0, fast = 0, most = 0;
    uint64_t capacity = hm_replay_capacity(half->trace, half->options->tier[0].share);
    double *heat = calloc(rows->count, sizeof(*heat));
    (void)extents, (void)n_extents, (void)moves, (void)n_moves;
    for (size_t i = 0; heat && i < rows->count; i++) {
        const struct hm_trace_row *row = &half->trace->row[rows->first + i];
        heat[i] = unit * ((double)row->mem_reads + row->mem_writes);
        all += heat[i];
        fast += tier[row->page] == 0 ? heat[i] : 0;
    }
    assert_non_null(heat);
    qsort(heat, rows->count, sizeof(*heat), compare_heat);
    for (size_t i = 0; i < rows->count && i < capacity; i++)
        most += heat[i];
    double best = hm_load_best(half->options->load, all, most);
    if (phase >= half->trace->n_phases / 2) {
        half->ours += hm_load_cost(half->options->load, fast, all - fast);
        half->best += hm_load_cost(half->options->load, best, all - best);
        half->hottest += hm_load_cost(half->options->load, most, all - most);
    }
    free(heat);
}

/*
 * Programs whose phases are alike, after their set-up, with a fast tier of 240 GB/s that is used up: the accesses cost
 * at most 5 % more than with the best share of each phase, and less than with the hottest pages in the fast tier.
 */
static void test_steady_phases_are_near_the_least_cost(void **state)
{
    static const struct {
        const char *name;
        double fast, phase_s;
    } rows[] = {{"STREAM", 0.9, 0.0055}, {"AMG", 0.5, 0.0029}, {"bfs", 0.25, 0.00125}, {"bfs", 0.5, 0.00125}};
    struct hm_load load = {.channels = HM_CHANNELS_SEPARATE};
    (void)state;
    assert_int_equal(hm_curve_of_peak(&load.fast, 100, 240, NULL), 0);
    assert_int_equal(hm_curve_of_peak(&load.slow, 250, 100, NULL), 0);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct hm_replay_options options = options_of(rows[i].fast, &load, rows[i].phase_s);
        struct hm_trace trace;
        struct hm_replay_result result;
        struct hm_error error = {""};
        char path[400];
        snprintf(path, sizeof(path), FIXTURES "/traces/%s.trace.zst", rows[i].name);
        assert_int_equal(hm_trace_read(path, &trace, &error), 0);
        struct half half = {&trace, &options, 0, 0, 0};
        assert_int_equal(hm_replay_run(&trace, &options, watch_half, &half, &result, &error), 0);
        if (half.ours > 1.05 * half.best || half.ours > half.hottest)
            fail_msg("%s with %g: %.4g of the least cost, hottest first %.4g", rows[i].name, rows[i].fast,
                     half.ours / half.best, half.hottest / half.best);
        hm_trace_free(&trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures_by_hand),
        cmocka_unit_test(test_without_traffic_latencies_are_idle),
        cmocka_unit_test(test_new_pages_begin_in_both_tiers_where_there_is_room),
        cmocka_unit_test(test_steady_phases_are_near_the_least_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
