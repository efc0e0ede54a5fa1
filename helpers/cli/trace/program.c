/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIGNAL_STATUS 128 /* what a shell adds to the number of the signal that has ended a program */

/* Signals that are passed on. Those from the terminal's keys reach the program without us. */
static const int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

static bool is_program(const char *path)
{
    struct stat status;
    errno = EACCES; /* of a folder */
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

int hm_program_find(const char *name, char path[PATH_MAX], struct hm_error *error)
{
    const char *folders = getenv("PATH");
    int number = ENOENT;
    if (strchr(name, '/')) {
        snprintf(path, PATH_MAX, "%s", name);
        return is_program(path) ? 0 : hm_fail_errno(error, "%s cannot be run", name);
    }
    for (const char *at = folders ? folders : "/usr/bin:/bin"; at; at = strchr(at, ':')) {
        at += *at == ':';
        int length = (int)strcspn(at, ":");
        int needed = snprintf(path, PATH_MAX, "%.*s/%s", length > 0 ? length : 1, length > 0 ? at : ".", name);
        if (needed < PATH_MAX && is_program(path))
            return 0;
        number = errno == EACCES ? EACCES : number;
    }
    return hm_fail(error, number, "%s: %s", name,
                   number == ENOENT ? "there is no such program in PATH" : "the program in PATH cannot be run");
}

/* Blocks the signals that hm_program_attend reads. `before` becomes the mask that the program gets. Whoever ignores
 * SIGCHLD, as our parent may do, has no exit status of children; so the program does not begin with it ignored. */
static int open_signals(sigset_t *before)
{
    sigset_t ours;
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&ours);
    sigaddset(&ours, SIGCHLD);
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
        sigaddset(&ours, passed[i]);
    sigprocmask(SIG_BLOCK, &ours, before);
    return signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
}

int hm_program_start(struct hm_program *program, const char *path, char *const *arguments, int given, int number,
                     struct hm_error *error)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    *program = (struct hm_program){.signals = -1};
    program->signals = open_signals(&program->before);
    if (program->signals < 0)
        return hm_fail_errno(error, "signals cannot be watched");
    if (posix_spawn_file_actions_init(&actions) != 0)
        return hm_fail(error, ENOMEM, "out of memory");
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &program->before);
    int failure = given < 0 ? 0 : posix_spawn_file_actions_adddup2(&actions, given, number);
    if (failure == 0)
        failure = posix_spawn(&program->pid, path, &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failure == 0 ? 0 : hm_fail(error, failure, "%s cannot be started: %s", path, strerror(failure));
}

void hm_program_leave(struct hm_program *program)
{
    if (program->signals >= 0)
        close(program->signals);
    program->signals = -1;
    sigprocmask(SIG_SETMASK, &program->before, NULL);
}

void hm_program_attend(struct hm_program *program)
{
    struct signalfd_siginfo signal;
    while (read(program->signals, &signal, sizeof(signal)) == sizeof(signal)) {
        int number = (int)signal.ssi_signo;
        if (program->has_ended)
            program->is_left |= number == SIGINT || number == SIGQUIT || number == SIGTERM;
        else if (number != SIGCHLD && signal.ssi_code <= 0)
            kill(program->pid, number);
    }
    if (!program->has_ended)
        program->has_ended = waitpid(program->pid, &program->status, WNOHANG) == program->pid;
}

int hm_program_end(const struct hm_program *program)
{
    sigset_t one;
    if (!WIFSIGNALED(program->status))
        return WEXITSTATUS(program->status);
    int number = WTERMSIG(program->status);
    prctl(PR_SET_DUMPABLE, 0); /* the program may have left a core file: this process leaves none */
    signal(number, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    return SIGNAL_STATUS + number;
}
