/* SPDX-License-Identifier: Apache-2.0 */
/* Tests records that wait in the state folder, and the pass that appends them. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "job/store/pending.h"
#include "storefixture.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

/* The fake clock's time (0: the real clock is used), and how far each reading of CLOCK_MONOTONIC moves it. */
static time_t now_s, seconds_each;

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    if (now_s == 0)
        return __real_clock_gettime(clock, now);
    *now = (struct timespec){.tv_sec = now_s};
    now_s += clock == CLOCK_MONOTONIC ? seconds_each : 0;
    return 0;
}

/* The process of a child that never calls exec. -1: the next fsync starts it; 0: none is wanted. */
static pid_t stuck;

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
    if (stuck == -1 && (stuck = fork()) == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    return __real_fsync(fd);
}

static struct statvfs room; /* of the disk; without blocks the real one's counts */

int __real_fstatvfs(int fd, struct statvfs *found);
int __wrap_fstatvfs(int fd, struct statvfs *found);

int __wrap_fstatvfs(int fd, struct statvfs *found)
{
    int result = __real_fstatvfs(fd, found);
    if (room.f_blocks > 0)
        *found = room;
    return result;
}

static int tear_down(void **state)
{
    room.f_blocks = 0;
    now_s = seconds_each = 0;
    return store_tear_down(state);
}

static void test_pending_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int result;
    } rows[] = {
        {"1740873599000000000_42_1001_1002_n1.json", 0},
        {"0000000000000000000_4294967295_0_0_n1.x.json", 0},
        {"", -1},
        {"n1.json", -1},
        {"1740873599000000000_42_1001_n1.json", -1},
        {"1740873599000000000_42_1001_1002_.json", -1},
        {"1740873599000000000_42_1001_1002_n1", -1},
        {"1740873599000000000_42_1001_1002_n/1.json", -1},
        {"1740873599000000000_42_1001_1002_.n1.json", -1},
        {"1740873599000000000_042_1001_1002_n1.json", -1},
        {"1740873599000000000_4294967296_1001_1002_n1.json", -1},
        {"9999999999999999999_42_1001_1002_n1.json", -1},
        {"1740873599000000000_-42_1001_1002_n1.json", -1},
        {"174087359900000000_42_1001_1002_n1.json", -1},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_store_key found;
        char node[64];
        if (hm_pending_parse(rows[i].name, &found, node, sizeof(node)) != rows[i].result)
            fail_msg("row %zu: %s", i, rows[i].name);
    }
}

/* A record folder of the site that does not exist is not made. The record waits until the folder is back. */
static void test_missing_folder(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    assert_int_equal(rmdir(config.record_dir), 0);
    assert_int_equal(hm_store_retry(&config, note_told, &error), 0); /* pending/ does not exist */
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":1}", &error), 1);
    assert_non_null(strstr(error.text, "records"));
    assert_non_null(strstr(error.text, "pending"));
    key.end_ns++;
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":2}", &error), 1);
    assert_int_equal(access(config.record_dir, F_OK), -1);
    assert_mode("state/pending", 0700, geteuid());
    assert_int_equal(count_in("state/pending"), 2);
    assert_int_equal(hm_store_retry(&config, note_told, &error), -1);
    assert_int_equal(count_in("state/pending"), 2);
    assert_int_equal(mkdir(config.record_dir, 0751), 0);
    assert_int_equal(hm_store_retry(&config, note_told, &error), 2);
    assert_text("records/" DAY "/n1.jsonl", "{\"a\":2}\n{\"a\":1}\n"); /* what failed is last */
    assert_int_equal(count_in("state/pending"), 0);
    assert_int_equal(hm_store_retry(&config, note_told, &error), 0);
}

#define IDENTITY "{\"job_id\":7,\"end\":\"x\""

