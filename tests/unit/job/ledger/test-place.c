/* SPDX-License-Identifier: Apache-2.0 */
/* Tests where the ledger's folder is: in a new run_dir, and in one that an earlier version has made. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "job/ledger/ledger.h"
#include "job/ledger/place.h"
#include "unit/job/freshledger.h"
#include "unit/lib/scratch.h"

int __real_openat(int at, const char *path, int flags, ...);
int __wrap_openat(int at, const char *path, int flags, ...);
int __real_mkdirat(int at, const char *path, mode_t mode);
int __wrap_mkdirat(int at, const char *path, mode_t mode);
int __real_symlinkat(const char *to, int at, const char *path);
int __wrap_symlinkat(const char *to, int at, const char *path);
int __real_unlinkat(int at, const char *path, int flags);
int __wrap_unlinkat(int at, const char *path, int flags);
int __real_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags);
int __wrap_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags);

static struct hm_config config;
static struct hm_error error;
static struct hm_job job;
static int n_changes;      /* calls that make, rename or remove something */
static bool is_moved_next; /* another process moves the folder just before it is opened the next time */

static void move(void)
{
    struct hm_place_move folders;
    if (hm_place_move_begin(&config, &folders, &error) != 0 || hm_place_move(&folders, &error) != 0)
        fail_msg("%s", error.text);
    hm_place_move_end(&folders);
}

int __wrap_openat(int at, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (is_moved_next && strcmp(path, "jobs") == 0) {
        is_moved_next = false;
        move();
    }
    return __real_openat(at, path, flags, mode);
}

int __wrap_mkdirat(int at, const char *path, mode_t mode)
{
    n_changes++;
    return __real_mkdirat(at, path, mode);
}

int __wrap_symlinkat(const char *to, int at, const char *path)
{
    n_changes++;
    return __real_symlinkat(to, at, path);
}

int __wrap_unlinkat(int at, const char *path, int flags)
{
    n_changes++;
    return __real_unlinkat(at, path, flags);
}

int __wrap_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    n_changes++;
    return __real_renameat2(from_at, from, to_at, to, flags);
}

static struct stat status_of(const char *path)
{
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    return status;
}

static ino_t lock_file(void)
{
    return status_of(scratch_path("run/jobs/lock")).st_ino;
}

/* Locks and unlocks the ledger. */
static void lock(void)
{
    int held = hm_ledger_lock(&config, &error);
    if (held < 0)
        fail_msg("%s", error.text);
    hm_ledger_unlock(held);
}

static void assert_in_place(void)
{
    char text[16] = "";
    assert_int_equal(readlink(scratch_path("run/jobs"), text, sizeof(text) - 1), strlen("root/jobs"));
    assert_string_equal(text, "root/jobs");
    assert_int_equal(status_of(scratch_path("run/root")).st_mode, S_IFDIR | 0700);
    assert_int_equal(status_of(scratch_path("run/root/jobs")).st_mode, S_IFDIR | 0700);
    assert_false(hm_place_is_old(&config));
}

/* The folders of an earlier version, with the entry of job 7. */
static int old(void **state)
{
    (void)state;
    ledger_empty(&config);
    assert_int_equal(mkdir(scratch_path("run"), 0711), 0);
    assert_int_equal(mkdir(scratch_path("run/jobs"), 0700), 0);
    lock();
    hm_job_init(&job, 7);
    assert_int_equal(hm_ledger_write(&config, &job, &error), 0);
    assert_int_equal(status_of(scratch_path("run/jobs/7")).st_mode, S_IFREG | 0600);
    return 0;
}

static void users_do_not_reach_a_new_folder(void **state)
{
    (void)state;
    mode_t before = umask(0);
    ledger_with_job(&config, &job);
    umask(before);
    assert_in_place();
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
}

