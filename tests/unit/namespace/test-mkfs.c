/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which program makes a file system, with which arguments, and what is done with its errors. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/spawn.h"
#include "namespace/mount/mkfs.h"
#include "unit/lib/pageshift.h"

static struct hm_error error;
static const char *installed; /* the only installed program */
static const char *says;      /* what it writes to standard error */
static int status;            /* its wait(2) status; -1: it did not end in time */
static char words[256];

int __wrap_access(const char *path, int mode);

int __wrap_access(const char *path, int mode)
{
    assert_int_equal(mode, X_OK);
    return strcmp(path, installed) == 0 ? 0 : -1;
}

pid_t hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *why)
{
    (void)why;
    words[0] = '\0';
    for (int i = 0; spawn->arguments[i]; i++)
        snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s%s", i ? " " : "", spawn->arguments[i]);
    assert_string_equal(spawn->path, installed);
    assert_true(spawn->dies_with_parent);
    assert_int_equal(spawn->extra, -1);
    assert_int_equal(write(spawn->errors, says, strlen(says)), strlen(says));
    return 77;
}

int hm_spawn_wait_for(pid_t pid, int patience_ms)
{
    assert_int_equal(pid, 77);
    assert_int_equal(patience_ms, 60000);
    errno = ETIMEDOUT;
    return status;
}

static void program(const char *path, const char *writes, int ends)
{
    installed = path;
    says = writes;
    status = ends;
}

static void test_each_is_made_for_dax(void **state)
{
    (void)state;
    program("/usr/sbin/mkfs.ext4", "", 0);
    assert_string_equal(hm_mkfs_name(hm_mkfs_at(0)), "ext4"); /* the default */
    assert_int_equal(hm_mkfs_run(hm_mkfs_at(0), "/dev/pmem0", 4096, false, &error), 0);
    assert_string_equal(words, "mkfs.ext4 -q -F -m 0 -E nodiscard -O ^has_journal -b 4096 /dev/pmem0 4k");
    assert_int_equal(hm_mkfs_run(hm_mkfs_at(0), "/dev/pmem0", 130023424, true, &error), 0);
    assert_string_equal(words, "mkfs.ext4 -q -F -m 0 -E nodiscard -b 4096 /dev/pmem0 126976k");
    program("/sbin/mkfs.xfs", "", 0);
    assert_int_equal(hm_mkfs_run(hm_mkfs_find("xfs"), "/dev/pmem1.2", UINT64_C(1) << 30, false, &error), 0);
    assert_string_equal(words, "mkfs.xfs -q -f -K -m reflink=0 -b size=4096 -d size=1048576k /dev/pmem1.2");
    assert_int_equal(hm_mkfs_run(hm_mkfs_find("xfs"), "/dev/pmem1.2", UINT64_C(1) << 40, true, &error), 0);
    assert_string_equal(words, "mkfs.xfs -q -f -K -m reflink=0 -b size=4096 -d size=1073741824k /dev/pmem1.2");
    page_shift = SHIFT_64K;
    assert_int_equal(hm_mkfs_run(hm_mkfs_find("xfs"), "/dev/pmem1.2", UINT64_C(1) << 40, true, &error), 0);
    assert_string_equal(words, "mkfs.xfs -q -f -K -m reflink=0 -b size=65536 -d size=1073741824k /dev/pmem1.2");
    page_shift = SHIFT_4K;
    assert_null(hm_mkfs_find("btrfs"));
    assert_null(hm_mkfs_find(""));
    assert_null(hm_mkfs_at(2));
}

static void test_a_missing_program_names_its_package(void **state)
{
    (void)state;
    program("/usr/sbin/mkfs.ext4", "", 0);
    assert_int_equal(hm_mkfs_run(hm_mkfs_find("xfs"), "/dev/pmem0", 4096, false, &error), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(error.text, "/usr/sbin/mkfs.xfs is missing: install xfsprogs");
}

static void test_a_failure_says_what_the_program_said(void **state)
{
    (void)state;
    program("/usr/sbin/mkfs.ext4", "no room\nmore\n", 3 << 8);
    assert_int_equal(hm_mkfs_run(hm_mkfs_at(0), "/dev/pmem0", 4096, false, &error), -1);
    assert_string_equal(error.text, "/usr/sbin/mkfs.ext4 failed on /dev/pmem0 (exit status 3): no room");
    program("/usr/sbin/mkfs.ext4", "", SIGKILL);
    assert_int_equal(hm_mkfs_run(hm_mkfs_at(0), "/dev/pmem0", 4096, false, &error), -1);
    assert_string_equal(error.text, "/usr/sbin/mkfs.ext4 failed on /dev/pmem0 (signal 9): ");
    program("/usr/sbin/mkfs.ext4", "", -1);
    assert_int_equal(hm_mkfs_run(hm_mkfs_at(0), "/dev/pmem0", 4096, false, &error), -1);
    assert_string_equal(error.text, "/usr/sbin/mkfs.ext4 was killed, as it had not made /dev/pmem0 ready in 60 s");
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
