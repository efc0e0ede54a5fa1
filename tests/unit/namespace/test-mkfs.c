/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which program makes a file system, with which arguments, and what is done with its errors. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/spawn.h"
#include "namespace/mount/mkfs.h"

static struct hm_error error;
static const char *installed; /* the only installed program */
static const char *script;    /* shell script that runs in its place */
static char words[256];

int __wrap_access(const char *path, int mode);
pid_t __real_hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *why);
pid_t __wrap_hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *why);

int __wrap_access(const char *path, int mode)
{
    assert_int_equal(mode, X_OK);
    return strcmp(path, installed) == 0 ? 0 : -1;
}

pid_t __wrap_hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *why)
{
    char shell[] = "sh", flag[] = "-c", command[128];
    char *arguments[] = {shell, flag, command, NULL};
    struct hm_spawn other = *spawn;
    words[0] = '\0';
    for (int i = 0; spawn->arguments[i]; i++)
        snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s%s", i ? " " : "", spawn->arguments[i]);
    assert_string_equal(spawn->path, installed);
    assert_true(spawn->dies_with_parent);
    assert_int_equal(spawn->extra, -1);
    snprintf(command, sizeof(command), "%s", script);
    other.path = "/bin/sh";
    other.arguments = arguments;
    return __real_hm_spawn_start(&other, why);
}

static void test_each_is_made_for_dax(void **state)
{
    (void)state;
    script = "exit 0";
    installed = "/usr/sbin/mkfs.ext4";
    assert_string_equal(hm_mkfs_name(hm_mkfs_at(0)), "ext4"); /* the default */
    assert_int_equal(hm_mkfs_run(hm_mkfs_at(0), "/dev/pmem0", 0, &error), 0);
    assert_string_equal(words, "mkfs.ext4 -q -F -b 4096 -m 0 -E nodiscard -O ^has_journal /dev/pmem0");
    assert_int_equal(hm_mkfs_run(hm_mkfs_at(0), "/dev/pmem0", 130023424, &error), 0);
    assert_string_equal(words, "mkfs.ext4 -q -F -b 4096 -m 0 -E nodiscard /dev/pmem0 126976k");
    installed = "/sbin/mkfs.xfs";
    assert_int_equal(hm_mkfs_run(hm_mkfs_find("xfs"), "/dev/pmem1.2", 0, &error), 0);
    assert_string_equal(words, "mkfs.xfs -q -f -K -b size=4096 -m reflink=0 /dev/pmem1.2");
    assert_int_equal(hm_mkfs_run(hm_mkfs_find("xfs"), "/dev/pmem1.2", UINT64_C(1) << 40, &error), 0);
    assert_string_equal(words, "mkfs.xfs -q -f -K -b size=4096 -m reflink=0 -d size=1073741824k /dev/pmem1.2");
    assert_null(hm_mkfs_find("btrfs"));
    assert_null(hm_mkfs_find(""));
    assert_null(hm_mkfs_at(2));
}

static void test_a_missing_program_names_its_package(void **state)
{
    (void)state;
    installed = "/usr/sbin/mkfs.ext4";
    assert_int_equal(hm_mkfs_run(hm_mkfs_find("xfs"), "/dev/pmem0", 0, &error), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(error.text, "/usr/sbin/mkfs.xfs is missing: install xfsprogs");
}

static void test_a_failure_says_what_the_program_said(void **state)
{
    (void)state;
    installed = "/usr/sbin/mkfs.ext4";
    script = "echo 'no room' >&2; echo more >&2; exit 3";
    assert_int_equal(hm_mkfs_run(hm_mkfs_at(0), "/dev/pmem0", 0, &error), -1);
    assert_string_equal(error.text, "/usr/sbin/mkfs.ext4 failed on /dev/pmem0 (exit status 3): no room");
    script = "kill -9 $$";
    assert_int_equal(hm_mkfs_run(hm_mkfs_at(0), "/dev/pmem0", 0, &error), -1);
    assert_string_equal(error.text, "/usr/sbin/mkfs.ext4 failed on /dev/pmem0 (signal 9): ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_is_made_for_dax),
        cmocka_unit_test(test_a_missing_program_names_its_package),
        cmocka_unit_test(test_a_failure_says_what_the_program_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
