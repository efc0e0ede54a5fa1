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

/* Each limit that a job's cgroup can have, with what is counted for it. */
static const struct {
    const char *limit, *used, *none; /* none: what the kernel shows where there is no limit */
} bounds[] = {
    {"memory.max", "memory.current", "max"},
    {"memory.high", "memory.current", "max"},
    {"memory.limit_in_bytes", "memory.usage_in_bytes", "9223372036854771712"},
    {"memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes", "9223372036854771712"},
};

static void test_a_full_job_is_found_at_each_level(void **state)
{
    static const struct {
        const char *folder, *limit, *used; /* limit "": no limit */
        bool is_full;
    } rows[] = {
        {JOB, "", "1000000000", false},
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
    for (size_t i = 0; i < N_ROWS(rows) * N_ROWS(bounds); i++) {
        size_t row = i / N_ROWS(bounds), bound = i % N_ROWS(bounds);
        const char *limit = rows[row].limit && !rows[row].limit[0] ? bounds[bound].none : rows[row].limit;
        put(rows[row].folder, bounds[bound].limit, limit);
        put(rows[row].folder, bounds[bound].used, rows[row].used);
        if (hm_aside_is_full(scratch_path(OWN)) != rows[row].is_full)
            fail_msg("row %zu with %s", row, bounds[bound].limit);
        put(rows[row].folder, bounds[bound].limit, NULL);
        put(rows[row].folder, bounds[bound].used, NULL);
    }
    put("slice", "memory.max", "1");
    put("slice", "memory.current", "1");
    assert_false(hm_aside_is_full(scratch_path("slice")));
}

/* Slurm sets several limits of a cgroup. The lowest counts, whatever room the others leave. */
static void test_each_limit_counts_beside_the_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(bounds); i++) {
        for (size_t j = 0; j < N_ROWS(bounds); j++) {
            put(JOB, bounds[j].limit, j == i ? "1000000000" : "8000000000");
            put(JOB, bounds[j].used, "990000000");
        }
        if (!hm_aside_is_full(scratch_path(OWN)))
            fail_msg("%s", bounds[i].limit);
    }
    for (size_t j = 0; j < N_ROWS(bounds); j++) {
        put(JOB, bounds[j].limit, NULL);
        put(JOB, bounds[j].used, NULL);
    }
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
        cmocka_unit_test(test_each_limit_counts_beside_the_others),
        cmocka_unit_test(test_where_the_memory_is_counted),
    };
    return cmocka_run_group_tests(tests, set_up, scratch_drop);
}
