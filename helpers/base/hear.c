/* SPDX-License-Identifier: Apache-2.0 */
#include "hear.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

#include "clock.h"

/* Reads once, after what is there. What has no room is read, too, so that the program does not wait. Returns what
 * read(2) returns. */
static ssize_t read_on(int fd, const struct hm_heard *heard, size_t *used)
{
    char rest[4096];
    size_t room = heard->size - 1 - *used;
    ssize_t length = room > 0 ? read(fd, heard->text + *used, room) : read(fd, rest, sizeof(rest));
    if (room > 0 && length > 0)
        *used += (size_t)length;
    return length;
}

/* Reads until the program has closed both pipes, or its time is over. */
static void read_both(const int fd[2], const struct hm_heard heard[2], int64_t end_ms)
{
    struct pollfd on[2] = {{.fd = fd[0], .events = POLLIN}, {.fd = fd[1], .events = POLLIN}};
    size_t used[2] = {0, 0};
    while (on[0].fd >= 0 || on[1].fd >= 0) {
        int64_t left_ms = end_ms - hm_clock_ms(CLOCK_MONOTONIC);
        int ready = left_ms > 0 ? poll(on, 2, (int)left_ms) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            break;
        for (int i = 0; i < 2; i++)
            if (on[i].revents && read_on(fd[i], &heard[i], &used[i]) <= 0)
                on[i].fd = -1;
    }
    for (int i = 0; i < 2; i++)
        heard[i].text[used[i]] = '\0';
}

int hm_spawn_hear(const struct hm_spawn *spawn, int patience_ms, struct hm_heard output, struct hm_heard errors,
                  int *status, struct hm_error *error)
{
    const struct hm_heard heard[2] = {output, errors};
    struct hm_spawn with_pipes = *spawn;
    int out[2], err[2];
    output.text[0] = errors.text[0] = '\0';
    if (pipe2(out, O_CLOEXEC) != 0)
        return hm_fail_errno(error, "no pipe for the output of %s", spawn->path);
    if (pipe2(err, O_CLOEXEC) != 0) {
        hm_fail_errno(error, "no pipe for the errors of %s", spawn->path);
        close(out[0]);
        close(out[1]);
        return -1;
    }
    with_pipes.output = out[1];
    with_pipes.errors = err[1];
    pid_t pid = hm_spawn_start(&with_pipes, error);
    close(out[1]);
    close(err[1]);
    int number = errno;
    if (pid >= 0) {
        int64_t end_ms = hm_clock_ms(CLOCK_MONOTONIC) + patience_ms;
        read_both((const int[2]){out[0], err[0]}, heard, end_ms);
        int64_t left_ms = end_ms - hm_clock_ms(CLOCK_MONOTONIC);
        *status = hm_spawn_wait_for(pid, left_ms > 0 ? (int)left_ms : 0);
        number = errno;
    }
    close(out[0]);
    close(err[0]);
    errno = number;
    return pid >= 0 ? 0 : -1;
}
