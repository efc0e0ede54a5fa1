/* SPDX-License-Identifier: Apache-2.0 */
/* Tests hm_output_end: its message where standard output could not be written, and the exit status. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/output.h"
#include "unit/lib/rows.h"

#define LOST "hybridmem x: standard output: "

static const struct {
    bool is_lost_before; /* the first write fails */
    bool is_full;        /* the last write fails */
    int result, number;  /* result of printing, with its errno */
    int status;
    const char *said;
} rows[] = {
    {false, false, 0, 0, 7, ""},
    {false, false, 0, ENOENT, 7, ""},
    {false, false, -1, ENOENT, 1, LOST "Cannot allocate memory\n"},
    {false, true, 0, 0, 1, LOST "No space left on device\n"},
    {false, true, 0, ENOENT, 1, LOST "No space left on device\n"},
    {false, true, -1, ENOENT, 1, LOST "No space left on device\n"},
    {true, false, 0, ENOENT, 1, LOST "a part of it was not written\n"},
    {true, false, -1, ENOSPC, 1, LOST "No space left on device\n"},
    {true, true, 0, 0, 1, LOST "No space left on device\n"},
};

static int full, null, said;

/* Runs with standard output and standard error replaced, so it must not assert anything. */
static int end_output(size_t i)
{
    int status, before[] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    dup2(said, STDERR_FILENO);
    dup2(rows[i].is_lost_before ? full : null, STDOUT_FILENO);
    puts("first");
    fflush(stdout);
    dup2(rows[i].is_full ? full : null, STDOUT_FILENO);
    puts("last");
    errno = rows[i].number;
    status = hm_output_end("hybridmem x", rows[i].result, 7);
    dup2(before[0], STDOUT_FILENO);
    dup2(before[1], STDERR_FILENO);
    close(before[0]);
    close(before[1]);
    clearerr(stdout);
    return status;
}

static void test_what_is_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char text[256] = "";
        assert_true(ftruncate(said, 0) == 0 && lseek(said, 0, SEEK_SET) == 0);
        fflush(stdout);
        int status = end_output(i);
        assert_true(pread(said, text, sizeof(text) - 1, 0) >= 0);
        if (status != rows[i].status || strcmp(text, rows[i].said) != 0)
            fail_msg("row %zu: status %d, %s", i, status, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_said)};
    full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    said = memfd_create("said", MFD_CLOEXEC);
    if (full < 0 || null < 0 || said < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
