/* SPDX-License-Identifier: Apache-2.0 */
/* Tests whether a node may boot, and whether it came back as it was asked to. */
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

static void boots_only_with_a_whole_goal(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct hm_memmode_state state; /* modules are filled in */
        enum hm_memmode asked;
        const char *said; /* a part of the refusal; NULL: it may boot */
    } rows[] = {
        {"a plain reboot", FLAT, .asked = HM_MEMMODE_NONE},
        {"a plain reboot, with data", FLAT, .state.spaces.n_kept = 1},
        {"the goal is set", FLAT, .state.goal.n_cache = 2, .asked = HM_MEMMODE_CACHE},
        {"the way back", CACHE, .state.goal.n_flat = 2, .asked = HM_MEMMODE_FLAT},
        {"there already", CACHE, .asked = HM_MEMMODE_CACHE},
        {"mixed is set", FLAT, .state.goal.n_mixed = 2, .asked = HM_MEMMODE_MIXED},
        {"an administrator's goal", FLAT, .state.goal.n_mixed = 2, .asked = HM_MEMMODE_NONE},
        {"no goal", FLAT, .asked = HM_MEMMODE_CACHE,
         .said = "memmode=cache was asked for, and the pending goal is none"},
        {"no goal, nothing in use", UNUSED, .asked = HM_MEMMODE_FLAT, .said = "the pending goal is none"},
        {"another goal", FLAT, .state.goal.n_mixed = 2, .asked = HM_MEMMODE_CACHE, .said = "the pending goal is mixed"},
        {"there, and a goal away", CACHE, .state.goal.n_flat = 2, .asked = HM_MEMMODE_CACHE,
         .said = "memmode=cache was asked for, and the pending goal is flat"},
        {"half a goal", FLAT, .state.goal.n_cache = 1, .asked = HM_MEMMODE_CACHE,
         .said = "the pending goal is incomplete (flat 0, cache 1, mixed 0 of 2 modules)"},
        {"half a goal, a plain reboot", FLAT, .state.goal.n_cache = 1, .said = "is incomplete"},
        {"data since", FLAT, .state.goal.n_cache = 2, .state.spaces.n_kept = 1, .asked = HM_MEMMODE_CACHE,
         .said = "kept by users"},
        {"data, a plain reboot with a goal", FLAT, .state.goal.n_cache = 2, .state.spaces.n_others = 1,
         .said = "not hybridmem's"},
        {"data of a job", FLAT, .state.goal.n_cache = 2, .state.spaces.n_jobs = 1, .said = "of jobs"},
        {"no region is seen", .state.resources = {.app_direct = ALL, .physical = ALL}, .state.goal.n_cache = 2,
         .asked = HM_MEMMODE_CACHE, .said = "the kernel shows regions of 0 B"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_memmode_state node = rows[i].state;
        struct hm_error error = {{0}};
        node.modules.n = 2;
        int result = hm_memmode_may_boot(&node, rows[i].asked, &error);
        if (rows[i].said ? result == 0 || !strstr(error.text, rows[i].said) : result != 0)
            fail_msg("%s: %d, \"%s\"", rows[i].name, result, error.text);
    }
}

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
        {"mixed", MIXED, .asked = HM_MEMMODE_MIXED},
        {"mixed has come as the cache", CACHE, .asked = HM_MEMMODE_MIXED, .said = "came back memmode=cache"},
        {"it was ignored", FLAT, .asked = HM_MEMMODE_CACHE,
         .said = "memmode=cache was asked for before the boot, and the node came back memmode=flat (of 252.0 GiB of "
                 "PMem modules, 0 B are memory, 252.0 GiB App Direct)"},
        {"half of it", MIXED, .asked = HM_MEMMODE_FLAT, .said = "came back memmode=mixed"},
        {"a lock of 1LM", UNUSED, .asked = HM_MEMMODE_CACHE, .said = "came back with no module in use"},
        {"by the BIOS", .state.by = HM_MEMMODE_BY_BIOS, .state.bios.now = HM_MEMMODE_CACHE, .asked = HM_MEMMODE_CACHE},
        {"by the BIOS, ignored", .state.by = HM_MEMMODE_BY_BIOS,
         .state.bios = {"MemoryMode", "Flat", .now = HM_MEMMODE_FLAT}, .asked = HM_MEMMODE_CACHE,
         .said = "the node came back memmode=flat (BIOS attribute MemoryMode is \"Flat\")"},
        {"a lock, to flat", UNUSED, .asked = HM_MEMMODE_FLAT, .said = "came back with no module in use"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {{0}};
        int result = hm_memmode_has_come(&rows[i].state, rows[i].asked, &error);
        if (rows[i].said ? result == 0 || !strstr(error.text, rows[i].said) : result != 0)
            fail_msg("%s: %d, \"%s\"", rows[i].name, result, error.text);
    }
}

static void finds_the_mode_among_features(void **state)
{
    (void)state;
    static const struct {
        const char *features;
        enum hm_memmode asked;
        const char *said; /* NULL: it is read */
    } rows[] = {
        {"", HM_MEMMODE_NONE, NULL},
        {"ib,avx512", HM_MEMMODE_NONE, NULL},
        {"memmode=cache", HM_MEMMODE_CACHE, NULL},
        {"ib,memmode=flat,avx512", HM_MEMMODE_FLAT, NULL},
        {",memmode=flat,", HM_MEMMODE_FLAT, NULL},
        {"memmode=flat,memmode=flat", HM_MEMMODE_FLAT, NULL},
        {"memmode=flat,memmode=cache", HM_MEMMODE_NONE, "name memmode=flat and memmode=cache: a node has one mode"},
        {"memmode=mixed", HM_MEMMODE_MIXED, NULL},
        {"memmode=mixed,memmode=cache", HM_MEMMODE_NONE, "name memmode=mixed and memmode=cache: a node has one mode"},
        {"memmode=other", HM_MEMMODE_NONE, "is not a feature"},
        {"ib&memmode=cache", HM_MEMMODE_NONE, "\"ib&memmode=cache\" is not a feature"},
        {"memmode=cachememmode=cachememmode=cachememmode=cachememmode=cachememmode=cache", HM_MEMMODE_NONE,
         "is not a feature"},
        {"a-word-of-the-site-that-is-longer-than-any-word-that-hybridmem-itself-has&memmode=cache", HM_MEMMODE_NONE,
         "is not a feature"},
        {"a-word-of-the-site-that-is-longer-than-any-word-that-hybridmem-itself-has,memmode=cache", HM_MEMMODE_CACHE,
         NULL},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {{0}};
        enum hm_memmode asked;
        int result = hm_memmode_parse_list(rows[i].features, &asked, &error);
        if (rows[i].said ? result == 0 || !strstr(error.text, rows[i].said) : result != 0 || asked != rows[i].asked)
            fail_msg("\"%s\": %d, \"%s\"", rows[i].features, result, error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(boots_only_with_a_whole_goal),
                                       cmocka_unit_test(sees_what_has_come),
                                       cmocka_unit_test(finds_the_mode_among_features)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
