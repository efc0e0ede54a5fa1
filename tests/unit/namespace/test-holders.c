/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which processes are named as those that have a device open. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
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

/* A user can have any number of files and mount namespaces, and prologs of others wait for the names. */
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
        cmocka_unit_test(test_looking_who_has_it_open_ends_in_time),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
