/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which processes are named as those that have a device open. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/files.h"
#include "namespace/mount/holders.h"
#include "unit/lib/scratch.h"

#define LATE (hm_clock_s(CLOCK_MONOTONIC) + 100)

static void test_mount_namespaces_are_seen_once(void **state)
{
    (void)state;
    char own[16];
    struct hm_mountspaces seen = {.n = 0};
    snprintf(own, sizeof(own), "%d", (int)getpid());
    assert_true(hm_mountspaces_add(&seen, own));
    assert_false(hm_mountspaces_add(&seen, "self"));
    assert_false(hm_mountspaces_add(&seen, "0"));
    assert_int_equal(seen.n, 1);
}

static void test_who_has_it_open_is_named(void **state)
{
    (void)state;
    char text[512] = "x", expected[32];
    char *path = scratch_path("held");
    scratch_write(path, "");
    assert_int_equal(hm_holders_find("/nonexistent", LATE, text, sizeof(text)), 0);
    assert_int_equal(hm_holders_find(path, LATE, text, sizeof(text)), 0);
    assert_string_equal(text, "");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(expected, sizeof(expected), "%d (", (int)getpid());
    assert_int_equal(hm_holders_find(path, LATE, text, sizeof(text)), 1);
    assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
    close(fd);
}

/* hm_detach adds a process for each mount namespace in which it has detached a device: there may be many. */
static void test_one_sign_stands_for_all_that_are_not_named(void **state)
{
    (void)state;
    char text[512] = "", expected[512] = "", own[16], name[32] = "";
    snprintf(own, sizeof(own), "%d", (int)getpid());
    assert_int_equal(hm_file_read("/proc/self/comm", name, sizeof(name), NULL), 0);
    for (int n = 0; n < 7; n++)
        hm_holders_add(text, sizeof(text), own, n);
    for (int n = 0; n < 4; n++)
        snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%s (%s), ", own, name);
    assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
    assert_string_equal(text + strlen(expected), "...");
}

/* If only root may open a file, users' processes are not looked at, as looking at them could take any time. */
static void test_users_do_not_hold_what_is_roots(void **state)
{
    (void)state;
    char text[512];
    int ready[2], is_root = geteuid() == 0;
    char *path = scratch_path("roots");
    scratch_write(path, "");
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int fd = open(path, O_RDONLY);
        bool is_user = fd >= 0 && (!is_root || setuid(12345) == 0);
        _exit(write(ready[1], is_user ? "y" : "n", 1) == 1 ? pause() : 1);
    }
    assert_int_equal(read(ready[0], text, 1), 1);
    assert_int_equal(text[0], 'y');
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(hm_holders_find(path, LATE, text, sizeof(text)), 1);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(hm_holders_find(path, LATE, text, sizeof(text)), !is_root);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ready[0]);
    close(ready[1]);
}

/* A user can have any number of open files and mount namespaces, and other jobs' prologs wait until the processes that
 * hold the device are named. */
static void test_looking_who_has_it_open_ends_in_time(void **state)
{
    (void)state;
    char text[512];
    char *path = scratch_path("held");
    scratch_write(path, "");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(hm_holders_find(path, hm_clock_s(CLOCK_MONOTONIC), text, sizeof(text)), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_string_equal(text, "");
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mount_namespaces_are_seen_once),
        cmocka_unit_test(test_who_has_it_open_is_named),
        cmocka_unit_test(test_one_sign_stands_for_all_that_are_not_named),
        cmocka_unit_test(test_users_do_not_hold_what_is_roots),
        cmocka_unit_test(test_looking_who_has_it_open_ends_in_time),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
