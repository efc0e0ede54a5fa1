/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the checks of a path that root trusts: what they refuse, and what they accept. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/path.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static int base = -1;

static void make_file(const char *name, mode_t mode)
{
    int fd = openat(base, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void make_folder(const char *name, mode_t mode)
{
    assert_int_equal(mkdirat(base, name, 0700), 0);
    assert_int_equal(fchmodat(base, name, mode, 0), 0);
}

static int set_up(void **state)
{
    assert_int_equal(scratch_make(state), 0);
    base = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(base >= 0);
    make_folder("good", 0755);
    make_folder("group", 0775);
    make_folder("others", 0757);
    make_folder("sticky", 01777);
    make_file("good/file", 0644);
    make_file("good/private", 0600);
    make_file("good/group", 0664);
    make_file("good/others", 0646);
    make_file("group/file", 0644);
    make_file("others/file", 0644);
    make_file("sticky/file", 0644);
    make_file("file", 0644);
    assert_int_equal(mkfifoat(base, "good/fifo", 0600), 0);
    assert_int_equal(symlinkat("file", base, "good/link"), 0);
    assert_int_equal(symlinkat("good", base, "folder"), 0);
    return 0;
}

static int tear_down(void **state)
{
    close(base);
    return scratch_drop(state);
}

static void test_what_is_refused(void **state)
{
    static char long_name[NAME_MAX + 2];
    const struct {
        const char *path;
        int number;
        const char *said;
    } rows[] = {
        {"none", ENOENT, "none: No such file or directory"},
        {"good/none", ENOENT, "good/none: No such file or directory"},
        {"none/file", ENOENT, "none: No such file or directory"},
        {"", EPERM, "end it with a file's name"},
        {"/", EPERM, "end it with a file's name"},
        {"good/", EPERM, "end it with a file's name"},
        {"good/file/", ENOTDIR, "good/file is not a folder"},
        {"good/../file", EPERM, "without . and .."},
        {"./file", EPERM, "without . and .."},
        {"good", EPERM, "good is not a regular file"},
        {"good/fifo", EPERM, "good/fifo is not a regular file"},
        {"good/link", EPERM, "good/link is a symbolic link"},
        {"folder/file", EPERM, "folder is a symbolic link"},
        {"good/group", EPERM, "good/group has mode 0664"},
        {"good/others", EPERM, "good/others has mode 0646"},
        {"group/file", EPERM, "group has mode 0775"},
        {"others/file", EPERM, "others has mode 0757"},
        {"file/file", ENOTDIR, "file is not a folder"},
        {long_name, ENAMETOOLONG, "a name in the path has more than 255 bytes"},
    };
    (void)state;
    memset(long_name, 'a', sizeof(long_name) - 1);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {""};
        errno = 0;
        assert_int_equal(hm_path_open_below(base, rows[i].path, geteuid(), &error), -1);
        assert_int_equal(errno, rows[i].number);
        assert_non_null(strstr(error.text, rows[i].said));
    }
}

static void test_what_passes(void **state)
{
    static const char *const paths[] = {"file", "good/file", "/good/file", "good//file", "good/private", "sticky/file"};
    (void)state;
    for (size_t i = 0; i < N_ROWS(paths); i++) {
        char byte;
        int fd = hm_path_open_below(base, paths[i], geteuid(), NULL);
        assert_true(fd >= 0);
        assert_int_equal(read(fd, &byte, 1), 1);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        close(fd);
    }
}

/* A file or folder must belong to root or to the given owner. */
static void test_owner(void **state)
{
    struct hm_error error = {""};
    (void)state;
    if (geteuid() == 0) {
        assert_int_equal(fchownat(base, "good/file", 12345, (gid_t)-1, 0), 0);
        assert_int_equal(hm_path_open_below(base, "good/file", 0, &error), -1);
        assert_non_null(strstr(error.text, "good/file belongs to user 12345: it must belong to root"));
        int fd = hm_path_open_below(base, "good/file", 12345, NULL);
        assert_true(fd >= 0);
        close(fd);
        assert_int_equal(fchownat(base, "good", 12345, (gid_t)-1, 0), 0);
        assert_int_equal(hm_path_open_below(base, "good/private", 0, &error), -1);
        assert_non_null(strstr(error.text, "good belongs to user 12345"));
        assert_int_equal(fchownat(base, "good", 0, (gid_t)-1, 0), 0);
        assert_int_equal(fchownat(base, "good/file", 0, (gid_t)-1, 0), 0);
    } else {
        assert_int_equal(hm_path_open_below(base, "good/file", geteuid() + 1, &error), -1);
        assert_int_equal(errno, EPERM);
        assert_non_null(strstr(error.text, "good belongs to user"));
    }
}

static void test_open(void **state)
{
    struct hm_error error = {""};
    (void)state;
    int fd = hm_path_open("/etc/passwd", &error);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(hm_path_open(scratch_path("good/fifo"), &error), -1);
    assert_non_null(strstr(error.text, "is not a regular file"));
    fd = hm_path_open(scratch_path("good/others"), &error);
    /* Only for root the path is checked. Other users just open it. */
    if (geteuid() == 0) {
        assert_int_equal(fd, -1);
        assert_non_null(strstr(error.text, "others may write it"));
        assert_int_equal(hm_path_open("etc/passwd", &error), -1);
        assert_non_null(strstr(error.text, "from / on"));
    } else {
        assert_true(fd >= 0);
        close(fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_what_passes),
        cmocka_unit_test(test_owner),
        cmocka_unit_test(test_open),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
