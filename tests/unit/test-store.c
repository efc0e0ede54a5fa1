/* SPDX-License-Identifier: Apache-2.0 */
/* Runs as root and as anybody: the owner of what is made is who runs it; the user of the copies is then that one too.
 */
#define _GNU_SOURCE /* nftw */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "helpers/job/pending.h"
#include "helpers/job/store.h"

#define DAY "2025-03-01"
#define END (INT64_C(1740873599) * 1000000000) /* 2025-03-01T23:59:59Z */

static char top[64];
static struct hm_config config;
static struct hm_store_key key;

static char *path_of(const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
    return path;
}

/* <top>/state with pending/ below it, and the records beside it, made as a site would. */
static int set_up(void **state)
{
    (void)state;
    umask(022);
    snprintf(top, sizeof(top), "/tmp/hm-store.XXXXXX");
    if (!mkdtemp(top))
        return -1;
    hm_config_defaults(&config);
    snprintf(config.state_dir, sizeof(config.state_dir), "%s/state", top);
    snprintf(config.record_dir, sizeof(config.record_dir), "%s/records", top);
    uid_t uid = geteuid() == 0 ? 12345 : geteuid();
    gid_t gid = geteuid() == 0 ? 12346 : getegid();
    key = (struct hm_store_key){.node = "n1", .job_id = 42, .uid = uid, .gid = gid, .end_ns = END};
    return mkdir(config.record_dir, 0751) || mkdir(config.state_dir, 0755);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void assert_mode(const char *name, mode_t mode, uid_t uid)
{
    struct stat status;
    if (lstat(path_of(name), &status) != 0)
        fail_msg("%s is not there", name);
    if ((status.st_mode & 07777) != mode || status.st_uid != uid)
        fail_msg("%s has the mode %04o and user %u", name, status.st_mode & 07777u, status.st_uid);
}

static void assert_text(const char *name, const char *wanted)
{
    char text[4096] = "";
    FILE *file = fopen(path_of(name), "r");
    if (!file)
        fail_msg("%s is not there", name);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, wanted);
}

static int count_in(const char *name)
{
    struct dirent **list;
    int n = scandir(path_of(name), &list, NULL, NULL), kept = 0;
    for (int i = 0; i < n; i++) {
        kept += list[i]->d_name[0] != '.';
        free(list[i]);
    }
    if (n >= 0)
        free(list);
    return kept;
}

static void put_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

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
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char node[64];
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
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char day[11];
        hm_store_day(rows[i].end_ns, day);
        assert_string_equal(day, rows[i].day);
    }
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
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hm_store_key found;
        char node[64];
        if (hm_pending_parse(rows[i].name, &found, node, sizeof(node)) != rows[i].result)
            fail_msg("row %zu: %s", i, rows[i].name);
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
    snprintf(config.record_dir, sizeof(config.record_dir), "%s/state/records", top);
    assert_int_equal(hm_store_put(&config, &key, "{}", &error), 0);
    assert_string_equal(error.text, "");
    assert_mode("state", 0755, geteuid());
    assert_mode("state/records", 0751, geteuid());
    assert_text("state/records/" DAY "/n1.jsonl", "{}\n");
}

/* A folder of the site that is not there is not made; the record waits, and is appended once the folder is back. */
static void test_missing_folder(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    assert_int_equal(rmdir(config.record_dir), 0);
    assert_int_equal(hm_store_retry(&config, &error), 0); /* no pending/ at all */
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":1}", &error), 1);
    assert_non_null(strstr(error.text, "records"));
    assert_non_null(strstr(error.text, "pending"));
    key.end_ns++;
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":2}", &error), 1);
    assert_int_equal(access(config.record_dir, F_OK), -1);
    assert_mode("state/pending", 0700, geteuid());
    assert_int_equal(count_in("state/pending"), 2);
    assert_int_equal(hm_store_retry(&config, &error), -1);
    assert_int_equal(count_in("state/pending"), 2);
    assert_int_equal(mkdir(config.record_dir, 0751), 0);
    assert_int_equal(hm_store_retry(&config, &error), 2);
    assert_text("records/" DAY "/n1.jsonl", "{\"a\":1}\n{\"a\":2}\n");
    assert_int_equal(count_in("state/pending"), 0);
    assert_int_equal(hm_store_retry(&config, &error), 0);
}

/* Whose prolog it is does not wait for all that was kept back. */
static void test_a_pass_is_bounded(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    key.uid = 0;
    assert_int_equal(rmdir(config.record_dir), 0);
    for (int i = 0; i < HM_STORE_PASS + 3; i++, key.end_ns--)
        assert_int_equal(hm_store_put(&config, &key, "{}", &error), 1);
    assert_int_equal(mkdir(config.record_dir, 0751), 0);
    put_file("state/pending/0README", "not ours, and before all others\n");
    assert_int_equal(hm_store_retry(&config, &error), -1);
    assert_int_equal(count_in("state/pending"), 1 + 3);
    assert_int_equal(unlink(path_of("state/pending/0README")), 0);
    assert_int_equal(hm_store_retry(&config, &error), 3);
    assert_int_equal(count_in("state/pending"), 0);
}

