/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the monitor's file of samples: its sums, peaks and points, and what is refused. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "meter/monitor/samples.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define SECOND UINT64_C(1000000000)
#define START (1000 * SECOND) /* CLOCK_MONOTONIC, at a tick */

static struct hm_samples *fresh(void)
{
    struct hm_samples *samples = calloc(1, sizeof(*samples));
    assert_non_null(samples);
    *samples = (struct hm_samples){.magic = HM_SAMPLES_MAGIC, .version = HM_SAMPLES_VERSION, .bytes = sizeof(*samples)};
    samples->n_tiers = 2;
    samples->interval_ms = 1000;
    samples->stride = 1;
    snprintf(samples->tier_name[0], HM_NAME, "dram");
    snprintf(samples->tier_name[1], HM_NAME, "pmem");
    return samples;
}

static void add(struct hm_samples *samples, uint64_t fast, uint64_t slow, uint64_t mono_ns)
{
    const struct hm_usage usage[HM_MAX_TIERS] = {{.anon = fast}, {.file = slow}};
    hm_samples_add(samples, usage, 1700000000 * SECOND + mono_ns, mono_ns);
}

static void test_total_saturates(void **state)
{
    (void)state;
    const struct hm_usage plain = {1, 20, 300, 4000, 50000}, huge = {UINT64_MAX, UINT64_MAX, 1, 0, 0};
    assert_int_equal(hm_usage_total(&plain), 54321);
    assert_true(hm_usage_total(&huge) == UINT64_MAX - 1);
}

static void test_peaks(void **state)
{
    (void)state;
    struct hm_samples *samples = fresh();
    add(samples, 100, 5, START);
    add(samples, 30, 90, START + SECOND);
    add(samples, 10, 1, START + 2 * SECOND);
    assert_int_equal(samples->n_samples, 3);
    assert_int_equal(samples->tier_peak[0], 100); /* each tier's own peak */
    assert_int_equal(samples->tier_peak[1], 90);
    assert_int_equal(samples->peak[0].anon, 30); /* all tiers at the moment of the largest sum */
    assert_int_equal(samples->peak[1].file, 90);
    assert_true(samples->first_ns == 1700000000 * SECOND + START);
    assert_true(samples->last_ns == samples->first_ns + 2 * SECOND);
    free(samples);
}

static void test_mean_is_weighted_by_time(void **state)
{
    (void)state;
    struct hm_samples *samples = fresh();
    add(samples, 100, 7, START);
    assert_true(fabs(hm_samples_mean(samples, 0) - 100) < 1e-9); /* the mean of one sample is the sample */
    add(samples, 100, 7, START + SECOND / 100);                  /* an additional sample does not shift the mean */
    add(samples, 100, 7, START + SECOND);
    add(samples, 300, 7, START + 3 * SECOND);
    assert_true(fabs(hm_samples_mean(samples, 0) - (100 + 200 * 2) / 3.0) < 1e-6);
    assert_true(fabs(hm_samples_mean(samples, 1) - 7) < 1e-9);
    free(samples);
}

static void test_points_follow_from_time(void **state)
{
    (void)state;
    struct hm_samples *samples = fresh();
    add(samples, 1, 0, START + SECOND / 2);
    add(samples, 9, 1, START + SECOND * 3 / 4);
    add(samples, 2, 2, START + SECOND - 1); /* in the same tick: the largest sum is kept */
    add(samples, 3, 0, START + SECOND);     /* in the next tick */
    add(samples, 4, 0, START + 4 * SECOND); /* two ticks without a sample */
    add(samples, 5, 0, START + 3 * SECOND); /* the clock went back: taken as the last moment */
    assert_int_equal(samples->n_points, 5);
    assert_int_equal(samples->point[0][0], 9);
    assert_int_equal(samples->point[0][1], 1);
    assert_int_equal(samples->point[1][0], 3);
    assert_true(samples->point[2][0] == HM_SAMPLES_NONE && samples->point[3][0] == HM_SAMPLES_NONE);
    assert_int_equal(samples->point[4][0], 5);
    assert_true(samples->first_mono_ns <= samples->last_mono_ns);
    assert_int_equal(hm_samples_check(samples, NULL), 0);
    free(samples);
}

