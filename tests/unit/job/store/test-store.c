/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the store of records. Root or any other user can run the test. The files belong to whoever runs it; if root
 * runs it, the user's copies belong to user 12345. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files.h"
#include "job/store/dayfile.h"
#include "storefixture.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *node, *wanted;
    } rows[] = {{"", "node"},
                {"n1", "n1"},
                {"..", "_."},
                {".n1", "_n1"},
                {"../etc", "_._etc"},
                {"a/b", "a_b"},
                {"a b\n", "a_b_"},
                {"n1.cluster", "n1.cluster"},
                {"n\xc3\xa9", "n__"},
                {"-n_1", "-n_1"},
                {"0123456789abcdef", "0123456"}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char node[64];
        /* the longest name gets too little room */
        hm_store_node(rows[i].node, node, strlen(rows[i].node) > 12 ? 8 : sizeof(node));
        assert_string_equal(node, rows[i].wanted);
    }
}

static void test_days(void **state)
{
    (void)state;
    static const struct {
        int64_t end_ns;
        const char *day;
    } rows[] = {{END, DAY},        {END + 999999999, DAY}, {END + 1000000000, "2025-03-02"},
                {0, "1970-01-01"}, {-1, "1970-01-01"},     {INT64_MAX, "2262-04-11"}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char day[11];
        hm_store_day(rows[i].end_ns, day);
        assert_string_equal(day, rows[i].day);
    }
}

static void test_layout_whatever_the_umask(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    umask(0);
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":1}", &error), 0);
    umask(0777);
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":2}", &error), 0);
    key.node = "n2";
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":3}", &error), 0);
    assert_string_equal(error.text, "");
    char own[64];
    snprintf(own, sizeof(own), "records/by-user/%u", key.uid);
    assert_mode("records/" DAY, 0750, geteuid());
    assert_mode("records/" DAY "/n1.jsonl", 0640, geteuid());
    assert_mode("records/" DAY "/n2.jsonl", 0640, geteuid());
    assert_mode("records/by-user", 0711, geteuid());
    assert_mode(own, 0700, key.uid);
    assert_text("records/" DAY "/n1.jsonl", "{\"a\":1}\n{\"a\":2}\n");
    if (key.uid != 0) {
        snprintf(own, sizeof(own), "records/by-user/%u/" DAY, key.uid);
        assert_mode(own, 0700, key.uid);
        snprintf(own, sizeof(own), "records/by-user/%u/" DAY "/n1.jsonl", key.uid);
        assert_mode(own, 0600, key.uid);
        assert_text(own, "{\"a\":1}\n{\"a\":2}\n");
    }
    assert_int_equal(access(path_of("state/pending"), F_OK), -1);
}

/* A crash came after the folder was made and given to its group, and before its mode. */
static void test_a_folder_without_its_mode_gets_it(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path_of("records/" DAY), 0700), 0);
    assert_int_equal(hm_store_put(&config, &key, "{}", NULL), 0);
    assert_mode("records/" DAY, 0750, geteuid());
}

static void test_root_has_no_copy(void **state)
{
    (void)state;
    key.uid = 0;
    assert_int_equal(hm_store_put(&config, &key, "{}", NULL), 0);
    assert_int_equal(access(path_of("records/by-user"), F_OK), -1);
}

static void test_folder_in_the_state_folder_is_made(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    assert_int_equal(rmdir(config.state_dir), 0);
    snprintf(config.record_dir, sizeof(config.record_dir), "%s", path_of("state/records"));
    assert_int_equal(hm_store_put(&config, &key, "{}", &error), 0);
    assert_string_equal(error.text, "");
    assert_mode("state", HM_FOLDER_PASS, geteuid());
    assert_mode("state/records", 0751, geteuid());
    assert_text("state/records/" DAY "/n1.jsonl", "{}\n");
}

/* A crash came after it was made, and before it had its mode: no user could reach their own records. What the site has
 * made elsewhere is left as it is. */
