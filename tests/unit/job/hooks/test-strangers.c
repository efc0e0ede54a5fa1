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

static void start_with_job_7(void)
{
    ledger_with_job(&config, &job);
    assert_int_equal(scratch_remove(scratch_path("cgroup")), 0);
    assert_int_equal(mkdir(scratch_path("cgroup"), 0755), 0);
    assert_int_equal(mkdir(scratch_path("cgroup/slurmstepd.scope"), 0755), 0);
    assert_int_equal(mkdir(scratch_path("cgroup/slurmstepd.scope/system"), 0755), 0);
}

static void put(struct hm_job *of, uint32_t id, const char *cgroup)
{
    hm_job_init(of, id);
    snprintf(of->cgroup, sizeof(of->cgroup), "%s", cgroup);
    assert_int_equal(hm_ledger_write(&config, of, NULL), 0);
}

/* Makes a job's folder with a step's, as Slurm 26.05 names them. */
static const char *make_folder(const char *name, const char *events)
{
    static char folder[256];
    snprintf(folder, sizeof(folder), "%s", scratch_path("cgroup/slurmstepd.scope/%s", name));
    assert_int_equal(mkdir(folder, 0755), 0);
    scratch_write(scratch_path("cgroup/slurmstepd.scope/%s/cgroup.events", name), events);
    assert_int_equal(mkdir(scratch_path("cgroup/slurmstepd.scope/%s/step_extern", name), 0755), 0);
    assert_int_equal(mkdir(scratch_path("cgroup/slurmstepd.scope/%s/step_0", name), 0755), 0);
    return folder;
}

/* The entry tells which folder is job 7's. */
static void a_folder_of_no_entry_is_a_strangers(void **state)
{
    (void)state;
    start_with_job_7();
    put(&job, 7, make_folder("s7", "populated 1\n"));
    assert_false(are_there(8));
    make_folder("s9", "populated 0\n");
    assert_false(are_there(8));
    make_folder("s10", "populated 1\n");
    assert_true(are_there(8));
    put(&job, 11, ""); /* has not begun its first step: the folder may be its */
    assert_false(are_there(8));
    job.end_ns = 1;
    assert_int_equal(hm_ledger_write(&config, &job, NULL), 0);
    assert_true(are_there(8));
}

/* It may be left under the number of the job that asks. */
static void an_earlier_job_of_the_number_hides_nobody(void **state)
{
    (void)state;
    start_with_job_7();
    put(&job, 7, make_folder("s7", "populated 1\n"));
    make_folder("s9", "populated 1\n");
    put(&job, 8, "");
    assert_true(are_there(8));
    assert_false(are_there(10)); /* for others the folder may be its */
    scratch_write(scratch_path("run/jobs/8"), "of another version");
    assert_true(are_there(8));
    assert_false(are_there(10));
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
        cmocka_unit_test(a_folder_of_no_entry_is_a_strangers),
        cmocka_unit_test(an_earlier_job_of_the_number_hides_nobody),
        cmocka_unit_test(a_look_without_an_end_finds_one),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
