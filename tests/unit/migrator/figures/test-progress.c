/* SPDX-License-Identifier: Apache-2.0 */
/* Tests a migrator's figures: their checks, their warnings, and their file. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "migrator/figures/progress.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define BAD(name, action)                                                                                              \
    static void bad_##name(struct hm_progress *progress)                                                               \
    {                                                                                                                  \
        action;                                                                                                        \
    }
BAD(magic, progress->magic++)
BAD(version, progress->version++)
BAD(bytes, progress->bytes = 1287)
BAD(state, progress->state = 3)
BAD(algorithm, memset(progress->algorithm, 'x', sizeof(progress->algorithm)))
BAD(hot_by, memset(progress->hot_by, 'x', sizeof(progress->hot_by)))
BAD(source, progress->source[0] = '\033')
BAD(why, progress->source_why[3] = (char)0xc3; memcpy(progress->source_why, "abc", 3))
BAD(period, progress->period_is_time = 2)
BAD(writes, progress->knows_writes = 7)
BAD(cpu, progress->cpu_s = -1)
BAD(cpu_nan, progress->cpu_s = NAN)
BAD(kernel_cpu, progress->kernel_cpu_s = INFINITY)
BAD(fast, progress->fast_share = 1.01)
BAD(last, progress->last_fast_share = NAN)
BAD(best, progress->best_share = INFINITY)
BAD(balance_share, progress->balance_share = -0.5)
BAD(fast_traffic, progress->fast_traffic = 2e18)
BAD(slow_traffic, progress->slow_traffic = NAN)
BAD(traffic_source, memset(progress->traffic_source, 'x', sizeof(progress->traffic_source)))
BAD(balance_why, progress->balance_why[0] = '\n')
BAD(ranks, progress->n_ranks = UINT32_MAX)
BAD(most, progress->most_ranks = UINT32_MAX)
BAD(warnings, progress->n_warnings = HM_PROGRESS_WARNINGS + 1)
BAD(warning, progress->n_warnings = 4; memset(progress->warning[3], 'x', HM_WARNING))
BAD(newline, progress->n_warnings = 1; memcpy(progress->warning[0], "a\nb", 4))

static void test_check(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(struct hm_progress *progress);
        const char *field;
    } rows[] = {
        {bad_magic, "version"},
        {bad_version, "version"},
        {bad_bytes, "version"},
        {bad_state, "state"},
        {bad_algorithm, "algorithm"},
        {bad_source, "source"},
        {bad_why, "source_why"},
        {bad_period, "period_is_time"},
        {bad_writes, "knows_writes"},
        {bad_cpu, "cpu_s"},
        {bad_cpu_nan, "cpu_s"},
        {bad_kernel_cpu, "kernel_cpu_s"},
        {bad_fast, "fast_share"},
        {bad_last, "last_fast_share"},
        {bad_best, "best_share"},
        {bad_balance_share, "balance_share"},
        {bad_fast_traffic, "fast_traffic"},
        {bad_slow_traffic, "slow_traffic"},
        {bad_traffic_source, "traffic_source"},
        {bad_balance_why, "balance_why"},
        {bad_ranks, "n_ranks"},
        {bad_most, "most_ranks"},
        {bad_warnings, "warning"},
        {bad_warning, "warning"},
        {bad_newline, "warning"},
        {bad_hot_by, "hot_by"},
    };
    struct hm_progress progress;
    hm_progress_init(&progress, 7);
    assert_int_equal(hm_progress_check(&progress, NULL), 0);
    assert_int_equal(progress.step_id, 7);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {{0}};
        hm_progress_init(&progress, 7);
        rows[i].spoil(&progress);
        errno = 0;
        assert_int_equal(hm_progress_check(&progress, &error), -1);
        assert_int_equal(errno, EBADMSG);
        if (!strstr(error.text, rows[i].field))
            fail_msg("row %zu: %s", i, error.text);
    }
}

static void test_warnings(void **state)
{
    (void)state;
    struct hm_progress progress;
    char text[300];
    hm_progress_init(&progress, 0);
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    hm_progress_warn(&progress, text);
    hm_progress_warn(&progress, text);
    assert_int_equal(progress.n_warnings, 1);
    assert_int_equal(strlen(progress.warning[0]), HM_WARNING - 1);
    hm_progress_warn(&progress, "tab\t, \xc3\xa4");
    assert_string_equal(progress.warning[1], "tab?, ??");
    for (int i = 0; i < 10; i++) {
        snprintf(text, sizeof(text), "warning %d", i);
        hm_progress_warn(&progress, text);
    }
    assert_int_equal(progress.n_warnings, HM_PROGRESS_WARNINGS);
    assert_string_equal(progress.warning[3], "warning 1");
    assert_int_equal(hm_progress_check(&progress, NULL), 0);
}

static void test_file(void **state)
{
    (void)state;
    struct hm_progress read;
    struct stat status;
    const char *path = scratch_path("1.0.migration");
    int fd = hm_progress_create(path, 3, NULL);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    struct hm_progress *progress = hm_progress_map(fd, NULL);
    assert_non_null(progress);
    progress->phases = 12;
    progress->fast_share = 0.5;
    assert_int_equal(hm_progress_read(path, &read, NULL), 0);
    assert_int_equal(read.phases, 12);
    assert_int_equal(read.step_id, 3);
    assert_int_equal(hm_progress_create(path, 3, NULL), -1); /* an existing file is not overwritten */
    assert_int_equal(errno, EEXIST);
    progress->state = 99; /* the job's user may write anything into the file */
    assert_int_equal(hm_progress_read(path, &read, NULL), -1);
    assert_int_equal(errno, EBADMSG);
    assert_null(hm_progress_map(fd, NULL));
    assert_int_equal(errno, EBADMSG);
    assert_int_equal(ftruncate(fd, 100), 0);
    assert_int_equal(hm_progress_read(path, &read, NULL), -1);
    assert_int_equal(errno, EBADMSG);
    assert_null(hm_progress_map(fd, NULL));
    hm_progress_unmap(progress);
    close(fd);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(hm_progress_read(path, &read, NULL), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_int_equal(hm_progress_read(path, &read, NULL), -1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* reading it does not wait for a writer */
    assert_int_equal(hm_progress_read(path, &read, NULL), -1);
    assert_int_equal(errno, EBADMSG);
    assert_int_equal(hm_progress_create("/nowhere/at/all", 3, NULL), -1);
}

/* A file of a later version has more members at its end. They stay. */
static void test_a_later_version(void **state)
{
    (void)state;
    struct hm_progress read;
    struct stat status;
    const uint32_t bytes = sizeof(read) + 100;
    const char *path = scratch_path("1.1.migration");
    int fd = hm_progress_create(path, 3, NULL);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &bytes, sizeof(bytes), offsetof(struct hm_progress, bytes)), sizeof(bytes));
    assert_int_equal(ftruncate(fd, bytes), 0);
    struct hm_progress *progress = hm_progress_map(fd, NULL);
    assert_non_null(progress);
    progress->phases = 12;
    hm_progress_unmap(progress);
    assert_int_equal(hm_progress_read(path, &read, NULL), 0);
    assert_int_equal(read.phases, 12);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_size, bytes);
    close(fd);
    assert_int_equal(unlink(path), 0);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(hm_unmoved_name(HM_UNMOVED_SHARED), "shared");
    assert_string_equal(hm_unmoved_name(HM_UNMOVED_OTHER), "other");
    assert_string_equal(hm_unmoved_name((enum hm_unmoved)99), "other");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check),           cmocka_unit_test(test_warnings), cmocka_unit_test(test_file),
        cmocka_unit_test(test_a_later_version), cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
