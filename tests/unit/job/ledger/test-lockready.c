/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what a process does before it takes the ledger's lock, and undoes after it: it leaves the job's memory cgroup,
 * which may be full, makes its own memory ready, and runs before others. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "job/ledger/ledger.h"
#include "unit/job/freshledger.h"
#include "unit/lib/scratch.h"

static struct hm_config config;
static struct hm_error error;
static char done[256]; /* what was done, in this order */
static int lock_fails; /* errno; 0: the lock is free */

void __wrap_hm_aside_begin(void);
void __wrap_hm_aside_end(void);
void __wrap_hm_memready_begin(void);
void __wrap_hm_memready_end(void);
void __wrap_hm_urgent_begin(void);
void __wrap_hm_urgent_end(void);
int __real_hm_flock_open(int at, const char *name);
int __wrap_hm_flock_open(int at, const char *name);
int __wrap_hm_flock_wait(int fd, unsigned patience_ms);
void __real_hm_flock_close(int fd);
void __wrap_hm_flock_close(int fd);

static void note(const char *what)
{
    snprintf(done + strlen(done), sizeof(done) - strlen(done), "%s ", what);
}

void __wrap_hm_aside_begin(void)
{
    note("leaves");
}

void __wrap_hm_aside_end(void)
{
    note("comes-back");
}

void __wrap_hm_memready_begin(void)
{
    note("ready");
}

void __wrap_hm_memready_end(void)
{
    note("gives-back");
}

void __wrap_hm_urgent_begin(void)
{
    note("hurries");
}

void __wrap_hm_urgent_end(void)
{
    note("rests");
}

int __wrap_hm_flock_open(int at, const char *name)
{
    note("opens");
    return __real_hm_flock_open(at, name);
}

int __wrap_hm_flock_wait(int fd, unsigned patience_ms)
{
    assert_true(fd >= 0 && patience_ms == 20000);
    note("locks");
    errno = lock_fails;
    return lock_fails ? -1 : 0;
}

void __wrap_hm_flock_close(int fd)
{
    note("unlocks");
    __real_hm_flock_close(fd);
}

static void test_nothing_is_waited_for_with_the_lock(void **state)
{
    struct hm_job job;
    (void)state;
    ledger_with_job(&config, &job);
    done[0] = '\0';
    int lock = hm_ledger_lock(&config, &error);
    assert_true(lock >= 0);
    assert_string_equal(done, "leaves ready hurries opens locks ");
    hm_ledger_unlock(lock);
    assert_string_equal(done, "leaves ready hurries opens locks unlocks rests gives-back comes-back ");
    done[0] = '\0';
    lock_fails = EIO;
    assert_int_equal(hm_ledger_lock(&config, &error), -1);
    assert_int_equal(errno, EIO);
    assert_string_equal(done, "leaves ready hurries opens locks rests gives-back comes-back ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_waited_for_with_the_lock),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
