/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the calculations of bench: the prediction, and what its kernels do to memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/bench/bench.h"
#include "cli/bench/kernels.h"
#include "core/plan/model.h"
#include "unit/lib/rows.h"

#define GB 1e9

static void test_prediction(void **state)
{
    static const struct {
        struct hm_bench_speed speed;
        double read[2], write[2], wanted;
    } rows[] = {
        /* rows whose prediction is not known (-1), and one without bytes */
        {{{0, 78000}, {0, 0}, HM_CHANNELS_SHARED}, {GB, 0}, {0, 0}, -1},
        {{{204000, 0}, {0, 0}, HM_CHANNELS_SHARED}, {GB, GB}, {0, 0}, -1},
        {{{204000, 78000}, {0, 0}, HM_CHANNELS_SHARED}, {GB, 0}, {GB, 0}, -1},
        {{{204000, 78000}, {1, 1}, HM_CHANNELS_SHARED}, {0, 0}, {0, 0}, -1},
        /* the bandwidth of a tier without bytes need not be known */
        {{{204000, 0}, {0, 0}, HM_CHANNELS_SHARED}, {GB, 0}, {0, 0}, 204000},
        {{{204000, 78000}, {0, 0}, HM_CHANNELS_SHARED}, {0, GB}, {0, 0}, 78000},
        {{{204000, 78000}, {0, 0}, HM_CHANNELS_SHARED}, {GB, GB}, {0, 0}, 112851.06},
        {{{300000, 100000}, {0, 0}, HM_CHANNELS_SEPARATE}, {3 * GB, GB}, {0, 0}, 400000},
        /* copy reads from one tier and writes to the other */
        {{{100000, 50000}, {100000, 20000}, HM_CHANNELS_SHARED}, {0, GB}, {GB, 0}, 66666.67},
        {{{100000, 50000}, {100000, 20000}, HM_CHANNELS_SHARED}, {GB, 0}, {0, GB}, 33333.33},
        {{{100000, 50000}, {100000, 20000}, HM_CHANNELS_SEPARATE}, {GB, 0}, {0, GB}, 40000},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++)
        assert_float_equal(hm_bench_predict(&rows[i].speed, rows[i].read, rows[i].write), rows[i].wanted, 0.01);
}

/* With reads alone, the prediction is Eq. 1 of the spill model. */
static void test_prediction_of_reads_is_the_spill_model(void **state)
{
    (void)state;
    for (int channels = HM_CHANNELS_SHARED; channels <= HM_CHANNELS_SEPARATE; channels++)
        for (int percent = 0; percent <= 100; percent++) {
            const struct hm_bench_speed speed = {{204000, 78000}, {0, 0}, (enum hm_channels)channels};
            const double bytes[2] = {percent * GB, (100 - percent) * GB}, none[2] = {0, 0};
            assert_float_equal(hm_bench_predict(&speed, bytes, none),
                               hm_spill_bandwidth((enum hm_channels)channels, 204000, 78000, percent / 100.), 0.01);
        }
}

static void test_a_part_in_no_tier_is_not_predicted(void **state)
{
    struct hm_bench *bench = calloc(1, sizeof(*bench));
    struct hm_bench_result *result = &bench->result[0];
    (void)state;
    hm_config_defaults(&bench->config);
    bench->tiers.n_tiers = 2;
    bench->tiers.tier[0].read_bandwidth_mbs = (struct hm_figure){100000, HM_ORIGIN_ATTRIBUTES};
    bench->tiers.tier[1].read_bandwidth_mbs = (struct hm_figure){50000, HM_ORIGIN_ATTRIBUTES};
    result->place[HM_BENCH_READ].fast_bytes = result->place[HM_BENCH_READ].slow_bytes = 1 << 30;
    assert_float_equal(hm_bench_predict_result(bench, result), 66666.67, 0.01);
    result->place[HM_BENCH_READ].other_bytes = 1;
    assert_float_equal(hm_bench_predict_result(bench, result), -1, 0);
    result->place[HM_BENCH_READ].other_bytes = 0;
    result->place[HM_BENCH_READ].file_bytes = 1;
    assert_float_equal(hm_bench_predict_result(bench, result), -1, 0);
    free(bench);
}

static void test_kernels(void **state)
{
    enum { LINES = 37, BYTES = LINES * HM_BENCH_LINE };
    char *from = aligned_alloc(HM_BENCH_LINE, BYTES), *to = aligned_alloc(HM_BENCH_LINE, BYTES + HM_BENCH_LINE);
    char *before = malloc(BYTES);
    (void)state;
    for (int i = 0; i < BYTES; i++)
        before[i] = from[i] = (char)(i * 7);
    memset(to, 0, BYTES + HM_BENCH_LINE);
    hm_benchkernel_accumulate(from, NULL, BYTES);
    assert_memory_equal(from, before, BYTES);
    hm_benchkernel_copy(from, to, BYTES);
    assert_memory_equal(from, before, BYTES);
    assert_memory_equal(to, before, BYTES);
    hm_benchkernel_nt_write(NULL, to, BYTES);
    for (int i = 0; i < BYTES; i++)
        assert_int_equal(to[i], 3);
    for (int i = BYTES; i < BYTES + HM_BENCH_LINE; i++)
        assert_int_equal(to[i], 0);
    free(before);
    free(from);
    free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prediction),
        cmocka_unit_test(test_prediction_of_reads_is_the_spill_model),
        cmocka_unit_test(test_a_part_in_no_tier_is_not_predicted),
        cmocka_unit_test(test_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
