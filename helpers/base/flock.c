/* SPDX-License-Identifier: Apache-2.0 */
#include "flock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

#define PAUSE_NS 5000000L

int hm_flock_open(int at, const char *name)
{
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
    int fd = openat(at, name, flags);
    return fd < 0 && errno == ENOENT ? openat(at, name, flags | O_CREAT, 0600) : fd;
}

int hm_flock_try(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB);
}

int hm_flock_wait(int fd, unsigned patience_ms)
{
    int64_t end_ms = 0; /* set below: where the lock is free, the clock is not read */
    while (hm_flock_try(fd) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -1;
        int64_t now_ms = hm_clock_ms(CLOCK_MONOTONIC);
        end_ms = end_ms > 0 ? end_ms : now_ms + patience_ms;
        if (now_ms >= end_ms) {
            errno = ETIMEDOUT;
            return -1;
        }
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return 0;
}

void hm_flock_unlock(int fd)
{
    int number = errno;
    flock(fd, LOCK_UN);
    errno = number;
}

void hm_flock_close(int fd)
{
    int number = errno;
    if (fd < 0)
        return;
    flock(fd, LOCK_UN);
    close(fd);
    errno = number;
}