/* Whoever may not be held up by the record folder does not even look at it. */
static void test_what_is_to_wait_does_not_touch_the_records(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    key.way = HM_STORE_LATER;
    assert_int_equal(hm_store_put(&config, &key, IDENTITY "}", &error), 1);
    assert_string_equal(error.text, "");
    assert_int_equal(count_in("records"), 0);
    assert_int_equal(count_in("state/pending"), 1);
    for (int i = 0; i < 2; i++) { /* by a process that was killed before it could tell, the second time */
        assert_int_equal(hm_store_put(&config, &key, IDENTITY "}", &error), 1);
        assert_int_equal(hm_store_retry(&config, note_told, &error), 1);
    }
    assert_int_equal(rmdir(path_of("state/pending")), 0);
    put_file("state/pending", "no folder\n");
    assert_int_equal(hm_store_put(&config, &key, IDENTITY ",\"a\":2}", &error), 1);
    assert_text("records/" DAY "/n1.jsonl", IDENTITY "}\n");
    assert_int_equal(count_in("run/root/node/pending"), 1);
}

static void let_no_disk_take_any(void)
{
    assert_int_equal(rmdir(config.record_dir), 0);
    put_file("state/pending", "no folder\n");
}

/* Where the node's disk takes none either, a record waits in memory, and no longer in the ledger: there the job's next
 * run would take its place. */
static void test_what_no_disk_takes_waits_in_memory(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    const char *const memory = "run/root/node/pending";
    let_no_disk_take_any();
    for (int way = HM_STORE_AT_ONCE; way <= HM_STORE_LATER; way++, key.end_ns++) {
        key.way = (enum hm_store_way)way;
        assert_int_equal(hm_store_put(&config, &key, "{\"a\":1}", &error), 1);
        assert_non_null(strstr(error.text, "root/node/pending, until a reboot"));
    }
    assert_mode(memory, 0700, geteuid());
    assert_int_equal(count_in(memory), 3);
    assert_int_equal(hm_store_retry(&config, note_told, &error), -1);
    assert_int_equal(count_in(memory), 3);
    assert_int_equal(mkdir(config.record_dir, 0751), 0);
    assert_int_equal(hm_store_retry(&config, note_told, &error), 3); /* still no room on the disk */
    assert_int_equal(count_in(memory), 0);
    assert_text("records/" DAY "/n1.jsonl", "{\"a\":1}\n{\"a\":1}\n{\"a\":1}\n");
}

/* The folder of records is away, or is not to be touched. */
static void test_the_disk_is_not_filled(void **state)
{
    static const struct {
        unsigned free, files;
        bool is_kept;
    } rows[] = {{20, 20, true}, {19, 20, false}, {20, 19, false}};
    (void)state;
    struct hm_error error = {{0}};
    for (int way = 0; way < 2; way++)
        for (size_t i = 0; i < N_ROWS(rows); i++) {
            assert_int_equal(tear_down(NULL), 0);
            assert_int_equal(store_set_up(NULL), 0);
            struct hm_store_key later = key;
            later.way = way == 0 ? HM_STORE_LATER : key.way;
            if (way == 1)
                assert_int_equal(rmdir(config.record_dir), 0);
            room = (struct statvfs){
                .f_blocks = 1000, .f_files = 1000, .f_bavail = rows[i].free, .f_favail = rows[i].files};
            assert_int_equal(hm_store_put(&config, &later, "{\"a\":1}", &error), 1);
            assert_int_equal(count_in(rows[i].is_kept ? "state/pending" : "run/root/node/pending"), 1);
        }
}

/* A reboot ends what is in memory. So it does not stay there until all of the disk's are appended, of which each epilog
 * tries some, nor until record_dir takes it. */
