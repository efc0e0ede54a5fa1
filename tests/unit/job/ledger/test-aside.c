/* SPDX-License-Identifier: Apache-2.0 */
/* Tests when the memory of a job counts as full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "job/ledger/aside.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define JOB "slice/job_7"
#define STEP JOB "/step_0"
#define OWN STEP "/slurm"

/* Writes a figure of a cgroup; NULL: there is none. */
static void put(const char *folder, const char *name, const char *text)
{
    const char *path = scratch_path("%s/%s", folder, name);
    if (text)
        scratch_write(path, text);
    else
        remove(path);
}

static void test_a_full_job_is_found_at_each_level(void **state)
{
    static const struct {
        const char *folder, *max, *current;
        bool is_full;
    } rows[] = {
        {JOB, "max", "1000000000", false},
        {JOB, "1000000000", "1000000000", true},
        {JOB, "1000000000", "2000000000", true},
        {JOB, "1000000000", "900000000", true}, /* more than seven eighths */
        {JOB, "1000000000", "500000000", false},
        {JOB, "100000000", "50000000", true}, /* less than 64 MiB left */
        {JOB, NULL, "50000000", false},
        {JOB, "100000000", NULL, false},
        {STEP, "1000000000", "999999999", true},
        {OWN, "1000000000", "999999999", true},
        {"slice", "1000000000", "999999999", false}, /* not the job's */
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        put(rows[i].folder, "memory.max", rows[i].max);
        put(rows[i].folder, "memory.current", rows[i].current);
        if (hm_aside_is_full(scratch_path(OWN)) != rows[i].is_full)
            fail_msg("row %zu", i);
        put(rows[i].folder, "memory.max", NULL);
        put(rows[i].folder, "memory.current", NULL);
    }
    put("slice", "memory.max", "1");
    put("slice", "memory.current", "1");
    assert_false(hm_aside_is_full(scratch_path("slice")));
}

static int set_up(void **state)
{
    return scratch_make(state) || mkdir(scratch_path("slice"), 0755) || mkdir(scratch_path(JOB), 0755) ||
           mkdir(scratch_path(STEP), 0755) || mkdir(scratch_path(OWN), 0755);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_full_job_is_found_at_each_level),
    };
    return cmocka_run_group_tests(tests, set_up, scratch_drop);
}
