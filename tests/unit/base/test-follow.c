/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how a program is waited for while its log is read. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/follow.h"
#include "base/spawn.h"
#include "unit/lib/rows.h"

#define PATIENCE_MS 60000
#define SHORT_MS 100

static struct hm_error error;
static char lines[8192]; /* what was handed on, each line in brackets */

/* Notes a line. Returns the limit that a line "limit MS" asks for, else 0. */
static int take(const char *line)
{
    int limit_ms = 0;
    size_t used = strlen(lines);
    snprintf(lines + used, sizeof(lines) - used, "[%s]", line);
    return sscanf(line, "limit %d", &limit_ms) == 1 ? limit_ms : 0;
}

/* Follows a shell command. Returns what hm_spawn_follow returns. */
static int follow(const char *command, int patience_ms)
{
    char shell[] = "sh", flag[] = "-c", words[512], path[] = "PATH=/usr/bin:/bin";
    char *arguments[] = {shell, flag, words, NULL}, *environment[] = {path, NULL};
    int errors[2];
    snprintf(words, sizeof(words), "%s", command);
    assert_int_equal(pipe2(errors, O_CLOEXEC), 0);
    struct hm_spawn spawn = {
        .path = "/bin/sh", .arguments = arguments, .environment = environment, .extra = -1, .errors = errors[1]};
    pid_t pid = hm_spawn_start(&spawn, &error);
    assert_true(pid > 0);
    close(errors[1]);
    lines[0] = '\0';
    int result = hm_spawn_follow(pid, errors[0], patience_ms, take), number = errno;
    assert_int_equal(fcntl(errors[0], F_GETFD), -1);   /* it is closed */
    assert_int_equal(waitpid(pid, NULL, WNOHANG), -1); /* gone, and no zombie */
    errno = number;
    return result;
}

static void lines_are_handed_on(void **state)
{
    (void)state;
    static const struct {
        const char *command, *lines;
        int status;
    } rows[] = {
        {"true", "", 0},
        {"exit 3", "", 3 << 8},
        {"kill -9 $$", "", SIGKILL},
        {"echo one >&2; echo two >&2", "[one][two]", 0},
        {"printf 'one\\n\\nthree' >&2", "[one][][three]", 0},
        {"printf one >&2; head -c 1 /dev/zero >&2; echo two >&2", "[one two]", 0}, /* a NUL byte becomes a space */
        {"exec 2>&-; sleep 0.1; exit 4", "", 4 << 8}, /* it closes its log before its end */
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        int status = follow(rows[i].command, PATIENCE_MS);
        if (status != rows[i].status || strcmp(lines, rows[i].lines) != 0)
            fail_msg("row %zu: status %#x, lines %s", i, (unsigned)status, lines);
    }
}

/* A long line comes in parts, and none of it is lost. */
static void a_long_line_comes_in_parts(void **state)
{
    (void)state;
    size_t n_letters = 0, n_parts = 0;
    assert_int_equal(follow("printf '%03000d\\n' 0 >&2", PATIENCE_MS), 0);
    for (const char *at = lines; *at; at++) {
        n_letters += *at == '0';
        n_parts += *at == '[';
    }
    assert_int_equal(n_letters, 3000);
    assert_int_equal(n_parts, 3);
}

/* The program leaves a process behind that holds the log, and writes that process's pid there. */
static void what_is_left_behind_is_not_waited_for(void **state)
{
    (void)state;
    int pid = 0;
    int64_t begin_ms = hm_clock_ms(CLOCK_MONOTONIC);
    assert_int_equal(follow("sleep 100000 & echo $! >&2", PATIENCE_MS), 0);
    assert_true(hm_clock_ms(CLOCK_MONOTONIC) - begin_ms < PATIENCE_MS / 2);
    assert_int_equal(sscanf(lines, "[%d]", &pid), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
}

static void what_does_not_end_is_killed(void **state)
{
    (void)state;
    static const char *const commands[] = {
        "trap '' TERM; echo begun >&2; exec sleep 100000", "exec 2>&-; exec sleep 100000",
        "while :; do echo begun >&2; done", /* it never stops talking */
    };
    for (size_t i = 0; i < N_ROWS(commands); i++) {
        assert_int_equal(follow(commands[i], SHORT_MS), -1);
        assert_int_equal(errno, ETIMEDOUT);
    }
}

/* The last of the lines that set a limit holds. */
static void a_line_sets_another_limit(void **state)
{
    (void)state;
    assert_int_equal(follow("printf 'limit 1\\nlimit 60000\\n' >&2; sleep 0.2; exit 3", PATIENCE_MS), 3 << 8);
    assert_int_equal(follow("printf 'limit 60000\\nlimit 1\\n' >&2; exec sleep 100000", PATIENCE_MS), -1);
    assert_int_equal(errno, ETIMEDOUT);
    assert_string_equal(lines, "[limit 60000][limit 1]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_handed_on),
        cmocka_unit_test(a_long_line_comes_in_parts),
        cmocka_unit_test(what_is_left_behind_is_not_waited_for),
        cmocka_unit_test(what_does_not_end_is_killed),
        cmocka_unit_test(a_line_sets_another_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