/* For any number of samples, the points follow from the stride, and the largest sample is kept. */
static void test_stride_doubles(void **state)
{
    (void)state;
    static const struct {
        uint64_t samples, stride;
        uint32_t points;
    } rows[] = {{1, 1, 1},     {256, 1, 256},  {257, 2, 129},     {512, 2, 256},
                {513, 4, 129}, {1000, 4, 250}, {86400, 512, 169}, {100000, 512, 196}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_samples *samples = fresh();
        for (uint64_t n = 0; n < rows[i].samples; n++)
            add(samples, n == rows[i].samples / 3 ? 1000000 : n, 1, START + n * SECOND);
        assert_int_equal(samples->stride, rows[i].stride);
        assert_int_equal(samples->n_points, rows[i].points);
        for (uint32_t p = 0; p < samples->n_points; p++) {
            uint64_t last = (p + 1) * rows[i].stride - 1;
            bool has_spike = p == rows[i].samples / 3 / rows[i].stride;
            uint64_t want = has_spike ? 1000000 : last < rows[i].samples ? last : rows[i].samples - 1;
            assert_int_equal(samples->point[p][0], want);
        }
        assert_int_equal(hm_samples_check(samples, NULL), 0);
        free(samples);
    }
}

/* Two samples as far apart as the clock allows: their points still have room. */
static void test_long_gap_ends(void **state)
{
    (void)state;
    struct hm_samples *samples = fresh();
    samples->interval_ms = 1;
    add(samples, 5, 6, 0);
    add(samples, 7, 8, UINT64_MAX);
    assert_true(samples->n_points <= HM_SAMPLES_POINTS && samples->n_points > HM_SAMPLES_POINTS / 2);
    assert_int_equal(samples->point[0][0], 5);
    assert_true(samples->point[1][0] == HM_SAMPLES_NONE);
    assert_int_equal(samples->point[samples->n_points - 1][0], 7);
    assert_int_equal(hm_samples_check(samples, NULL), 0);
    free(samples);
}

#define SPOIL(name, statement)                                                                                         \
    static void spoil_##name(struct hm_samples *s)                                                                     \
    {                                                                                                                  \
        statement;                                                                                                     \
    }
SPOIL(magic, s->magic++)
SPOIL(version, s->version++)
SPOIL(bytes, s->bytes--)
SPOIL(no_tiers, s->n_tiers = 0)
SPOIL(many_tiers, s->n_tiers = HM_MAX_TIERS + 1)
SPOIL(no_interval, s->interval_ms = 0)
SPOIL(long_interval, s->interval_ms = UINT32_MAX)
SPOIL(no_stride, s->stride = 0)
SPOIL(odd_stride, s->stride = 3)
SPOIL(many_points, s->n_points = HM_SAMPLES_POINTS + 1)
SPOIL(no_points, s->n_points = 0)
SPOIL(time, s->last_mono_ns = s->first_mono_ns - 1)
SPOIL(peak, s->peak_source = 3)
SPOIL(hugetlb, s->has_hugetlb = 2)
SPOIL(finished, s->finished = 2)
SPOIL(missing, memset(s->missing, 'x', sizeof(s->missing)))
SPOIL(name, memset(s->tier_name[1], 'x', HM_NAME))
SPOIL(no_name, s->tier_name[0][0] = '\0')
SPOIL(kind, s->tier_kind[0] = 99)
SPOIL(sum, s->tier_sum[1] = NAN)
SPOIL(negative, s->tier_sum[0] = -1)
SPOIL(energy, s->metered.energy[HM_DOMAIN_PACKAGE].amount = 1e300)
SPOIL(traffic, s->metered.traffic[0][HM_DIRECTION_READ].amount = NAN)

static void test_check_refuses(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(struct hm_samples *);
        const char *field;
    } rows[] = {
        {spoil_magic, "magic"},
        {spoil_version, "version"},
        {spoil_bytes, "version"},
        {spoil_no_tiers, "n_tiers"},
        {spoil_many_tiers, "n_tiers"},
        {spoil_no_interval, "interval_ms"},
        {spoil_long_interval, "interval_ms"},
        {spoil_no_stride, "stride"},
        {spoil_odd_stride, "stride"},
        {spoil_many_points, "n_points"},
        {spoil_no_points, "n_points"},
        {spoil_time, "last_mono_ns"},
        {spoil_peak, "peak_source"},
        {spoil_hugetlb, "has_hugetlb"},
        {spoil_finished, "finished"},
        {spoil_missing, "missing"},
        {spoil_name, "tier_name"},
        {spoil_no_name, "tier_name"},
        {spoil_kind, "tier_kind"},
        {spoil_sum, "tier_sum"},
        {spoil_negative, "tier_sum"},
        {spoil_energy, "energy"},
        {spoil_traffic, "traffic"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {{0}};
        struct hm_samples *samples = fresh();
        add(samples, 1, 2, START);
        assert_int_equal(hm_samples_check(samples, &error), 0);
        rows[i].spoil(samples);
        assert_int_equal(hm_samples_check(samples, &error), -1);
        assert_int_equal(errno, EBADMSG);
        assert_non_null(strstr(error.text, rows[i].field));
        free(samples);
    }
}

