/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the text of a ledger entry: every field is written and read, wrong values are refused, entries of other
 * versions can be read.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "job/ledger/entry.h"
#include "unit/job/fieldwalk.h"
#include "unit/lib/rows.h"

static struct hm_job job, other;
static struct hm_error error;
static char text[HM_ENTRY_MOST], again[HM_ENTRY_MOST];

static ssize_t format(const struct hm_job *of, const char *before, char *out)
{
    ssize_t length = hm_entry_format(of, before, out, &error);
    if (length < 0)
        fail_msg("%s", error.text);
    assert_int_equal(length, strlen(out));
    return length;
}

/* Parses a copy of exactly this size, so that the sanitizer sees any access past its end. */
static int parse(const char *content, size_t length, struct hm_job *into)
{
    char *copy = malloc(length + 1);
    assert_non_null(copy);
    memcpy(copy, content, length);
    copy[length] = '\0';
    error.text[0] = '\0';
    errno = 0;
    int result = hm_entry_parse(copy, length, &hm_job_fields, into, &error);
    int number = errno;
    free(copy);
    errno = number;
    return result;
}

static void refused(const char *content, size_t length, const char *words)
{
    if (parse(content, length, &other) != -1 || errno != EBADMSG || !strstr(error.text, words))
        fail_msg("errno %d, \"%s\" (wanted %s): %.200s", errno, error.text, words, content);
}

static void parsed(const char *content, struct hm_job *into)
{
    if (parse(content, strlen(content), into) != 0)
        fail_msg("%s", error.text);
}

static void test_every_field_comes_back(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 8; seed++) {
        hm_job_init(&job, 7);
        field_fill(hm_job_fields.table, &job, seed, seed >= 6);
        format(&job, NULL, text);
        parsed(text, &other);
        assert_memory_equal(&job, &other, sizeof(job));
        format(&other, NULL, again);
        assert_string_equal(text, again);
    }
}

static void test_a_new_entry_is_short_and_comes_back(void **state)
{
    (void)state;
    hm_job_init(&job, 7);
    assert_in_range(format(&job, NULL, text), 100, 8192);
    parsed(text, &other);
    assert_memory_equal(&job, &other, sizeof(job));
}

/* For each type of field, texts that are not valid. */
static const char *const bad_values[][5] = {
    [HM_FIELD_BOOL] = {"", "true", "2", "yes "},
    [HM_FIELD_UNSIGNED] = {"x", "-1", "1K", "18446744073709551616"},
    [HM_FIELD_SIGNED] = {"x", "--1", "-", "9223372036854775808"},
    [HM_FIELD_REAL] = {"x", "nan", "1e999", "1,5"},
    [HM_FIELD_TEXT] = {"\\", "\\q", "\\x4", "\\x00"},
    [HM_FIELD_SET] = {"x", "8192", "3-1", "1,"},
    [HM_FIELD_WORD] = {"", "0", "no such word"},
};

/* Checks that this line is refused in an entry that has one change, one namespace and one step with a migrator. */
static void refused_line(const char *path, const char *value, const char *words)
{
    static char content[2048];
    int length = snprintf(content, sizeof(content),
                          "hybridmem job 1\nn_changes 1\nchange.0.path /x\nnamespaces.n 1\n"
                          "namespaces.each.0.device /dev/pmem0\nmigration.n_steps 1\n%s %s\nend\n",
                          path, value);
    refused(content, (size_t)length, words);
}

static void refuse_bad(const struct hm_field *field, const char *path, void *value, void *data)
{
    char wrong[HM_ERROR_TEXT + 8];
    (void)value;
    ++*(int *)data;
    for (int i = 0; bad_values[field->type][i]; i++)
        refused_line(path, bad_values[field->type][i], path);
    memset(wrong, 'x', sizeof(wrong));
    wrong[field->type == HM_FIELD_TEXT ? field->size : 40] = '\0';
    refused_line(path, wrong, path);
    snprintf(wrong, sizeof(wrong), "%llu", (unsigned long long)field->most + 1);
    if (field->most > 0)
        refused_line(path, wrong, path);
}

