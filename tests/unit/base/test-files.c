/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the readers of small files: what they cut or refuse, and which files count as this program's own. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define MOST 4

static void test_a_short_buffer_gets_the_start(void **state)
{
    (void)state;
    char text[MOST];
    int folder = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    scratch_write(scratch_path("five"), "a\nbcd");
    assert_int_equal(hm_file_read_at(folder, "five", text, sizeof(text)), 3);
    assert_string_equal(text, "a\nb");
    assert_int_equal(hm_file_read_at(folder, "none", text, sizeof(text)), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(text, "");
    int fd = open(scratch_path("five"), O_RDONLY | O_CLOEXEC);
    assert_int_equal(lseek(fd, 2, SEEK_SET), 2);
    assert_int_equal(hm_file_read_open(fd, text, sizeof(text)), 3);
    assert_string_equal(text, "a\nb");
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 2);
    close(fd);
    assert_int_equal(hm_file_read_open(folder, text, sizeof(text)), -1);
    assert_string_equal(text, "");
    close(folder);
}

static void test_a_whole_file_has_a_bound(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "abc", "abcd"};
    size_t length;
    for (size_t i = 0; i < N_ROWS(texts); i++) {
        scratch_write(scratch_path("file"), texts[i]);
        int fd = open(scratch_path("file"), O_RDONLY | O_CLOEXEC);
        char *text = hm_file_read_whole(fd, MOST, &length);
        assert_non_null(text);
        assert_int_equal(length, strlen(texts[i]));
        assert_string_equal(text, texts[i]);
        free(text);
        close(fd);
    }
    scratch_write(scratch_path("file"), "abcde");
    int fd = open(scratch_path("file"), O_RDONLY | O_CLOEXEC), folder = open(scratch, O_RDONLY | O_CLOEXEC);
    assert_null(hm_file_read_whole(fd, MOST, &length));
    assert_int_equal(errno, E2BIG);
    assert_null(hm_file_read_whole(folder, SIZE_MAX, &length));
    assert_int_equal(errno, EINVAL);
    close(fd);
    close(folder);
}

static int open_own(const char *name)
{
    errno = 0;
    int fd = hm_file_open_own(AT_FDCWD, scratch_path("%s", name));
    if (fd >= 0)
        close(fd);
    return fd >= 0 ? 0 : errno;
}

static void test_an_own_file_is_regular_and_for_its_owner_alone(void **state)
{
    (void)state;
    static const struct {
        mode_t mode;
        int number;
    } rows[] = {{0600, 0}, {0400, 0}, {0640, EPERM}, {0604, EPERM}, {0620, EPERM}};
    scratch_write(scratch_path("own"), "");
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(chmod(scratch_path("own"), rows[i].mode), 0);
        assert_int_equal(open_own("own"), rows[i].number);
    }
    assert_int_equal(chmod(scratch_path("own"), 0600), 0);
    assert_int_equal(symlink("own", scratch_path("link")), 0);
    assert_int_equal(open_own("link"), ELOOP);
    assert_int_equal(mkdir(scratch_path("folder"), 0700), 0);
    assert_int_equal(open_own("folder"), EPERM);
    assert_int_equal(mkfifo(scratch_path("pipe"), 0600), 0);
    assert_int_equal(open_own("pipe"), EPERM);
    assert_int_equal(open_own("none"), ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_short_buffer_gets_the_start),
        cmocka_unit_test(test_a_whole_file_has_a_bound),
        cmocka_unit_test(test_an_own_file_is_regular_and_for_its_owner_alone),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
