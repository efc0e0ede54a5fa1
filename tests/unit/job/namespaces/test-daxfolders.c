/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the folders at which the tasks of jobs see their file systems: how they are made, and removed after the job. */
#include <dirent.h>
#include <endian.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/flock.h"
#include "job/namespaces/daxfolders.h"
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
        make_folders(7, 1);
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

/* Makes what an earlier child leaves that renamed a job's folder, and had no time to remove it. Returns the folder's
 * descriptor, with the lock that a child has while it removes the folder. */
static int leave_ended(void)
{
    assert_int_equal(mkdir(scratch_path("run/fsdax/ended.8.1"), 0711), 0);
    assert_int_equal(mkdir(scratch_path("run/fsdax/ended.8.1/0"), 0711), 0);
    int folder = open(scratch_path("run/fsdax/ended.8.1"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(hm_flock_try(folder), 0);
    return folder;
}

/*
 * Users can hold up whoever makes, renames or removes a folder: by the locks that the kernel has of the folders, and by
 * what they have mounted there. So a child process does it, under none of the locks that other jobs wait for, and is
 * left behind (hm_look in the fixture checks that).
 */
static void folders_in_use_hold_up_nobody(void **state)
{
    (void)state;
    script("");
    make_folders(7, 2);
    job.namespaces.is_kept = child_hangs = true;
    assert_int_equal(hm_namespaces_remove(&config, &job, true, &error), 0);
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_false(job.namespaces.is_begun);
    assert_true(has_folder(7) && has_folder(13));
    child_hangs = false;
    /* A folder at which another child is at work, perhaps for ever, is not waited for. */
    int other = leave_ended();
    assert_int_equal(hm_ledger_remove(&config, 7, &error), 0);
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_false(has_folder(7) || has_folder(13));
    assert_int_equal(entries_of_fsdax(), 2); /* the folder of job 12, and the ended one */
    hm_flock_close(other);
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_int_equal(entries_of_fsdax(), 1);
    assert_true(has_folder(12));
}

/* Another process has the lock of the folders. */
static int take_turn(void)
{
    int turn = open(scratch_path("run/root/node/fsdax.folders"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(hm_flock_try(turn), 0);
    return turn;
}

/* The kernel may hold up a child while it has the lock of the folders. Another child waits for that lock only for a
 * second, and leaves its folders to a later one. */
static void a_child_that_is_stuck_is_not_waited_for(void **state)
{
    (void)state;
    script("");
    int turn = take_turn();
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_true(has_folder(13));
    assert_int_equal(turn_ms, 1000);
    hm_flock_close(turn);
    assert_int_equal(hm_namespaces_reap(&config, &of_any, &error), 0);
    assert_false(has_folder(13));
}

/* A job without its folders is refused, and its memory is given back as after other failures. */
static void a_job_whose_folders_cannot_be_made_is_refused(void **state)
{
    (void)state;
    script(MADE);
    child_hangs = true;
    assert_int_equal(hm_namespaces_make(&config, &job, &error), -1);
    assert_string_equal(
        error.text, "cannot make the folders for the job's file systems within 10 s: a user holds up the folder fsdax");
    assert_true(job.namespaces.is_begun && job.namespaces.n == 0);
    child_hangs = false;
    int turn = take_turn();
    assert_int_equal(hm_namespaces_make(&config, &job, &error), -1);
    assert_string_equal(error.text, "another process works on the folders of fsdax");
    assert_int_equal(turn_ms, 8000);
    assert_true(job.namespaces.is_begun && job.namespaces.n == 0 && !has_folder(7));
    hm_flock_close(turn);
    assert_int_equal(hm_namespaces_make(&config, &job, &error), 0);
    assert_true(has_folder(7));
}

/* Checks the kernel's permissions of the folder, and its ACL: "TAG PERMISSIONS ID" of each entry, in hexadecimal, as in
 * linux/posix_acl.h. */
static void assert_passed_by(const char *path, mode_t mode, const char *wanted)
{
    struct {
        uint32_t version;
        struct {
            uint16_t tag, permissions;
            uint32_t id;
        } entries[8];
    } acl;
    char text[256] = "";
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, mode);
    assert_int_equal(status.st_uid, geteuid());
    ssize_t length = getxattr(path, "system.posix_acl_access", &acl, sizeof(acl));
    for (size_t i = 0, n = 0; length > 0 && i < ((size_t)length - sizeof(acl.version)) / sizeof(acl.entries[0]); i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%x %x %x, ", le16toh(acl.entries[i].tag),
                              le16toh(acl.entries[i].permissions), le32toh(acl.entries[i].id));
    assert_string_equal(text, wanted);
}

/* Whoever passes through a job's folder can make the kernel lock the folders in it, and so hold up the task that mounts
 * there. An earlier version let everybody pass, and may have left such a folder. */
static void only_the_jobs_user_passes(void **state)
{
    char path[HM_DAX_PATH];
    (void)state;
    for (int is_left = 0; is_left <= 1; is_left++) {
        assert_int_equal(namespaces_set_up(state), 0);
        make_folders(12, 1); /* makes also the folder above */
        if (is_left)
            assert_int_equal(mkdir(scratch_path("run/fsdax/7"), 0711), 0);
        job.namespaces.n = 1;
        assert_int_equal(hm_daxfolders_make(&config, &job, &error), 0);
        assert_passed_by(hm_dax_folder(&config, path), 0711, "");
        assert_passed_by(hm_dax_job_folder(&config, 7, path), 0710,
                         "1 7 ffffffff, 2 1 3e9, 4 0 ffffffff, 10 1 ffffffff, 20 0 ffffffff, ");
        assert_passed_by(hm_dax_path(&config, 7, 0, path), 0711, "");
    }
}

static void without_acls_the_job_is_refused(void **state)
{
    (void)state;
    script(MADE);
    has_no_acls = true;
    assert_int_equal(hm_namespaces_make(&config, &job, &error), -1);
    assert_string_equal(error.text,
                        "the file system of run_dir has no POSIX ACLs, and fsdax needs them: Operation not supported");
    assert_true(job.namespaces.is_begun && job.namespaces.n == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_of_a_later_run_stay),
        cmocka_unit_test_setup(folders_in_use_hold_up_nobody, with_two_jobs),
        cmocka_unit_test_setup(a_child_that_is_stuck_is_not_waited_for, with_two_jobs),
        cmocka_unit_test_setup(a_job_whose_folders_cannot_be_made_is_refused, with_two_jobs),
        cmocka_unit_test(only_the_jobs_user_passes),
        cmocka_unit_test_setup(without_acls_the_job_is_refused, with_two_jobs),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
