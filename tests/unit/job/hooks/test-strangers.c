/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the prolog's look for jobs that have no entry in the ledger. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/look.h"
#include "job/hooks/strangers.h"
#include "unit/job/freshledger.h"
#include "unit/lib/scratch.h"

static struct hm_config config;
static struct hm_job job;
static bool is_held_up; /* a user makes the look take longer than its time */

int __real_hm_look(int (*look)(const void *question, void *found), const void *question, void *found, size_t size,
                   int patience_ms);
int __wrap_hm_look(int (*look)(const void *question, void *found), const void *question, void *found, size_t size,
                   int patience_ms);

int __wrap_hm_look(int (*look)(const void *question, void *found), const void *question, void *found, size_t size,
                   int patience_ms)
{
    assert_in_range(patience_ms, 1, 10000);
    if (!is_held_up)
        return __real_hm_look(look, question, found, size, 60 * patience_ms);
    errno = ETIMEDOUT;
    return -1;
}

static bool are_there(uint32_t job_id)
{
    return hm_strangers_are_there(&config, scratch_path("cgroup"), job_id);
}

/* Job 7 has an entry, job 9 has none. */
static void a_job_is_a_stranger_without_an_entry(void **state)
{
    (void)state;
    ledger_with_job(&config, &job);
    assert_int_equal(mkdir(scratch_path("cgroup"), 0755), 0);
    assert_int_equal(mkdir(scratch_path("cgroup/job_7"), 0755), 0);
    assert_false(are_there(8));
    assert_int_equal(mkdir(scratch_path("cgroup/job_9"), 0755), 0);
    assert_true(are_there(8));
    assert_false(are_there(9));
}

/* What is not known may be: the node's counters are not taken for the job's then. */
static void a_look_without_an_end_finds_one(void **state)
{
    (void)state;
    is_held_up = true;
    assert_true(are_there(9));
    is_held_up = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_a_stranger_without_an_entry),
        cmocka_unit_test(a_look_without_an_end_finds_one),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
