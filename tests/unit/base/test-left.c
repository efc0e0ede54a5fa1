/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what several processes leave in one file in memory. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/left.h"

#define WRITERS 4
#define LINES 4000 /* of each writer */
#define LINE 32
#define PAGE 4096
#define ROOM (WRITERS * LINES * LINE)

static char text[ROOM + 1];

static int make(off_t room)
{
    int fd = memfd_create("left", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, room + HM_LEFT_BEHIND), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK), 0);
    return fd;
}

/* Leaves lines once all writers are there, so that they do it at the same time. */
static void leave_lines(int fd, int writer, int go)
{
    char line[LINE + 1], byte;
    if (read(go, &byte, 1) != 0)
        _exit(1);
    for (int i = 0; i < LINES; i++) {
        snprintf(line, sizeof(line), "%d %0*d\n", writer, LINE - 3, i);
        if (hm_left_add(fd, line, LINE) != 0)
            _exit(1);
    }
    _exit(0);
}

static void all_lines_of_all_writers_are_there(void **state)
{
    static bool is_there[WRITERS][LINES];
    int go[2], status;
    (void)state;
    int fd = make(ROOM);
    assert_int_equal(pipe(go), 0);
    for (int i = 0; i < WRITERS; i++)
        if (fork() == 0) {
            close(go[1]);
            leave_lines(fd, i, go[0]);
        }
    close(go[0]);
    close(go[1]);
    for (int i = 0; i < WRITERS; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(hm_left_read(fd, text, sizeof(text)), ROOM);
    for (const char *line = text; *line; line += LINE) {
        int writer = line[0] - '0', number = atoi(line + 2);
        assert_true(writer >= 0 && writer < WRITERS && number >= 0 && number < LINES && line[LINE - 1] == '\n');
        assert_false(is_there[writer][number]);
        is_there[writer][number] = true;
    }
    assert_int_equal(hm_left_add(fd, "x", 1), -1); /* it is full */
    assert_int_equal(errno, ENOSPC);
    close(fd);
}

/* A text may be longer than a page. A place that was taken and never filled hides nothing behind it. */
static void what_is_long_is_whole_and_a_hole_hides_nothing(void **state)
{
    static char longer[PAGE + 100];
    (void)state;
    int fd = make((off_t)4 * PAGE);
    memset(longer, 'a', sizeof(longer));
    assert_int_equal(hm_left_add(fd, longer, sizeof(longer)), 0);
    assert_int_equal(hm_left_add(fd, "\0\0\0", 3), 0);
    assert_int_equal(hm_left_add(fd, "last\n", 5), 0);
    assert_int_equal(hm_left_read(fd, text, sizeof(text)), sizeof(longer) + 3 + 5);
    assert_memory_equal(text, longer, sizeof(longer));
    assert_string_equal(text + sizeof(longer), "\n\n\nlast\n");
    close(fd);
}

/* Users can write to the counter. */
static void a_counter_that_cannot_be_takes_no_place(void **state)
{
    static const uint64_t counts[] = {PAGE + 1, UINT64_MAX - 2, UINT64_C(1) << 63};
    (void)state;
    int fd = make(PAGE);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        assert_int_equal(pwrite(fd, &counts[i], sizeof(counts[i]), PAGE), sizeof(counts[i]));
        assert_int_equal(hm_left_add(fd, "text\n", 5), -1);
        assert_int_equal(errno, ENOSPC);
    }
    assert_int_equal(hm_left_read(fd, text, 100), 0);
    close(fd);
}

/* A file of the user's own is not overwritten, as it is when they append to it. */
static void what_is_no_such_file_is_written_to(void **state)
{
    (void)state;
    int fd = memfd_create("own", MFD_CLOEXEC), pipes[2];
    memset(text, 'u', 64);
    assert_int_equal(write(fd, text, 64), 64);
    assert_int_equal(hm_left_add(fd, "text\n", 5), 0);
    assert_int_equal(hm_left_read(fd, text, sizeof(text)), 64 + 5);
    assert_string_equal(text + 63, "utext\n");
    close(fd);
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(hm_left_add(pipes[1], "text\n", 5), 0);
    assert_int_equal(read(pipes[0], text, sizeof(text)), 5);
    close(pipes[0]);
    close(pipes[1]);
    assert_int_equal(hm_left_add(-1, "text\n", 5), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_lines_of_all_writers_are_there),
        cmocka_unit_test(what_is_long_is_whole_and_a_hole_hides_nothing),
        cmocka_unit_test(a_counter_that_cannot_be_takes_no_place),
        cmocka_unit_test(what_is_no_such_file_is_written_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
