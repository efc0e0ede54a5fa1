/* SPDX-License-Identifier: Apache-2.0 */
#include "follow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "spawn.h"

#define LINE 1024
/* Most bytes that are read after the child has ended: a pipe holds no more, unless it was made larger. */
#define REST 65536

struct reader {
    int fd;
    hm_follow_line *take;
    int64_t end_ms; /* when the child is killed */
    size_t used;
    char text[LINE];
};

static void give(struct reader *reader, const char *line)
{
    int patience_ms = reader->take(line);
    if (patience_ms > 0)
        reader->end_ms = hm_clock_ms(CLOCK_MONOTONIC) + patience_ms;
}

/* Hands on each whole line that has been read, and the start of a longer line once it fills the buffer. */
static void hand_on(struct reader *reader)
{
    char *start = reader->text, *end;
    reader->text[reader->used] = '\0';
    while ((end = strchr(start, '\n'))) {
        *end = '\0';
        give(reader, start);
        start = end + 1;
    }
    reader->used = strlen(start);
    memmove(reader->text, start, reader->used + 1);
    if (reader->used < LINE - 1)
        return;
    give(reader, reader->text);
    reader->used = 0;
}

/* Reads once, without waiting. Returns what read(2) returns. */
static ssize_t read_on(struct reader *reader)
{
    ssize_t length = read(reader->fd, reader->text + reader->used, LINE - 1 - reader->used);
    if (length <= 0)
        return length;
    /* A zero byte would hide what follows it. */
    for (ssize_t i = 0; i < length; i++)
        if (reader->text[reader->used + (size_t)i] == '\0')
            reader->text[reader->used + (size_t)i] = ' ';
    reader->used += (size_t)length;
    hand_on(reader);
    return length;
}

/* Reads until the process has ended, or its time is over. */
static void read_along(struct reader *reader, int pidfd)
{
    struct pollfd on[] = {{.fd = pidfd, .events = POLLIN}, {.fd = reader->fd, .events = POLLIN}};
    for (;;) {
        int64_t left_ms = reader->end_ms - hm_clock_ms(CLOCK_MONOTONIC);
        int ready = left_ms > 0 ? poll(on, 2, (int)left_ms) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0 || on[0].revents)
            return;
        if (on[1].revents && read_on(reader) == 0)
            on[1].fd = -1; /* all have closed the pipe */
    }
}

/* Reads what was in the pipe when the process ended, and stops once REST bytes are read. */
static void read_rest(struct reader *reader)
{
    ssize_t length;
    for (size_t most = REST; most > 0 && (length = read_on(reader)) > 0;)
        most -= (size_t)length < most ? (size_t)length : most;
    if (reader->used > 0)
        give(reader, reader->text);
}

int hm_spawn_follow(pid_t pid, int fd, int patience_ms, hm_follow_line *take)
{
    struct reader reader = {.fd = fd, .take = take, .end_ms = hm_clock_ms(CLOCK_MONOTONIC) + patience_ms};
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) == 0) {
        if (pidfd >= 0)
            read_along(&reader, pidfd);
        read_rest(&reader);
    }
    if (pidfd >= 0)
        close(pidfd);
    int64_t left_ms = reader.end_ms - hm_clock_ms(CLOCK_MONOTONIC);
    int status = hm_spawn_wait_for(pid, left_ms > 0 ? (int)left_ms : 0), number = errno;
    /* Closed only now: on a closed pipe, a program that is late and still writes would end by SIGPIPE, and its status
     * would not say that it was late (ETIMEDOUT). */
    close(fd);
    errno = number;
    return status;
}
