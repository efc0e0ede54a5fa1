/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how long one run of hybridmem-job wipes, and the systemd unit that wipes the rest. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/spawn.h"
#include "job/namespaces/wipelater.h"
#include "unit/lib/rows.h"

static time_t now_s = 1000;
static int status, n_started; /* status: of wait(2), for systemctl */
static bool is_missing;       /* systemctl cannot be started */
static char unit[64];

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    assert_int_equal(clock, CLOCK_MONOTONIC);
    *now = (struct timespec){.tv_sec = now_s};
    return 0;
}

pid_t hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *error)
{
    const char *const words[] = {"systemctl", "start", "--no-block", unit};
    assert_string_equal(spawn->path, "/usr/bin/systemctl");
    for (int i = 0; i < 4; i++)
        assert_string_equal(spawn->arguments[i], words[i]);
    assert_null(spawn->arguments[4]);
    assert_int_equal(alarm(0), 0); /* the alarm is off while systemd is called */
    n_started++;
    return is_missing ? hm_fail(error, ENOENT, "no systemctl") : 77;
}

int hm_spawn_wait_for(pid_t pid, int patience_ms)
{
    assert_true(pid == 77 && patience_ms > 0);
    errno = ETIMEDOUT; /* the reason if the status is -1 */
    return status;
}

static void the_limit_is_counted_from_the_first_look(void **state)
{
    static const struct {
        unsigned limit_s, after_s, left_s;
    } rows[] = {{0, 0, HM_WIPE_NO_LIMIT},   {300, 0, 300}, {300, 1, 299}, {300, 299, 1}, {300, 300, 0}, {300, 5000, 0},
                {0, 5000, HM_WIPE_NO_LIMIT}};
    struct hm_config config;
    (void)state;
    hm_config_defaults(&config);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        config.fsdax_wipe_limit_s = rows[i].limit_s;
        now_s = 1000 + (time_t)rows[i].after_s;
        assert_int_equal(hm_wipe_left(&config), rows[i].left_s);
    }
}

/* Check the error where systemd cannot be made to complete the wipe: it contains `how`, the reason. */
static void assert_not_told(const struct hm_config *config, const char *how)
{
    struct hm_error error = {{0}};
    char wanted[256];
    assert_int_equal(hm_wipe_hand_over(config, 7, "1 of 9 MiB", &error), -1);
    snprintf(wanted, sizeof(wanted), "1 of 9 MiB; %s, so the next reap goes on", how);
    assert_string_equal(error.text, wanted);
}

/* Each prolog or epilog that leaves memory to be wiped starts a unit of its own: a unit that already runs has read the
 * list of living jobs, which may have changed since. */
static void systemd_is_told(void **state)
{
    static const struct {
        int status;
        const char *how;
    } rows[] = {{256, "failed (exit status 1)"}, {9, "failed (signal 9)"}, {-1, "did not end: Connection timed out"}};
    struct hm_error error = {{0}};
    char how[160];
    struct hm_config config;
    (void)state;
    hm_config_defaults(&config);
    snprintf(unit, sizeof(unit), "hybridmem-wipe@4294967295-%d.service", (int)getpid());
    alarm(1000);
    assert_int_equal(hm_wipe_hand_over(&config, 4294967295, "1 of 9 MiB", &error), 0);
    assert_true(alarm(0) > 900);
    assert_string_equal(error.text, "");
    snprintf(unit, sizeof(unit), "hybridmem-wipe@7-%d.service", (int)getpid());
    snprintf(config.path, sizeof(config.path), "%s", hm_config_path());
    assert_int_equal(hm_wipe_hand_over(&config, 7, "1 of 9 MiB", &error), 0);
    assert_int_equal(n_started, 2);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        status = rows[i].status;
        snprintf(how, sizeof(how), "systemctl start %s %s", unit, rows[i].how);
        assert_not_told(&config, how);
    }
    is_missing = true;
    assert_not_told(&config, "no systemctl");
    n_started = 0;
    snprintf(config.path, sizeof(config.path), "/x/y.conf");
    assert_not_told(&config, "/x/y.conf is not the installed configuration");
    assert_int_equal(n_started, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_is_counted_from_the_first_look),
        cmocka_unit_test(systemd_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
