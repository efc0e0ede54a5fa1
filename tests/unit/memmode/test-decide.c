/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what is decided for a node that is to change its mode. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "memmode/decide/decide.h"
#include "unit/lib/rows.h"

#define GIB (UINT64_C(1) << 30)
#define ALL (252 * GIB)

/* Members of a row: a node with two modules in this mode. */
#define FLAT .state.resources = {.app_direct = ALL, .physical = ALL}, .state.spaces.region_bytes = ALL
#define CACHE .state.resources = {.memory = ALL, .dram_cache = 32 * GIB, .physical = ALL}
#define MIXED                                                                                                          \
    .state.resources = {.memory = ALL / 2, .app_direct = ALL / 2, .physical = ALL}, .state.spaces.region_bytes = ALL / 2
#define UNUSED .state.resources = {.inaccessible = ALL, .physical = ALL}

#define BIOS(mode) .state.by = HM_MEMMODE_BY_BIOS, .state.bios.now = (mode)

static const struct row {
    const char *name;
    struct hm_memmode_state state; /* abilities and modules are filled in */
    bool no_modules, no_configuration, no_cache, no_app_direct, no_mixed;
    enum hm_memmode wanted;
    bool is_reaped;
    const char *steps;   /* letters of `letter`; NULL: refused */
    const char *said;    /* a part of the refusal */
    const char *for_now; /* a part of why it is refused for no fault of the node; NULL: it is for one */
} rows[] = {
    {"there already", FLAT, .wanted = HM_MEMMODE_FLAT, .steps = ""},
    {"there already, with data", FLAT, .state.spaces.n_others = 1, .wanted = HM_MEMMODE_FLAT, .steps = ""},
    {"there already, locked", CACHE, .no_configuration = true, .wanted = HM_MEMMODE_CACHE, .steps = ""},
    {"to the cache", FLAT, .wanted = HM_MEMMODE_CACHE, .steps = "C"},
    {"from the cache", CACHE, .wanted = HM_MEMMODE_FLAT, .steps = "C"},
    {"mixed to the cache", MIXED, .wanted = HM_MEMMODE_CACHE, .steps = "C"},
    {"to mixed", FLAT, .wanted = HM_MEMMODE_MIXED, .steps = "C"},
    {"from the cache to mixed", CACHE, .wanted = HM_MEMMODE_MIXED, .steps = "C"},
    {"mixed already", MIXED, .wanted = HM_MEMMODE_MIXED, .steps = ""},
    {"mixed already, and another is pending", MIXED, .state.goal.n_flat = 2, .wanted = HM_MEMMODE_MIXED, .steps = "D"},
    {"mixed is pending", FLAT, .state.goal.n_mixed = 2, .wanted = HM_MEMMODE_MIXED, .steps = ""},
    {"mixed, and the site does not say how", FLAT, .no_mixed = true, .wanted = HM_MEMMODE_MIXED,
     .said = "hybridmem.conf does not say how much of the modules is memory then: set memmode_mixed"},
    {"mixed, 1LM only", FLAT, .no_cache = true, .wanted = HM_MEMMODE_MIXED,
     .said = "memmode=mixed: the firmware does not allow Memory Mode"},
    {"mixed, 2LM only", CACHE, .no_app_direct = true, .wanted = HM_MEMMODE_MIXED,
     .said = "memmode=mixed: the firmware does not allow App Direct"},
    {"mixed, and kept", FLAT, .state.spaces.n_kept = 1, .wanted = HM_MEMMODE_MIXED, .said = "kept by users",
     .for_now = "hold data"},
    {"mixed to flat", MIXED, .wanted = HM_MEMMODE_FLAT, .steps = "C"},
    {"nothing is in use", UNUSED, .wanted = HM_MEMMODE_FLAT, .steps = "C"},
    {"a part is in use", .state.resources = {.app_direct = GIB, .inaccessible = ALL - GIB, .physical = ALL},
     .state.spaces.n_others = 1, .wanted = HM_MEMMODE_FLAT, .steps = ""},
    {"pending already", FLAT, .state.goal.n_cache = 2, .wanted = HM_MEMMODE_CACHE, .steps = ""},
    {"half of it is pending", FLAT, .state.goal.n_cache = 1, .wanted = HM_MEMMODE_CACHE, .steps = "DC"},
    {"another is pending", CACHE, .state.goal.n_mixed = 2, .wanted = HM_MEMMODE_FLAT, .steps = "DC"},
    {"the way back is pending", FLAT, .state.goal.n_cache = 2, .wanted = HM_MEMMODE_FLAT, .steps = "D"},
    {"there already, and pending", FLAT, .state.goal.n_flat = 2, .wanted = HM_MEMMODE_FLAT, .steps = ""},
    {"empty goals", FLAT, .state.goal.n_empty = 2, .wanted = HM_MEMMODE_CACHE, .steps = "DC"},
    {"dead jobs, perhaps", FLAT, .state.spaces.n_jobs = 1, .wanted = HM_MEMMODE_CACHE, .steps = "R"},
    {"dead jobs, and a goal", FLAT, .state.spaces.n_jobs = 1, .state.goal.n_mixed = 2, .wanted = HM_MEMMODE_CACHE,
     .steps = "R"},
    {"a living job", FLAT, .state.spaces.n_jobs = 1, .state.spaces.job = "hybridmem:-:7.0.0 of job 7",
     .wanted = HM_MEMMODE_CACHE, .is_reaped = true,
     .said = "1 of the namespaces is of jobs, the first is hybridmem:-:7.0.0 of job 7: wait", .for_now = "hold data"},
    {"kept", FLAT, .state.spaces.n_kept = 2, .state.spaces.kept = "hybridmem:-:u1001.5.0 of uid 1001",
     .wanted = HM_MEMMODE_CACHE, .said = "2 of the namespaces are kept by users, the first is hybridmem:-:u1001.5.0 of",
     .for_now = "hold data"},
    {"kept, and 1LM only", FLAT, .no_cache = true, .state.spaces.n_kept = 1, .wanted = HM_MEMMODE_CACHE,
     .said = "AllowedVolatileMode"},
    {"kept, and a region is not seen", FLAT, .state.spaces.hidden = "region1 is disabled", .state.spaces.n_kept = 1,
     .wanted = HM_MEMMODE_CACHE, .said = "region1 is disabled"},
    {"not ours", FLAT, .state.spaces.n_others = 1, .state.spaces.other = "namespace0.0, 4.0 GiB of region0",
     .wanted = HM_MEMMODE_CACHE,
     .said = "1 of the namespaces is not hybridmem's, the first is namespace0.0, 4.0 GiB of region0: save",
     .for_now = "hold data"},
    {"not ours, and mixed", MIXED, .state.spaces.n_others = 1, .wanted = HM_MEMMODE_FLAT, .said = "not hybridmem's",
     .for_now = "hold data"},
    {"not ours, and pending", FLAT, .state.spaces.n_others = 1, .state.goal.n_cache = 2, .wanted = HM_MEMMODE_CACHE,
     .said = "not hybridmem's", .for_now = "hold data"},
    {"at work, and a region is not seen", FLAT, .state.is_busy = true, .state.spaces.hidden = "region1 is disabled",
     .wanted = HM_MEMMODE_CACHE, .said = "region1 is disabled", .for_now = "made or wiped"},
    {"at work, and 1LM only", FLAT, .state.is_busy = true, .no_cache = true, .wanted = HM_MEMMODE_CACHE,
     .said = "AllowedVolatileMode"},
    {"a region is not seen", FLAT, .state.spaces.hidden = "region1 is disabled", .wanted = HM_MEMMODE_CACHE,
     .said = "region1 is disabled: its namespaces cannot be seen"},
    {"no region is seen", .state.resources = {.app_direct = ALL, .physical = ALL}, .wanted = HM_MEMMODE_CACHE,
     .said = "the modules have 252.0 GiB of App Direct, the kernel shows regions of 0 B"},
    {"a region is missing", .state.resources = {.app_direct = ALL, .physical = ALL},
     .state.spaces.region_bytes = ALL / 2, .wanted = HM_MEMMODE_CACHE, .said = "regions of 126.0 GiB"},
    {"the smallest region is missing", .state.resources = {.app_direct = ALL, .physical = ALL},
     .state.spaces.region_bytes = ALL - GIB, .wanted = HM_MEMMODE_CACHE, .said = "regions of 251.0 GiB"},
    {"a region is rounded", .state.resources = {.app_direct = ALL, .physical = ALL},
     .state.spaces.region_bytes = ALL - GIB + 1, .wanted = HM_MEMMODE_CACHE, .steps = "C"},
    {"no modules", .no_modules = true, .wanted = HM_MEMMODE_CACHE, .said = "no persistent memory modules"},
    {"goals are locked", FLAT, .no_configuration = true, .wanted = HM_MEMMODE_CACHE, .said = "PlatformConfigSupported"},
    {"1LM only", FLAT, .no_cache = true, .wanted = HM_MEMMODE_CACHE, .said = "AllowedVolatileMode has no 2LM"},
    {"1LM only, to flat", CACHE, .no_cache = true, .wanted = HM_MEMMODE_FLAT, .steps = "C"},
    {"2LM only", CACHE, .no_app_direct = true, .wanted = HM_MEMMODE_FLAT, .said = "AllowedAppDirectMode"},
    {"an ill module", FLAT, .state.modules.ill = "PMem module 0x0011 has the health state \"Critical failure\"",
     .wanted = HM_MEMMODE_CACHE, .said = "PMem module 0x0011 has the health state \"Critical failure\": replace it"},
    {"by the BIOS, there already", BIOS(HM_MEMMODE_CACHE), .wanted = HM_MEMMODE_CACHE, .steps = ""},
    {"by the BIOS", BIOS(HM_MEMMODE_FLAT), .no_modules = true, .no_configuration = true, .wanted = HM_MEMMODE_CACHE,
     .steps = "C"},
    {"by the BIOS, pending", BIOS(HM_MEMMODE_FLAT), .state.bios.pending = HM_MEMMODE_CACHE, .wanted = HM_MEMMODE_CACHE,
     .steps = ""},
    {"by the BIOS, to mixed", BIOS(HM_MEMMODE_FLAT), .state.bios.has_mixed = true, .wanted = HM_MEMMODE_MIXED,
     .steps = "C"},
    {"by the BIOS, a board without mixed", BIOS(HM_MEMMODE_FLAT), .wanted = HM_MEMMODE_MIXED,
     .said = "the board's section in hybridmem.conf has no value for it: add mixed"},
    {"by the BIOS, back", BIOS(HM_MEMMODE_FLAT), .state.bios.pending = HM_MEMMODE_CACHE, .wanted = HM_MEMMODE_FLAT,
     .steps = "D"},
    {"by the BIOS, another value is pending", BIOS(HM_MEMMODE_FLAT), .state.bios.pending = HM_MEMMODE_OTHER,
     .wanted = HM_MEMMODE_CACHE, .steps = "DC"},
    {"by the BIOS, kept", BIOS(HM_MEMMODE_FLAT), .state.spaces.n_kept = 1, .wanted = HM_MEMMODE_CACHE,
     .said = "kept by users", .for_now = "hold data"},
    {"by the BIOS, not ours", BIOS(HM_MEMMODE_CACHE), .state.spaces.n_others = 1, .wanted = HM_MEMMODE_FLAT,
     .said = "not hybridmem's", .for_now = "hold data"},
    {"too soon", FLAT, .state.up_s = 59, .state.least_s = 60, .wanted = HM_MEMMODE_CACHE,
     .said = "the node keeps memmode=flat for 60 s after a boot (memmode_least), and was booted 59 s ago",
     .for_now = "too short a time ago"},
    {"soon enough", FLAT, .state.up_s = 60, .state.least_s = 60, .wanted = HM_MEMMODE_CACHE, .steps = "C"},
    {"too soon, and kept", FLAT, .state.least_s = 60, .state.spaces.n_kept = 1, .wanted = HM_MEMMODE_MIXED,
     .said = "memmode_least", .for_now = "too short a time ago"},
    {"too soon, and dead jobs", FLAT, .state.least_s = 60, .state.spaces.n_jobs = 1, .wanted = HM_MEMMODE_CACHE,
     .said = "memmode_least", .for_now = "too short a time ago"},
    {"too soon, and 1LM only", FLAT, .no_cache = true, .state.least_s = 60, .wanted = HM_MEMMODE_CACHE,
     .said = "AllowedVolatileMode"},
    {"too soon, and a region is not seen", FLAT, .state.spaces.hidden = "region1 is disabled", .state.least_s = 60,
     .wanted = HM_MEMMODE_CACHE, .said = "region1 is disabled"},
    {"soon, and there already", FLAT, .state.least_s = 60, .wanted = HM_MEMMODE_FLAT, .steps = ""},
    {"soon, and pending already", FLAT, .state.least_s = 60, .state.goal.n_cache = 2, .wanted = HM_MEMMODE_CACHE,
     .steps = ""},
    {"soon, and another is pending", FLAT, .state.least_s = 60, .state.goal.n_cache = 2, .wanted = HM_MEMMODE_MIXED,
     .said = "memmode_least", .for_now = "too short a time ago"},
    {"soon, and the way back", FLAT, .state.least_s = 60, .state.goal.n_cache = 2, .wanted = HM_MEMMODE_FLAT,
     .steps = "D"},
    {"soon, and nothing is in use", UNUSED, .state.least_s = 60, .wanted = HM_MEMMODE_FLAT, .steps = "C"},
    {"by the BIOS, too soon", BIOS(HM_MEMMODE_CACHE), .state.least_s = 60, .wanted = HM_MEMMODE_FLAT,
     .said = "the node keeps memmode=cache", .for_now = "too short a time ago"},
    {"by the BIOS, dead jobs", BIOS(HM_MEMMODE_FLAT), .state.spaces.n_jobs = 1, .wanted = HM_MEMMODE_CACHE,
     .steps = "R"},
};