static void test_a_record_folder_without_its_mode_gets_it(void **state)
{
    (void)state;
    assert_int_equal(chmod(config.record_dir, 0700), 0);
    assert_int_equal(hm_store_put(&config, &key, "{}", NULL), 0);
    assert_mode("records", 0700, geteuid());
    assert_int_equal(mkdir(path_of("state/records"), 0700), 0);
    snprintf(config.record_dir, sizeof(config.record_dir), "%s", path_of("state/records"));
    assert_int_equal(hm_store_put(&config, &key, "{}", NULL), 0);
    assert_mode("state/records", 0751, geteuid());
}

static void make_link(const char *name)
{
    assert_int_equal(symlink(path_of("elsewhere"), path_of(name)), 0);
}

static void trap_day_is_link(void)
{
    make_link("records/" DAY);
}

static void trap_day_is_file(void)
{
    put_file("records/" DAY, "");
}

static void trap_day_is_open(void)
{
    assert_int_equal(mkdir(path_of("records/" DAY), 0700) || chmod(path_of("records/" DAY), 0770), 0);
}

static void trap_records_are_open(void)
{
    assert_int_equal(chmod(config.record_dir, 0777), 0);
}

static void trap_records_are_link(void)
{
    assert_int_equal(rename(config.record_dir, path_of("real")), 0);
    make_link("records");
}

static void trap_file_is_link(void)
{
    assert_int_equal(mkdir(path_of("records/" DAY), 0750), 0);
    assert_int_equal(symlink(path_of("elsewhere/file"), path_of("records/" DAY "/n1.jsonl")), 0);
}

static void trap_file_is_fifo(void)
{
    assert_int_equal(mkdir(path_of("records/" DAY), 0750), 0);
    assert_int_equal(mkfifo(path_of("records/" DAY "/n1.jsonl"), 0600), 0);
}

static void trap_file_has_two_names(void)
{
    assert_int_equal(mkdir(path_of("records/" DAY), 0750), 0);
    put_file("elsewhere/file", "");
    assert_int_equal(link(path_of("elsewhere/file"), path_of("records/" DAY "/n1.jsonl")), 0);
}

static void test_traps_are_refused(void **state)
{
    static void (*const traps[])(void) = {trap_day_is_link,      trap_day_is_file,       trap_day_is_open,
                                          trap_records_are_open, trap_records_are_link,  trap_file_is_link,
                                          trap_file_is_fifo,     trap_file_has_two_names};
    for (size_t i = 0; i < N_ROWS(traps); i++) {
        struct hm_error error = {{0}};
        assert_int_equal(store_tear_down(state), 0);
        assert_int_equal(store_set_up(state), 0);
        assert_int_equal(mkdir(path_of("elsewhere"), 0755), 0);
        traps[i]();
        if (hm_store_put(&config, &key, "{}", &error) != 1)
            fail_msg("trap %zu was not refused", i);
        assert_true(error.text[0] != '\0');
        assert_int_equal(count_in("state/pending"), 1);
        struct stat status;
        if (stat(path_of("elsewhere/file"), &status) == 0)
            assert_int_equal(status.st_size, 0);
        else
            assert_int_equal(count_in("elsewhere"), 0);
    }
}

static void test_line_cut_by_a_crash_is_ended(void **state)
{
    (void)state;
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":1}", NULL), 0);
    assert_int_equal(truncate(path_of("records/" DAY "/n1.jsonl"), 5), 0);
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":2}", NULL), 0);
    assert_text("records/" DAY "/n1.jsonl", "{\"a\":\n{\"a\":2}\n");
}

/* An earlier process may have appended the record, in this form or with other figures. A line that was cut short is no
 * record. */
