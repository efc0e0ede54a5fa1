/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the folder in which root works below run_dir, and what is moved to it. */
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

#include "base/files.h"
#include "base/flock.h"
#include "base/rundir.h"
#include "unit/lib/scratch.h"

int __real_openat(int at, const char *path, int flags, ...);
int __wrap_openat(int at, const char *path, int flags, ...);
int __real_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags);
int __wrap_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags);

static const struct hm_rundir_old old[] = {
    {"policy", "policy"}, {"folder/wiped", "wiped"}, {"lock", "lock"}, {NULL, NULL}};

static char run[128];
static bool is_other_first; /* another process moves the files while this one does */
static int n_made;          /* calls that may make a file */
static int n_moves;

/* Is this file in run_dir/root/node? */
static bool has(const char *name)
{
    int node = hm_rundir_open_node(run, NULL, NULL);
    assert_true(node >= 0);
    bool is_there = hm_rundir_has(node, name);
    close(node);
    return is_there;
}

static void open_node(void)
{
    struct hm_error error = {""};
    int node = hm_rundir_open_node(run, old, &error);
    if (node < 0)
        fail_msg("%s", error.text);
    close(node);
}

int __wrap_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    n_moves++;
    if (is_other_first) {
        is_other_first = false;
        open_node();
    }
    return __real_renameat2(from_at, from, to_at, to, flags);
}

/* Calls with O_CREAT are counted: for them the kernel takes the folder's lock, even if the file exists. */
int __wrap_openat(int at, const char *path, int flags, ...)
{
    n_made += (flags & O_CREAT) != 0;
    return __real_openat(at, path, flags, 0600);
}

static mode_t mode_of(const char *path)
{
    struct stat status;
    return lstat(scratch_path("%s", path), &status) == 0 ? status.st_mode : 0;
}

static ino_t number_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(scratch_path("%s", path), &status), 0);
    return status.st_ino;
}

static int fresh(void **state)
{
    (void)state;
    is_other_first = false;
    n_made = n_moves = 0;
    snprintf(run, sizeof(run), "%s/run", scratch);
    return scratch_remove(run);
}

static void users_do_not_reach_the_folder(void **state)
{
    char path[sizeof(run) + HM_RUNDIR_NODE_PATH];
    (void)state;
    mode_t before = umask(0);
    open_node();
    umask(before);
    assert_int_equal(mode_of("run"), S_IFDIR | HM_FOLDER_PASS);
    assert_int_equal(mode_of("run/root"), S_IFDIR | 0700);
    assert_int_equal(mode_of("run/root/node"), S_IFDIR | 0700);
    assert_false(has("file"));
    scratch_write(hm_rundir_node_path(run, "file", path, sizeof(path)), "");
    assert_true(has("file"));
    assert_string_equal(path, scratch_path("run/root/node/file"));
    assert_string_equal(hm_rundir_node_path(run, NULL, path, sizeof(path)), scratch_path("run/root/node"));
}

/* Makes what an earlier version kept in run_dir. Returns the inode number of the lock's file. */
static ino_t make_old(void)
{
    assert_int_equal(mkdir(run, 0711), 0);
    assert_int_equal(mkdir(scratch_path("run/folder"), 0711), 0);
    assert_int_equal(mkdir(scratch_path("run/folder/wiped"), 0700), 0);
    scratch_write(scratch_path("run/folder/wiped/name"), "progress");
    scratch_write(scratch_path("run/policy"), "online");
    scratch_write(scratch_path("run/lock"), "77");
    scratch_write(scratch_path("run/topology"), "");
    return number_of("run/lock");
}

static void assert_moved(ino_t lock)
{
    assert_int_equal(number_of("run/root/node/lock"), lock);
    assert_true(has("policy") && has("wiped/name"));
    assert_false(mode_of("run/lock") || mode_of("run/policy") || mode_of("run/folder/wiped"));
    assert_true(mode_of("run/topology"));
}

/* It is moved even if another caller has made the new folder before. Here has() makes it, and moves nothing. */
static void what_a_version_before_kept_is_moved(void **state)
{
    (void)state;
    ino_t lock = make_old();
    assert_false(has("lock"));
    open_node();
    assert_moved(lock);
}

/* Looking in run_dir for a file that is missing takes a lock in the kernel that users can hold up (base/rundir.h). */
static void it_is_looked_for_once(void **state)
{
    (void)state;
    open_node();
    assert_true(has("lock"));
    assert_int_equal(n_moves, 0);
    scratch_write(scratch_path("run/policy"), "");
    open_node();
    assert_true(mode_of("run/policy"));
}

static void a_move_that_was_killed_is_completed(void **state)
{
    (void)state;
    ino_t lock = make_old();
    assert_int_equal(mkdir(scratch_path("run/root"), 0700), 0);
    assert_int_equal(mkdir(scratch_path("run/root/node"), 0700), 0);
    assert_int_equal(rename(scratch_path("run/folder/wiped"), scratch_path("run/root/node/wiped")), 0);
    open_node();
    assert_moved(lock);
}

static void two_processes_move_it_at_once(void **state)
{
    (void)state;
    ino_t lock = make_old();
    is_other_first = true;
    open_node();
    assert_false(is_other_first);
    assert_moved(lock);
}

static void the_file_of_a_lock_is_made_once(void **state)
{
    (void)state;
    int node = hm_rundir_open_node(run, NULL, NULL);
    int first = hm_flock_open(node, "lock"), second = hm_flock_open(node, "lock");
    assert_int_equal(n_made, 1);
    assert_int_equal(mode_of("run/root/node/lock"), S_IFREG | 0600);
    assert_int_equal(hm_flock_try(first), 0);
    assert_int_equal(hm_flock_try(second), -1);
    assert_int_equal(symlink("lock", scratch_path("run/root/node/link")), 0);
    assert_int_equal(hm_flock_open(node, "link"), -1);
    hm_flock_close(first);
    close(second);
    close(node);
}

static void a_lock_is_opened_and_its_folder_closed(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    int node = hm_rundir_open_node(run, NULL, NULL);
    int lock = hm_rundir_open_lock(node, run, "lock", &error);
    assert_true(lock >= 0 && fcntl(node, F_GETFD) == -1);
    close(lock);
    assert_int_equal(symlink("lock", scratch_path("run/root/node/link")), 0);
    assert_int_equal(hm_rundir_open_lock(hm_rundir_open_node(run, NULL, NULL), "/run/x", "link", &error), -1);
    assert_int_equal(errno, ELOOP);
    assert_non_null(strstr(error.text, "cannot open /run/x/root/node/link: "));
    error.text[0] = '\0';
    assert_int_equal(hm_rundir_open_lock(-1, run, "lock", &error), -1);
    assert_string_equal(error.text, ""); /* who could not open the folder has said why */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(users_do_not_reach_the_folder, fresh),
        cmocka_unit_test_setup(what_a_version_before_kept_is_moved, fresh),
        cmocka_unit_test_setup(it_is_looked_for_once, fresh),
        cmocka_unit_test_setup(a_move_that_was_killed_is_completed, fresh),
        cmocka_unit_test_setup(two_processes_move_it_at_once, fresh),
        cmocka_unit_test_setup(the_file_of_a_lock_is_made_once, fresh),
        cmocka_unit_test_setup(a_lock_is_opened_and_its_folder_closed, fresh),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
