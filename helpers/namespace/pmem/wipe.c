/* SPDX-License-Identifier: Apache-2.0 */
#include "wipe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"

#define ZERO_AT_ONCE (UINT64_C(256) << 20) /* bytes that are zeroed between two looks at the clock */
#define STRIDE (UINT64_C(1) << 20)         /* bytes of which verify reads at least a page */
#define PAGE 4096
#define SAY_EVERY_S 10 /* seconds between two lines in the log */

/* Time limit and log of all wipes of this process. */
static struct {
    unsigned limit_s;
    time_t begin_s, said_s;
} pace;

void hm_wipe_limit(unsigned limit_s)
{
    pace.limit_s = limit_s;
    pace.begin_s = (time_t)hm_clock_s(CLOCK_MONOTONIC);
}

/* Check that there is time to go on. Logs the progress where a wipe takes long. Returns 0 or -1. */
static int keep_pace(const char *device, uint64_t done, uint64_t bytes, bool is_begin, struct hm_error *error)
{
    time_t now = (time_t)hm_clock_s(CLOCK_MONOTONIC);
    unsigned long long done_mib = done >> 20, all_mib = bytes >> 20;
    if (is_begin)
        pace.said_s = now;
    if (now - pace.said_s >= SAY_EVERY_S) {
        syslog(LOG_DAEMON | LOG_INFO, "wiping %s: %llu of %llu MiB", device, done_mib, all_mib);
        pace.said_s = now;
    }
    if (pace.limit_s > 0 && now - pace.begin_s >= (time_t)pace.limit_s)
        return hm_fail(error, ETIME, "%llu of %llu MiB of %s are wiped after %u s", done_mib, all_mib, device,
                       pace.limit_s);
    return 0;
}

/* Zero the bytes from *done to `end`. *done becomes the end of what was zeroed. */
static int zero(int fd, const char *device, uint64_t *done, uint64_t end, struct hm_error *error)
{
    for (uint64_t from = *done; *done < end;) {
        uint64_t range[] = {*done, hm_least(ZERO_AT_ONCE, end - *done)};
        if (keep_pace(device, *done, end, *done == from, error) != 0)
            return -1;
        if (ioctl(fd, BLKZEROOUT, range) != 0)
            return hm_fail_errno(error, "cannot zero %s at byte %llu", device, (unsigned long long)*done);
        *done += range[1];
    }
    return 0;
}

static int flush(int fd, const char *device, struct hm_error *error)
{
    return fsync(fd) == 0 ? 0 : hm_fail_errno(error, "cannot flush %s", device);
}

/* Zero everything from *done on, and flush. Where the time limit ends this early, what was zeroed is flushed; if the
 * flush fails, *done becomes 0. */
static int zero_rest(int fd, const char *device, uint64_t bytes, uint64_t *done, struct hm_error *error)
{
    /* A wipe that was stopped has zeroed whole steps (ZERO_AT_ONCE), but never the last one. So progress within a step
     * is rounded down to the step's begin, and progress that reaches the device's end counts as 0. */
    *done = *done < bytes ? *done / ZERO_AT_ONCE * ZERO_AT_ONCE : 0;
    int result = zero(fd, device, done, bytes, error);
    if (result == 0 || errno != ETIME)
        return result == 0 ? flush(fd, device, error) : -1;
    if (fsync(fd) != 0)
        *done = 0;
    errno = ETIME;
    return -1;
}

static int zero_edges(int fd, const char *device, uint64_t bytes, uint64_t edge, struct hm_error *error)
{
    uint64_t first_end = hm_least(edge, bytes), last = bytes - first_end, first = 0;
    if (last < first_end)
        last = first_end;
    if (zero(fd, device, &first, first_end, error) != 0 || zero(fd, device, &last, bytes, error) != 0)
        return -1;
    return flush(fd, device, error);
}

/* Read `length` bytes from `at` on and check that all are zero. */
static int expect_zero(int fd, const char *device, unsigned char *buffer, uint64_t at, uint64_t length,
                       struct hm_error *error)
{
    ssize_t got;
    do
        got = pread(fd, buffer, length, (off_t)at);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)length) {
        errno = got < 0 ? errno : EIO;
        return hm_fail_errno(error, "cannot read %s at byte %llu to verify its wipe", device, (unsigned long long)at);
    }
    /* All are zero if the first is, and each equals the one before it. */
    if (buffer[0] == 0 && memcmp(buffer, buffer + 1, length - 1) == 0)
        return 0;
    return hm_fail(error, EIO, "%s is not zero within %llu bytes from byte %llu on after its wipe", device,
                   (unsigned long long)length, (unsigned long long)at);
}

/*
 * Check the first and the last stride in full, and one page of each stride between them, at changing places. Reading
 * everything would take as long as zeroing it, while the node waits. It is not needed: a device that fails to zero does
 * not fail for single pages only.
 */
static int verify(int fd, const char *device, uint64_t bytes, struct hm_error *error)
{
    int result = 0;
    unsigned char *buffer = aligned_alloc(PAGE, STRIDE);
    if (!buffer)
        return hm_fail(error, ENOMEM, "no memory to verify the wipe of %s", device);
    for (uint64_t at = 0; at < bytes && result == 0; at += STRIDE) {
        uint64_t length = hm_least(STRIDE, bytes - at);
        bool is_whole = at == 0 || at + length == bytes;
        uint64_t page = is_whole ? 0 : at / STRIDE * PAGE % STRIDE;
        result = expect_zero(fd, device, buffer, at + page, is_whole ? length : PAGE, error);
    }
    free(buffer);
    return result;
}

/* Open the device, bypassing the page cache, so that what is read back is what the device has. Returns a descriptor to
 * close, or -1. */
static int open_device(const char *device, uint64_t bytes, struct hm_error *error)
{
    uint64_t size = 0;
    int fd = open(device, O_RDWR | O_EXCL | O_DIRECT | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return hm_fail_errno(error, "cannot open %s to wipe it", device);
    if (ioctl(fd, BLKGETSIZE64, &size) != 0)
        hm_fail_errno(error, "cannot tell the size of %s", device);
    else if (size != bytes)
        hm_fail(error, EIO, "%s has %llu bytes, its namespace %llu: it is not wiped", device, (unsigned long long)size,
                (unsigned long long)bytes);
    else
        return fd;
    int number = errno;
    close(fd);
    errno = number;
    return -1;
}

/* Verify, unless zeroing failed, and close. Returns 0 or -1. */
static int end_wipe(int fd, const char *device, uint64_t bytes, int result, struct hm_error *error)
{
    if (result == 0)
        result = verify(fd, device, bytes, error);
    int number = errno;
    close(fd);
    errno = number;
    return result;
}

int hm_wipe(const char *device, uint64_t bytes, uint64_t edge, struct hm_error *error)
{
    int fd = open_device(device, bytes, error);
    return fd < 0 ? -1 : end_wipe(fd, device, bytes, zero_edges(fd, device, bytes, edge, error), error);
}

int hm_wipe_on(const char *device, uint64_t bytes, uint64_t *done, struct hm_error *error)
{
    int fd = open_device(device, bytes, error);
    return fd < 0 ? -1 : end_wipe(fd, device, bytes, zero_rest(fd, device, bytes, done, error), error);
}
