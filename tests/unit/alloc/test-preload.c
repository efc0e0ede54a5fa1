/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the rules of the preload library: how they are parsed, and which allocations they send to the slow tier. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc/preload.h"
#include "unit/lib/rows.h"

#define MIB ((size_t)1 << 20)

static void test_bad_variables(void **state)
{
    static const char *const nodes[] = {
        "",           "0",         "fast",         "fast=",     "fast=,0",
        "fast=@0",    "fast=0@",   "fast=0@0,",    "fast=0@0 ", "fast=0@0  slow=1@0",
        "fast=x@0",   "fast=0@0x", "fast=1024@0",  "slow=-1@0", "fast=0@0;slow=1@0",
        "middle=0@0", "Fast=0@0",  "fast=0@0 1@1", "slow=0 @1", "slow=99999999999999999999@0"};
    static const char *const sizes[] = {"", "0", "131071", "127K", "1Q", "-1M", "1 M", "17179869184G"};
    static const char *const callers[] = {
        "",
        "main",
        "slow=",
        "slow=+0x1",
        "slow=a+0x",
        "slow=a+0xg",
        "slow=a,",
        ",slow=a",
        "medium=a",
        "slow=a+0x12345678901234567",
        "slow=a1234567890123456789012345678901234567890123456789012345678901234567890"};
    struct hm_preload_rules rules;
    struct hm_layout layout;
    struct hm_error error;
    (void)state;
    for (size_t i = 0; i < N_ROWS(nodes); i++) {
        print_message("nodes %s\n", nodes[i]);
        assert_int_equal(hm_preload_parse_nodes(nodes[i], &layout, &error), -1);
        assert_non_null(strstr(error.text, "HYBRIDMEM_ISOLATE_NODES"));
    }
    for (size_t i = 0; i < N_ROWS(sizes); i++) {
        assert_int_equal(hm_preload_parse_size(sizes[i], &rules, &error), -1);
        assert_non_null(strstr(error.text, "HYBRIDMEM_ISOLATE_SIZE"));
    }
    for (size_t i = 0; i < N_ROWS(callers); i++) {
        assert_int_equal(hm_preload_parse_callers(callers[i], &rules, &error), -1);
        assert_non_null(strstr(error.text, "HYBRIDMEM_ISOLATE_CALLERS"));
    }
}

static void test_too_many(void **state)
{
    char text[HM_ALLOC_NODES * 16] = "slow=0@0";
    struct hm_preload_rules rules;
    struct hm_layout layout;
    (void)state;
    /* The longest list is accepted. One more node, or one more caller, is refused. */
    for (int i = 1; i < HM_ALLOC_NODES; i++)
        strncat(text, ",0@0", sizeof(text) - strlen(text) - 1);
    assert_int_equal(hm_preload_parse_nodes(text, &layout, NULL), 0);
    assert_int_equal(layout.n_nodes, HM_ALLOC_NODES);
    strncat(text, ",0@0", sizeof(text) - strlen(text) - 1);
    assert_int_equal(hm_preload_parse_nodes(text, &layout, NULL), -1);
    strncpy(text, "fast=f", sizeof(text));
    for (int i = 1; i < HM_PRELOAD_CALLERS; i++)
        strncat(text, ",slow=s", sizeof(text) - strlen(text) - 1);
    assert_int_equal(hm_preload_parse_callers(text, &rules, NULL), 0);
    assert_int_equal(rules.n_callers, HM_PRELOAD_CALLERS);
    strncat(text, ",slow=s", sizeof(text) - strlen(text) - 1);
    assert_int_equal(hm_preload_parse_callers(text, &rules, NULL), -1);
}

