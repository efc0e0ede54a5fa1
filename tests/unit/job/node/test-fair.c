/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which jobs of a node share the fast tier, and with what weight, as prologs, steps, epilogs and reap note it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process.h"
#include "core/share/shares.h"
#include "job/node/fair.h"
#include "job/programs/migrator.h"
#include "unit/job/freshledger.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define CAP (UINT64_C(1) << 30)

static struct hm_config config;
static struct hm_error error;
static struct hm_job job;

static int fresh(void **state)
{
    (void)state;
    ledger_with_job(&config, &job);
    return 0;
}

/* The job's row; its job_id is 0 where it has none. */
static struct hm_shares_row row_of(uint32_t job_id)
{
    char path[HM_FAIR_PATH];
    struct hm_shares shares;
    int fd = hm_shares_open(hm_fair_path(&config, path), &error);
    assert_true(fd >= 0);
    assert_int_equal(hm_shares_read(fd, &shares, &error), 0);
    close(fd);
    const struct hm_shares_row *row = hm_shares_find(&shares, job_id);
    return row ? *row : (struct hm_shares_row){0};
}

static void test_weights(void **state)
{
    static const struct {
        enum hm_fair_share policy;
        uint64_t weight;
        const char *cores; /* NULL: not known */
        uint64_t expected;
    } rows[] = {
        {HM_FAIR_SHARE_EQUAL, 1, "0-7", 1},  {HM_FAIR_SHARE_EQUAL, 3, "0-7", 3}, {HM_FAIR_SHARE_CORES, 1, "0-7", 8},
        {HM_FAIR_SHARE_CORES, 3, "0-7", 24}, {HM_FAIR_SHARE_CORES, 3, NULL, 3},  {HM_FAIR_SHARE_EQUAL, 0, NULL, 1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(fresh(state), 0);
        config.fair_share = rows[i].policy;
        job.fair_weight = rows[i].weight;
        job.has_cores = rows[i].cores && hm_set_parse(&job.cores, rows[i].cores, NULL) == 0;
        assert_int_equal(hm_fair_make(&config, &error), 0);
        assert_int_equal(hm_fair_join(&config, &job, 0, &error), 0);
        struct hm_shares_row row = row_of(7);
        assert_int_equal(row.job_id, 7);
        assert_int_equal(row.weight, rows[i].expected);
        assert_true(row.cap_bytes == HM_SHARES_NO_CAP);
    }
}

static void test_a_site_that_does_not_share(void **state)
{
    (void)state;
    char path[HM_FAIR_PATH];
    config.fair_share = HM_FAIR_SHARE_NONE;
    assert_null(hm_fair_path(&config, path));
    assert_int_equal(hm_fair_make(&config, &error), 0);
    assert_int_equal(hm_fair_join(&config, &job, 0, &error), 0);
    config.fair_share = HM_FAIR_SHARE_EQUAL;
    assert_int_equal(access(hm_fair_path(&config, path), F_OK), -1);
}

/* A job shares the tier from its first migrator's begin to its last one's end. */
static void test_from_the_first_migrator_to_the_last(void **state)
{
    (void)state;
    struct hm_process other = {0};
    assert_int_equal(hm_process_identify(getppid(), &other), 0);
    assert_int_equal(hm_fair_make(&config, &error), 0);
    assert_int_equal(hm_migrator_begin(&config, &job, 0, CAP, &error), 0);
    assert_int_equal(job.n_warnings, 0);
    assert_int_equal(row_of(7).cap_bytes, CAP);
    hm_migrator_note(&config, &job, 0, &other);
    assert_int_equal(hm_migrator_begin(&config, &job, 1, 2 * CAP, &error), 0);
    assert_int_equal(row_of(7).cap_bytes, 2 * CAP);
    hm_migrator_note(&config, &job, 1, NULL); /* it could not be started */
    assert_int_equal(row_of(7).job_id, 7);
    hm_migrator_note(&config, &job, 0, NULL);
    assert_int_equal(row_of(7).job_id, 0);
}

/* A migrator whose figures are taken has ended. */
static void test_a_step_that_has_ended(void **state)
{
    (void)state;
    char path[HM_CONFIG_PATH_MAX + 64];
    struct hm_process gone = {.pid = 4000001};
    assert_int_equal(hm_fair_make(&config, &error), 0);
    assert_int_equal(hm_migrator_begin(&config, &job, 3, 0, &error), 0);
    hm_migrator_note(&config, &job, 3, &gone);
    snprintf(path, sizeof(path), "%s/jobs/7.3.migration", config.run_dir);
    close(hm_progress_create(path, 3, &error));
    assert_int_equal(row_of(7).job_id, 7);
    assert_int_equal(hm_migrator_collect(&config, &job, 3, &error), 0);
    assert_int_equal(row_of(7).job_id, 0);
}

/* Without a table the migrator is started all the same, and the record says what the job does not get. */
static void test_no_table(void **state)
{
    (void)state;
    assert_int_equal(hm_migrator_begin(&config, &job, 0, 0, &error), 0);
    assert_int_equal(job.n_warnings, 1);
    assert_non_null(strstr(job.warning[0], "the fast tier is not shared by weight: "));
}

static void test_reap(void **state)
{
    (void)state;
    hm_fair_reap(&config); /* there is no table yet */
    assert_int_equal(hm_fair_make(&config, &error), 0);
    assert_int_equal(hm_fair_join(&config, &job, 0, &error), 0);
    job.job_id = 8; /* it has no entry in the ledger */
    assert_int_equal(hm_fair_join(&config, &job, 0, &error), 0);
    hm_fair_reap(&config);
    assert_int_equal(row_of(7).job_id, 7);
    assert_int_equal(row_of(8).job_id, 0);
}

/* What was left of a table whose maker was killed, or of another version, goes. The next job gets a new one. */
static void test_reap_of_a_broken_table(void **state)
{
    (void)state;
    char path[HM_FAIR_PATH];
    assert_int_equal(hm_fair_make(&config, &error), 0);
    assert_int_equal(truncate(hm_fair_path(&config, path), 0), 0);
    assert_int_equal(hm_fair_make(&config, &error), 0);
    assert_int_equal(hm_fair_join(&config, &job, 0, &error), -1);
    hm_fair_reap(&config);
    assert_int_equal(hm_fair_make(&config, &error), 0);
    assert_int_equal(hm_fair_join(&config, &job, 0, &error), 0);
    assert_int_equal(row_of(7).job_id, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_weights, fresh),
        cmocka_unit_test_setup(test_a_site_that_does_not_share, fresh),
        cmocka_unit_test_setup(test_from_the_first_migrator_to_the_last, fresh),
        cmocka_unit_test_setup(test_a_step_that_has_ended, fresh),
        cmocka_unit_test_setup(test_no_table, fresh),
        cmocka_unit_test_setup(test_reap, fresh),
        cmocka_unit_test_setup(test_reap_of_a_broken_table, fresh),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
