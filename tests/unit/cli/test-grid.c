/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the figures of a replay's picture when memory is short. tests/cli tests their values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/replay/grid.h"
#include "unit/lib/shortmemory.h"

static json_t *make(const void *grid)
{
    return hm_grid_json(grid);
}

static void test_short_memory_leaves_no_figures(void **state)
{
    uint64_t pages[] = {16, 17, 5000};
    struct hm_trace_row rows[] = {{0, 9, 0, 3, 1}, {2, 9, 0, 4, 0}};
    struct hm_trace_phase phases[] = {{0, 1}, {1, 1}};
    const struct hm_trace trace = {
        .n_pages = 3, .page = pages, .n_rows = 2, .row = rows, .n_phases = 2, .phase = phases};
    const uint8_t tier[] = {0, 1, 1};
    (void)state;
    struct hm_grid *grid = hm_grid_new(&trace);
    assert_non_null(grid);
    for (size_t phase = 0; phase < trace.n_phases; phase++)
        hm_grid_add_phase(grid, phase, tier);
    check_short_memory(make, grid);
    hm_grid_free(grid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_memory_leaves_no_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