static struct hm_tiers *two_tiers(void)
{
    struct hm_tiers *tiers = calloc(1, sizeof(*tiers));
    assert_non_null(tiers);
    tiers->n_tiers = 2;
    snprintf(tiers->tier[0].name, HM_NAME, "dram");
    snprintf(tiers->tier[1].name, HM_NAME, "pmem");
    tiers->tier[0].kind = HM_KIND_DRAM;
    tiers->tier[1].kind = HM_KIND_PMEM;
    hm_set_add(&tiers->tier[0].nodes, 0);
    hm_set_add(&tiers->tier[1].nodes, 2);
    return tiers;
}

static void test_file(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    struct hm_tiers *tiers = two_tiers();
    struct hm_samples *samples = fresh();
    struct stat status;
    const char *path = scratch_path("file");
    assert_int_equal(hm_samples_read(path, samples, &error), -1);
    assert_int_equal(errno, ENOENT);
    int fd = hm_samples_create(path, tiers, 500, &error);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(hm_samples_create(path, tiers, 500, &error), -1); /* an existing file is not replaced */
    assert_int_equal(errno, EEXIST);
    assert_int_equal(hm_samples_read(path, samples, &error), 0);
    assert_int_equal(samples->interval_ms, 500);
    assert_string_equal(samples->tier_name[1], "pmem");
    assert_int_equal(samples->tier_kind[1], HM_KIND_PMEM);
    assert_true(hm_set_has(&samples->tier_nodes[1], 2) && !hm_set_has(&samples->tier_nodes[1], 0));
    /* A file of a later hybridmem, with more members. The format's version is the same. */
    const uint32_t bytes = sizeof(*samples) + 100;
    assert_int_equal(pwrite(fd, &bytes, sizeof(bytes), offsetof(struct hm_samples, bytes)), sizeof(bytes));
    assert_int_equal(ftruncate(fd, bytes), 0);
    struct hm_samples *mapped = hm_samples_map(fd, &error);
    assert_non_null(mapped);
    mapped->finished = 1;
    assert_int_equal(munmap(mapped, sizeof(*mapped)), 0);
    assert_int_equal(hm_samples_read(path, samples, &error), 0);
    assert_int_equal(samples->finished, 1);
    samples->magic++;
    assert_int_equal(pwrite(fd, samples, sizeof(*samples), 0), sizeof(*samples));
    assert_null(hm_samples_map(fd, &error));
    assert_int_equal(errno, EBADMSG);

    assert_int_equal(ftruncate(fd, (off_t)sizeof(*samples) - 1), 0);
    assert_null(hm_samples_map(fd, &error));
    assert_int_equal(errno, EBADMSG);
    assert_int_equal(hm_samples_read(path, samples, &error), -1);
    assert_int_equal(errno, EBADMSG);
    close(fd);
    unlink(path);
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_int_equal(hm_samples_read(path, samples, &error), -1);
    assert_int_equal(errno, ELOOP);
    unlink(path);
    assert_int_equal(hm_samples_create(path, tiers, 0, &error), -1);
    tiers->n_tiers = HM_MAX_TIERS + 1;
    assert_int_equal(hm_samples_create(path, tiers, 500, &error), -1);
    assert_int_equal(access(path, F_OK), -1);
    free(samples);
    free(tiers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_refuses),
        cmocka_unit_test(test_total_saturates),
        cmocka_unit_test(test_peaks),
        cmocka_unit_test(test_mean_is_weighted_by_time),
        cmocka_unit_test(test_points_follow_from_time),
        cmocka_unit_test(test_stride_doubles),
        cmocka_unit_test(test_long_gap_ends),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