static void test_what_waits_in_memory_goes_to_the_disk_first(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    const char *const memory = "run/root/node/pending";
    char name[96];
    let_no_disk_take_any();
    for (int i = 0; i < HM_STORE_PASS + 1; i++, key.end_ns++)
        assert_int_equal(hm_store_put(&config, &key, "{\"a\":1}", &error), 1);
    assert_int_equal(unlink(path_of("state/pending")), 0);
    assert_int_equal(mkdir(path_of("state/pending"), 0700), 0);
    for (int i = 0; i < HM_STORE_PASS; i++) {
        snprintf(name, sizeof(name), "state/pending/%019d_1_0_0_n1.json", i);
        put_file(name, "{}\n");
    }
    assert_int_equal(hm_store_retry(&config, note_told, &error), -1);
    assert_int_equal(count_in(memory), 1);
    assert_int_equal(count_in("state/pending"), 2 * HM_STORE_PASS);
    assert_int_equal(hm_store_retry(&config, note_told, &error), -1);
    assert_int_equal(count_in(memory), 0);
    assert_int_equal(count_in("state/pending"), 2 * HM_STORE_PASS + 1);
}

/* Where the configuration is wrong, no record goes to the built-in folders, where nobody would look for it, and none
 * that waits leaves its place. */
static void test_what_is_written_without_a_configuration_waits_in_memory(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    const char *const memory = "run/root/node/pending";
    char known[sizeof(config.record_dir)];
    memcpy(known, config.record_dir, sizeof(known));
    key.way = HM_STORE_LATER;
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":1}", &error), 1);
    config.record_dir[0] = '\0';
    for (int way = HM_STORE_AT_ONCE; way <= HM_STORE_LATER; way++) {
        key.end_ns++;
        key.way = (enum hm_store_way)way;
        assert_int_equal(hm_store_put(&config, &key, "{\"a\":1}", &error), 1);
        assert_non_null(strstr(error.text, "record_dir is not known"));
        assert_non_null(strstr(error.text, "root/node/pending, until a reboot"));
    }
    error.text[0] = '\0';
    assert_int_equal(hm_store_retry(&config, note_told, &error), 0);
    assert_string_equal(error.text, "");
    assert_int_equal(count_in(memory), 3);
    assert_int_equal(count_in("state/pending"), 1);
    memcpy(config.record_dir, known, sizeof(known));
    while (hm_store_retry(&config, note_told, &error) > 0) {
    }
    assert_int_equal(count_in(memory) + count_in("state/pending"), 0);
    assert_text("records/" DAY "/n1.jsonl", "{\"a\":1}\n{\"a\":1}\n{\"a\":1}\n{\"a\":1}\n");
}

/* A disk that stays full does not let the records fill run_dir. */
static void test_what_waits_in_memory_is_bounded(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    const char *const first = "run/root/node/pending/1740873599000000000_5_0_0_n1.json";
    let_no_disk_take_any();
    assert_int_equal(hm_store_put(&config, &key, "{}", &error), 1);
    put_file(first, "");
    assert_int_equal(truncate(path_of(first), HM_PENDING_MEMORY_MOST), 0);
    key.end_ns++;
    assert_int_equal(hm_store_put(&config, &key, "{}", &error), 2);
    assert_non_null(strstr(error.text, "the records that wait in memory have 64 MiB"));
    assert_int_equal(count_in("run/root/node/pending"), 2);
    assert_int_equal(truncate(path_of(first), 1), 0);
    assert_int_equal(hm_store_put(&config, &key, "{}", &error), 1);
}

/* A pass appends HM_STORE_PASS records at most: Slurm waits for its epilog's pass, and must not wait for them all. */
static void test_a_pass_is_bounded(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    key.uid = 0;
    assert_int_equal(rmdir(config.record_dir), 0);
    for (int i = 0; i < HM_STORE_PASS + 3; i++, key.end_ns--)
        assert_int_equal(hm_store_put(&config, &key, "{}", &error), 1);
    assert_int_equal(mkdir(config.record_dir, 0751), 0);
    assert_int_equal(hm_store_retry(&config, note_told, &error), HM_STORE_PASS);
    assert_int_equal(count_in("state/pending"), 3);
    assert_int_equal(hm_store_retry(&config, note_told, &error), 3);
    assert_int_equal(count_in("state/pending"), 0);
}

