/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how much room NUMA nodes have, and which node a page goes to. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "migrator/move/nodes.h"
#include "unit/lib/rows.h"

#define KIB UINT64_C(1024)

static const struct {
    const char *active, *inactive, *dirty, *written;
    uint64_t file_kib; /* UINT64_MAX: the text is refused */
} rows[] = {
    {"Active(file): 100 kB", "Inactive(file): 500 kB", "Dirty: 20 kB", "Writeback: 30 kB", 275},
    {"Active(file): 100 kB", "Inactive(file): 0 kB", "Dirty: 0 kB", "Writeback: 0 kB", 50},
    {"Active(file): 0 kB", "Inactive(file): 40 kB", "Dirty: 20 kB", "Writeback: 30 kB", 0},
    {"Active(anon): 9 kB", "Inactive(file): 500 kB", "Dirty: 0 kB", "Writeback: 0 kB", UINT64_MAX},
    {"Active(file): 100 kB", "Inactive: 500 kB", "Dirty: 0 kB", "Writeback: 0 kB", UINT64_MAX},
    {"Active(file): 100 kB", "Inactive(file): 500 kB", "", "Writeback: 0 kB", UINT64_MAX},
    {"Active(file): 100 kB", "Inactive(file): 500 kB", "Dirty: 0 kB", "WritebackTmp: 0 kB", UINT64_MAX},
};

static void half_of_the_cache_is_room(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char text[400];
        uint64_t free_bytes, file_bytes;
        snprintf(text, sizeof(text), "Node 1 MemFree: 1000 kB\nNode 1 %s\nNode 1 %s\nNode 1 %s\nNode 1 %s\n",
                 rows[i].active, rows[i].inactive, rows[i].dirty, rows[i].written);
        errno = 0;
        int result = hm_nodes_parse_free(text, &free_bytes, &file_bytes);
        assert_int_equal(result, rows[i].file_kib == UINT64_MAX ? -1 : 0);
        assert_int_equal(errno, result < 0 ? EBADMSG : 0);
        if (result < 0)
            continue;
        assert_int_equal(free_bytes, 1000 * KIB);
        assert_int_equal(file_bytes, rows[i].file_kib * KIB);
    }
}

/* two fast nodes and a slow one */
static struct hm_nodes make_nodes(void)
{
    struct hm_nodes nodes = {.n = 3, .index = {[0] = 0, [1] = 1, [2] = 2}};
    for (int i = 0; i < 3; i++)
        nodes.node[i] = (struct hm_node_state){
            .id = i, .is_fast = i < 2, .free_bytes = 100 * KIB, .reserve_bytes = 60 * KIB, .distance = {20, 10, 30}};
    return nodes;
}

static void the_nearest_node_with_room_above_its_reserve_is_taken(void **state)
{
    (void)state;
    struct hm_nodes nodes = make_nodes();
    assert_int_equal(hm_nodes_fast_room(&nodes), 80 * KIB);
    assert_int_equal(hm_nodes_take(&nodes, 1, true, 40 * KIB), 1);
    assert_int_equal(hm_nodes_take(&nodes, 1, true, 40 * KIB), 0);
    assert_int_equal(hm_nodes_take(&nodes, 1, true, 4 * KIB), -1);
    assert_int_equal(hm_nodes_take(&nodes, 1, false, 4 * KIB), 2);
    nodes.node[0].free_bytes = 10 * KIB; /* below the reserve */
    assert_int_equal(hm_nodes_fast_room(&nodes), 0);
    hm_nodes_close(&nodes, 2);
    assert_int_equal(hm_nodes_take(&nodes, 1, false, 4 * KIB), -1);
}

/* After a node was full, its file cache does not count as room for a while. Runs on this machine's node 0. */
static void files_that_are_not_given_away_are_no_room(void **state)
{
    (void)state;
    struct hm_nodes nodes = make_nodes();
    nodes.n = 1;
    hm_nodes_refresh(&nodes);
    assert_true(nodes.node[0].free_bytes > nodes.node[0].file_bytes);
    nodes.node[0].file_bytes = 0;
    hm_nodes_fill(&nodes, 0); /* without file cache, the next refresh counts as usual */
    assert_int_equal(nodes.node[0].without_files, 0);
    nodes.node[0].file_bytes = 5 * KIB;
    hm_nodes_fill(&nodes, 0);
    assert_int_equal(nodes.node[0].free_bytes, 0);
    for (unsigned left = nodes.node[0].without_files; left > 0; left--) {
        hm_nodes_refresh(&nodes);
        assert_int_equal(nodes.node[0].file_bytes, 0);
        assert_int_equal(nodes.node[0].without_files, left - 1);
    }
    assert_true(nodes.node[0].free_bytes > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_of_the_cache_is_room),
        cmocka_unit_test(the_nearest_node_with_room_above_its_reserve_is_taken),
        cmocka_unit_test(files_that_are_not_given_away_are_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
