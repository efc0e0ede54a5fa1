/* SPDX-License-Identifier: Apache-2.0 */
/* Whose cgroup is it? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "slurm/stepcgroup.h"
#include "unit/lib/rows.h"

static void test_cgroups_of_a_job_and_a_step(void **state)
{
    (void)state;
    static const struct {
        const char *path, *job, *step; /* NULL: the path has no step */
    } rows[] = {
        {"/sys/fs/cgroup", NULL, NULL},
        {"/step_0", NULL, NULL},
        {"/step_1/job_1/step_extern", "/step_1/job_1", "/step_1/job_1/step_extern"},
        {"", NULL, NULL},
        {"/sys/fs/cgroup/slurmstepd.scope/job_5/step_0/slurm", "/sys/fs/cgroup/slurmstepd.scope/job_5",
         "/sys/fs/cgroup/slurmstepd.scope/job_5/step_0"},
        {"/c/n1_slurmstepd.scope/job_5/step_batch/user/task_0", "/c/n1_slurmstepd.scope/job_5",
         "/c/n1_slurmstepd.scope/job_5/step_batch"},
        {"/c/step_up.scope/s4GJ0/step_extern", "/c/step_up.scope/s4GJ0", "/c/step_up.scope/s4GJ0/step_extern"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char job[256], step[256];
        snprintf(job, sizeof(job), "%s", rows[i].path);
        snprintf(step, sizeof(step), "%s", rows[i].path);
        assert_int_equal(hm_cgroup_cut_to_job(job), rows[i].job ? 0 : -1);
        assert_int_equal(hm_cgroup_cut_to_step(step), rows[i].step ? 0 : -1);
        assert_string_equal(job, rows[i].job ? rows[i].job : rows[i].path);
        assert_string_equal(step, rows[i].step ? rows[i].step : rows[i].path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cgroups_of_a_job_and_a_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
