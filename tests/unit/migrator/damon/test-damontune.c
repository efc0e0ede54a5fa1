/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how what DAMON's looks find sets the time between two of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "migrator/damon/tune.h"
#include "unit/lib/rows.h"

#define LOOK_S 3e-6 /* CPU time of a look */

static void what_looks_find_sets_their_time(void **state)
{
    (void)state;
    static const struct {
        const char *about;
        double accessed, used; /* shares of the looks at memory that was in use at all, and of all looks */
        uint32_t before_us, look_us, looks;
    } rows[] = {
        {"nothing is found: much longer", -1, 0, 20000, 160000, 20},
        {"next to nothing", 0.5, 0.001, 20000, 160000, 20},
        {"little is found: so much longer that a twentieth would be", 0.5, 0.02, 40000, 100000, 20},
        {"still little: fewer looks in an aggregation of 5 s", 0.5, 0.02, 250000, 625000, 8},
        {"the longest time", 0.5, 0.001, 500000, 1000000, 5},
        {"it stays where little is found", 0.3, 0.01, 1000000, 1000000, 5},
        {"a part is in use all the time, and the rest hardly", 0.9, 0.03, 120000, 240000, 20},
        {"much of the memory is in use at most looks", 0.9, 0.5, 100000, 50000, 20},
        {"enough is found, and not too much", 0.3, 0.1, 100000, 100000, 20},
    };
    const struct hm_damon_needs needs = {.interval_ms = 10000, .budget = 10000, .n_processes = 4, .n_ranges = 8};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_damon_settings settings = {.look_us = rows[i].before_us, .looks = 20, .max_regions = 400};
        const struct hm_damon_measured measured = {.cpu_s = LOOK_S * 200 / (rows[i].before_us * 1e-6),
                                                   .wall_s = 1,
                                                   .accessed = rows[i].accessed,
                                                   .used = rows[i].used};
        hm_damon_tune(&needs, &measured, &settings);
        if (fabs((double)settings.look_us - rows[i].look_us) > 1 || settings.looks != rows[i].looks)
            fail_msg("%s: %u looks, %u us apart", rows[i].about, settings.looks, settings.look_us);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_looks_find_sets_their_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
