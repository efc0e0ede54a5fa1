/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that a new small file is whole or not there. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define TEXT "twelve bytes"
#define NAME "file"

static int folder = -1;

static int set_up(void **state)
{
    assert_int_equal(scratch_make(state), 0);
    folder = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(folder >= 0);
    /* A write beyond RLIMIT_FSIZE then fails, or writes a part, as on a full file system. */
    signal(SIGXFSZ, SIG_IGN);
    return 0;
}

static int tear_down(void **state)
{
    close(folder);
    return scratch_drop(state);
}

/* The test before may have left the file. */
static int clear(void **state)
{
    (void)state;
    assert_true(unlinkat(folder, NAME, 0) == 0 || errno == ENOENT);
    return 0;
}

static void expect_text(const char *text)
{
    char now[32];
    assert_int_equal(hm_file_read(scratch_path(NAME), now, sizeof(now), NULL), 0);
    assert_string_equal(now, text);
}

static bool is_there(void)
{
    struct stat status;
    return fstatat(folder, NAME, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The caller gets the new file's descriptor, for fsync(2). Programs that it starts do not inherit the descriptor. */
static void test_a_file_for_its_owner_alone(void **state)
{
    static const mode_t masks[] = {0, 022, 077};
    struct stat status, named;
    for (size_t i = 0; i < N_ROWS(masks); i++) {
        clear(state);
        mode_t before = umask(masks[i]);
        int fd = hm_file_make(folder, NAME, TEXT, strlen(TEXT));
        umask(before);
        assert_true(fd >= 0);
        assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        assert_int_equal(fstat(fd, &status), 0);
        assert_int_equal(fstatat(folder, NAME, &named, AT_SYMLINK_NOFOLLOW), 0);
        assert_int_equal(status.st_ino, named.st_ino);
        assert_int_equal(status.st_mode & 07777, 0600);
        assert_int_equal(status.st_size, strlen(TEXT));
        expect_text(TEXT);
        close(fd);
    }
}

static void test_an_absolute_path(void **state)
{
    (void)state;
    int fd = hm_file_make(AT_FDCWD, scratch_path(NAME), TEXT, strlen(TEXT));
    assert_true(fd >= 0);
    expect_text(TEXT);
    close(fd);
}

static void test_what_is_there_stays(void **state)
{
    (void)state;
    scratch_write(scratch_path(NAME), "before");
    assert_int_equal(hm_file_make(folder, NAME, TEXT, strlen(TEXT)), -1);
    assert_int_equal(errno, EEXIST);
    expect_text("before");
}

/* Root makes files in folders where others may have put a link. */
static void test_no_link_is_followed(void **state)
{
    (void)state;
    assert_int_equal(symlinkat("behind", folder, NAME), 0);
    assert_int_equal(hm_file_make(folder, NAME, TEXT, strlen(TEXT)), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(access(scratch_path("behind"), F_OK), -1);
    assert_true(is_there());
}

static void test_no_such_folder(void **state)
{
    (void)state;
    assert_int_equal(hm_file_make(folder, "none/" NAME, TEXT, strlen(TEXT)), -1);
    assert_int_equal(errno, ENOENT);
}

static int make_with_room_for(rlim_t bytes)
{
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){.rlim_cur = bytes, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int fd = hm_file_make(folder, NAME, TEXT, strlen(TEXT));
    int number = errno;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    errno = number;
    return fd;
}

static void test_nothing_is_left_where_room_ends(void **state)
{
    (void)state;
    assert_int_equal(make_with_room_for(0), -1);
    assert_int_equal(errno, EFBIG); /* from the write itself */
    assert_false(is_there());
    assert_int_equal(make_with_room_for(strlen(TEXT) - 1), -1);
    assert_int_equal(errno, ENOSPC); /* a part was written */
    assert_false(is_there());
    int fd = make_with_room_for(strlen(TEXT));
    assert_true(fd >= 0);
    expect_text(TEXT);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_file_for_its_owner_alone, clear),
        cmocka_unit_test_setup(test_an_absolute_path, clear),
        cmocka_unit_test_setup(test_what_is_there_stays, clear),
        cmocka_unit_test_setup(test_no_link_is_followed, clear),
        cmocka_unit_test_setup(test_no_such_folder, clear),
        cmocka_unit_test_setup(test_nothing_is_left_where_room_ends, clear),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
