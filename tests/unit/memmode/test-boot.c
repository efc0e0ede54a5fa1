/* SPDX-License-Identifier: Apache-2.0 */
/* Tests whether a node came back from a boot as it was asked to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "memmode/decide/boot.h"
#include "unit/lib/rows.h"

#define GIB (UINT64_C(1) << 30)
#define ALL (252 * GIB)

/* Members of a row: a node with two modules in this mode. */
#define FLAT .state.resources = {.app_direct = ALL, .physical = ALL}, .state.spaces.region_bytes = ALL
#define CACHE .state.resources = {.memory = ALL, .physical = ALL}
#define MIXED .state.resources = {.memory = ALL / 2, .app_direct = ALL / 2, .physical = ALL}
#define UNUSED .state.resources = {.inaccessible = ALL, .physical = ALL}

static void sees_what_has_come(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct hm_memmode_state state;
        enum hm_memmode asked;
        const char *said; /* NULL: it has come */
    } rows[] = {
        {"flat", FLAT, .asked = HM_MEMMODE_FLAT},
        {"cache", CACHE, .asked = HM_MEMMODE_CACHE},
        {"it was ignored", FLAT, .asked = HM_MEMMODE_CACHE,
         .said = "memmode=cache was asked for before the boot, and the node came back memmode=flat (of 252.0 GiB of "
                 "PMem modules, 0 B are memory, 252.0 GiB App Direct)"},
        {"half of it", MIXED, .asked = HM_MEMMODE_FLAT, .said = "came back memmode=mixed"},
        {"a lock of 1LM", UNUSED, .asked = HM_MEMMODE_CACHE, .said = "came back with no module in use"},
        {"a lock, to flat", UNUSED, .asked = HM_MEMMODE_FLAT, .said = "came back with no module in use"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {{0}};
        int result = hm_memmode_has_come(&rows[i].state.resources, rows[i].asked, &error);
        if (rows[i].said ? result == 0 || !strstr(error.text, rows[i].said) : result != 0)
            fail_msg("%s: %d, \"%s\"", rows[i].name, result, error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sees_what_has_come)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
