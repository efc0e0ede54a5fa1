/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the mover where the kernel refuses a page, a node or a process: what happens to the other pages, and what is
 * remembered.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "movefixture.h"

static void test_shared_pages_are_remembered(void **state)
{
    (void)state;
    for (unsigned i = 100; i < 150; i++)
        kernel.is_shared[i] = true;
    promote(0, 300);
    assert_int_equal(mover.moved.promoted, 250);
    assert_int_equal(mover.moved.unmoved[HM_UNMOVED_SHARED], 50);
    hm_mover_begin(&mover, UINT64_MAX, UINT64_MAX);
    size_t before = kernel.n_submitted;
    promote(0, 300);
    assert_int_equal(kernel.n_submitted, before);
    assert_int_equal(mover.moved.unmoved[HM_UNMOVED_SHARED], 0);
    /* Only of these pages nothing is remembered. */
    const struct hm_gone few[] = {{HM_PAGE(0, FIRST + 90), 15}, {HM_PAGE(0, FIRST + 127), 4}};
    hm_mover_forget(&mover, few, 2);
    promote(0, 300);
    assert_int_equal(kernel.n_submitted, before + 9);
    hm_mover_begin(&mover, UINT64_MAX, UINT64_MAX);
    /* The mapping is gone and there is a new one: nothing of the old one is remembered. */
    hm_mover_forget(&mover, &(struct hm_gone){HM_PAGE(0, FIRST), PAGES}, 1);
    memset(kernel.is_shared, 0, sizeof(kernel.is_shared));
    promote(0, 300);
    assert_int_equal(mover.moved.promoted, 50);
}

/* Shared memory of the user's moves for all who map it, and what is around it as ever. */
static void test_shared_memory_of_the_user(void **state)
{
    (void)state;
    struct hm_mapped shared = {.range = {FIRST + 100, 50},
                               .whole = {FIRST + 100, 50},
                               .home = HM_PAGE(0, FIRST + 100),
                               .kind = HM_MEMORY_SHARED,
                               .may_move = true,
                               .is_own = true};
    maps[0].mapped = &shared;
    maps[0].n_mapped = 1;
    for (unsigned i = 90; i < 160; i++)
        kernel.is_shared[i] = true;
    mover.has_huge = false;
    promote(0, 300);
    assert_int_equal(kernel.n_for_all, 50);
    assert_int_equal(mover.moved.promoted, 280);
    assert_int_equal(mover.moved.unmoved[HM_UNMOVED_SHARED], 20);
    assert_false(mover.moved.is_stale);
    kernel_reset(2);
    hm_mover_forget(&mover, &(struct hm_gone){HM_PAGE(0, FIRST), PAGES}, 1);
    for (unsigned i = 100; i < 150; i++)
        kernel.is_shared[i] = true;
    is_owner = false; /* another file is there now */
    promote(0, 300);
    assert_int_equal(kernel.n_for_all, 0);
    assert_int_equal(kernel.submitted[100] + kernel.submitted[149], 0);
    assert_int_equal(mover.moved.unmoved[HM_UNMOVED_SHARED], 20);
    assert_true(mover.moved.is_stale);
}

/* Another user's file may have come in place of a file of the user's, be that mapped privately or not. */
static void test_a_file_that_is_not_the_users_any_more_stays(void **state)
{
    (void)state;
    struct hm_mapped file = {.range = {FIRST + 100, 50},
                             .whole = {FIRST + 100, 50},
                             .home = HM_PAGE(0, FIRST + 100),
                             .kind = HM_MEMORY_FILE,
                             .may_move = true};
    maps[0].mapped = &file;
    maps[0].n_mapped = 1;
    mover.has_huge = false;
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        file.is_own = is_shared;
        kernel_reset(2);
        is_owner = false;
        hm_mover_begin(&mover, UINT64_MAX, UINT64_MAX);
        promote(0, 300);
        assert_int_equal(mover.moved.promoted, 250);
        assert_int_equal(kernel.submitted[100] + kernel.submitted[149], 0);
        assert_int_equal(kernel.n_for_all, 0);
        is_owner = true; /* nothing was remembered of them */
        promote(0, 300);
        assert_int_equal(mover.moved.promoted, 300);
        assert_int_equal(kernel.n_for_all, is_shared ? 50 : 0);
    }
}

/* Huge pages of hugetlbfs are moved by one of their pages, whether or not there are transparent ones; but not where
 * others may count on the pool. */
static void test_huge_pages_of_hugetlbfs(void **state)
{
    (void)state;
    struct hm_mapped huge = {
        .range = {FIRST, PAGES}, .home = HM_PAGE(0, FIRST), .kind = HM_MEMORY_HUGETLB, .may_move = true};
    maps[0].mapped = &huge;
    maps[0].n_mapped = 1;
    kernel.is_huge[0] = kernel.is_huge[1] = true;
    mover.has_huge = false;
    is_reserved = true;
    promote(0, 2 * hm_huge_pages());
    assert_int_equal(kernel.n_submitted, 0);
    assert_int_equal(mover.moved.unmoved[HM_UNMOVED_ROOM], 2 * hm_huge_pages());
    is_reserved = false;
    promote(0, 2 * hm_huge_pages());
    assert_int_equal(kernel.n_submitted, 2);
    assert_int_equal(mover.moved.promoted, 2 * hm_huge_pages());
    assert_true(mover.moved.has_apart);
}

