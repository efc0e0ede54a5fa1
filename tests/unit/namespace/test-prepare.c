/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what a region is said to lack before jobs can have namespaces of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "namespace/pmem/prepare.h"
#include "unit/lib/rows.h"

#define MIB (UINT64_C(1) << 20)

/* Regions of 1280 MiB that are aligned to 16 MiB. Sizes are in MiB. */
struct row {
    bool has_labels, is_disabled;
    uint64_t extent, devdax, ram;
    const char *refused; /* a part of the text; NULL: planned as follows */
    bool wants_labels;
    uint64_t made;
};

static const struct row rows[] = {
    {true, false, 1264, 0, 0, NULL, false, 0},
    {false, false, 0, 0, 0, NULL, true, 0},
    {true, false, 1264, 0, 64, NULL, false, 64},
    {true, false, 1264, 0, 65, NULL, false, 80},
    {false, false, 0, 0, 1280, NULL, true, 1280}, /* with labels all of it is one extent */
    {true, false, 1264, 64, 64, NULL, false, 0},  /* it is there already */
    {true, false, 1264, 64, 32, NULL, false, 0},
    {true, false, 1264, 64, 0, NULL, false, 0},
    {true, false, 1264, 64, 128, "has a devdax namespace of 64.0 MiB already, --ram asks for 128.0 MiB", false, 0},
    {true, false, 1264, 0, 1280, "region0 has no extent of 1.2 GiB for --ram: the largest is 1.2 GiB", false, 0},
    {false, false, 0, 0, 1281, "no extent of 1.3 GiB", false, 0},
    {true, true, 1264, 0, 0, "region0 is disabled: ndctl enable-region region0", false, 0},
    {false, true, 0, 0, 0, "region0 is disabled", false, 0},
};

static void check(size_t number, const struct row *row)
{
    struct hm_region region = {.name = "region0",
                               .size = 1280 * MIB,
                               .extent = row->extent * MIB,
                               .align = 16 * MIB,
                               .has_labels = row->has_labels,
                               .is_enabled = !row->is_disabled};
    struct hm_prepare steps;
    struct hm_error error = {""};
    int result = hm_prepare_plan(&region, row->devdax * MIB, row->ram * MIB, &steps, &error);
    if ((result != 0) != (row->refused != NULL) || (row->refused && !strstr(error.text, row->refused)))
        fail_msg("row %zu: %d, \"%s\"", number, result, error.text);
    if (result == 0 && (steps.wants_labels != row->wants_labels || steps.ram_bytes != row->made * MIB))
        fail_msg("row %zu: labels %d, %llu bytes", number, steps.wants_labels, (unsigned long long)steps.ram_bytes);
}

static void test_what_a_region_lacks(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++)
        check(i, &rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_a_region_lacks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
