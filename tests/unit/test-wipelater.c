/* SPDX-License-Identifier: Apache-2.0 */
/* For how long one run of hybridmem-job wipes, and the unit that goes on. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "helpers/job/spawn.h"
#include "helpers/job/wipelater.h"

static time_t now_s = 1000;
static int status;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
pid_t __wrap_hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *error);
int __wrap_hm_spawn_wait_for(pid_t pid, int patience_ms);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    assert_int_equal(clock, CLOCK_MONOTONIC);
    *now = (struct timespec){.tv_sec = now_s};
    return 0;
}

pid_t __wrap_hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *error)
{
    static const char *const words[] = {"systemctl", "start", "--no-block", "hybridmem-wipe.service"};
    assert_string_equal(spawn->path, "/usr/bin/systemctl");
    for (int i = 0; i < 4; i++)
        assert_string_equal(spawn->arguments[i], words[i]);
    assert_null(spawn->arguments[4]);
    return status < 0 ? hm_fail(error, ENOENT, "no systemctl") : 77;
}

int __wrap_hm_spawn_wait_for(pid_t pid, int patience_ms)
{
    assert_true(pid == 77 && patience_ms > 0);
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
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        config.fsdax_wipe_limit_s = rows[i].limit_s;
        now_s = 1000 + (time_t)rows[i].after_s;
        assert_int_equal(hm_wipe_left(&config), rows[i].left_s);
    }
}

static void systemd_is_told(void **state)
{
    struct hm_error error = {{0}};
    (void)state;
    assert_int_equal(hm_wipe_hand_over(&error), 0);
    status = 256;
    assert_int_equal(hm_wipe_hand_over(&error), -1);
    assert_string_equal(error.text, "systemctl start hybridmem-wipe.service ended with status 256");
    status = -1;
    assert_int_equal(hm_wipe_hand_over(&error), -1);
    assert_string_equal(error.text, "no systemctl");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_is_counted_from_the_first_look),
        cmocka_unit_test(systemd_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