static void test_a_record_is_appended_once(void **state)
{
    static const struct {
        const char *there, *line;
        bool is_appended;
    } rows[] = {
        {"{\"job_id\":7,\"end\":\"x\",\"a\":\"}\\\"\"}\n", "{\"job_id\":7,\"end\":\"x\",\"b\":{}}", false},
        {"{}\n{\"job_id\":7,\"end\":\"x\"}\n{}\n", "{\"job_id\":7,\"end\":\"x\"}", false},
        {"{\"job_id\":7,\"end\":\"x\",\"a\":{}\n", "{\"job_id\":7,\"end\":\"x\"}", true},
        {"{\"job_id\":7,\"end\":\"y\"}\n", "{\"job_id\":7,\"end\":\"x\"}", true},
        {"{\"job_id\":70,\"end\":\"x\"}\n", "{\"job_id\":7,\"end\":\"x\"}", true},
        {"{\"a\":1}\n", "{\"a\":1}", true}, /* nothing tells which record it is */
    };
    (void)state;
    key.uid = 0;
    key.way = HM_STORE_AGAIN;
    assert_int_equal(hm_store_put(&config, &key, "{}", NULL), 0);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char wanted[160];
        put_file("records/" DAY "/n1.jsonl", rows[i].there);
        assert_int_equal(hm_store_put(&config, &key, rows[i].line, NULL), 0);
        snprintf(wanted, sizeof(wanted), "%s%s%s", rows[i].there, rows[i].is_appended ? rows[i].line : "",
                 rows[i].is_appended ? "\n" : "");
        assert_text("records/" DAY "/n1.jsonl", wanted);
    }
}

/* As on a full disk, the file may only grow by a few bytes. */
static void test_no_room(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    struct rlimit before, limit;
    struct stat status;
    char line[1000];
    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\0';
    for (int i = 0; i < 3; i++)
        assert_int_equal(hm_store_put(&config, &key, line, &error), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 3005;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int kept = hm_store_put(&config, &key, line, &error);
    limit.rlim_cur = 10; /* the record does not fit in the state folder either */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    key.job_id++;
    int lost = hm_store_put(&config, &key, line, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(kept, 1);
    assert_int_equal(lost, -1);
    assert_int_equal(stat(path_of("records/" DAY "/n1.jsonl"), &status), 0);
    assert_int_equal(status.st_size, 3000); /* nothing of the line stayed */
    assert_int_equal(count_in("state/pending"), 1);
    assert_int_equal(hm_store_retry(&config, note_told, &error), 1);
    assert_int_equal(stat(path_of("records/" DAY "/n1.jsonl"), &status), 0);
    assert_int_equal(status.st_size, 4000);
}

#define WRITERS 8
#define LINES 40
#define TRIES 100 /* each ends when the lock has not become free for 5 s */

static void write_many(int writer)
{
    char line[3000];
    int failed = 0;
    for (int i = 0; i < LINES; i++) {
        memset(line, 'a' + writer, sizeof(line));
        snprintf(line + sizeof(line) - 8, 8, "%d-%02d", writer, i);
        /* On a busy machine the lock may not become free in time. The line is then tried again. */
        int result = hm_store_append(&config, &key, line, NULL);
        for (int again = 0; again < TRIES && result != 0 && errno == ETIMEDOUT; again++)
            result = hm_store_append(&config, &key, line, NULL);
        failed += result != 0;
    }
    _exit(failed);
}

static void test_concurrent_writers(void **state)
{
    (void)state;
    pid_t pids[WRITERS];
    bool seen[WRITERS][LINES] = {{false}};
    char *line = NULL;
    size_t room = 0;
    int lines = 0, status;
    key.uid = 0; /* root gets no copy; the same code appends to copies, so the day's file is test enough */
    for (int i = 0; i < WRITERS; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0)
            write_many(i);
    }
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    FILE *file = fopen(path_of("records/" DAY "/n1.jsonl"), "r");
    assert_non_null(file);
    for (ssize_t length; (length = getline(&line, &room, file)) > 0; lines++) {
        int writer = line[0] - 'a', number = atoi(line + length - 3);
        assert_true(writer >= 0 && writer < WRITERS && number >= 0 && number < LINES);
        assert_int_equal(strspn(line, (char[]){line[0], '\0'}), 3000 - 8);
        assert_false(seen[writer][number]);
        seen[writer][number] = true;
    }
    assert_int_equal(lines, WRITERS * LINES);
    free(line);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_days),
        cmocka_unit_test_setup_teardown(test_traps_are_refused, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_a_record_is_appended_once, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_no_room, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_line_cut_by_a_crash_is_ended, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_layout_whatever_the_umask, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_a_folder_without_its_mode_gets_it, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_root_has_no_copy, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_folder_in_the_state_folder_is_made, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_a_record_folder_without_its_mode_gets_it, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_concurrent_writers, store_set_up, store_tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
