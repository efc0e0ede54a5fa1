/* SPDX-License-Identifier: Apache-2.0 */
/* Tests a file that contains one structure. Programs of an earlier version know only the structure's first members. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/grown.h"
#include "unit/lib/scratch.h"

struct earlier {
    uint32_t magic, version, bytes, first;
};

struct later {
    uint32_t magic, version, bytes, first, second[2000];
};

#define LEAST sizeof(struct earlier)

static struct hm_error error;
static struct later later;

/* Make a file with the first `size` bytes of a structure. */
static int make(const void *from, size_t size)
{
    int fd = open(scratch_path("file"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, from, size), size);
    return fd;
}

static void fill_later(uint32_t first, uint32_t second)
{
    later = (struct later){.magic = 1, .version = 2, .bytes = sizeof(later), .first = first};
    for (int i = 0; i < 2000; i++)
        later.second[i] = second;
}

static void test_a_file_of_an_earlier_version(void **state)
{
    (void)state;
    const struct earlier earlier = {.magic = 1, .version = 2, .bytes = sizeof(earlier), .first = 7};
    int fd = make(&earlier, sizeof(earlier));
    fill_later(5, 6);
    assert_int_equal(hm_grown_read(fd, &later, sizeof(later), LEAST, &error), 0);
    assert_int_equal(later.first, 7);
    assert_int_equal(later.second[1999], 6);

    fill_later(5, 8);
    struct later *mapped = hm_grown_map(fd, &later, sizeof(later), LEAST, &error);
    assert_non_null(mapped);
    assert_int_equal(mapped->bytes, sizeof(later));
    assert_int_equal(mapped->first, 7);
    assert_true(mapped->second[0] == 8 && mapped->second[1999] == 8);
    mapped->second[1999] = 9;
    assert_int_equal(munmap(mapped, sizeof(later)), 0);
    mapped = hm_grown_map(fd, &later, sizeof(later), LEAST, &error);
    assert_non_null(mapped);
    assert_int_equal(mapped->second[1999], 9); /* existing members keep their values */
    assert_int_equal(munmap(mapped, sizeof(later)), 0);
    close(fd);
}

static void test_a_file_of_a_later_version(void **state)
{
    (void)state;
    struct earlier earlier = {0};
    fill_later(7, 8);
    int fd = make(&later, sizeof(later));
    assert_int_equal(hm_grown_read(fd, &earlier, sizeof(earlier), LEAST, &error), 0);
    assert_int_equal(earlier.first, 7);
    struct earlier *mapped = hm_grown_map(fd, &earlier, sizeof(earlier), LEAST, &error);
    assert_non_null(mapped);
    mapped->first = 9;
    assert_int_equal(mapped->bytes, sizeof(later));
    assert_int_equal(munmap(mapped, sizeof(earlier)), 0);
    assert_int_equal(hm_grown_read(fd, &later, sizeof(later), LEAST, &error), 0);
    assert_true(later.first == 9 && later.second[1999] == 8);
    close(fd);
}

/* A file whose `bytes` is impossibly small gets no new members; its reader refuses it. */
static void test_a_size_that_is_wrong(void **state)
{
    (void)state;
    const struct earlier earlier = {.magic = 1, .version = 2, .bytes = 3, .first = 7};
    int fd = make(&earlier, sizeof(earlier));
    struct later *mapped = hm_grown_map(fd, &later, sizeof(later), LEAST, &error);
    assert_non_null(mapped);
    assert_true(mapped->bytes == 3 && mapped->first == 7);
    assert_int_equal(munmap(mapped, sizeof(later)), 0);
    close(fd);
}

static void refused(int fd, int number)
{
    errno = 0;
    assert_int_equal(hm_grown_read(fd, &later, sizeof(later), LEAST, &error), -1);
    assert_int_equal(errno, number);
    errno = 0;
    assert_null(hm_grown_map(fd, &later, sizeof(later), LEAST, &error));
    assert_int_equal(errno, number);
    close(fd);
}

static void test_what_is_no_file_of_a_structure(void **state)
{
    (void)state;
    refused(make("short", 5), EBADMSG);
    refused(open("/dev/zero", O_RDWR | O_CLOEXEC), EBADMSG);
    refused(open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC), EBADMSG);
    int fd = make("short", 5);
    close(fd);
    assert_int_equal(hm_grown_read(fd, &later, sizeof(later), LEAST, &error), -1);
    assert_int_equal(errno, EBADF);
}

/* The message has the kernel's reason, as a full file system is not the only one. */
static void test_bytes_that_a_file_cannot_have(void **state)
{
    (void)state;
    struct rlimit before, limit;
    const struct earlier earlier = {.magic = 1, .version = 2, .bytes = sizeof(earlier)};
    close(make(&earlier, sizeof(earlier)));
    int fd = open(scratch_path("file"), O_RDONLY | O_CLOEXEC);
    assert_null(hm_grown_map(fd, &later, sizeof(later), LEAST, &error));
    assert_int_equal(errno, EBADF);
    assert_non_null(strstr(error.text, "it cannot have its 8016 bytes: Bad file descriptor"));
    close(fd);

    const char *path = scratch_path("new");
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){.rlim_cur = 4096, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    fd = hm_grown_create(path, &later, sizeof(later), &error);
    int number = errno;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(fd, -1);
    assert_int_equal(number, EFBIG);
    assert_non_null(strstr(error.text, "/new cannot have its 8016 bytes: File too large"));
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_of_an_earlier_version),  cmocka_unit_test(test_a_file_of_a_later_version),
        cmocka_unit_test(test_a_size_that_is_wrong),          cmocka_unit_test(test_what_is_no_file_of_a_structure),
        cmocka_unit_test(test_bytes_that_a_file_cannot_have),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
