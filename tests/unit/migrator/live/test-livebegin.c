/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that a migrator of a step is never dumpable, as its user could trace a dumpable one. Also tests defaults of
 * options that depend on others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

#include <cmocka.h>

#include "migrator/live/live.h"
#include "unit/lib/rows.h"

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

static void test_how_many_extents_an_algorithm_has(void **state)
{
    (void)state;
    static const struct {
        const char *algorithm;
        unsigned given, extents;
    } rows[] = {{"regions", 0, 8192}, {"bins", 0, 1000}, {"regions", 16, 16}, {"bins", 5000, 5000}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_options options = {.algorithm = rows[i].algorithm, .max_extents = rows[i].given};
        assert_int_equal(hm_live_max_extents(&options), rows[i].extents);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_steps_migrator_is_never_dumpable),
        cmocka_unit_test(test_how_many_extents_an_algorithm_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