static const char *letters_of(const struct hm_memmode_steps *steps, char out[HM_MEMMODE_STEPS + 1])
{
    static const char letter[HM_MEMMODE_STEPS] = {'R', 'D', 'C'};
    for (int i = 0; i < steps->n; i++)
        out[i] = letter[steps->step[i]];
    out[steps->n] = '\0';
    return out;
}

static void decides(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct row *row = &rows[i];
        struct hm_memmode_state node = row->state;
        struct hm_memmode_steps steps;
        struct hm_error error = {{0}};
        char found[HM_MEMMODE_STEPS + 1];
        node.modules.n = row->no_modules ? 0 : 2;
        node.abilities = (struct hm_memmode_abilities){.configures = !row->no_configuration,
                                                       .cache = !row->no_cache,
                                                       .app_direct = !row->no_app_direct,
                                                       .mixed_percent = row->no_mixed ? 0 : 50};
        int result = hm_memmode_decide(&node, row->wanted, row->is_reaped, &steps, &error);
        if (row->said && (result == 0 || !strstr(error.text, row->said)))
            fail_msg("%s: refused with \"%s\"", row->name, error.text);
        const char *for_now = hm_memmode_only_for_now(&node, row->wanted);
        if (row->said && (row->for_now ? !for_now || !strstr(for_now, row->for_now) : for_now != NULL))
            fail_msg("%s: \"%s\" for now", row->name, for_now ? for_now : "");
        if (row->steps && (result != 0 || strcmp(letters_of(&steps, found), row->steps) != 0))
            fail_msg("%s: steps \"%s\", \"%s\"", row->name, result == 0 ? found : "", error.text);
    }
}

