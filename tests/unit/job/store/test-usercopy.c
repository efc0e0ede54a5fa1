/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the user's own copy of a record, which is written with that user's rights. The user is the one who runs the
 * test; where that is root, it is user 12345. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "job/store/append.h"
#include "storefixture.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define FIRST_CLOSED (STDERR_FILENO + 1)
#define MOST_OPEN 256

static pid_t root_side; /* the process that writes as root; 0: the child's descriptors are not checked */

int __real_hm_line_append(int folder, const char *name, const struct hm_rights *rights, const char *line, size_t n_same,
                          struct hm_error *error);
int __wrap_hm_line_append(int folder, const char *name, const struct hm_rights *rights, const char *line, size_t n_same,
                          struct hm_error *error);

/* In the child that writes the copy, checks that only the day's folder and the user's own folder are open, and nothing
 * of root's. */
int __wrap_hm_line_append(int folder, const char *name, const struct hm_rights *rights, const char *line, size_t n_same,
                          struct hm_error *error)
{
    int n_open = 0;
    for (int fd = FIRST_CLOSED; fd < MOST_OPEN; fd++)
        n_open += fcntl(fd, F_GETFD) >= 0;
    if (root_side != 0 && getpid() != root_side && n_open != 2)
        return hm_fail(error, EBADF, "%d descriptors are open", n_open);
    return __real_hm_line_append(folder, name, rights, line, n_same, error);
}

int __real_hm_flock_wait(int fd, unsigned patience_ms);
int __wrap_hm_flock_wait(int fd, unsigned patience_ms);

static bool knows_no_locks; /* the file system of the records */

/* A wait for another copy ends at once. */
int __wrap_hm_flock_wait(int fd, unsigned patience_ms)
{
    if (knows_no_locks) {
        errno = ENOSYS;
        return -1;
    }
    return __real_hm_flock_wait(fd, patience_ms == 2500 ? 0 : patience_ms);
}

static void make_link(const char *name)
{
    assert_int_equal(symlink(path_of("elsewhere"), path_of(name)), 0);
}

/* Whatever users do in their own folder, the record is appended. Only their own copy may be missing. */
static void test_traps_in_the_copy(void **state)
{
    static const char *const parts[] = {"", "/" DAY, "/" DAY "/n1.jsonl"};
    for (size_t i = 0; i < N_ROWS(parts); i++) {
        char name[64];
        struct hm_error error = {{0}};
        assert_int_equal(store_tear_down(state), 0);
        assert_int_equal(store_set_up(state), 0);
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

/* Mounts a file system of the user's that never answers. Returns false where it cannot be mounted. */
static bool mount_silent(const char *place)
{
    char options[96];
    int server = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u", server, key.uid, key.gid);
    return server >= 0 && mount("other", place, "fuse", 0, options) == 0;
}

/*
 * Mounts another file system's folder or file at `name`, as a user can with fusermount. It is there for this process
 * alone. Returns false where `name` does not exist, or this process may not mount.
 */
static bool mount_at(const char *name)
{
    struct stat status;
    char *place = path_of(name), *what = scratch_path("other/n1.jsonl");
    if (stat(place, &status) != 0)
        return false;
    if (!S_ISREG(status.st_mode))
        return mount_silent(place) || mount("other", place, "tmpfs", 0, "mode=0777") == 0;
    mkdir(scratch_path("other"), 0755);
    if (mount("other", scratch_path("other"), "tmpfs", 0, "mode=0777") != 0)
        return false;
    scratch_write(what, "");
    return chown(what, key.uid, key.gid) == 0 && mount(what, place, NULL, MS_BIND, NULL) == 0;
}

/* Runs in a child. Returns 0, 77 where this process may not mount, or the number of what is wrong. */
static int copy_over_a_mount(const char *name)
{
    struct hm_error error = {{0}};
    int flags = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    if (unshare(flags) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || !mount_at(name))
        return 77;
    if (hm_store_put(&config, &key, "{\"a\":2}", &error) != 0)
        return 1;
    if (!strstr(error.text, strerror(EXDEV)))
        return 2;
    assert_text("records/" DAY "/n1.jsonl", "{\"a\":1}\n{\"a\":2}\n");
    return 0;
}

/* A file system of the user's may never answer: nothing of it is opened, by root or as the user. */
static void test_no_mount_of_the_users_is_entered(void **state)
{
    static const char *const parts[] = {"", "/" DAY, "/" DAY "/n1.jsonl"};
    for (size_t i = 0; i < N_ROWS(parts); i++) {
        char name[64];
        int status;
        struct hm_error error = {{0}};
        assert_int_equal(store_tear_down(state), 0);
        assert_int_equal(store_set_up(state), 0);
        assert_int_equal(hm_store_put(&config, &key, "{\"a\":1}", &error), 0);
        snprintf(name, sizeof(name), "records/by-user/%u%s", key.uid, parts[i]);
        pid_t child = fork();
        if (child == 0)
            _exit(copy_over_a_mount(name));
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status == 77 << 8)
            skip();
        if (status != 0)
            fail_msg("\"%s\": status %#x", parts[i], (unsigned)status);
    }
}

/* The child runs as the user, who could open what the child has open. */
static void test_the_copy_has_none_of_roots_descriptors(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    int low = open(path_of("."), O_RDONLY | O_DIRECTORY | O_CLOEXEC), high = fcntl(low, F_DUPFD, MOST_OPEN / 2);
    assert_true(low >= 0 && high >= MOST_OPEN / 2);
    root_side = getpid();
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":1}", &error), 0);
    root_side = 0;
    assert_string_equal(error.text, "");
    assert_true(fcntl(low, F_GETFD) >= 0 && fcntl(high, F_GETFD) >= 0);
    close(low);
    close(high);
}

