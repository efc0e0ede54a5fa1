/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the tiers that the migrator's options name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/live/optiontiers.h"
#include "unit/lib/rows.h"

static void tiers_are_in_order_of_speed(void **state)
{
    (void)state;
    static const struct {
        const char *middle[2]; /* NULL: no more */
        double read[4], write[4];
    } rows[] = {
        {{NULL}, {1, 3}, {1, 5}},
        {{"2"}, {1, 2, 3}, {1, 3, 5}}, /* half way, where nothing is known */
        {{"2", "4-5"}, {1, 5 / 3.0, 7 / 3.0, 3}, {1, 7 / 3.0, 11 / 3.0, 5}},
        {{"2:1.5:1", "4-5"}, {1, 1.5, 7 / 3.0, 3}, {1, 1, 11 / 3.0, 5}},
        {{"2:3:5"}, {1, 3, 3}, {1, 5, 5}},
        {{"2:1.5"}, {1, 1.5, 3}, {1, 3, 5}},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_options options = {.algorithm = "regions", .lat_read = 3, .lat_write = 5};
        struct hm_set nodes[HM_MAX_TIERS];
        double read[HM_MAX_TIERS], write[HM_MAX_TIERS];
        hm_set_add(&options.fast, 0);
        hm_set_add(&options.slow, 3);
        while (options.n_middle < 2 && rows[i].middle[options.n_middle]) {
            struct hm_middle_tier *tier = &options.middle[options.n_middle];
            assert_int_equal(hm_middle_tier_parse(rows[i].middle[options.n_middle++], tier, NULL), 0);
        }
        assert_int_equal(hm_options_check_tiers(&options, NULL), 0);
        assert_int_equal(hm_options_tiers(&options, nodes), options.n_middle + 2);
        assert_true(hm_set_has(&nodes[0], 0) && hm_set_has(&nodes[options.n_middle + 1], 3));
        assert_true(options.n_middle == 0 || hm_set_has(&nodes[1], 2));
        assert_true(options.n_middle < 2 || (hm_set_has(&nodes[2], 4) && hm_set_has(&nodes[2], 5)));
        hm_options_latencies(&options, read, write);
        for (unsigned tier = 0; tier < options.n_middle + 2; tier++) {
            assert_float_equal(read[tier], rows[i].read[tier], 1e-9);
            assert_float_equal(write[tier], rows[i].write[tier], 1e-9);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiers_are_in_order_of_speed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
