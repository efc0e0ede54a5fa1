/* SPDX-License-Identifier: Apache-2.0 */
/* Tests libhybridmem as a whole on a simulated machine with two sockets: what is placed where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "alloc/allocate.h"
#include "alloc/room.h"
#include "twosockets.h"
#include "unit/lib/rows.h"

#define HUGE (2 * MIB)

static void test_alignment_zeros_and_ends(void **state)
{
    static const size_t rows[] = {HM_ALLOC_LEAST, HM_ALLOC_LEAST + 1, HUGE - 1, HUGE, HUGE + 1, 65 * MIB + 4095};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char *memory = hm_alloc(rows[i], HM_ALLOC_SPILL, NULL);
        assert_non_null(memory);
        assert_string_equal(hm_alloc_reason(), "");
        assert_int_equal((uintptr_t)memory % (rows[i] >= HUGE ? HUGE : 4096), 0);
        for (size_t at = 0; at < rows[i]; at += 4096)
            assert_int_equal(memory[at]++, 0);
        memory[rows[i] - 1] = 1;
        assert_int_equal(hm_allocated(memory).bytes, rows[i]);
        hm_free(memory);
        assert_int_equal(hm_allocated(memory).bytes, 0);
    }
}

/* Check that each page of the allocation belongs to one run, and that the kernel was told each run. */
static void check_runs(char *memory, size_t bytes, uint64_t on_node[4])
{
    struct hm_alloc_run run;
    size_t offset = 0;
    memset(on_node, 0, 4 * sizeof(*on_node));
    for (size_t call = 0; offset < bytes; call++) {
        assert_int_equal(hm_where_run(memory, offset, &run), 0);
        assert_int_equal(run.offset, offset);
        assert_int_equal(run.folder, -1);
        assert_true(call < machine.n_calls);
        assert_ptr_equal(machine.call[call].memory, memory + offset);
        assert_int_equal(machine.call[call].bytes, run.bytes);
        assert_int_equal(machine.call[call].node, run.node);
        on_node[run.node] += run.bytes;
        offset += run.bytes;
    }
    assert_int_equal(hm_where_run(memory, offset, &run), -1);
}

static void test_blocks_are_where_they_were_put(void **state)
{
    static const struct {
        enum hm_alloc_policy policy;
        struct hm_alloc_hint hint;
        size_t free_mib[4], mib, on_mib[4];
        const char *reason;
    } rows[] = {
        {HM_ALLOC_SPILL, {.block_bytes = MIB}, {99, 99, 99, 99}, 64, {32, 32, 0, 0}, ""},
        {HM_ALLOC_SPILL, {.block_bytes = MIB}, {8, 16, 99, 99}, 64, {8, 16, 24, 16}, ""},
        {HM_ALLOC_SPILL, {.block_bytes = MIB, .fast_share = .75}, {99, 99, 99, 99}, 64, {24, 24, 8, 8}, ""},
        {HM_ALLOC_FAST, {.block_bytes = MIB}, {8, 8, 99, 99}, 64, {8, 8, 24, 24}, "48.0 MiB of 64.0 MiB"},
        {HM_ALLOC_SLOW, {.block_bytes = MIB}, {99, 99, 99, 99}, 64, {0, 0, 32, 32}, ""},
        {HM_ALLOC_INTERLEAVE, {.block_bytes = MIB}, {99, 99, 99, 99}, 64, {16, 16, 16, 16}, ""},
        {HM_ALLOC_SPLIT, {.use = HM_ALLOC_READ_MOSTLY}, {99, 99, 99, 99}, 64, {0, 0, 32, 32}, ""},
        {HM_ALLOC_SPLIT, {.use = HM_ALLOC_WRITE_INTENSIVE}, {99, 99, 99, 99}, 64, {32, 32, 0, 0}, ""},
        {HM_ALLOC_SPILL, {.block_bytes = 32 * MIB}, {32, 0, 0, 0}, 96, {96, 0, 0, 0}, "no node has room for 64.0 MiB"},
    };
    static struct hm_alloc_where where;
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint64_t on_node[4];
        print_message("row %zu\n", i);
        machine.n_calls = 0;
        for (size_t node = 0; node < 4; node++)
            machine.free_bytes[node] = rows[i].free_mib[node] * MIB;
        char *memory = hm_alloc(rows[i].mib * MIB, rows[i].policy, &rows[i].hint);
        assert_non_null(memory);
        assert_int_equal(rows[i].reason[0] == '\0', hm_alloc_reason()[0] == '\0');
        assert_non_null(strstr(hm_alloc_reason(), rows[i].reason));
        check_runs(memory, rows[i].mib * MIB, on_node);
        memset(memory, 1, rows[i].mib * MIB / 2);
        assert_int_equal(hm_where(memory, &where), 0);
        assert_int_equal(where.bytes, rows[i].mib * MIB);
        assert_int_equal(where.policy, rows[i].policy);
        assert_string_equal(where.reason, hm_alloc_reason());
        assert_int_equal(where.absent_bytes, rows[i].mib * MIB / 2);
        uint64_t wanted = 0, resident = 0;
        for (int row = 0; row < where.n_nodes; row++) {
            assert_int_equal(where.node[row].wanted_bytes, on_node[where.node[row].node]);
            wanted += where.node[row].wanted_bytes;
            resident += where.node[row].resident_bytes;
        }
        assert_int_equal(wanted, rows[i].mib * MIB);
        assert_int_equal(resident, rows[i].mib * MIB / 2);
        if (i + 1 < N_ROWS(rows)) /* in the last row, the rows before decide which socket is first */
            for (size_t node = 0; node < 4; node++)
                assert_int_equal(on_node[node], rows[i].on_mib[node] * MIB);
        hm_free(memory);
    }
}