static void names_what_is_pending_instead(void **state)
{
    (void)state;
    const struct hm_memmode_state node = {.by = HM_MEMMODE_BY_BIOS,
                                          .bios = {"MemoryMode", "Flat", "HbmOnly", HM_MEMMODE_FLAT, HM_MEMMODE_MIXED}};
    struct hm_error error = {{0}};
    assert_int_equal(hm_memmode_check_pending(&node, HM_MEMMODE_MIXED, &error), 0);
    assert_int_equal(hm_memmode_check_pending(&node, HM_MEMMODE_CACHE, &error), -1);
    assert_string_equal(error.text, "read back, the pending goal is mixed, not cache (BIOS attribute MemoryMode: now "
                                    "\"Flat\", next \"HbmOnly\")");
}

static void reads_features(void **state)
{
    (void)state;
    static const struct {
        const char *feature;
        enum hm_memmode mode; /* HM_MEMMODE_NONE: refused */
        const char *said;
    } features[] = {
        {"memmode=flat", HM_MEMMODE_FLAT, NULL},
        {"memmode=cache", HM_MEMMODE_CACHE, NULL},
        {"memmode=mixed", HM_MEMMODE_MIXED, NULL},
        {"memmode=other", HM_MEMMODE_NONE, "not a feature"},
        {"memmode=none", HM_MEMMODE_NONE,
         "\"memmode=none\" is not a feature: use memmode=flat, memmode=cache or memmode=mixed"},
        {"memmode=incomplete", HM_MEMMODE_NONE, "not a feature"},
        {"memmode=", HM_MEMMODE_NONE, "not a feature"},
        {"memmode=flat,memmode=cache", HM_MEMMODE_NONE, "not a feature"},
        {"memmode=caches", HM_MEMMODE_NONE, "not a feature"},
        {"cache", HM_MEMMODE_NONE, "\"cache\" is not a feature"},
        {"", HM_MEMMODE_NONE, "\"\" is not a feature"},
    };
    for (size_t i = 0; i < N_ROWS(features); i++) {
        struct hm_error error = {{0}};
        enum hm_memmode mode;
        int result = hm_memmode_parse(features[i].feature, &mode, &error);
        if (features[i].said ? result == 0 || !strstr(error.text, features[i].said)
                             : result != 0 || mode != features[i].mode)
            fail_msg("\"%s\": \"%s\"", features[i].feature, error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(decides), cmocka_unit_test(names_what_is_pending_instead),
                                       cmocka_unit_test(reads_features)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