/* The clock is read once at the beginning, and once for each record until the time is over. */
static void test_a_pass_has_five_seconds(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    /* What a process does with its first record only, such as the look-up of the group of readers, is done while the
     * clock is still the real one. */
    assert_int_equal(hm_store_put(&config, &key, "{}", &error), 0);
    assert_int_equal(mkdir(path_of("state/pending"), 0700), 0);
    put_file("state/pending/0000000000000000001_1_0_0_n1.json", "{}\n");
    put_file("state/pending/0000000000000000002_2_0_0_n1.json", "{}\n");
    put_file("state/pending/0000000000000000003_3_0_0_n1.json", "{}\n");
    now_s = 1000;
    seconds_each = 2;
    assert_int_equal(hm_store_retry(&config, note_told, &error), 2);
    assert_int_equal(now_s, 1000 + 2 + 2 * 2 + 2);
    assert_int_equal(count_in("state/pending"), 1);
    seconds_each = 6;
    assert_int_equal(hm_store_retry(&config, note_told, &error), 0);
    seconds_each = 0;
    assert_int_equal(hm_store_retry(&config, note_told, &error), 1);
    assert_int_equal(count_in("state/pending"), 0);
}

/* Unfinished files of a crash are removed after an hour; a file that is being written now stays. */
static void test_unfinished_files_go_when_they_are_old(void **state)
{
    (void)state;
    static const char *const names[] = {"state/pending/.young", "state/pending/.old"};
    struct hm_error error = {{0}};
    assert_int_equal(mkdir(path_of("state/pending"), 0700), 0);
    now_s = END / 1000000000;
    for (int i = 0; i < 2; i++) {
        const struct timespec then = {.tv_sec = now_s - 3600 - i};
        put_file(names[i], "{");
        assert_int_equal(utimensat(AT_FDCWD, path_of(names[i]), (const struct timespec[2]){then, then}, 0), 0);
    }
    assert_int_equal(hm_store_retry(&config, note_told, &error), 0);
    assert_int_equal(access(path_of(names[0]), F_OK), 0);
    assert_int_equal(access(path_of(names[1]), F_OK), -1);
}

/*
 * Files that are no records: they are first by name, and more than one call tries. What is broken under a record's name
 * is set aside; nothing is removed. The records are all appended, and the calls after them have nothing to do.
 */
static void test_what_is_no_record_holds_up_no_record(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    char name[64];
    assert_int_equal(mkdir(path_of("state/pending"), 0700), 0);
    for (int i = 0; i < 2 * HM_STORE_PASS; i++) {
        snprintf(name, sizeof(name), "state/pending/0README%d", i);
        put_file(name, "hello\n");
        snprintf(name, sizeof(name), "state/pending/%019d_1_0_0_n1.json", i);
        put_file(name, i % 2 ? "no end" : "two\nlines\n");
    }
    put_file("state/pending/0000000000000000000_3_0_0_n1.json", "");
    assert_int_equal(symlink("/etc/hostname", path_of("state/pending/0000000000000000000_4_0_0_n1.json")), 0);
    assert_int_equal(mkfifo(path_of("state/pending/0000000000000000000_5_0_0_n1.json"), 0600), 0);
    assert_int_equal(mkdir(path_of("state/pending/0000000000000000000_6_0_0_n1.json"), 0700), 0);
    for (int i = 0; i < HM_STORE_PASS + 1; i++) {
        snprintf(name, sizeof(name), "state/pending/1740873599000000000_%d_0_0_n1.json", 100 + i);
        put_file(name, "{}\n");
    }
    assert_int_equal(hm_store_retry(&config, note_told, &error), HM_STORE_PASS);
    assert_int_equal(hm_store_retry(&config, note_told, &error), 1);
    assert_int_equal(hm_store_retry(&config, note_told, &error), 0);
    assert_string_equal(error.text, "");
    assert_int_equal(n_told, 2 * HM_STORE_PASS + 4 + 3); /* one for each that is broken, and one in each call */
    assert_non_null(strstr(told, "/pending has 68 files that are no records, as "));
    assert_int_equal(count_in("state/pending"), 4 * HM_STORE_PASS + 4);
    assert_text("state/pending/0000000000000000001_1_0_0_n1.json.broken", "no end");
}

