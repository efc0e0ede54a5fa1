/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the first mount of a new file system; the kernel's part is simulated. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files.h"
#include "base/flock.h"
#include "base/look.h"
#include "namespace/mount/firstmount.h"
#include "unit/lib/scratch.h"

static bool has_dax, cannot_mount, child_hangs, is_child;
static int mounts;         /* that were made and not undone */
static char expected[256]; /* the place that they are on */

int __wrap_hm_file_is_dax(int fd);
int __wrap_unshare(int flags);
int __wrap_mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data);
int __wrap_umount2(const char *target, int flags);

/* Stands for hm_look, which calls `look` in a child process and kills that at the end of its time. */
int hm_look(int (*look)(const void *question, void *found), const void *question, void *found, size_t size,
            int patience_ms)
{
    assert_int_equal(size, sizeof(struct hm_error));
    assert_true(patience_ms > 0 && patience_ms <= 60000);
    is_child = true;
    errno = child_hangs ? ETIMEDOUT : look(question, found);
    is_child = false;
    return errno == 0 ? 0 : -1;
}

/* Each of the three calls changes the process for good, or may wait for ever: the process with the lock makes none. */
int __wrap_unshare(int flags)
{
    assert_true(is_child);
    assert_int_equal(flags, CLONE_NEWNS);
    return 0;
}

int __wrap_mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data)
{
    (void)type, (void)flags;
    assert_true(is_child);
    if (source && cannot_mount) {
        errno = EUCLEAN;
        return -1;
    }
    if (source) {
        assert_string_equal(target, expected);
        assert_string_equal(data, "dax");
        mounts++;
    }
    return 0;
}

int __wrap_umount2(const char *target, int flags)
{
    assert_true(is_child);
    assert_string_equal(target, expected);
    assert_int_equal(flags, 0);
    mounts--;
    return 0;
}

int __wrap_hm_file_is_dax(int fd)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    assert_true(S_ISREG(status.st_mode));
    assert_int_equal(status.st_nlink, 0);
    return has_dax;
}

static void test_the_root_folder_is_given_to_the_user(void **state)
{
    (void)state;
    snprintf(expected, sizeof(expected), "%s", scratch);
    struct hm_error error = {{0}};
    struct stat status;
    has_dax = true;
    assert_int_equal(chmod(scratch, 0755), 0);
    assert_int_equal(hm_first_mount("/dev/pmem0", "xfs", scratch, getuid(), &error), 0);
    assert_int_equal(stat(scratch, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(mounts, 0);
}

static void test_a_mount_without_dax_is_refused(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    has_dax = false;
    assert_int_equal(hm_first_mount("/dev/pmem0", "xfs", scratch, getuid(), &error), -1);
    assert_string_equal(error.text, "/dev/pmem0 was mounted, but without DAX");
    assert_int_equal(mounts, 0);
}

/* A trial is on a folder of its own: a user can make the mount last, and others need the locks of folders above. */
static void test_a_look_changes_nothing(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    struct stat status;
    has_dax = false;
    snprintf(expected, sizeof(expected), "%s/trials", scratch);
    assert_int_equal(chmod(scratch, 0751), 0);
    assert_int_equal(hm_look_mount("/dev/pmem0", "ext4", scratch, &error), 0);
    assert_int_equal(stat(scratch, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0751);
    assert_int_equal(mounts, 0);
    cannot_mount = true;
    assert_int_equal(hm_look_mount("/dev/pmem0", "ext4", scratch, &error), -1);
    cannot_mount = false;
    assert_string_equal(error.text, "cannot mount /dev/pmem0 (ext4) with DAX: Structure needs cleaning");
}

static void test_a_mount_that_waits_is_given_up(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    child_hangs = true;
    assert_int_equal(hm_look_mount("/dev/pmem0", "ext4", scratch, &error), -1);
    assert_int_equal(errno, EBUSY);
    assert_string_equal(error.text, "cannot mount /dev/pmem0 within 10 s: it is still being unmounted");
    assert_int_equal(hm_first_mount("/dev/pmem0", "ext4", scratch, getuid(), &error), -1);
    assert_int_equal(errno, EBUSY);
    child_hangs = false;
}

/* An earlier trial mount of the device is stuck, and holds the device's lock. */
static void test_one_trial_of_a_device_at_a_time(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    int other = open(scratch_path("trials/pmem0"), O_RDWR | O_CLOEXEC);
    assert_int_equal(hm_flock_try(other), 0);
    assert_int_equal(hm_look_mount("/dev/pmem0", "ext4", scratch, &error), -1);
    assert_int_equal(errno, EBUSY);
    assert_string_equal(error.text, "/dev/pmem0 is still being unmounted");
    assert_int_equal(hm_look_mount("/dev/pmem1", "ext4", scratch, &error), 0);
    hm_flock_close(other);
    assert_int_equal(hm_look_mount("/dev/pmem0", "ext4", scratch, &error), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_root_folder_is_given_to_the_user),
        cmocka_unit_test(test_a_mount_without_dax_is_refused),
        cmocka_unit_test(test_a_look_changes_nothing),
        cmocka_unit_test(test_a_mount_that_waits_is_given_up),
        cmocka_unit_test(test_one_trial_of_a_device_at_a_time),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