/* Stops each child of `parent`, except for this process, as it starts. Never returns. */
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

/* A user can lock their own file, so that the child waits, and can then stop the child. */
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
    assert_int_equal(waitpid(-1, &status, WNOHANG), -1); /* no child is left */
    assert_non_null(strstr(error.text, "copy"));
    assert_text("records/" DAY "/n1.jsonl", "{\"a\":1}\n{\"a\":2}\n");
    close(lock);
    assert_text(name, "{\"a\":1}\n");
}

static void records_are_appended_where_files_cannot_be_locked(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    char name[64];
    snprintf(name, sizeof(name), "records/by-user/%u/" DAY "/n1.jsonl", key.uid);
    knows_no_locks = true;
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":1}", &error), 0);
    knows_no_locks = false;
    assert_text("records/" DAY "/n1.jsonl", "{\"a\":1}\n");
    assert_text(name, "{\"a\":1}\n");
}

/* A user can keep the child that writes their copy from ever ending. Then it keeps the lock of their folder. */
static void test_one_copy_at_a_time(void **state)
{
    (void)state;
    struct hm_error error = {{0}};
    char folder[64], name[sizeof(folder) + 32];
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":1}", &error), 0);
    snprintf(folder, sizeof(folder), "records/by-user/%u", key.uid);
    snprintf(name, sizeof(name), "%s/" DAY "/n1.jsonl", folder);
    int other = open(path_of(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(other, LOCK_EX), 0);
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":2}", &error), 0);
    assert_non_null(strstr(error.text, "was not written: Device or resource busy"));
    close(other);
    assert_int_equal(hm_store_put(&config, &key, "{\"a\":3}", &error), 0);
    assert_text("records/" DAY "/n1.jsonl", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
    assert_text(name, "{\"a\":1}\n{\"a\":3}\n");
}

#define IDENTITY "{\"job_id\":7,\"end\":\"x\""
#define LONGEST ((1u << 20) + 1) /* of the lines that are read */

/* Fills the user's copy with a very long line, and after it a line of the record that has `length` bytes. */
static void write_long(const char *name, size_t length)
{
    size_t before = 3 * LONGEST, at = before + 1, size = at + length + 1;
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, ' ', size);
    text[before] = text[size - 1] = '\n';
    memcpy(text + at, IDENTITY, strlen(IDENTITY));
    text[at + length - 1] = '}';
    text[size] = '\0';
    put_file(name, text);
    free(text);
}

/* Users can write lines of any length to their own file. Of a line, no more is read than the longest record has. */
static void test_long_lines_in_the_copy(void **state)
{
    char name[64];
    struct stat before, after;
    (void)state;
    assert_int_equal(hm_store_put(&config, &key, IDENTITY "}", NULL), 0);
    key.way = HM_STORE_AGAIN;
    snprintf(name, sizeof(name), "records/by-user/%u/" DAY "/n1.jsonl", key.uid);
    for (unsigned more = 0; more < 2; more++) {
        write_long(name, LONGEST + more);
        assert_int_equal(stat(path_of(name), &before), 0);
        assert_int_equal(hm_store_put(&config, &key, IDENTITY "}", NULL), 0);
        assert_int_equal(stat(path_of(name), &after), 0);
        /* the longest record is found; the end of a longer line is not seen, so that it does not count as whole */
        assert_int_equal(after.st_size - before.st_size, more * (strlen(IDENTITY "}") + 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_traps_in_the_copy, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_no_mount_of_the_users_is_entered, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_the_copy_has_none_of_roots_descriptors, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_long_lines_in_the_copy, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(test_a_stopped_copy_is_given_up, store_set_up, store_tear_down),
        cmocka_unit_test_setup_teardown(records_are_appended_where_files_cannot_be_locked, store_set_up,
                                        store_tear_down),
        cmocka_unit_test_setup_teardown(test_one_copy_at_a_time, store_set_up, store_tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