static void test_nodes(void **state)
{
    struct hm_layout layout;
    (void)state;
    assert_int_equal(hm_preload_parse_nodes("fast=0@0,1@1 slow=2@0,10@1,11", &layout, NULL), 0);
    assert_int_equal(layout.n_nodes, 5);
    static const struct hm_layout_node wanted[] = {
        {0, 0, true, 0}, {1, 1, true, 0}, {2, 0, false, 0}, {10, 1, false, 0}, {11, -1, false, 0}};
    for (size_t i = 0; i < N_ROWS(wanted); i++) {
        assert_int_equal(layout.node[i].id, wanted[i].id);
        assert_int_equal(layout.node[i].socket, wanted[i].socket);
        assert_int_equal(layout.node[i].is_fast, wanted[i].is_fast);
        assert_int_equal(layout.node[i].reserve_bytes, 0);
    }
    assert_string_equal(layout.note, "");
}

static void test_which_go_to_the_slow_tier(void **state)
{
    static const struct hm_preload_site field = {"allocate_field_", "/usr/lib/libphysics.so.1", 0x1234},
                                        other = {"main", "./program", 0x1234}, unknown = {NULL, NULL, 0};
    static const struct {
        const char *size, *callers;
        size_t bytes;
        const struct hm_preload_site *site;
        bool wanted;
    } rows[] = {
        {NULL, NULL, 0, &other, false},
        {NULL, NULL, 32 * MIB - 1, &other, false},
        {NULL, NULL, 32 * MIB, &other, true},
        {NULL, NULL, 32 * MIB, NULL, true},
        {NULL, NULL, 32 * MIB, &unknown, true},
        {"128K", NULL, 131072, &other, true},
        {"1G", NULL, 32 * MIB, &other, false},
        {"1M", "fast=allocate_field_", 2 * MIB, &field, false},
        {"1M", "fast=allocate_field_", 2 * MIB, &other, true},
        {"1M", "fast=allocate_field_", 2 * MIB, &unknown, true},
        {"1M", "slow=allocate_field_", 131072, &field, true},
        {"1M", "slow=allocate_field_", 131071, &field, false}, /* less than 128 KiB is never placed */
        {"1M", "slow=allocate_field", 131072, &field, false},
        {"1M", "slow=libphysics.so.1+0x1234", 131072, &field, true},
        {"1M", "slow=libphysics.so.1+0x1235", 131072, &field, false},
        {"1M", "slow=physics.so.1+0x1234", 131072, &field, false},
        {"1M", "slow=program+0x1234", 131072, &other, true},
        {"1M", "fast=main,slow=program+0x1234", 131072, &other, false}, /* the first rule decides */
        {"1M", "slow=program+0x1234,fast=main", 131072, &other, true},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_preload_rules rules = {.is_on = true};
        print_message("row %zu\n", i);
        assert_int_equal(hm_preload_parse_size(rows[i].size, &rules, NULL), 0);
        assert_int_equal(hm_preload_parse_callers(rows[i].callers, &rules, NULL), 0);
        assert_int_equal(hm_preload_is_slow(&rules, rows[i].bytes, rows[i].site), rows[i].wanted);
        rules.is_on = false;
        assert_false(hm_preload_is_slow(&rules, rows[i].bytes, rows[i].site));
    }
}

static void test_one_wrong_variable_leaves_all_as_it_is(void **state)
{
    struct hm_preload_rules rules;
    (void)state;
    unsetenv("HYBRIDMEM_ISOLATE_NODES");
    setenv("HYBRIDMEM_ISOLATE_SIZE", "1M", 1);
    hm_preload_read(&rules);
    assert_false(rules.is_on);
    setenv("HYBRIDMEM_ISOLATE_NODES", "slow=0@0", 1);
    hm_preload_read(&rules);
    assert_true(rules.is_on);
    assert_int_equal(rules.least_bytes, MIB);
    setenv("HYBRIDMEM_ISOLATE_SIZE", "1Q", 1);
    hm_preload_read(&rules);
    assert_false(rules.is_on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_variables),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_which_go_to_the_slow_tier),
        cmocka_unit_test(test_one_wrong_variable_leaves_all_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
