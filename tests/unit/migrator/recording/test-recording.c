/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how accesses become a trace: the model of a cache, the counts of pages, phases, and the file. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "migrator/recording/recording.h"
#include "migrator/replay/trace.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define NONE HM_LINECACHE_NONE
#define PAGE 4096

/* ------------------------------------------------------------------ the cache */

static void test_a_set_keeps_what_was_used_last(void **state)
{
    static const struct {
        uint64_t line;
        bool is_store, is_filled;
        uint64_t written;
    } rows[] = {
        {0, true, true, NONE},   {1, false, true, NONE},  {2, true, true, NONE},  {3, false, true, NONE},
        {4, false, true, NONE},  {5, false, true, NONE},  {6, false, true, NONE}, {7, false, true, NONE},
        {0, false, false, NONE}, {8, false, true, NONE},  /* line 1 goes, which is clean */
        {9, false, true, 2},     {2, false, true, NONE},  /* line 3 goes */
        {0, false, false, NONE}, {10, false, true, NONE}, /* line 4 goes */
        {4, true, true, NONE},   {5, false, true, NONE},  /* line 5 goes, then line 6 */
    };
    struct hm_linecache *cache = hm_linecache_new(HM_LINECACHE_SET, NULL);
    (void)state;
    assert_non_null(cache);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint64_t written;
        bool is_filled = hm_linecache_touch(cache, rows[i].line, rows[i].is_store, &written);
        if (is_filled != rows[i].is_filled || written != rows[i].written)
            fail_msg("row %zu: filled %d, written %llu", i, is_filled, (unsigned long long)written);
    }
    hm_linecache_free(cache);
}

static void test_a_cache_holds_as_much_as_it_has(void **state)
{
    struct hm_linecache *cache = hm_linecache_new(1 << 16, NULL);
    uint64_t filled = 0, written;
    (void)state;
    assert_non_null(cache);
    for (int round = 0; round < 3; round++)
        for (uint64_t line = 0; line < 1024; line++)
            filled += hm_linecache_touch(cache, line + 12345, true, &written);
    assert_int_equal(filled, 1024);
    hm_linecache_free(cache);
}

static void test_sizes_of_a_cache(void **state)
{
    static const uint64_t rows[] = {0, 64, 513, HM_LINECACHE_MOST + HM_LINECACHE_SET};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {""};
        assert_null(hm_linecache_new(rows[i], &error));
        assert_int_equal(errno, EINVAL);
        assert_non_null(strstr(error.text, "a multiple of 512"));
    }
}

/* ------------------------------------------------------------------ the trace */

static void begin(struct hm_recording *recording, const char *path, uint64_t phase_accesses)
{
    struct hm_error error = {""};
    if (hm_recording_init(recording, path, phase_accesses, HM_LINECACHE_SET, &error) != 0)
        fail_msg("%s", error.text);
}

static void add(struct hm_recording *recording, uint32_t space, uint64_t address, unsigned size, bool is_store)
{
    const struct hm_access access = {space, address, size, is_store};
    assert_int_equal(hm_recording_add(recording, &access, NULL), 0);
}

static void end(struct hm_recording *recording, const char *path, struct hm_trace *trace)
{
    struct hm_error error = {""};
    if (hm_recording_end(recording, &error) != 0 ||
        hm_tracewriter_end(&recording->writer, "# app: tested\n# phase_accesses: 4\n", &error) != 0)
        fail_msg("%s", error.text);
    hm_recording_free(recording);
    if (hm_trace_read(path, trace, &error) != 0)
        fail_msg("%s", error.text);
}

static void assert_row(const struct hm_trace *trace, size_t i, uint64_t page, const uint32_t counts[4])
{
    const struct hm_trace_row *row = &trace->row[i];
    assert_int_equal(trace->page[row->page], page);
    const uint32_t found[4] = {row->raw_reads, row->raw_writes, row->mem_reads, row->mem_writes};
    for (int k = 0; k < 4; k++)
        if (found[k] != counts[k])
            fail_msg("row %zu, count %d: %u, not %u", i, k, found[k], counts[k]);
}