/* A library was mapped where the heap had been, and the mappings were not read since. */
static void test_a_file_in_place_of_private_memory_stays(void **state)
{
    (void)state;
    mover.has_huge = false;
    for (unsigned i = 100; i < 150; i++)
        kernel.is_file[i] = true;
    promote(0, 300);
    assert_int_equal(mover.moved.promoted, 250);
    assert_int_equal(kernel_count_on(2), PAGES - 250);
    assert_int_equal(kernel.submitted[100] + kernel.submitted[149], 0);
}

/* Where nobody has written to a program's data, they are the file's. Heat of such pages is told as that of pages which
 * cannot be moved. */
static void test_data_of_a_program_can_be_moved_once_written(void **state)
{
    (void)state;
    const uint64_t written = HM_PAGE(0, FIRST + 100), constant = written + 1;
    mover.has_huge = false;
    kernel.is_file[100] = kernel.is_file[101] = true;
    for (int phase = 0; phase < 3; phase++) {
        hm_mover_begin(&mover, UINT64_MAX, UINT64_MAX);
        promote(100, 50);
        assert_true(hm_unmovable_has(&mover.unmovable, written));
        assert_true(hm_unmovable_has(&mover.unmovable, constant));
    }
    kernel.is_file[100] = false;
    hm_mover_begin(&mover, UINT64_MAX, UINT64_MAX);
    promote(100, 50);
    assert_int_equal(kernel.node[100], 0);
    assert_false(hm_unmovable_has(&mover.unmovable, written));
    assert_int_equal(kernel.node[101], 2);
    assert_true(hm_unmovable_has(&mover.unmovable, constant));
}

static void test_pinned_pages_hold_up_nobody(void **state)
{
    (void)state;
    kernel.is_pinned[10] = kernel.is_pinned[200] = true;
    for (unsigned i = 300; i < 400; i++)
        kernel.node[i] = 3; /* a second destination, after the one that fails */
    mover.has_huge = false;
    promote(0, 400);
    assert_int_equal(mover.moved.promoted, 398);
    assert_int_equal(mover.moved.unmoved[HM_UNMOVED_BUSY], 2);
    assert_int_equal(kernel_count_on(1), 100);
    assert_int_equal(kernel.submitted[10], 1); /* not tried again within a run */
    assert_int_equal(kernel.submitted[200], 1);
    promote(0, 400); /* the first failure may be chance */
    assert_int_equal(kernel.submitted[10], 2);
    promote(0, 400);
    assert_int_equal(kernel.submitted[10], 2);
    assert_int_equal(mover.moved.unmoved[HM_UNMOVED_BUSY], 4);
}

static void test_a_node_that_is_refused(void **state)
{
    (void)state;
    kernel.closed = 0;
    mover.has_huge = false;
    promote(0, 100);
    assert_int_equal(mover.moved.promoted, 0);
    assert_int_equal(mover.moved.unmoved[HM_UNMOVED_DENIED], 100);
    assert_int_equal(mover.refused, 0);
    promote(0, 100); /* from now on the other node is used */
    assert_int_equal(mover.moved.promoted, 100);
    assert_int_equal(kernel_count_on(1), 100);
    kernel.closed = -1; /* it was refused for a moment; a refresh opens it, and a page that it takes makes that good */
    assert_int_equal(nodes.node[0].closed_for, 1);
    nodes.node[0].closed_for = 0;
    promote(100, 100);
    assert_int_equal(kernel_count_on(0), 100);
    assert_int_equal(nodes.node[0].pause, 0);
}

static void test_refused_among_others(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 200; i++)
        kernel.node[i] = i % 2 ? 2 : 3;
    kernel.closed = 0; /* sorted first, so that the others come after the failure */
    mover.has_huge = false;
    promote(0, 200);
    assert_int_equal(mover.moved.promoted, 100);
    assert_int_equal(mover.moved.unmoved[HM_UNMOVED_DENIED], 100);
}

static void test_a_node_that_is_full(void **state)
{
    (void)state;
    kernel.full = 0;
    mover.has_huge = false;
    promote(0, 100);
    assert_int_equal(mover.moved.promoted, 0);
    assert_int_equal(mover.moved.unmoved[HM_UNMOVED_ROOM], 100);
    assert_int_equal(nodes.node[0].free_bytes, 0);
    promote(0, 100); /* the full node is not tried again in this phase */
    assert_int_equal(kernel_count_on(1), 100);
}

static void test_a_process_that_is_not_ours(void **state)
{
    (void)state;
    static const int numbers[] = {ESRCH, EPERM};
    is_ours = false;
    ours_number = ESRCH;
    promote(0, 100);
    assert_false(mover.lacks_files);
    ours_number = EMFILE; /* nobody knows whether it is ours, which is told */
    promote(0, 100);
    assert_true(mover.lacks_files);
    assert_int_equal(kernel.moves, 0);
    assert_int_equal(mover.moved.promoted, 0);
    assert_int_equal(nodes.node[0].free_bytes, PAGES * hm_page_size()); /* reserved room was given back */
    is_ours = true;
    for (size_t i = 0; i < 2; i++) {
        kernel.result = numbers[i];
        kernel.moves = 0;
        promote(0, 100);
        assert_int_equal(mover.moved.promoted, 0);
        assert_int_equal(kernel.moves, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_shared_pages_are_remembered, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_shared_memory_of_the_user, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_that_is_not_the_users_any_more_stays, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_huge_pages_of_hugetlbfs, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_in_place_of_private_memory_stays, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_data_of_a_program_can_be_moved_once_written, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_pinned_pages_hold_up_nobody, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_a_node_that_is_refused, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_refused_among_others, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_a_node_that_is_full, move_set_up, move_tear_down),
        cmocka_unit_test_setup_teardown(test_a_process_that_is_not_ours, move_set_up, move_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