static void test_bad_values_are_refused(void **state)
{
    (void)state;
    static const char *const lines[][3] = {
        {"change.0.path", "x", "change.0.path"}, /* not absolute */
        {"namespaces.each.0.device", "/dev/pmem0x", "namespaces.each.0.device"},
        {"monitor.pid", "-1", "monitor.pid"},
        {"migrator.63.process.pid", "-1", "migrator.63.process.pid"},
        {"migration.total.fast_share", "1.5", "migration.total.fast_share"},
        {"migration.total.cpu_s", "-1", "migration.total.cpu_s"},
        {"migration.step.0.source", "\\x1b", "migration.step.0.source"},
        {"n_changes", "137", "change"},
        {"n_warnings", "17", "warning"},
        {"plan.n_warnings", "-1", "plan.warning"},
        {"plan.n_warnings", "9", "plan.warning"},
        {"plan.weights", "1 256", "plan.weights"},
        {"plan.weights", "1  2", "plan.weights"},
    };
    int n = 0;
    field_walk(hm_job_fields.table, &job, true, refuse_bad, &n);
    assert_in_range(n, 150, 1000);
    for (size_t i = 0; i < N_ROWS(lines); i++)
        refused_line(lines[i][0], lines[i][1], lines[i][2]);
}

static void test_what_cannot_be_read_is_not_written(void **state)
{
    (void)state;
    hm_job_init(&job, 7);
    memset(job.user, 'x', sizeof(job.user));
    assert_int_equal(hm_entry_format(&job, NULL, text, &error), -1);
    assert_int_equal(errno, EBADMSG);
    assert_string_equal(error.text, "user is out of range");
    hm_job_init(&job, 7);
    memset(&job.plan.migration.is_wanted, 2, 1);
    assert_int_equal(hm_entry_format(&job, NULL, text, &error), -1);
    assert_string_equal(error.text, "plan.migration.is_wanted is out of range");
}

static void test_a_long_warning_ends_after_a_word(void **state)
{
    (void)state;
    hm_job_init(&job, 7);
    for (int i = 0; i < HM_JOB_WARNINGS + 1; i++)
        hm_job_warn(&job, "%d of the warnings %0130d word and another %0130d", i, 7, 8);
    for (int i = 0; i < HM_JOB_WARNINGS; i++)
        assert_non_null(strstr(job.warning[i], i == HM_JOB_WARNINGS - 1 ? "7 word and..." : "7 word and another..."));
}

static void test_torn_entries_are_refused(void **state)
{
    (void)state;
    hm_job_init(&job, 7);
    hm_job_warn(&job, "a warning");
    size_t length = (size_t)format(&job, NULL, text);
    for (size_t cut = 0; cut < length; cut++)
        refused(text, cut, "torn");
    text[length / 2] = '\0';
    refused(text, length, "torn");
    refused("hybridmem job 1\nuser a\nend\nuser b\n", 33, "torn");
    refused("hybridmem job 2\nend\n", 20, "version");
    refused("hybridmem topology 1\nend\n", 25, "version");
}

/* Lines of unknown fields, and lines that are no fields at all, are skipped. */
static void test_unknown_lines_are_passed_over(void **state)
{
    (void)state;
    hm_job_init(&other, 7);
    parsed("hybridmem job 1\nuser alice\nfuture x y\n\n . \n..\nplan\nplan.\nplan.future.3 1\nuser.0 x\nchange\n"
           "change.\nchange.x.path\nchange.136.path x\nchange.99999999999999999999.path x\nchange.0\nchange.0.\n"
           "warning.0.x y\nplan.request.mode.x y\nend\n",
           &job);
    assert_string_equal(job.user, "alice");
    assert_int_equal(job.n_changes, 0);
    /* 2^32 is no other way to write 0. */
    parsed("hybridmem job 1\nn_changes 1\nchange.0.path /x\nchange.4294967296.path /y\nend\n", &job);
    assert_string_equal(job.change[0].path, "/x");
}

/* Writes `job` into `text` as a later version would. `lines`, which only that version knows, stand before the end. */
static void of_later(const char *lines)
{
    size_t length = (size_t)format(&job, NULL, text) - strlen("end\n");
    snprintf(text + length, sizeof(text) - length, "%send\n", lines);
}

