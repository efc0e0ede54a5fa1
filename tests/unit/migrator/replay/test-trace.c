/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the parser of page traces, as plain and as compressed text. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "migrator/replay/trace.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define COLUMNS "phase,page_hex,raw_reads,raw_writes,mem_reads,mem_writes\n"

static void test_bad_text(void **state)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"", "t:0: the trace ends before its first row"},
        {"# app: x\n", "t:1: the trace ends before its first row"},
        {COLUMNS, "t:1: the trace ends before its first row"},
        {"0,1,1,1,1,1\n", "t:1: neither a header (#) nor the line of columns"},
        {COLUMNS "# late\n", "t:2: the first column is no phase"},
        {COLUMNS "\n", "t:2: the first column is no phase"},
        {COLUMNS "x,1,1,1,1,1\n", "t:2: the first column is no phase"},
        {COLUMNS "1,1,1,1,1,1\n", "t:2: phases are out of order"},
        {COLUMNS "0,1,1,1,1,1\n2,1,1,1,1,1\n", "t:3: phases are out of order"},
        {COLUMNS "0,1,1,1,1,1\n1,1,1,1,1,1\n0,2,1,1,1,1\n", "t:4: phases are out of order"},
        {COLUMNS "0\n", "t:2: the second column is no page"},
        {COLUMNS "0,,1,1,1,1\n", "t:2: the second column is no page"},
        {COLUMNS "0,1G,1,1,1,1\n", "t:2: the second column is no page"},
        {COLUMNS "0,0x1,1,1,1,1\n", "t:2: the second column is no page"},
        {COLUMNS "0,400000000000,1,1,1,1\n", "t:2: the second column is no page"},
        {COLUMNS "0,2,1,1,1,1\n0,2,1,1,1,1\n", "t:3: pages are out of order, or one is there twice"},
        {COLUMNS "0,2,1,1,1,1\n0,1,1,1,1,1\n", "t:3: pages are out of order, or one is there twice"},
        {COLUMNS "0,1,1,1,1\n", "t:2: four counts must follow"},
        {COLUMNS "0,1,1,1,1,\n", "t:2: four counts must follow"},
        {COLUMNS "0,1,1,-1,1,1\n", "t:2: four counts must follow"},
        {COLUMNS "0,1,1,a,1,1\n", "t:2: four counts must follow"},
        {COLUMNS "0,1,1,1,1,4294967296\n", "t:2: four counts must follow"},
        {COLUMNS "0,1,1,1,1,99999999999999999999999\n", "t:2: four counts must follow"},
        {COLUMNS "0,1,1,1,1,1,1\n", "t:2: there is something after the sixth column"},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_trace trace;
        struct hm_error error = {""};
        errno = 0;
        assert_int_equal(hm_trace_parse("t", rows[i].text, strlen(rows[i].text), &trace, &error), -1);
        assert_int_equal(errno, EBADMSG);
        if (strncmp(error.text, rows[i].error, strlen(rows[i].error)) != 0)
            fail_msg("row %zu: \"%s\", not \"%s\"", i, error.text, rows[i].error);
    }
}

static void test_good_text(void **state)
{
    static const char text[] = "# app: some app\n# phase_accesses: 120 raw accesses per phase\n" COLUMNS
                               "0,a,1,2,3,4\n0,3fffffffffff,4294967295,0,0,0\n1,9,5,6,7,8\n1,a,0,0,0,1";
    struct hm_trace trace;
    struct hm_error error = {""};
    (void)state;
    assert_int_equal(hm_trace_parse("t", text, strlen(text), &trace, &error), 0);
    assert_string_equal(trace.app, "some app");
    assert_int_equal(trace.phase_accesses, 120);
    assert_int_equal(trace.n_pages, 3);
    assert_int_equal(trace.page[0], 9);
    assert_int_equal(trace.page[2], UINT64_C(0x3fffffffffff));
    assert_int_equal(trace.n_phases, 2);
    assert_int_equal(trace.phase[1].first, 2);
    assert_int_equal(trace.phase[1].count, 2);
    assert_int_equal(trace.n_rows, 4);
    assert_int_equal(trace.row[1].page, 2);
    assert_int_equal(trace.row[1].raw_reads, 4294967295);
    assert_int_equal(trace.row[2].page, 0);
    assert_int_equal(trace.row[2].mem_writes, 8);
    hm_trace_free(&trace);
}

static void test_archives(void **state)
{
    static char packed[600000];
    const char *path = scratch_path("cut.trace.zst");
    struct hm_trace trace;
    struct hm_error error = {""};
    (void)state;
    assert_int_equal(hm_trace_read(FIXTURES "/traces/STREAM.trace.zst", &trace, &error), 0);
    assert_string_equal(trace.app, "STREAM");
    assert_int_equal(trace.n_pages, 35159);
    assert_int_equal(trace.n_phases, 25);
    hm_trace_free(&trace);

    FILE *file = fopen(FIXTURES "/traces/STREAM.trace.zst", "r");
    assert_non_null(file);
    size_t size = fread(packed, 1, sizeof(packed), file);
    fclose(file);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && size > 1000);
    assert_int_equal(write(fd, packed, size / 2), size / 2);
    assert_int_equal(hm_trace_read(path, &trace, &error), -1);
    assert_int_equal(errno, EBADMSG);
    assert_non_null(strstr(error.text, "the archive is cut"));
    packed[size / 4] ^= 0x55;
    assert_int_equal(pwrite(fd, packed, size, 0), size);
    assert_int_equal(hm_trace_read(path, &trace, &error), -1);
    assert_int_equal(errno, EBADMSG);
    close(fd);
    unlink(path);
    assert_int_equal(hm_trace_read(path, &trace, &error), -1);
    assert_int_equal(errno, ENOENT);
    assert_non_null(strstr(error.text, path));
}

static void test_what_would_be_read_without_end(void **state)
{
    const char *fifo = scratch_path("fifo"), *packed = FIXTURES "/traces/STREAM.trace.zst";
    struct hm_trace trace;
    struct hm_error error = {""};
    (void)state;
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(hm_trace_read(fifo, &trace, &error), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(hm_trace_read("/dev/zero", &trace, &error), -1);
    assert_string_equal(error.text, "/dev/zero: no trace, as it is not a file");
    unlink(fifo);
    /* The archive has fewer bytes than that, its text has more. */
    assert_int_equal(hm_trace_read_most(packed, 1 << 20, &trace, &error), -1);
    assert_int_equal(errno, E2BIG);
    assert_non_null(strstr(error.text, "no trace, as it is longer than 1.0 MiB"));
    assert_int_equal(hm_trace_read_most(packed, 1000, &trace, &error), -1);
    assert_int_equal(errno, E2BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_text),
        cmocka_unit_test(test_good_text),
        cmocka_unit_test(test_archives),
        cmocka_unit_test(test_what_would_be_read_without_end),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