/* Records of a day whose folder cannot be used, more than one call tries, and one of another day. */
static void test_records_that_cannot_be_appended_hold_up_no_other(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    char name[64];
    int n = HM_STORE_PASS + 1;
    assert_int_equal(mkdir(path_of("state/pending"), 0700), 0);
    put_file("records/1970-01-01", "no folder\n");
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "state/pending/%019d_1_0_0_n1.json", i);
        put_file(name, "{}\n");
    }
    put_file("state/pending/1740873599000000000_5_0_0_n1.json", "{\"a\":5}\n");
    assert_int_equal(hm_store_retry(&config, note_told, &error), 1);
    assert_non_null(strstr(error.text, "1970-01-01"));
    assert_int_equal(hm_store_retry(&config, note_told, &error), -1);
    assert_text("records/" DAY "/n1.jsonl", "{\"a\":5}\n");
    assert_int_equal(count_in("state/pending"), n);
    assert_int_equal(unlink(path_of("records/1970-01-01")), 0); /* somebody puts it right */
    assert_int_equal(hm_store_retry(&config, note_told, &error), HM_STORE_PASS);
    assert_int_equal(hm_store_retry(&config, note_told, &error), n - HM_STORE_PASS);
    assert_int_equal(count_in("state/pending"), 0);
}

/* The name that a broken record would get is taken: nothing is replaced, and the others are appended. */
static void test_a_broken_record_replaces_none(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    assert_int_equal(mkdir(path_of("state/pending"), 0700), 0);
    put_file("state/pending/0000000000000000001_1_0_0_n1.json", "no end");
    put_file("state/pending/0000000000000000001_1_0_0_n1.json.broken", "the first");
    put_file("state/pending/0000000000000000002_2_0_0_n1.json", "{}\n");
    assert_int_equal(hm_store_retry(&config, note_told, &error), 1);
    assert_int_equal(n_told, 2);
    assert_non_null(strstr(told, "cannot be set aside"));
    assert_non_null(strstr(error.text, "is not one line"));
    assert_text("state/pending/0000000000000000001_1_0_0_n1.json", "no end");
    assert_text("state/pending/0000000000000000001_1_0_0_n1.json.broken", "the first");
}

static void assert_is_free(const char *name)
{
    int fd = open(path_of(name), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        fail_msg("%s is still locked", name);
    close(fd);
}

/* The child has a copy of each open file, so that a close alone gives no lock back. */
static void test_no_lock_lives_on_in_a_child_that_is_stuck(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path_of("state/pending"), 0700), 0);
    put_file("state/pending/1740873599000000000_5_0_0_n1.json", "{\"a\":5}\n");
    stuck = -1;
    int done = hm_store_retry(&config, note_told, NULL);
    pid_t child = stuck;
    stuck = 0;
    assert_true(child > 0);
    assert_int_equal(done, 1);
    assert_is_free("state/pending");
    assert_is_free("records/" DAY "/n1.jsonl");
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pending_names),
        cmocka_unit_test_setup_teardown(test_what_is_to_wait_does_not_touch_the_records, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_what_no_disk_takes_waits_in_memory, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_the_disk_is_not_filled, store_set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_written_without_a_configuration_waits_in_memory, store_set_up,
                                        store_tear_down),
        cmocka_unit_test_setup_teardown(test_what_waits_in_memory_goes_to_the_disk_first, store_set_up,
                                        store_tear_down),
        cmocka_unit_test_setup_teardown(test_what_waits_in_memory_is_bounded, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_a_pass_is_bounded, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_a_pass_has_five_seconds, store_set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unfinished_files_go_when_they_are_old, store_set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_folder, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_no_lock_lives_on_in_a_child_that_is_stuck, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_no_record_holds_up_no_record, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_a_broken_record_replaces_none, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_records_that_cannot_be_appended_hold_up_no_other, store_set_up,
                                        store_tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