static void test_lines_of_a_later_version_are_kept(void **state)
{
    (void)state;
    hm_job_init(&job, 7);
    job.n_changes = 1;
    snprintf(job.change[0].path, sizeof(job.change[0].path), "/proc/x");
    of_later("future\nfuture.place.3 a b  c\nplan.request.later 1\nchange.0.later 2\nchange.1.later 3\n"
             "migrator.5.later 4\nchange.136.path 5\n");
    parsed(text, &job);
    job.recorded = true;
    format(&job, text, again);
    for (int i = 0; i < 2; i++) {
        assert_non_null(
            strstr(again, "\nfuture\nfuture.place.3 a b  c\nplan.request.later 1\nchange.0.later 2\nend\n"));
        assert_null(strstr(again, "later 3"));
        assert_null(strstr(again, "later 4"));
        assert_null(strstr(again, "change.136"));
        memcpy(text, again, sizeof(text));
        format(&job, text, again); /* once more */
    }
    assert_string_equal(text, again);
    parsed(again, &other);
    assert_memory_equal(&job, &other, sizeof(job));
    /*
     * A line of a later version belongs to one run of the job, and may belong to one change of that run. Without the
     * run, or without the change, the line goes, too.
     */
    job.n_changes = 0;
    format(&job, text, again);
    assert_non_null(strstr(again, "future"));
    assert_null(strstr(again, "change.0.later"));
    job.start_ns++;
    format(&job, text, again);
    assert_null(strstr(again, "future"));
}

static void test_lines_of_a_later_version_without_room_are_dropped(void **state)
{
    (void)state;
    hm_job_init(&job, 7);
    size_t length = (size_t)format(&job, NULL, text) - strlen("end\n");
    while (length + 1000 < sizeof(text))
        length += (size_t)snprintf(text + length, sizeof(text) - length, "future %0900d\n", 7);
    snprintf(text + length, sizeof(text) - length, "end\n");
    snprintf(job.user, sizeof(job.user), "alice");
    for (int i = 0; i < HM_JOB_WARNINGS; i++)
        hm_job_warn(&job, "%d %0150d", i, 7);
    assert_in_range(format(&job, text, again), sizeof(text) - 2000, sizeof(text));
    parsed(again, &other);
    assert_int_equal(other.n_warnings, HM_JOB_WARNINGS);
    assert_string_equal(other.warning[HM_JOB_WARNINGS - 1], job.warning[HM_JOB_WARNINGS - 1]);
}

/* With each line left out in turn, its field has the value of a new entry. */
static void test_missing_fields_have_their_defaults(void **state)
{
    (void)state;
    hm_job_init(&job, 0);
    size_t length = (size_t)format(&job, NULL, text);
    for (char *line = strchr(text, '\n') + 1; strcmp(line, "end\n") != 0; line = strchr(line, '\n') + 1) {
        char *end = strchr(line, '\n') + 1;
        snprintf(again, sizeof(again), "%.*s%s", (int)(line - text), text, end);
        parsed(again, &other);
        if (strncmp(line, "start_ns ", strlen("start_ns ")) == 0)
            other.start_ns = job.start_ns; /* the start of a new entry is now */
        if (memcmp(&job, &other, sizeof(job)) != 0)
            fail_msg("%.*s", (int)(end - line), line);
    }
    assert_in_range(length, 1000, sizeof(text));
}

static size_t read_fixture(const char *name, char *into, size_t size)
{
    char path[512];
    snprintf(path, sizeof(path), FIXTURES "/ledger/%s", name);
    FILE *file = fopen(path, "re");
    if (!file)
        fail_msg("%s", path);
    size_t length = fread(into, 1, size - 1, file);
    into[length] = '\0';
    fclose(file);
    return length;
}

/* Entries as they were written once: their texts fix the names of fields and words. */
static void test_names_stay(void **state)
{
    (void)state;
    static const char *const names[] = {"spill.1", "fsdax.1", "migrate.1"};
    for (size_t i = 0; i < N_ROWS(names); i++) {
        read_fixture(names[i], text, sizeof(text));
        parsed(text, &job);
        assert_string_equal(job.user, "alice");
        format(&job, NULL, again);
        assert_string_equal(text, again);
    }
    assert_int_equal(job.migration.step[0].unmoved_bytes[HM_UNMOVED_BUSY], 4096);
    assert_int_equal(job.migrator[5].process.pid, 333);
    assert_int_equal(job.plan.policy, HM_POLICY_BIND_BALANCING);
    assert_true(job.plan.migration.write_latency == 1.0 / 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field_comes_back),
        cmocka_unit_test(test_a_new_entry_is_short_and_comes_back),
        cmocka_unit_test(test_bad_values_are_refused),
        cmocka_unit_test(test_what_cannot_be_read_is_not_written),
        cmocka_unit_test(test_a_long_warning_ends_after_a_word),
        cmocka_unit_test(test_torn_entries_are_refused),
        cmocka_unit_test(test_unknown_lines_are_passed_over),
        cmocka_unit_test(test_lines_of_a_later_version_are_kept),
        cmocka_unit_test(test_lines_of_a_later_version_without_room_are_dropped),
        cmocka_unit_test(test_missing_fields_have_their_defaults),
        cmocka_unit_test(test_names_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
