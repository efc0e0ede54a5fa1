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
        /* the same figures with cgroup v1, which has a number for "no limit" */
        put(rows[i].folder, "memory.limit_in_bytes",
            rows[i].max && rows[i].max[0] == 'm' ? "9223372036854771712" : rows[i].max);
        put(rows[i].folder, "memory.usage_in_bytes", rows[i].current);
        if (hm_aside_is_full(scratch_path(OWN)) != rows[i].is_full)
            fail_msg("row %zu with cgroup v1", i);
        put(rows[i].folder, "memory.limit_in_bytes", NULL);
        put(rows[i].folder, "memory.usage_in_bytes", NULL);
    }
    put("slice", "memory.max", "1");
    put("slice", "memory.current", "1");
    assert_false(hm_aside_is_full(scratch_path("slice")));
}

#define V1 "/sys/fs/cgroup/memory"
#define V2 "/sys/fs/cgroup"

static void test_where_the_memory_is_counted(void **state)
{
    static const struct {
        const char *text, *root, *folder; /* root NULL: nowhere */
    } rows[] = {
        {"0::/system.slice/job_7/step_0/slurm\n", V2, V2 "/system.slice/job_7/step_0/slurm"},
        {"12:cpu,cpuacct:/a\n9:memory:/slurm/uid_1/job_7/step_0\n1:name=systemd:/b\n", V1,
         V1 "/slurm/uid_1/job_7/step_0"},
        {"9:memory:/slurm/uid_1/job_7/step_0\n0::/system.slice\n", V1, V1 "/slurm/uid_1/job_7/step_0"},
        {"0::/system.slice\n9:cpuset,memory:/job_7\n", V1, V1 "/job_7"},
        {"9:memoryx,xmemory:/job_7\n0::/job_8", V2, V2 "/job_8"},
        {"9:cpuset:/memory\n", NULL, ""},
        {"9:cpuset:/a:memory:/b\n", NULL, ""},
        {"9\n0:\n", NULL, ""},
        {"", NULL, ""},
        {"0::/a-folder-with-a-name-that-is-too-long-to-be-in-there-with-its-root\n", NULL, ""},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char folder[64] = "";
        const char *root = hm_aside_find(rows[i].text, folder, sizeof(folder));
        if (!root != !rows[i].root)
            fail_msg("row %zu: %s", i, root ? root : "nowhere");
        if (!root)
            continue;
        assert_string_equal(root, rows[i].root);
        assert_string_equal(folder, rows[i].folder);
    }
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
        cmocka_unit_test(test_where_the_memory_is_counted),
    };
    return cmocka_run_group_tests(tests, set_up, scratch_drop);
}
