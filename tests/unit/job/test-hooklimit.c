/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how long a prolog or epilog waits for its hybridmem-job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "job/namespaces/hooklimit.h"
#include "unit/lib/scratch.h"

/* Memory that is wiped for minutes is no reason to kill the prolog that makes the job's file systems. */
static void a_wipe_may_take_as_long_as_the_site_allows(void **state)
{
    static const struct {
        const char *device; /* NULL: the node has no persistent memory */
        unsigned wipe_limit_s;
        enum hm_slow_ram ram;
        unsigned least_s, most_s;
    } rows[] = {
        {NULL, 0, HM_SLOW_RAM_NONE, 65, 65},
        {NULL, 600, HM_SLOW_RAM_MOVABLE, 65, 65},
        {"region0", 0, HM_SLOW_RAM_NONE, 86400, 2 * 86400},
        {"region0", 600, HM_SLOW_RAM_NONE, 700, 800},
        {"region0", 600, HM_SLOW_RAM_MOVABLE, 1300, 1400},
        {"region0", 86400, HM_SLOW_RAM_MOVABLE, 86400, 2 * 86400},
    };
    struct hm_config config;
    (void)state;
    hm_config_defaults(&config);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *regions = scratch_path("%zu", i);
        assert_int_equal(mkdir(regions, 0755), 0);
        if (rows[i].device)
            assert_int_equal(mkdir(scratch_path("%zu/%s", i, rows[i].device), 0755), 0);
        config.fsdax_wipe_limit_s = rows[i].wipe_limit_s;
        config.ram = rows[i].ram;
        unsigned limit_s = hm_hook_limit_s(&config, regions);
        assert_true(limit_s >= rows[i].least_s && limit_s <= rows[i].most_s);
    }
    assert_int_equal(hm_hook_limit_s(&config, scratch_path("missing")), 65);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_wipe_may_take_as_long_as_the_site_allows)};
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
