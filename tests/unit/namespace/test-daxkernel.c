/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which kernels are known to wait for pages that are in use when a DAX file system ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "namespace/pmem/daxkernel.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define OTHERS                                                                                                         \
    "0000000000000000 T dax_break_layout\n0000000000000000 T dax_break_layout_inode\n"                                 \
    "0000000000000000 r __ksymtab_dax_break_layout_final\n"

static void test_which_kernels_wait(void **state)
{
    (void)state;
    static const struct {
        const char *release, *symbols;
        int waits;
    } rows[] = {
        {"6.15.0", "", 1},
        {"6.15-rc1", "", 1},
        {"6.100.3-amd64", "", 1},
        {"7.0.0", "", 1},
        {"10.2", "", 1},
        {"6.14.99", OTHERS, 0},
        {"5.14.0-611.el9.x86_64", OTHERS, 0},
        {"", "", 0},
        /* Older kernels with the change as a patch; the last one has only a function with a similar name. */
        {"5.14.0-611.el9.x86_64", OTHERS "0000000000000000 T dax_break_layout_final\n" OTHERS, 1},
        {"6.12.0", "ffffffff81a2b3c0 t dax_break_layout_final\t[fs]", 1},
        {"6.12.0", "0000000000000000 T dax_break_layout_finally\n", 0},
    };
    struct hm_error error;
    char *path = scratch_path("symbols");
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        scratch_write(path, rows[i].symbols);
        assert_int_equal(hm_dax_kernel_waits(rows[i].release, path, &error), rows[i].waits);
    }
    assert_int_equal(hm_dax_kernel_waits("6.12.0", "/nonexistent", &error), -1);
    assert_string_equal(error.text, "/nonexistent: No such file or directory");
}

static void test_a_site_that_trusts_its_users_needs_no_kernel(void **state)
{
    (void)state;
    struct hm_config config;
    hm_config_defaults(&config);
    config.fsdax_trust = true;
    assert_int_equal(hm_dax_kernel_check(&config, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_kernels_wait),
        cmocka_unit_test(test_a_site_that_trusts_its_users_needs_no_kernel),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
