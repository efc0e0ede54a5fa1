/* SPDX-License-Identifier: Apache-2.0 */
#include "filedevice.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

time_t now_s, seconds_each;
int open_fails_by;

int __wrap_open(const char *path, int flags, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    assert_int_equal(clock, CLOCK_MONOTONIC);
    *now = (struct timespec){.tv_sec = now_s};
    now_s += seconds_each;
    return 0;
}

/* O_DIRECT is dropped, as not every file system of a test machine knows it, and O_EXCL, as without O_CREAT it is
 * defined for block devices only. */
int __wrap_open(const char *path, int flags, ...)
{
    assert_int_equal(flags & (O_EXCL | O_CLOEXEC), (flags & O_RDWR ? O_EXCL : 0) | O_CLOEXEC);
    if (open_fails_by) {
        errno = open_fails_by;
        open_fails_by = 0;
        return -1;
    }
    return __real_open(path, flags & ~(O_DIRECT | O_EXCL));
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    struct stat status;
    va_list arguments;
    va_start(arguments, request);
    uint64_t *argument = va_arg(arguments, uint64_t *);
    va_end(arguments);
    if (request == BLKZEROOUT)
        return filedevice_zero(fd, argument[0], argument[1]);
    assert_int_equal(request, BLKGETSIZE64);
    assert_int_equal(fstat(fd, &status), 0);
    *argument = (uint64_t)status.st_size;
    return 0;
}
