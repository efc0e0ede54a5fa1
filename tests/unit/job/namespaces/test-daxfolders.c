/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the removal of the folders at which the tasks of ended jobs saw their file systems. */
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/flock.h"
#include "job/namespaces/namespaces.h"
#include "namespacescript.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static const struct hm_namespaces_reap of_any = {.cluster = NULL};

/* A later run of the job's number may have mounts in the folders, so they are not removed. */
static void folders_of_a_later_run_stay(void **state)
{
    char path[HM_DAX_PATH];
    (void)state;
    static const struct {
        const char *entry; /* the entry under the job's number at that time */
        bool stays, is_kept;
    } numbers[] = {{"own", false, false}, {"none", false, false},  {"another", true, false},
                   {"torn", true, false}, {"another", true, true}, {"own", false, true}};
    for (size_t i = 0; i < N_ROWS(numbers); i++) {
        assert_int_equal(namespaces_set_up(state), 0);
        script("");
        assert_int_equal(hm_dax_make_folders(&config, 7, &job.namespaces, &error), 0);
        struct hm_job now = job;
        now.start_ns += strcmp(numbers[i].entry, "another") == 0;
        assert_int_equal(hm_ledger_write(&config, &now, &error), 0);
        if (strcmp(numbers[i].entry, "torn") == 0)
            assert_int_equal(truncate(scratch_path("run/jobs/7"), 10), 0);
        if (strcmp(numbers[i].entry, "none") == 0)
            assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
        job.namespaces.is_kept = numbers[i].is_kept;
        assert_int_equal(hm_namespaces_remove(&config, &job, true, &error), 0);
        assert_false(job.namespaces.is_begun);
        if (is_folder(hm_dax_job_folder(&config, 7, path)) != numbers[i].stays)
            fail_msg("row %zu: %s", i, numbers[i].entry);
    }
}

static int entries_of_fsdax(void)
{
    int n = 0;
    struct dirent *item;
    DIR *names = opendir(scratch_path("run/fsdax"));
    assert_non_null(names);
    while ((item = readdir(names)))
        n += item->d_name[0] != '.';
    closedir(names);
    return n;
}

/* Locks the folder of this ended job, as a child does that removes it. Returns its descriptor. */
static int lock_ended(int job_id)
{
    glob_t found;
    assert_int_equal(glob(scratch_path("run/fsdax/ended.%d.*", job_id), 0, NULL, &found), 0);
    int folder = open(found.gl_pathv[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    globfree(&found);
    assert_int_equal(hm_flock_try(folder), 0);
    return folder;
}

/*
 * Whoever removes a folder unmounts what a user has mounted there, and the user can make that last. So a child process
 * does it, which nobody waits for (hm_look in the fixture checks that). The job's number is free at once; the folders
 * go in a later try.
 */
static void folders_in_use_hold_up_nobody(void **state)
{
    struct hm_job_namespaces two = {.n = 2, .each = {{.socket = 0}, {.socket = 1}}};
    (void)state;
    script("");
    assert_int_equal(hm_dax_make_folders(&config, 7, &two, &error), 0);
    job.namespaces.is_kept = child_hangs = true;
    assert_int_equal(hm_namespaces_remove(&config, &job, true, &error), 0);
    assert_false(job.namespaces.is_begun || has_folder(7));
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_false(has_folder(13));
    assert_int_equal(entries_of_fsdax(), 4); /* the lock, the folder of job 12, and those of 7 and 13 under new names */
    child_hangs = false;
    /* A folder at which another child is at work, perhaps for ever, is not waited for. */
    int other = lock_ended(7);
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_int_equal(entries_of_fsdax(), 3);
    hm_flock_close(other);
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_int_equal(entries_of_fsdax(), 2);
    assert_true(has_folder(12));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_of_a_later_run_stay),
        cmocka_unit_test_setup(folders_in_use_hold_up_nobody, with_two_jobs),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
