/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the start of the DAMON broker: one process at a time starts it, outside of a job's full memory and before the
 * processes on its CPUs. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/spawn.h"
#include "job/ledger/aside.h"
#include "job/ledger/urgent.h"
#include "job/programs/damonstart.h"
#include "unit/lib/scratch.h"

static struct hm_config config;
static bool is_aside, is_urgent;
static int n_opened, n_locks, n_starts;

int __real_hm_flock_open(int at, const char *name);
int __wrap_hm_flock_open(int at, const char *name);
int __real_hm_flock_try(int fd);
int __wrap_hm_flock_try(int fd);

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
    assert_true(is_aside && is_urgent);
    n_opened++;
    return __real_hm_flock_open(at, name);
}

int __wrap_hm_flock_try(int fd)
{
    assert_true(is_aside && is_urgent);
    n_locks++;
    return __real_hm_flock_try(fd);
}

pid_t hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *error)
{
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
    assert_int_equal(n_opened, 1);
    assert_int_equal(n_locks, 1);
    assert_int_equal(n_starts, 1);
    assert_false(is_aside || is_urgent);
    assert_non_null(strstr(error.text, "/hybridmem-damon"));
    int other = open(scratch_path("root/node/damon.start"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0); /* it was given back */
    close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_starts_the_broker_has_left_a_full_job),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