/* The link is missing where another process has not made it yet, or was killed before it could. */
static void a_link_that_is_missing_is_made(void **state)
{
    (void)state;
    ledger_with_job(&config, &job);
    assert_int_equal(unlink(scratch_path("run/jobs")), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_in_place();
}

static void a_folder_of_a_version_before_is_used_as_it_is(void **state)
{
    (void)state;
    assert_true(hm_place_is_old(&config));
    assert_int_equal(mkdir(scratch_path("run/root"), 0700), 0);
    assert_int_equal(mkdir(scratch_path("run/root/jobs"), 0700), 0); /* tmpfiles.d makes them */
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_true(hm_place_is_old(&config));
    move();
    assert_in_place();
}

static void it_is_moved_with_its_lock(void **state)
{
    (void)state;
    const ino_t file = lock_file();
    move();
    move(); /* does nothing more */
    assert_in_place();
    assert_int_equal(lock_file(), file);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    lock();
}

/* As the administrator's guide says. */
static void the_version_before_can_be_put_back(void **state)
{
    (void)state;
    move();
    assert_int_equal(unlink(scratch_path("run/jobs")), 0);
    assert_int_equal(rename(scratch_path("run/root/jobs"), scratch_path("run/jobs")), 0);
    assert_true(hm_place_is_old(&config));
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    move();
    assert_in_place();
}

/* The link that the move made is already in the new place. */
static void a_move_that_was_killed_is_completed(void **state)
{
    (void)state;
    assert_int_equal(mkdir(scratch_path("run/root"), 0700), 0);
    assert_int_equal(symlink("root/jobs", scratch_path("run/root/jobs")), 0);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    move();
    assert_in_place();
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
}

static void two_ledgers_stay_as_they_are(void **state)
{
    (void)state;
    assert_int_equal(mkdir(scratch_path("run/root"), 0700), 0);
    assert_int_equal(mkdir(scratch_path("run/root/jobs"), 0700), 0);
    scratch_write(scratch_path("run/root/jobs/9"), "");
    struct hm_place_move folders;
    char wanted[HM_ERROR_TEXT];
    assert_int_equal(hm_place_move_begin(&config, &folders, &error), -1);
    assert_int_equal(errno, ENOTEMPTY);
    snprintf(wanted, sizeof(wanted),
             "%s/jobs cannot be moved to root/jobs, which is not empty: remove %s/root/jobs when no job is on the node",
             config.run_dir, config.run_dir);
    assert_string_equal(error.text, wanted);
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
}

/* What is made for the move is made before the lock is taken: with it, one call of the kernel's moves the folder. */
static void with_the_lock_nothing_is_made(void **state)
{
    (void)state;
    struct hm_place_move folders;
    assert_int_equal(hm_place_move_begin(&config, &folders, &error), 0);
    lock(); /* the folder is still in use where it was */
    assert_true(hm_place_is_old(&config));
    n_changes = 0;
    assert_int_equal(hm_place_move(&folders, &error), 0);
    assert_int_equal(n_changes, 1);
    hm_place_move_end(&folders);
    assert_in_place();
}

/* Both have begun before one of them has the lock, or one begins when the other is done. */
static void two_processes_move_it_once(void **state)
{
    (void)state;
    const ino_t file = lock_file();
    struct hm_place_move folders;
    assert_int_equal(hm_place_move_begin(&config, &folders, &error), 0);
    move();
    assert_int_equal(hm_place_move(&folders, &error), 0);
    hm_place_move_end(&folders);
    move();
    assert_in_place();
    assert_int_equal(lock_file(), file);
}

static void it_is_found_while_it_is_moved(void **state)
{
    (void)state;
    const ino_t file = lock_file();
    is_moved_next = true;
    assert_int_equal(hm_ledger_read(&config, 7, &job, &error), 0);
    assert_false(is_moved_next);
    assert_in_place();
    assert_int_equal(lock_file(), file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_do_not_reach_a_new_folder),
        cmocka_unit_test(a_link_that_is_missing_is_made),
        cmocka_unit_test_setup(a_folder_of_a_version_before_is_used_as_it_is, old),
        cmocka_unit_test_setup(it_is_moved_with_its_lock, old),
        cmocka_unit_test_setup(the_version_before_can_be_put_back, old),
        cmocka_unit_test_setup(a_move_that_was_killed_is_completed, old),
        cmocka_unit_test_setup(two_ledgers_stay_as_they_are, old),
        cmocka_unit_test_setup(with_the_lock_nothing_is_made, old),
        cmocka_unit_test_setup(two_processes_move_it_once, old),
        cmocka_unit_test_setup(it_is_found_while_it_is_moved, old),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