/* Memory that was allocated and is not touched yet counts as used; memory that was freed does not. */
static void test_two_allocations_do_not_want_the_same_room(void **state)
{
    const struct hm_alloc_hint hint = {.block_bytes = MIB};
    uint64_t on_node[4];
    (void)state;
    machine.free_bytes[0] = machine.free_bytes[1] = 48 * MIB;
    char *first = hm_alloc(64 * MIB, HM_ALLOC_SPILL, &hint);
    machine.n_calls = 0;
    char *second = hm_alloc(64 * MIB, HM_ALLOC_SPILL, &hint);
    check_runs(second, 64 * MIB, on_node);
    assert_int_equal(on_node[0] + on_node[1], 32 * MIB);
    hm_free(first);
    machine.n_calls = 0;
    first = hm_alloc(64 * MIB, HM_ALLOC_SPILL, &hint);
    check_runs(first, 64 * MIB, on_node);
    assert_int_equal(on_node[0] + on_node[1], 64 * MIB);
    /* No memory is free, as if all pages of both were touched. Freed allocations must not count as used any more. */
    machine.free_bytes[0] = machine.free_bytes[1] = 0;
    hm_free(second);
    hm_free(first);
    machine.free_bytes[0] = machine.free_bytes[1] = 48 * MIB;
    machine.n_calls = 0;
    first = hm_alloc(96 * MIB, HM_ALLOC_SPILL, &hint);
    check_runs(first, 96 * MIB, on_node);
    assert_int_equal(on_node[0] + on_node[1], 96 * MIB);
    hm_free(first);
}

static void test_room_of_a_node(void **state)
{
    static const struct {
        uint64_t free, most, promised, room;
    } rows[] = {{100, 100, 0, 100}, {100, 100, 30, 70}, {70, 100, 30, 70}, {50, 100, 30, 50}, {5, 100, 300, 0}};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++)
        assert_int_equal(hm_room_of(rows[i].free, rows[i].most, rows[i].promised), rows[i].room);
}

/* Allocations of one block use the sockets in turn. */
static void test_small_allocations_spread(void **state)
{
    void *memory[8];
    int on_node[4] = {0};
    (void)state;
    for (size_t i = 0; i < N_ROWS(memory); i++)
        memory[i] = hm_alloc(MIB, HM_ALLOC_SPILL, NULL);
    for (size_t i = 0; i < N_ROWS(memory); i++) {
        struct hm_alloc_run run;
        assert_int_equal(hm_where_run(memory[i], 0, &run), 0);
        on_node[run.node]++;
        hm_free(memory[i]);
    }
    assert_int_equal(on_node[0], 4);
    assert_int_equal(on_node[1], 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_alignment_zeros_and_ends, twosockets_set_up),
        cmocka_unit_test_setup(test_blocks_are_where_they_were_put, twosockets_set_up),
        cmocka_unit_test_setup(test_two_allocations_do_not_want_the_same_room, twosockets_set_up),
        cmocka_unit_test_setup(test_room_of_a_node, twosockets_set_up),
        cmocka_unit_test_setup(test_small_allocations_spread, twosockets_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
