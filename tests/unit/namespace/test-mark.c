/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the mark at the end of a device (here a file) whose file system is kept. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "namespace/pmem/mark.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define PAGES 32
/* The mark of `owner`, without the name of the file system. */
#define OURS "hybridmem:testbed:u1001.29912345.1 "

static const struct hm_owner owner = {
    .cluster = "testbed", .kind = HM_OWNER_USER, .uid = 1001, .minute = 29912345, .socket = 1};
static struct hm_error error;
static char filesystem[HM_MARK_FS];

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

/* Check that the page cache is bypassed, and that writing needs exclusive access. The flag O_DIRECT is dropped, as not
 * every file system of a test machine knows it, and O_EXCL, as without O_CREAT it is defined for block devices only. */
int __wrap_open(const char *path, int flags, ...)
{
    if (!strstr(path, "device"))
        return __real_open(path, flags);
    assert_int_equal(flags & (O_CLOEXEC | O_NOFOLLOW | O_DIRECT), O_CLOEXEC | O_NOFOLLOW | O_DIRECT);
    assert_int_equal(flags & O_EXCL, flags & O_RDWR ? O_EXCL : 0);
    return __real_open(path, flags & ~(O_DIRECT | O_EXCL));
}

static char *device(void)
{
    static const char data[HM_MARK_PAGE] = {'x'};
    char *path = scratch_path("device");
    int fd = creat(path, 0600);
    for (int i = 0; i < PAGES; i++)
        assert_int_equal(write(fd, data, sizeof(data)), sizeof(data));
    close(fd);
    return path;
}

/* Returns the number of unchanged pages before the mark. */
static int count_unchanged(const char *path)
{
    char page[HM_MARK_PAGE];
    int n = 0, fd = __real_open(path, O_RDONLY);
    for (int i = 0; i < PAGES - 1; i++)
        n += pread(fd, page, sizeof(page), (off_t)i * HM_MARK_PAGE) == sizeof(page) && page[0] == 'x';
    close(fd);
    return n;
}

static void test_the_mark_is_at_the_end_and_nowhere_else(void **state)
{
    (void)state;
    const char *path = device();
    assert_int_equal(hm_mark_read(path, &owner, filesystem, &error), 0);
    assert_int_equal(hm_mark_write(path, &owner, "xfs", &error), 0);
    assert_int_equal(hm_mark_read(path, &owner, filesystem, &error), 1);
    assert_string_equal(filesystem, "xfs");
    assert_int_equal(count_unchanged(path), PAGES - 1);
    assert_int_equal(hm_mark_clear(path, &error), 0);
    assert_int_equal(hm_mark_read(path, &owner, filesystem, &error), 0);
    assert_int_equal(count_unchanged(path), PAGES - 1);
}

static void test_what_cannot_be_read_is_not_taken_for_none(void **state)
{
    (void)state;
    assert_int_equal(hm_mark_read(scratch_path("no-device"), &owner, filesystem, &error), -1);
    assert_int_equal(errno, ENOENT);
    const char *path = scratch_path("short-device");
    int fd = creat(path, 0600);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    assert_int_equal(hm_mark_read(path, &owner, filesystem, &error), -1);
    assert_non_null(strstr(error.text, "cannot read the mark at the end of"));
    assert_int_equal(hm_mark_write(scratch_path("no-device"), &owner, "xfs", &error), -1);
    assert_int_equal(hm_mark_clear(scratch_path("no-device"), &error), -1);
}

static void test_only_the_owners_mark_counts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *filesystem; /* NULL: it is no mark */
    } rows[] = {
        {OURS "ext4\n", "ext4"},
        {OURS "xfs\n", "xfs"},
        {OURS "btrfs\n", NULL},
        {OURS "1234567\n", NULL},
        {OURS "12345678\n", NULL},
        {OURS "\n", NULL},
        {OURS "ext4", NULL},
        {OURS "ext4\n\n", NULL},
        {OURS "ext4\nx", NULL},
        {OURS " ext4\n", NULL},
        {"", NULL},
        {" ext4\n", NULL},
        {"hybridmem:testbed:u1001.29912345.1\n", NULL},
        {"hybridmem:testbed:u1001.29912345.0 ext4\n", NULL},
        {"hybridmem:testbed:u1001.29912346.1 ext4\n", NULL},
        {"hybridmem:testbed:u1002.29912345.1 ext4\n", NULL},
        {"hybridmem:other:u1001.29912345.1 ext4\n", NULL},
        {"hybridmem:testbed:1001.29912345.1 ext4\n", NULL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char page[HM_MARK_PAGE] = "";
        snprintf(page, sizeof(page), "%s", rows[i].text);
        if (hm_mark_parse(page, &owner, filesystem) != (rows[i].filesystem != NULL))
            fail_msg("\"%s\" is judged wrongly", rows[i].text);
        if (rows[i].filesystem)
            assert_string_equal(filesystem, rows[i].filesystem);
        page[HM_MARK_PAGE - 1] = 1; /* a mark has zeros after its text */
        assert_false(hm_mark_parse(page, &owner, filesystem));
    }
    char full[HM_MARK_PAGE];
    memset(full, 'x', sizeof(full));
    assert_false(hm_mark_parse(full, &owner, filesystem));
    memset(full, ' ', sizeof(full));
    assert_false(hm_mark_parse(full, &owner, filesystem));
}

static void test_the_file_system_ends_before_the_mark(void **state)
{
    (void)state;
    assert_int_equal(hm_mark_room(UINT64_C(1) << 30), (UINT64_C(1) << 30) - (1 << 20));
    assert_int_equal(hm_mark_room(1 << 20), 0);
    assert_int_equal(hm_mark_room(0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_mark_is_at_the_end_and_nowhere_else),
        cmocka_unit_test(test_what_cannot_be_read_is_not_taken_for_none),
        cmocka_unit_test(test_only_the_owners_mark_counts),
        cmocka_unit_test(test_the_file_system_ends_before_the_mark),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