static void test_accesses_become_rows(void **state)
{
    const char *names[] = {"some.trace", "some.trace.zst"};
    (void)state;
    for (size_t i = 0; i < N_ROWS(names); i++) {
        const char *path = scratch_path("%s", names[i]);
        struct hm_recording recording;
        struct hm_trace trace;
        begin(&recording, path, 4);
        add(&recording, 0, 7 * PAGE, 8, true);
        add(&recording, 0, 7 * PAGE + 60, 8, false); /* reaches into the next line */
        add(&recording, 1, 7 * PAGE, 8, false);
        add(&recording, 0, 6 * PAGE - 4, 8, true); /* reaches into the next page */
        for (uint64_t line = 0; line < 8; line++)  /* all lines before make room for these */
            add(&recording, 0, 9 * PAGE + 64 * line, 1, false);
        add(&recording, 0, UINT64_C(1) << 48, 8, true);
        add(&recording, 0, (UINT64_C(1) << 48) - 4, 8, true);
        add(&recording, 0, UINT64_MAX - 7, 8, true);
        add(&recording, HM_RECORDING_SPACES, PAGE, 8, true);
        add(&recording, HM_RECORDING_SPACES - 1, (UINT64_C(1) << 48) - 1, 1, false);
        assert_int_equal(recording.sums.left_out, 4);
        end(&recording, path, &trace);
        assert_string_equal(trace.app, "tested");
        assert_int_equal(trace.phase_accesses, 4);
        assert_int_equal(trace.n_phases, 4);
        assert_int_equal(trace.phase[0].count, 4);
        assert_row(&trace, 0, 5, (const uint32_t[]){0, 1, 1, 0});
        assert_row(&trace, 1, 6, (const uint32_t[]){0, 0, 1, 0});
        assert_row(&trace, 2, 7, (const uint32_t[]){1, 1, 2, 0});
        assert_row(&trace, 3, UINT64_C(0x1000000007), (const uint32_t[]){1, 0, 1, 0});
        assert_int_equal(trace.phase[1].count, 2); /* the cache has had five lines: two of page 7 go */
        assert_row(&trace, 4, 7, (const uint32_t[]){0, 0, 0, 1});
        assert_row(&trace, 5, 9, (const uint32_t[]){4, 0, 4, 0});
        assert_int_equal(trace.phase[2].count, 3);
        assert_row(&trace, 6, 5, (const uint32_t[]){0, 0, 0, 1});
        assert_row(&trace, 7, 6, (const uint32_t[]){0, 0, 0, 1});
        assert_row(&trace, 8, 9, (const uint32_t[]){4, 0, 4, 0});
        assert_row(&trace, 9, UINT64_C(0x3fffffffffff), (const uint32_t[]){1, 0, 1, 0});
        hm_trace_free(&trace);
    }
}

static void test_many_pages(void **state)
{
    const char *path = scratch_path("many.trace");
    struct hm_recording recording;
    struct hm_trace trace;
    (void)state;
    begin(&recording, path, HM_RECORDING_MOST);
    for (uint64_t i = 0; i < 30000; i++)
        add(&recording, 0, (i * 7919 % 10000) * PAGE, 1, false);
    end(&recording, path, &trace);
    assert_int_equal(trace.n_rows, 10000);
    for (size_t i = 0; i < trace.n_rows; i++)
        assert_row(&trace, i, i, (const uint32_t[]){3, 0, 3, 0});
    hm_trace_free(&trace);
}

/* ------------------------------------------------------------------ the file */

static size_t count_files(const char *folder)
{
    char command[256];
    size_t n = 0;
    snprintf(command, sizeof(command), "ls -A '%s' | wc -l", folder);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    assert_int_equal(fscanf(out, "%zu", &n), 1);
    pclose(out);
    return n;
}

static void test_the_file_is_whole_or_stays_as_it_was(void **state)
{
    const char *folder = scratch_path("folder"), *path = scratch_path("folder/old.trace"),
               *link = scratch_path("folder/link.trace");
    struct hm_recording recording;
    struct hm_trace trace;
    struct stat status;
    (void)state;
    assert_int_equal(mkdir(folder, 0700), 0);
    scratch_write(path, "old");
    assert_int_equal(symlink("old.trace", link), 0);
    begin(&recording, link, 4);
    add(&recording, 0, PAGE, 1, false);
    hm_recording_free(&recording);
    assert_int_equal(count_files(folder), 2);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 3);

    begin(&recording, link, 4);
    add(&recording, 0, PAGE, 1, false);
    end(&recording, path, &trace);
    hm_trace_free(&trace);
    assert_int_equal(count_files(folder), 2);
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600); /* the old file's */
}

static void test_what_cannot_be_written_is_known_at_once(void **state)
{
    const struct {
        const char *path, *error;
        int number;
    } rows[] = {
        {"/dev/null", "it is no regular file", EINVAL},
        {scratch, "it is no regular file", EINVAL},
        {scratch_path("missing/a.trace"), "No such file or directory", ENOENT},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_recording recording;
        struct hm_error error = {""};
        assert_int_equal(hm_recording_init(&recording, rows[i].path, 4, 512, &error), -1);
        assert_int_equal(errno, rows[i].number);
        assert_int_equal(strncmp(error.text, rows[i].path, strlen(rows[i].path)), 0);
        assert_non_null(strstr(error.text, rows[i].error));
        hm_recording_free(&recording);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_set_keeps_what_was_used_last),
        cmocka_unit_test(test_a_cache_holds_as_much_as_it_has),
        cmocka_unit_test(test_sizes_of_a_cache),
        cmocka_unit_test(test_accesses_become_rows),
        cmocka_unit_test(test_many_pages),
        cmocka_unit_test(test_the_file_is_whole_or_stays_as_it_was),
        cmocka_unit_test(test_what_cannot_be_written_is_known_at_once),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
