/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/spawn.h"

#define END_PATIENCE_MS 1000 /* time that a program gets to end by itself */

/* Copy a variable, whose value is a path, as "NAME=VALUE"; "" where the program needs none, or it is not set. The path
 * becomes absolute, as the program does not run in this process's folder. Returns 0, or an errno. */
static int copy_variable(const char *name, char *out, size_t size)
{
    char whole[PATH_MAX];
    const char *value = name ? getenv(name) : NULL;
    if (value && value[0] != '/' && realpath(value, whole))
        value = whole;
    out[0] = '\0';
    return value && (size_t)snprintf(out, size, "%s=%s", name, value) >= size ? ENAMETOOLONG : 0;
}

/* Start the program. It has a session of its own, so a signal that a terminal sends to the asking process does not end
 * it midway. Returns 0, or an errno. */
static int start(pid_t *pid, const char *path, const char *name, const char *wanted, int input, int output)
{
    char title[32], variable[PATH_MAX + 32];
    int number = copy_variable(wanted, variable, sizeof(variable));
    char *const arguments[] = {title, (char[]){"--read"}, (char[]){"--ask"}, NULL};
    char *const environment[] = {(char[]){"LC_ALL=C"}, variable[0] ? variable : NULL, NULL};
    const struct hm_spawn spawn = {.path = path,
                                   .arguments = arguments,
                                   .environment = environment,
                                   .extra = -1,
                                   .input = input,
                                   .output = output,
                                   .errors = -1};
    if (number != 0)
        return number;
    snprintf(title, sizeof(title), "%s", name);
    *pid = hm_spawn_start(&spawn, NULL);
    return *pid > 0 ? 0 : errno;
}

int hm_papi_process_start(struct hm_papi_process *process, const char *path, const char *name, const char *variable)
{
    int input[2], output[2], number;
    *process = (struct hm_papi_process){.ask = -1, .answer = -1};
    if (access(path, F_OK) != 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input) != 0)
        return errno;
    if (pipe2(output, O_CLOEXEC) != 0) {
        number = errno;
        close(input[0]);
        close(input[1]);
        return number;
    }
    number = start(&process->pid, path, name, variable, input[1], output[1]);
    close(input[1]);
    close(output[1]);
    process->ask = input[0];
    process->answer = output[0];
    if (number != 0)
        process->pid = 0;
    return number;
}

/* Programs that could not be ended, at most one of each kind. They end by themselves, as their input is closed. */
static pid_t left[2];

void hm_papi_process_reap(void)
{
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        if (left[i] > 0 && waitpid(left[i], NULL, WNOHANG) != 0)
            left[i] = 0;
}

static void leave(pid_t pid)
{
    size_t i = 0;
    hm_papi_process_reap();
    while (i < sizeof(left) / sizeof(left[0]) - 1 && left[i] > 0)
        i++;
    left[i] = pid;
}

/* Wait for the program's end. Returns its status as wait(2) does, or -1 where it had to be killed, or could not be
 * ended. */
static int wait_for_end(pid_t pid)
{
    const struct timespec moment = {.tv_nsec = 2000000};
    int64_t until = hm_clock_ms(CLOCK_MONOTONIC) + END_PATIENCE_MS;
    int status;
    pid_t ended;
    while ((ended = waitpid(pid, &status, WNOHANG)) == 0 && hm_clock_ms(CLOCK_MONOTONIC) < until)
        nanosleep(&moment, NULL);
    if (ended == pid)
        return status;
    if (kill(pid, SIGKILL) == 0)
        waitpid(pid, &status, 0);
    else
        leave(pid);
    return -1;
}

int hm_papi_process_end(struct hm_papi_process *process)
{
    int status = -1;
    if (process->ask >= 0)
        close(process->ask);
    if (process->answer >= 0)
        close(process->answer);
    if (process->pid > 0)
        status = wait_for_end(process->pid);
    *process = (struct hm_papi_process){.ask = -1, .answer = -1};
    return status;
}

void hm_papi_process_stop(struct hm_papi_process *process, int number)
{
    if (process->pid > 0 && kill(process->pid, number) != 0) {
        leave(process->pid);
        process->pid = 0;
    }
    hm_papi_process_end(process);
}
