/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that a migrator of a step is never dumpable, as its user could trace a dumpable one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

#include <cmocka.h>

#include "migrator/live/live.h"

static bool was_dumpable, is_dumpable;

int __wrap_prctl(int option, ...);

int __wrap_prctl(int option, ...)
{
    va_list arguments;
    va_start(arguments, option);
    unsigned long value = va_arg(arguments, unsigned);
    va_end(arguments);
    if (option == PR_SET_DUMPABLE) {
        is_dumpable = value == 1;
        was_dumpable = was_dumpable || is_dumpable;
    }
    return 0;
}

static void a_steps_migrator_is_never_dumpable(void **state)
{
    (void)state;
    static struct hm_live live;
    struct hm_options options = {.uid = 1000, .gid = 1000, .cgroup = "", .overhead = 0.01};
    hm_live_begin(&live, &options);
    assert_false(was_dumpable);
    hm_softdirty_free(live.window.softdirty);
    /* A migrator that a user has started can read its own page map only while it is dumpable. */
    options.uid = options.gid = HM_OPTIONS_NO_ID;
    hm_live_begin(&live, &options);
    assert_true(was_dumpable);
    assert_false(is_dumpable);
    hm_softdirty_free(live.window.softdirty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_steps_migrator_is_never_dumpable)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
