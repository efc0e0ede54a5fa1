/* SPDX-License-Identifier: Apache-2.0 */
/* Tests when slurmctld is asked how many cores of the node jobs can have. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "job/node/usable.h"
#include "slurm/scontrol.h"
#include "unit/job/freshledger.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define PATH "run/root/node/usable"

static struct hm_config config;
static struct hm_error error;
static uint32_t cores;
static unsigned n_asked;
static unsigned says; /* what slurmctld answers; 0: nothing */
static time_t now_s;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_hm_scontrol_usable(const char *node, unsigned *answer, struct hm_error *why);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = now_s};
    return 0;
}

int __wrap_hm_scontrol_usable(const char *node, unsigned *answer, struct hm_error *why)
{
    (void)node;
    n_asked++;
    if (says == 0)
        return hm_fail(why, ETIMEDOUT, "scontrol has not ended in time");
    *answer = says;
    return 0;
}

static int fresh(void **state)
{
    (void)state;
    ledger_empty(&config);
    n_asked = 0;
    says = 8;
    now_s = 100000;
    return 0;
}

/* Learns the count, which must be 8, and checks how often slurmctld was asked so far. */
static void learn(const char *node, unsigned questions)
{
    cores = 0;
    assert_int_equal(hm_usable_learn(&config, node, &cores, &error), 0);
    assert_int_equal(cores, 8);
    assert_int_equal(n_asked, questions);
}

static void test_an_answer_is_kept_until_slurmd_starts(void **state)
{
    (void)state;
    learn("n1", 1);
    now_s += 1000000;
    learn("n1", 1);
    learn("n2", 2); /* the node has another name now */
    learn("n2", 2);
    hm_usable_forget(&config);
    assert_int_equal(access(scratch_path(PATH), F_OK), -1);
    learn("n2", 3);
}

static void test_what_is_not_there_is_not_made_to_be_forgotten(void **state)
{
    (void)state;
    hm_usable_forget(&config);
    assert_int_equal(access(scratch_path("run"), F_OK), -1);
}

static void test_silence_is_not_asked_again_for_a_minute(void **state)
{
    (void)state;
    says = 0;
    assert_int_equal(hm_usable_learn(&config, "n1", &cores, &error), -1);
    assert_int_equal(errno, ETIMEDOUT);
    says = 8;
    now_s += 59;
    assert_int_equal(hm_usable_learn(&config, "n1", &cores, &error), -1);
    assert_int_equal(errno, EAGAIN);
    assert_non_null(strstr(error.text, "less than a minute ago"));
    assert_int_equal(n_asked, 1);
    now_s += 1;
    learn("n1", 2);
}

/* The note of an earlier boot has a time that is still to come. */
static void test_silence_of_an_earlier_boot_is_over(void **state)
{
    (void)state;
    says = 0;
    assert_int_equal(hm_usable_learn(&config, "n1", &cores, &error), -1);
    says = 8;
    now_s = 10;
    learn("n1", 2);
}

static void test_a_file_that_cannot_be_believed_counts_as_none(void **state)
{
    static const struct {
        const char *text;
        mode_t mode;
        unsigned n_asked;
    } rows[] = {
        {"hybridmem usable 1\nnode n1\ncores 8\nasked_ms 1\nend\n", 0600, 1},
        {"hybridmem usable 1\nnode n1\ncores 6\nasked_ms 1\nend\n", 0644, 2}, /* others can read it: not ours */
        {"hybridmem usable 1\nnode n1\ncores 6\nasked_ms 1\n", 0600, 2},
        {"hybridmem usable 1\nnode n1\ncores six\nasked_ms 1\nend\n", 0600, 2},
        {"hybridmem usable 1\nnode n1\ncores 4294967296\nasked_ms 1\nend\n", 0600, 2},
        {"hybridmem usable 1\ncores 6\nasked_ms 1\nend\n", 0600, 2},
        {"", 0600, 2},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        fresh(state);
        learn("n1", 1);
        assert_int_equal(chmod(scratch_path(PATH), 0600), 0);
        scratch_write(scratch_path(PATH), rows[i].text);
        assert_int_equal(chmod(scratch_path(PATH), rows[i].mode), 0);
        learn("n1", rows[i].n_asked);
        learn("n1", rows[i].n_asked); /* the new one is whole */
    }
    assert_int_equal(unlink(scratch_path(PATH)), 0);
    assert_int_equal(symlink("elsewhere", scratch_path(PATH)), 0);
    n_asked = 0;
    learn("n1", 1);
    learn("n1", 1);
    assert_int_equal(access(scratch_path("run/root/node/elsewhere"), F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_an_answer_is_kept_until_slurmd_starts, fresh),
        cmocka_unit_test_setup(test_what_is_not_there_is_not_made_to_be_forgotten, fresh),
        cmocka_unit_test_setup(test_silence_is_not_asked_again_for_a_minute, fresh),
        cmocka_unit_test_setup(test_silence_of_an_earlier_boot_is_over, fresh),
        cmocka_unit_test_setup(test_a_file_that_cannot_be_believed_counts_as_none, fresh),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
