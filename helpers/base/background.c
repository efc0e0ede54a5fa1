/* SPDX-License-Identifier: Apache-2.0 */
#include "background.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FAILED '!' /* begins a line that says why */

static void ignore_signals(void)
{
    const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGXCPU, SIGXFSZ};
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        signal(number, SIG_IGN);
}

static void detach(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= STDERR_FILENO && nothing >= 0; fd++)
        (void)dup2(nothing, fd);
    if (nothing > STDERR_FILENO)
        close(nothing);
}

int hm_background_ready(int out, const char *line)
{
    int length = dprintf(out, "%s", line);
    close(out);
    detach();
    return length > 0 ? 0 : -1;
}

void hm_background_fail(int out, const char *text)
{
    (void)dprintf(out, "%c%s", FAILED, text);
    close(out);
}

pid_t hm_background_start(hm_background_run *run, void *data, char *line, size_t size, struct hm_error *error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return hm_fail_errno(error, "no process can be started");
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        ignore_signals();
        exit(run(data, ends[1]));
    }
    int number = errno;
    close(ends[1]);
    size_t used = 0;
    for (ssize_t n = 1; pid > 0 && n > 0 && used<size - 1; used += n> 0 ? (size_t)n : 0)
        n = read(ends[0], line + used, size - 1 - used);
    line[used] = '\0';
    close(ends[0]);
    errno = number;
    if (pid < 0)
        return hm_fail_errno(error, "no process can be started");
    if (line[0] && line[0] != FAILED)
        return pid;
    return hm_fail(error, EIO, "%s", line[0] ? line + 1 : "the process ended before the program");
}
