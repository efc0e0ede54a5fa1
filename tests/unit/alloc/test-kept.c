/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which freed memory is kept for which allocations, and how often the kernel is asked for the room of nodes. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "alloc/allocate.h"
#include "alloc/kept.h"
#include "unit/alloc/twosockets.h"
#include "unit/lib/rows.h"

#define SECOND UINT64_C(1000000000)

static char *take(size_t bytes, enum hm_alloc_policy policy)
{
    const struct hm_alloc_hint hint = {.block_bytes = MIB};
    char reason[HM_ALLOC_REASON];
    char *memory = hm_allocate(bytes, 1, policy, &hint, NULL, reason);
    assert_non_null(memory);
    return memory;
}

static void keep(void *memory)
{
    struct hm_allocated was;
    assert_true(hm_deallocate_to_keep(memory, &was));
    assert_int_equal(hm_allocated(memory).bytes, 0);
}

static void test_it_is_for_the_same_policy_and_some_such_size(void **state)
{
    static const struct {
        size_t bytes, spare;
        enum hm_alloc_policy policy;
        bool is_it;
        size_t fast_bytes;
    } rows[] = {
        {8 * MIB, SIZE_MAX, HM_ALLOC_FAST, true, 8 * MIB},
        {8 * MIB - 100, SIZE_MAX, HM_ALLOC_FAST, true, 8 * MIB - 100},
        {8 * MIB - 100, 0, HM_ALLOC_FAST, true, 8 * MIB - 100},
        {7 * MIB + MIB / 2, SIZE_MAX, HM_ALLOC_FAST, true, 8 * MIB}, /* all of it counts */
        {7 * MIB + MIB / 2, MIB / 4, HM_ALLOC_FAST, false, 0},
        {7 * MIB, SIZE_MAX, HM_ALLOC_FAST, false, 0},
        {8 * MIB + 1, SIZE_MAX, HM_ALLOC_FAST, false, 0},
        {8 * MIB, SIZE_MAX, HM_ALLOC_SLOW, false, 0},
        {SIZE_MAX / 2, SIZE_MAX, HM_ALLOC_FAST, false, 0},
    };
    (void)state;
    machine.step_ns = 0;
    char *memory = take(8 * MIB, HM_ALLOC_FAST);
    hm_allocated_mark(memory);
    memory[5] = 1;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("row %zu\n", i);
        keep(memory);
        assert_int_equal(hm_kept_bytes(), 8 * MIB);
        char *found = hm_allocate_kept(rows[i].bytes, rows[i].spare, 1, rows[i].policy);
        assert_int_equal(found == memory, rows[i].is_it);
        if (!rows[i].is_it) {
            assert_null(found);
            memory = hm_allocate_kept(8 * MIB, 0, 1, HM_ALLOC_FAST);
            assert_non_null(memory);
            continue;
        }
        assert_int_equal(hm_kept_bytes(), 0);
        assert_int_equal(memory[5], 1);
        assert_int_equal(hm_allocated(memory).bytes, rows[i].bytes);
        assert_int_equal(hm_allocated(memory).fast_bytes, rows[i].fast_bytes);
        assert_false(hm_allocated(memory).is_marked);
    }
    assert_true(hm_deallocate(memory, NULL));
    assert_int_equal(hm_kept_bytes(), 0);
}

/* Of several, the smallest that is large enough. */
static void test_the_smallest_is_taken(void **state)
{
    char *memory[3];
    (void)state;
    machine.step_ns = 0;
    for (size_t i = 0; i < 3; i++)
        memory[i] = take((18 - i) * MIB, HM_ALLOC_SLOW);
    for (size_t i = 0; i < 3; i++)
        keep(memory[i]);
    assert_ptr_equal(hm_allocate_kept(17 * MIB, SIZE_MAX, 1, HM_ALLOC_SLOW), memory[1]);
    hm_give_back_kept();
    assert_int_equal(hm_kept_bytes(), 0);
    assert_true(hm_deallocate(memory[1], NULL));
}

