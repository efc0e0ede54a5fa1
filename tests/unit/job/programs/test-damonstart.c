/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the start of the DAMON broker: one process at a time starts it. That process leaves the job's cgroup if the
 * memory there is full, and has priority over the processes on the job's CPUs. Also tests that a reap finds what a dead
 * broker left. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/spawn.h"
#include "job/ledger/aside.h"
#include "job/ledger/urgent.h"
#include "job/programs/damonstart.h"
#include "unit/lib/scratch.h"

static struct hm_config config;
static bool is_aside, is_urgent, is_reap;
static int n_opened, n_locks, n_starts, n_cleans;

int __real_hm_flock_open(int at, const char *name);
int __wrap_hm_flock_open(int at, const char *name);
int __real_hm_flock_wait(int fd, unsigned patience_ms);
int __wrap_hm_flock_wait(int fd, unsigned patience_ms);

void hm_aside_begin(void)
{
    is_aside = true;
}

void hm_aside_end(void)
{
    is_aside = false;
}

void hm_urgent_begin(void)
{
    is_urgent = true;
}

void hm_urgent_end(void)
{
    is_urgent = false;
}

int __wrap_hm_flock_open(int at, const char *name)
{
    assert_true(is_reap || (is_aside && is_urgent)); /* a reap never runs in a job's cgroup */
    n_opened++;
    return __real_hm_flock_open(at, name);
}

int __wrap_hm_flock_wait(int fd, unsigned patience_ms)
{
    assert_true(is_aside && is_urgent);
    n_locks++;
    return __real_hm_flock_wait(fd, patience_ms);
}

pid_t hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *error)
{
    if (spawn->arguments[3]) {
        assert_string_equal(spawn->arguments[3], "--clean");
        n_cleans++;
        return hm_fail(error, ENOENT, "cannot execute %s", spawn->path);
    }
    int other = open(scratch_path("root/node/damon.start"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
    close(other);
    assert_true(is_aside && is_urgent);
    n_starts++;
    return hm_fail(error, ENOENT, "cannot execute %s", spawn->path);
}

int hm_spawn_wait_for(pid_t pid, int patience_ms)
{
    fail_msg("process %d is waited for, for %d ms", pid, patience_ms);
    return -1;
}

static void test_who_starts_the_broker_has_left_a_full_job(void **state)
{
    struct hm_error error = {{0}};
    (void)state;
    snprintf(config.run_dir, sizeof(config.run_dir), "%s", scratch);
    assert_int_equal(hm_damon_ensure(&config, "/sys/fs/cgroup/x", &error), -1);
    assert_int_equal(n_opened, 2); /* to make the lock's file, and to lock it */
    assert_int_equal(n_locks, 1);
    assert_int_equal(n_starts, 1);
    assert_false(is_aside || is_urgent);
    assert_non_null(strstr(error.text, "/hybridmem-damon"));
    int other = open(scratch_path("root/node/damon.start"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0); /* it was given back */
    close(other);
}

/* Where earlier versions had the broker's state, and where it is now. */
static const char *const before = "run/damon.state", *const place = "run/root/node/damon.state";

static bool is_there(const char *path)
{
    return access(scratch_path("%s", path), F_OK) == 0;
}

static int set_up_run(void **state)
{
    (void)state;
    snprintf(config.run_dir, sizeof(config.run_dir), "%s/run", scratch);
    n_cleans = 0;
    is_reap = true;
    return scratch_remove(config.run_dir) | mkdir(config.run_dir, 0711);
}

/* Returns a socket on which a broker listens. */
static int listen_in_run(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", scratch_path("run/damon.sock"));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

static void what_a_dead_broker_left_is_found(void **state)
{
    (void)state;
    hm_damon_reap(&config);
    assert_int_equal(n_cleans, 0);
    scratch_write(scratch_path("%s", place), "kdamonds");
    hm_damon_reap(&config);
    assert_int_equal(n_cleans, 1);
}

static void what_one_of_a_version_before_left_is_found(void **state)
{
    (void)state;
    scratch_write(scratch_path("%s", before), "kdamonds");
    int broker = listen_in_run(); /* it lives on after the upgrade, and takes its state away at its end */
    hm_damon_reap(&config);
    assert_true(is_there(before) && !is_there(place));
    assert_int_equal(n_cleans, 0);
    close(broker); /* it was killed */
    hm_damon_reap(&config);
    assert_true(!is_there(before) && is_there(place));
    assert_int_equal(n_cleans, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_starts_the_broker_has_left_a_full_job),
        cmocka_unit_test_setup(what_a_dead_broker_left_is_found, set_up_run),
        cmocka_unit_test_setup(what_one_of_a_version_before_left_is_found, set_up_run),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
