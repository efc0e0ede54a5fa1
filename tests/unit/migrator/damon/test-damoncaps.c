/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which capabilities the broker keeps, on a simulated kernel that gives what it is asked for. */
#include <cap-ng.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "migrator/damon/broker/caps.h"

int __wrap_capng_apply(capng_select_t set);

int __wrap_capng_apply(capng_select_t set)
{
    (void)set;
    return 0;
}

static bool has(capng_type_t type, unsigned capability)
{
    return capng_have_capability(type, capability) == 1;
}

/* CAP_SYS_PTRACE is left out: it is always in effect where /proc hides processes. */
static void page_maps_are_opened_with_what_is_not_in_effect_else(void **state)
{
    (void)state;
    static const unsigned always[] = {CAP_PERFMON, CAP_IPC_LOCK}, at_times[] = {CAP_SYS_ADMIN, CAP_DAC_READ_SEARCH};
    assert_int_equal(hm_damon_caps_drop(true, NULL), 0);
    assert_true(has(CAPNG_PERMITTED, CAP_SYS_PTRACE));
    for (int times = 0; times < 2; times++) {
        for (int i = 0; i < 2; i++) {
            assert_true(has(CAPNG_EFFECTIVE, always[i]));
            assert_true(has(CAPNG_PERMITTED, at_times[i]));
            assert_false(has(CAPNG_EFFECTIVE, at_times[i]));
        }
        hm_damon_caps_raise();
        assert_true(has(CAPNG_EFFECTIVE, CAP_SYS_PTRACE));
        for (int i = 0; i < 2; i++)
            assert_true(has(CAPNG_EFFECTIVE, at_times[i]));
        hm_damon_caps_lower();
    }
    assert_false(has(CAPNG_PERMITTED, CAP_DAC_OVERRIDE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_maps_are_opened_with_what_is_not_in_effect_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