static void test_no_more_is_kept_than_is_said(void **state)
{
    char *memory[5], *small[100];
    (void)state;
    machine.step_ns = 0;
    keep(take(32 * MIB + 1, HM_ALLOC_FAST)); /* too large */
    keep(take(8 * MIB, HM_ALLOC_SPILL));     /* a share, as it was then */
    assert_int_equal(hm_kept_bytes(), 0);
    for (size_t i = 0; i < 5; i++)
        memory[i] = take(16 * MIB, HM_ALLOC_FAST);
    for (size_t i = 0; i < 5; i++)
        keep(memory[i]);
    assert_int_equal(hm_kept_bytes(), 64 * MIB);
    hm_give_back_kept();
    for (size_t i = 0; i < 100; i++)
        small[i] = take(MIB / 4, HM_ALLOC_SLOW);
    for (size_t i = 0; i < 100; i++)
        keep(small[i]);
    assert_true(hm_kept_bytes() <= 64 * MIB / 4);
    hm_give_back_kept();
}

static void test_it_is_kept_for_a_second(void **state)
{
    (void)state;
    machine.step_ns = 0;
    keep(take(8 * MIB, HM_ALLOC_FAST));
    machine.now_ns += SECOND;
    char *other = take(MIB, HM_ALLOC_SLOW);
    assert_int_equal(hm_kept_bytes(), 8 * MIB);
    machine.now_ns++;
    keep(other);
    assert_int_equal(hm_kept_bytes(), MIB);
    machine.now_ns += SECOND + 1;
    assert_true(hm_deallocate(take(2 * MIB, HM_ALLOC_SLOW), NULL));
    assert_int_equal(hm_kept_bytes(), 0);
}

/* What is kept is given back where an allocation has need of its room. */
static void test_it_makes_room(void **state)
{
    struct hm_allocated was;
    (void)state;
    machine.step_ns = 0;
    machine.now_ns += SECOND;
    machine.free_bytes[0] = machine.free_bytes[1] = 20 * MIB;
    keep(take(16 * MIB, HM_ALLOC_FAST));
    assert_int_equal(hm_kept_bytes(), 16 * MIB);
    char *memory = take(8 * MIB, HM_ALLOC_FAST);
    assert_int_equal(hm_kept_bytes(), 16 * MIB);
    assert_true(hm_deallocate(memory, NULL));
    memory = take(40 * MIB, HM_ALLOC_FAST);
    assert_int_equal(hm_kept_bytes(), 0);
    assert_true(hm_deallocate(memory, &was));
    assert_int_equal(was.fast_bytes, 40 * MIB);
}

/* Between two looks, what is placed and freed counts. */
static void test_the_kernel_is_asked_ten_times_a_second(void **state)
{
    struct hm_allocated was;
    (void)state;
    machine.step_ns = 0;
    machine.now_ns += SECOND;
    machine.free_bytes[0] = machine.free_bytes[1] = 32 * MIB;
    char *memory = take(48 * MIB, HM_ALLOC_FAST);
    machine.free_bytes[0] = machine.free_bytes[1] = 512 * MIB; /* which is not known yet */
    assert_true(hm_deallocate(take(64 * MIB, HM_ALLOC_FAST), &was));
    assert_int_equal(was.fast_bytes, 16 * MIB);
    assert_true(hm_deallocate(memory, &was));
    assert_int_equal(was.fast_bytes, 48 * MIB);
    assert_true(hm_deallocate(take(96 * MIB, HM_ALLOC_FAST), &was));
    assert_int_equal(was.fast_bytes, 64 * MIB);
    machine.now_ns += SECOND / 10;
    assert_true(hm_deallocate(take(96 * MIB, HM_ALLOC_FAST), &was));
    assert_int_equal(was.fast_bytes, 96 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_it_is_for_the_same_policy_and_some_such_size, twosockets_set_up),
        cmocka_unit_test_setup(test_the_smallest_is_taken, twosockets_set_up),
        cmocka_unit_test_setup(test_it_is_kept_for_a_second, twosockets_set_up),
        cmocka_unit_test_setup(test_it_makes_room, twosockets_set_up),
        cmocka_unit_test_setup(test_the_kernel_is_asked_ten_times_a_second, twosockets_set_up),
        cmocka_unit_test_setup(test_no_more_is_kept_than_is_said, twosockets_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
