/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the removal of jobs' monitoring groups. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/flock.h"
#include "job/node/mongroup.h"
#include "mongroupfixture.h"
#include "slurm/stepname.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

/* It is not known which tasks are in a group that a crash has left, and whose traffic it has counted. */
static void test_a_group_that_is_left_is_not_taken_over(void **state)
{
    (void)state;
    mongroup_folder(GROUP);
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    assert_string_equal(job.mongroup.why, "no resctrl group: a group of its name is left from an earlier run");
    assert_false(hm_mongroup_is_whole(&job.mongroup) || is_there(GROUP "/tasks"));
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0); /* as the step does */
    hm_mongroup_reap(&config);
    assert_false(is_there(GROUP));
}

/*
 * A reap removes only groups whose names have exactly hybridmem's form. A group that the ledger has stays. So does a
 * group of a job whose entry cannot be read.
 */
static void test_reap(void **state)
{
    static const char *const stay[] = {"hybridmem.7.2",  "hybridmem.8.0",  "pqos",           "hybridmem",
                                       "hybridmem.",     "hybridmem.9",    "hybridmem.9.0.", "hybridmem.9.0x",
                                       "hybridmem.09.0", "hybridmem.-9.0", "hybridmem. 9.0", "hybridmem.4294967296.0",
                                       "hybridmem.9.+0", "xhybridmem.9.0", "Hybridmem.9.0"};
    static const char *const go[] = {"hybridmem.9.0", "hybridmem.7.1", "hybridmem.7.3", "hybridmem.4294967295.0"};
    (void)state;
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    scratch_write(scratch_path("run/jobs/8"), "torn");
    for (size_t i = 1; i < N_ROWS(stay); i++)
        assert_int_equal(mkdir(scratch_path("resctrl/mon_groups/%s", stay[i]), 0755), 0);
    for (size_t i = 0; i < N_ROWS(go); i++)
        assert_int_equal(mkdir(scratch_path("resctrl/mon_groups/%s", go[i]), 0755), 0);
    config.resctrl = false; /* groups from a time when resctrl was on are removed, too */
    hm_mongroup_reap(&config);
    for (size_t i = 0; i < N_ROWS(stay); i++)
        assert_int_equal(access(scratch_path("resctrl/mon_groups/%s", stay[i]), F_OK), 0);
    for (size_t i = 0; i < N_ROWS(go); i++)
        assert_int_equal(access(scratch_path("resctrl/mon_groups/%s", go[i]), F_OK), -1);
    /* The entry says that there is no group, so a group of that name is nobody's. */
    job.mongroup.is_begun = false;
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    hm_mongroup_reap(&config);
    assert_false(is_there(GROUP));
}

/*
 * A user can make the removal of a group last for ever (mongroupremove.c). Nobody who holds the ledger's lock waits for
 * it: hm_look in the fixture checks that, and that no other process removes a group.
 */
static void test_a_removal_that_hangs_is_given_up(void **state)
{
    struct hm_error error = {0};
    (void)state;
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    child_hangs = true;
    assert_int_equal(hm_mongroup_remove(&config, 7, &job.mongroup, &error), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_string_equal(error.text, "cannot remove resctrl groups within 5 s: "
                                    "a file system that was mounted there is still in use");
    assert_int_equal(hm_ledger_remove(&config, 7, NULL), 0);
    hm_mongroup_reap(&config);
    assert_true(is_there(GROUP));
    child_hangs = false;
    hm_mongroup_reap(&config); /* the ledger is not locked */
    assert_false(is_there(GROUP));
}

#define PLACES 8

static int n_pauses;
static int held[PLACES];

int __wrap_nanosleep(const struct timespec *request, struct timespec *left);
int __wrap_nanosleep(const struct timespec *request, struct timespec *left)
{
    (void)left;
    n_pauses++;
    assert_true(request->tv_sec == 0 && request->tv_nsec * n_pauses < 5000000000L); /* it gives up in time */
    return 0;
}

/* Takes the first places, as stuck children do. */
static void take_places(int n)
{
    for (int i = 0; i < n; i++) {
        held[i] = open(scratch_path("run/removals/%d", i), O_RDWR | O_CLOEXEC);
        assert_int_equal(hm_flock_try(held[i]), 0);
    }
}

/* A child that removes groups may be stuck for ever. There are never more than a few of them on the node. */
static void test_stuck_children_do_not_pile_up(void **state)
{
    struct hm_error error = {0};
    (void)state;
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    assert_int_equal(hm_mongroup_remove(&config, 7, &job.mongroup, &error), 0); /* makes the first place's file */
    for (int i = 0; i < PLACES; i++)
        scratch_write(scratch_path("run/removals/%d", i), "");
    take_places(PLACES);
    job.mongroup = (struct hm_mongroup){0};
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    assert_int_equal(hm_mongroup_remove(&config, 7, &job.mongroup, &error), -1);
    assert_int_equal(errno, EBUSY);
    assert_string_equal(error.text, "cannot remove resctrl groups: 8 processes try to remove others");
    assert_true(n_pauses > 100 && is_there(GROUP));
    hm_flock_close(held[PLACES - 1]);
    n_pauses = 0;
    assert_int_equal(hm_mongroup_remove(&config, 7, &job.mongroup, &error), 0);
    assert_false(is_there(GROUP));
    assert_int_equal(n_pauses, 0);
    held[PLACES - 1] = open(scratch_path("run/removals/%d", PLACES - 1), O_RDWR | O_CLOEXEC);
    assert_int_equal(hm_flock_try(held[PLACES - 1]), 0); /* the place was given back */
    for (int i = 0; i < PLACES; i++)
        hm_flock_close(held[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_group_that_is_left_is_not_taken_over, mongroup_set_up),
        cmocka_unit_test_setup(test_reap, mongroup_set_up),
        cmocka_unit_test_setup(test_a_removal_that_hangs_is_given_up, mongroup_set_up),
        cmocka_unit_test_setup(test_stuck_children_do_not_pile_up, mongroup_set_up),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