static void test_foreign_files_in_pending_stay(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    assert_int_equal(mkdir(path_of("state/pending"), 0700), 0);
    put_file("state/pending/0000000000000000000_1_0_0_n1.json", "no end");
    put_file("state/pending/0000000000000000000_2_0_0_n1.json", "two\nlines\n");
    put_file("state/pending/0000000000000000000_3_0_0_n1.json", "");
    assert_int_equal(symlink("/etc/hostname", path_of("state/pending/0000000000000000000_4_0_0_n1.json")), 0);
    put_file("state/pending/1740873599000000000_5_0_0_n1.json", "{\"a\":5}\n");
    put_file("state/pending/README", "hello\n");
    assert_int_equal(hm_store_retry(&config, &error), -1);
    assert_true(error.text[0] != '\0');
    assert_text("records/" DAY "/n1.jsonl", "{\"a\":5}\n");
    assert_int_equal(count_in("state/pending"), 5);
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
    for (size_t i = 0; i < sizeof(traps) / sizeof(traps[0]); i++) {
        struct hm_error error = {{0}};
        assert_int_equal(tear_down(state), 0);
        assert_int_equal(set_up(state), 0);
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

/* What a user may do in, or as, his own folder costs him his copy and nothing else. */
static void test_traps_in_the_copy(void **state)
{
    static const char *const parts[] = {"", "/" DAY, "/" DAY "/n1.jsonl"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        char name[64];
        struct hm_error error = {{0}};
        if (key.uid == 0)
            fail_msg("run this as root or as a user, not as a user with id 0");
        assert_int_equal(tear_down(state), 0);
        assert_int_equal(set_up(state), 0);
        assert_int_equal(mkdir(path_of("elsewhere"), 0777), 0);
        assert_int_equal(hm_store_put(&config, &key, "{\"a\":1}", &error), 0);
        snprintf(name, sizeof(name), "records/by-user/%u%s", key.uid, parts[i]);
        assert_int_equal(rename(path_of(name), path_of("away")), 0);
        make_link(name);
        assert_int_equal(hm_store_put(&config, &key, "{\"a\":2}", &error), 0);
        assert_non_null(strstr(error.text, i == 0 ? "folder" : "copy"));
        assert_text("records/" DAY "/n1.jsonl", "{\"a\":1}\n{\"a\":2}\n");
        assert_int_equal(count_in("elsewhere"), 0);
    }
}

/* Stops every other child of this one's parent as it comes up. Never returns. */
static void stop_child_of(pid_t parent)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
    for (;;) {
        char text[64] = "", *at = text;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = read(fd, text, sizeof(text) - 1);
        close(fd);
        for (long pid; length > 0 && (pid = strtol(at, &at, 10)) > 0;)
            if (pid != getpid())
                kill((pid_t)pid, SIGSTOP);
    }
}

/* The user may hold the lock of his file, so that the child waits, and then stop it. */
static void test_a_stopped_copy_is_given_up(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    char name[64];
    int status;
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":1}", &error), 0);
    snprintf(name, sizeof(name), "records/by-user/%u/" DAY "/n1.jsonl", key.uid);
    int lock = open(path_of(name), O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    pid_t stopper = fork();
    assert_true(stopper >= 0);
    if (stopper == 0)
        stop_child_of(getppid());
    alarm(30);
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":2}", &error), 0);
    alarm(0);
    kill(stopper, SIGKILL);
    assert_int_equal(waitpid(stopper, &status, 0), stopper);
    assert_int_equal(waitpid(-1, &status, WNOHANG), -1); /* none is left over */
    assert_non_null(strstr(error.text, "copy"));
    assert_text("records/" DAY "/n1.jsonl", "{\"a\":1}\n{\"a\":2}\n");
    close(lock);
    assert_text(name, "{\"a\":1}\n");
}

static void test_line_cut_by_a_crash_is_ended(void **state)
{
    (void)state;
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":1}", NULL), 0);
    assert_int_equal(truncate(path_of("records/" DAY "/n1.jsonl"), 5), 0);
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":2}", NULL), 0);
    assert_text("records/" DAY "/n1.jsonl", "{\"a\":\n{\"a\":2}\n");
}

/* As on a full disk: the file may grow by a few bytes only. */
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
    limit.rlim_cur = 10;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    key.job_id++;
    int lost = hm_store_put(&config, &key, line, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(kept, 1);
    assert_int_equal(lost, -1);
    assert_int_equal(stat(path_of("records/" DAY "/n1.jsonl"), &status), 0);
    assert_int_equal(status.st_size, 3000); /* nothing of it stayed */
    assert_int_equal(count_in("state/pending"), 1);
    assert_int_equal(hm_store_retry(&config, &error), 1);
    assert_int_equal(stat(path_of("records/" DAY "/n1.jsonl"), &status), 0);
    assert_int_equal(status.st_size, 4000);
}

#define WRITERS 8
#define LINES 40

static void write_many(int writer)
{
    char line[3000];
    int failed = 0;
    for (int i = 0; i < LINES; i++) {
        memset(line, 'a' + writer, sizeof(line));
        snprintf(line + sizeof(line) - 8, 8, "%d-%02d", writer, i);
        failed += hm_store_put(&config, &key, line, NULL) != 0;
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
    key.uid = 0; /* the copies go the same way */
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
        cmocka_unit_test(test_pending_names),
        cmocka_unit_test_setup_teardown(test_traps_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_traps_in_the_copy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_stopped_copy_is_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_pass_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_foreign_files_in_pending_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_line_cut_by_a_crash_is_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_layout_whatever_the_umask, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_root_has_no_copy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_folder_in_the_state_folder_is_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_concurrent_writers, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
