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
 * A user can make the removal of a group last for ever (mongroupremove.c). So only a child process removes groups, as
 * the fixture's unlinkat checks, and nobody who holds the ledger's lock waits for it, as the fixture's hm_look checks.
 */
static void test_a_removal_that_hangs_is_given_up(void **state)
{
    struct hm_error error = {0};
    (void)state;
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    child_hangs = true;
    assert_int_equal(hm_mongroup_remove(&config, 7, job.uid, &job.mongroup, &error), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_string_equal(error.text, "cannot remove resctrl groups within 5 s: "
                                    "a file system that was mounted there is still in use");
    assert_int_equal(hm_ledger_remove(&config, 7, NULL), 0);
    hm_mongroup_reap(&config);
    assert_true(is_there(GROUP));
    child_hangs = false;
    hm_mongroup_reap(&config); /* the removal that hung has not left the ledger locked */
    assert_false(is_there(GROUP));
}

#define PLACES 2 /* of each owner, for children that remove groups at the same time (mongroupremove.c) */

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

/* Makes the group of job 7. The tests below remove it as the group of the user whose uid they give. */
static void make_group(void)
{
    job.mongroup = (struct hm_mongroup){0};
    hm_mongroup_make(&config, &job, HM_STEP_EXTERN);
    assert_true(is_there(GROUP));
    n_pauses = 0;
}

static void take_place(const char *owner, int i)
{
    held[i] = open(scratch_path("run/root/node/removals/%s.%d", owner, i), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(hm_flock_try(held[i]), 0);
}

/* Takes all places of an owner, as stuck children do. */
static void take_places(const char *owner)
{
    for (int i = 0; i < PLACES; i++)
        take_place(owner, i);
}

static void give_places(void)
{
    for (int i = 0; i < PLACES; i++)
        hm_flock_close(held[i]);
}

/* A child that removes groups may be stuck for ever. There are never more than a few of them for a user. */
static void test_stuck_children_do_not_pile_up(void **state)
{
    struct hm_error error = {0};
    (void)state;
    make_group();
    assert_int_equal(hm_mongroup_remove(&config, 7, 1001, &job.mongroup, &error), 0); /* makes the folder */
    take_places("uid.1001");
    make_group();
    assert_int_equal(hm_mongroup_remove(&config, 7, 1001, &job.mongroup, &error), -1);
    assert_int_equal(errno, EBUSY);
    assert_string_equal(error.text, "cannot remove resctrl groups: 2 processes try to remove other groups of uid 1001");
    assert_true(n_pauses > 100 && is_there(GROUP));
    hm_flock_close(held[PLACES - 1]);
    n_pauses = 0;
    assert_int_equal(hm_mongroup_remove(&config, 7, 1001, &job.mongroup, &error), 0);
    assert_false(is_there(GROUP));
    assert_int_equal(n_pauses, 0);
    take_place("uid.1001", PLACES - 1); /* it was given back */
    give_places();
}

/* Where all places of an owner are taken, only removals for that owner wait. An owner is a user, or "no.job", which all
 * groups without a job have. */
static void test_stuck_children_of_one_hold_up_no_other(void **state)
{
    struct hm_error error = {0};
    (void)state;
    make_group();
    assert_int_equal(hm_mongroup_remove(&config, 7, 1001, &job.mongroup, &error), 0);
    take_places("uid.1001");
    make_group();
    assert_int_equal(hm_mongroup_remove(&config, 7, 1002, &job.mongroup, &error), 0);
    assert_true(n_pauses == 0 && !is_there(GROUP));
    mongroup_folder("resctrl/mon_groups/hybridmem.9.0");
    hm_mongroup_reap(&config);
    assert_true(n_pauses == 0 && !is_there("resctrl/mon_groups/hybridmem.9.0"));
    give_places();

    take_places("no.job");
    mongroup_folder("resctrl/mon_groups/hybridmem.9.0");
    hm_mongroup_reap(&config);
    assert_true(n_pauses > 0 && n_pauses < 50 && is_there("resctrl/mon_groups/hybridmem.9.0"));
    make_group();
    assert_int_equal(hm_mongroup_remove(&config, 7, 1001, &job.mongroup, &error), 0);
    assert_true(n_pauses == 0 && !is_there(GROUP));
    give_places();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_group_that_is_left_is_not_taken_over, mongroup_set_up),
        cmocka_unit_test_setup(test_reap, mongroup_set_up),
        cmocka_unit_test_setup(test_a_removal_that_hangs_is_given_up, mongroup_set_up),
        cmocka_unit_test_setup(test_stuck_children_do_not_pile_up, mongroup_set_up),
        cmocka_unit_test_setup(test_stuck_children_of_one_hold_up_no_other, mongroup_set_up),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
