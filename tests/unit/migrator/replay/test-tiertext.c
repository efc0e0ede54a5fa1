/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the text of a tier: what is refused, and why. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/replay/tiertext.h"
#include "unit/lib/rows.h"

static void test_bad_tiers(void **state)
{
    static const struct {
        const char *first, *text, *word; /* a tier before it, or NULL; the one that is refused; a word of the reason */
    } rows[] = {
        {NULL, "", "NAME:SIZE:READ:WRITE"},
        {NULL, "hbm", "NAME:SIZE:READ:WRITE"},
        {NULL, "hbm:10%:90ns", "NAME:SIZE:READ:WRITE"},
        {NULL, "hbm:10%:90ns:90ns:", "NAME:SIZE:READ:WRITE"},
        {NULL, ":10%:90ns:90ns", "is no name"},
        {NULL, "h b:10%:90ns:90ns", "is no name"},
        {NULL, "a-name-of-24-characters_:10%:90ns:90ns", "is no name"},
        {NULL, "hbm:10:90ns:90ns", "10"},
        {NULL, "hbm:101%:90ns:90ns", "101%"},
        {NULL, "hbm:10%:90:90ns", "90"},
        {NULL, "hbm:10%:0ns:90ns", "out of range"},
        {NULL, "hbm:10%:90ns:1000001ns", "out of range"},
        {"hbm:60%:90ns:100ns", "hbm:10%:90ns:100ns", "twice"},
        {"hbm:60%:90ns:100ns", "dram:41%:90ns:100ns", "40% are left"},
        {"hbm:60%:90ns:100ns", "dram:rest:89ns:100ns", "fastest"},
        {"hbm:60%:90ns:100ns", "dram:rest:90ns:99ns", "fastest"},
        {"hbm:rest:90ns:100ns", "dram:10%:90ns:100ns", "rest"},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_replay_options options = {.n_tiers = 0};
        struct hm_error error = {""};
        if (rows[i].first)
            assert_int_equal(hm_replay_tier_add(&options, rows[i].first, &error), 0);
        unsigned before = options.n_tiers;
        assert_int_equal(hm_replay_tier_add(&options, rows[i].text, &error), -1);
        if (!strstr(error.text, rows[i].word))
            fail_msg("%s: %s", rows[i].text, error.text);
        assert_int_equal(options.n_tiers, before);
    }
}

static void test_tiers(void **state)
{
    struct hm_replay_options options = {.n_tiers = 0};
    struct hm_error error = {""};
    (void)state;
    assert_int_equal(hm_replay_tiers_check(&options, &error), -1);
    assert_int_equal(hm_replay_tier_add(&options, "hbm:10%:80ns:100ns", &error), 0);
    assert_int_equal(hm_replay_tiers_check(&options, &error), -1);
    assert_int_equal(hm_replay_tier_add(&options, "dram:90%:100ns:100ns", &error), 0);
    assert_int_equal(hm_replay_tiers_check(&options, &error), -1);
    assert_int_equal(hm_replay_tier_add(&options, "CXL_0:rest:200ns:500ns", &error), 0);
    assert_int_equal(hm_replay_tiers_check(&options, &error), 0);
    assert_int_equal(options.n_tiers, 3);
    assert_string_equal(options.tier[2].name, "CXL_0");
    assert_float_equal(options.unit_ns, 80, 0);
    assert_float_equal(options.tier[0].read, 1, 0);
    assert_float_equal(options.tier[0].write, 1.25, 0);
    assert_float_equal(options.tier[2].write, 6.25, 0);
    assert_float_equal(options.tier[1].share, 0.9, 1e-12);
}

static void test_most_tiers(void **state)
{
    struct hm_replay_options options = {.n_tiers = 0};
    struct hm_error error = {""};
    (void)state;
    for (int i = 0; i < HM_MAX_TIERS; i++) {
        char text[] = "tier0:1%:80ns:100ns";
        text[4] = (char)('0' + i);
        assert_int_equal(hm_replay_tier_add(&options, text, &error), 0);
    }
    assert_int_equal(hm_replay_tier_add(&options, "more:rest:80ns:100ns", &error), -1);
    assert_non_null(strstr(error.text, "more than 8"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_tiers),
        cmocka_unit_test(test_tiers),
        cmocka_unit_test(test_most_tiers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
