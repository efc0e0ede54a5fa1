/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/spawn.h"

#define NAME HM_NAMESPACERUN_NAME
#define SAYS "hybridmem namespace: "
#define PROGRAM HM_LIBEXECDIR "/" NAME

/* Keeps the last line, without the program's name: earlier lines are only warnings. */
static void keep_line(char *text)
{
    size_t length = strlen(text);
    if (length > 0 && text[length - 1] == '\n')
        text[length - 1] = '\0';
    char *before = strrchr(text, '\n');
    if (before)
        memmove(text, before + 1, strlen(before + 1) + 1);
    if (strncmp(text, SAYS, strlen(SAYS)) == 0)
        memmove(text, text + strlen(SAYS), strlen(text + strlen(SAYS)) + 1);
}

static int run_into(const char *const *words, int held, int output, int errors, struct hm_answer *answer,
                    struct hm_error *error)
{
    char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", locale[] = "LC_ALL=C";
    char *environment[] = {path, locale, NULL};
    /* the cast drops const: execve does not write to the words */
    struct hm_spawn spawn = {.path = PROGRAM,
                             .arguments = (char *const *)(uintptr_t)words,
                             .environment = environment,
                             .extra = held,
                             .output = output,
                             .errors = errors,
                             .dies_with_parent = strcmp(words[1], HM_NAMESPACERUN_CREATE) == 0};
    double begin = hm_clock_s(CLOCK_MONOTONIC);
    pid_t pid = hm_spawn_start(&spawn, error);
    if (pid < 0)
        return -1;
    answer->status = hm_spawn_wait(pid);
    answer->seconds = hm_clock_s(CLOCK_MONOTONIC) - begin;
    (void)hm_file_read_open(output, answer->output, sizeof(answer->output));
    (void)hm_file_read_open(errors, answer->errors, sizeof(answer->errors));
    keep_line(answer->errors);
    return 0;
}

int hm_namespacerun(const char *const *words, int held, struct hm_answer *answer, struct hm_error *error)
{
    int result = -1;
    /* Files in memory, not pipes: a program that writes to a full pipe would wait for a reader. */
    int output = memfd_create("output", MFD_CLOEXEC), errors = memfd_create("errors", MFD_CLOEXEC);
    memset(answer, 0, sizeof(*answer));
    if (output < 0 || errors < 0)
        hm_fail_errno(error, "no file in memory for the output of %s", PROGRAM);
    else
        result = run_into(words, held, output, errors, answer, error);
    int number = errno;
    if (output >= 0)
        close(output);
    if (errors >= 0)
        close(errors);
    errno = number;
    return result;
}

bool hm_answer_is(const struct hm_answer *answer, int code)
{
    return answer->status >= 0 && WIFEXITED(answer->status) && WEXITSTATUS(answer->status) == code;
}

static int number_of(const struct hm_answer *answer)
{
    static const int by_status[] = {
        [HM_ANSWER_BUSY] = EBUSY, [HM_ANSWER_LATE] = ETIME, [HM_ANSWER_LEFT] = ENOTRECOVERABLE};
    for (size_t i = 0; i < sizeof(by_status) / sizeof(by_status[0]); i++)
        if (by_status[i] && hm_answer_is(answer, (int)i))
            return by_status[i];
    /* SIGKILL mostly means that the node had run out of memory, which may pass. */
    if (answer->status >= 0 && WIFSIGNALED(answer->status) && WTERMSIG(answer->status) == SIGKILL)
        return EAGAIN;
    return EIO;
}

int hm_answer_fail(const struct hm_answer *answer, struct hm_error *error)
{
    int number = number_of(answer);
    if (answer->errors[0])
        return hm_fail(error, number, "%s", answer->errors);
    if (answer->status < 0)
        return hm_fail(error, EIO, "%s has ended, and its exit status is not known", NAME);
    if (WIFSIGNALED(answer->status))
        return hm_fail(error, number, "%s was ended by signal %d", NAME, WTERMSIG(answer->status));
    return hm_fail(error, EIO, "%s ended with exit status %d", NAME, WEXITSTATUS(answer->status));
}
