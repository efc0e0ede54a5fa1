/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests where new memory of a program's sites goes, and that what it takes of the fast tier is given back: the notes
 * and the recorder's table are real, sites and the kernel's policies are models.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc/kernel.h"
#include "alloc/nextfork.h"
#include "sites/record/notes.h"
#include "sites/record/stack.h"
#include "sites/record/watch.h"
#include "unit/lib/rows.h"

#define MIB ((size_t)1 << 20)
#define LEFT (8 * MIB)
#define ENTRY 3 /* of all that is allocated here */

static struct hm_watch watch;
static enum { NOTHING, FAST, SLOW } policy; /* the last one that was set */

bool hm_fork_begin(void)
{
    return pthread_atfork(hm_fork_handlers[0]->before, hm_fork_handlers[0]->after, hm_fork_handlers[0]->in_child) == 0;
}

int hm_stack_begin(void)
{
    return 0;
}

void hm_stack_walk(const void *caller, struct hm_stack *stack)
{
    (void)caller;
    stack->n = 0;
}

uint32_t hm_stack_given_site(struct hm_sites_table *table, uint64_t id, const void *caller)
{
    (void)table;
    (void)id;
    (void)caller;
    return ENTRY;
}

uint32_t hm_stack_site(struct hm_sites_table *table, const struct hm_stack *stack)
{
    (void)table;
    (void)stack;
    return ENTRY;
}

int __wrap_hm_kernel_prefer_any(void *memory, size_t bytes, const struct hm_set *nodes);
int __wrap_hm_kernel_default(void *memory, size_t bytes);

int __wrap_hm_kernel_prefer_any(void *memory, size_t bytes, const struct hm_set *nodes)
{
    (void)memory;
    (void)bytes;
    policy = hm_set_has(nodes, 0) ? FAST : SLOW;
    return 0;
}

int __wrap_hm_kernel_default(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
    policy = NOTHING;
    return 0;
}

/* The address of the n-th MiB of a program's. */
static void *at(size_t n)
{
    return (void *)(uintptr_t)((n + 1) << 30);
}

static int64_t left_bytes(void)
{
    return atomic_load(&watch.table->fast_left);
}

/* Notes an allocation. Returns which policy it has got. */
static int add(size_t n, size_t bytes)
{
    policy = NOTHING;
    hm_notes_add(at(n), bytes, 0, NULL);
    return (int)policy;
}

static int set_up(void **state)
{
    (void)state;
    if (hm_watch_open(&watch, 4096, NULL) != 0 || setenv(HM_SITES_FOLDER, watch.folder, 1) != 0)
        return -1;
    hm_set_add(&watch.table->fast_nodes, 0);
    hm_set_add(&watch.table->slow_nodes, 1);
    hm_watch_begin(&watch);
    return hm_notes_begin() && atomic_load(&hm_notes_state) == HM_NOTES_ON ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    hm_watch_close(&watch);
    return 0;
}

/* Before each test. */
static int begin(void **state)
{
    (void)state;
    watch.table->fast_bytes = LEFT;
    watch.table->fast_left = (int64_t)LEFT;
    watch.table->entry[ENTRY].tier = HM_SITES_FAST;
    return 0;
}

/* After it nothing is there any more. */
static int check_end(void **state)
{
    (void)state;
    return left_bytes() == (int64_t)LEFT && watch.table->live_bytes == 0 ? 0 : -1;
}

/* One after the other, of a site that was chosen; what is too much is in the slow tier, and takes nothing. */
static void test_a_chosen_site_has_what_is_left(void **state)
{
    static const struct {
        size_t bytes;
        int is;
        size_t left;
    } rows[] = {
        {6 * MIB, FAST, 2 * MIB}, {4 * MIB, SLOW, 2 * MIB}, {64 << 10, NOTHING, 2 * MIB},
        {2 * MIB, FAST, 0},       {128 << 10, SLOW, 0},     {64 << 10, NOTHING, 0},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(add(i, rows[i].bytes), rows[i].is);
        assert_int_equal(left_bytes(), rows[i].left);
    }
    hm_notes_drop(at(1));
    assert_int_equal(left_bytes(), 0);
    hm_notes_drop(at(0));
    assert_int_equal(left_bytes(), 6 * MIB);
    assert_int_equal(add(0, 6 * MIB), FAST);
    for (size_t i = 0; i < N_ROWS(rows); i++)
        hm_notes_drop(at(i));
}

/* Of a site that is not known yet memory is where the process has it, and takes as much. */
static void test_other_sites_take_of_it_too(void **state)
{
    (void)state;
    watch.table->entry[ENTRY].tier = HM_SITES_ANY;
    assert_int_equal(add(0, 5 * MIB), NOTHING);
    assert_int_equal(left_bytes(), 3 * MIB);
    watch.table->entry[ENTRY].tier = HM_SITES_FAST;
    assert_int_equal(add(1, 4 * MIB), SLOW);
    assert_int_equal(add(2, 3 * MIB), FAST);
    watch.table->entry[ENTRY].tier = HM_SITES_ANY;
    hm_notes_drop(at(1));
    hm_notes_drop(at(0));
    atomic_store(&watch.table->fast_left, (int64_t)MIB); /* as moves have left it */
    assert_int_equal(add(0, 2 * MIB), SLOW);
    atomic_store(&watch.table->fast_left, (int64_t)(5 * MIB));
    assert_int_equal(add(1, 4 * MIB), SLOW); /* all sites together would have more */
    watch.table->entry[ENTRY].tier = HM_SITES_SLOW;
    assert_int_equal(add(3, MIB), SLOW);
    assert_int_equal(left_bytes(), 5 * MIB);
    for (size_t i = 0; i < 4; i++)
        hm_notes_drop(at(i));
}

/* The recorder has found what was taken elsewhere, or more than there may be. */
static void test_what_is_given_back_is_never_more_than_there_is(void **state)
{
    (void)state;
    assert_int_equal(add(0, 6 * MIB), FAST);
    atomic_store(&watch.table->fast_left, (int64_t)(7 * MIB));
    hm_notes_drop(at(0));
    assert_int_equal(left_bytes(), LEFT);
    assert_int_equal(add(0, 6 * MIB), FAST);
    atomic_store(&watch.table->fast_left, -(int64_t)MIB);
    assert_int_equal(add(1, 128 << 10), SLOW);
    hm_notes_drop(at(0));
    assert_int_equal(left_bytes(), 5 * MIB);
    hm_notes_drop(at(1));
    atomic_store(&watch.table->fast_left, (int64_t)LEFT);
}

/* A mapping ends in parts, and gets another size and address. */
static void test_parts_of_mappings(void **state)
{
    struct hm_notes_taken taken;
    char *memory = at(0);
    (void)state;
    hm_notes_map(memory, 6 * MIB, false, NULL);
    assert_int_equal(policy, FAST);
    hm_notes_unmap(memory, MIB);
    assert_int_equal(left_bytes(), 3 * MIB);
    hm_notes_take(memory + 4 * MIB, 2 * MIB, &taken);
    hm_notes_put_back(&taken);
    assert_int_equal(left_bytes(), 3 * MIB);
    hm_notes_unmap(memory + 4 * MIB, MIB);
    assert_int_equal(left_bytes(), 4 * MIB);
    hm_notes_take(memory + MIB, 3 * MIB, &taken);
    hm_notes_remap(&taken, at(1), 7 * MIB, false);
    assert_int_equal(policy, FAST);
    assert_int_equal(left_bytes(), 0);
    hm_notes_take(at(1), 7 * MIB, &taken);
    hm_notes_remap(&taken, at(2), 8 * MIB, false);
    assert_int_equal(policy, SLOW);
    assert_int_equal(left_bytes(), 7 * MIB);
    hm_notes_unmap(at(2), 8 * MIB);
    hm_notes_unmap(memory, 6 * MIB);
}

/* What is not noted has no end. */
static void test_what_is_not_noted_takes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < HM_SITES_MAPPINGS; i++)
        hm_notes_map(at(i), 4096, false, NULL);
    hm_notes_map(at(HM_SITES_MAPPINGS), MIB, false, NULL);
    assert_int_equal(policy, FAST);
    assert_int_equal(left_bytes(), LEFT);
    for (size_t i = 0; i < HM_SITES_MAPPINGS; i++)
        hm_notes_unmap(at(i), 4096);
}

/* What it has from its parent is the parent's to give back. It ends as a program does, or is killed. */
static void live_as_child(bool is_killed)
{
    hm_notes_drop(at(0));
    hm_notes_add(at(1), 3 * MIB, 0, NULL);
    if (left_bytes() != (int64_t)(3 * MIB))
        _exit(1);
    if (is_killed)
        raise(SIGKILL);
    hm_notes_end();
    _exit(0);
}

static void test_a_process_that_ends_gives_back_its_own(void **state)
{
    (void)state;
    assert_int_equal(add(0, 2 * MIB), FAST);
    for (int is_killed = 0; is_killed < 2; is_killed++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            live_as_child(is_killed);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(is_killed ? WTERMSIG(status) : status, is_killed ? SIGKILL : 0);
        assert_int_equal(left_bytes(), (is_killed ? 3 : 6) * MIB);
        assert_true(hm_watch_look(&watch));
        assert_int_equal(left_bytes(), 6 * MIB);
    }
    hm_notes_drop(at(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_chosen_site_has_what_is_left, begin, check_end),
        cmocka_unit_test_setup_teardown(test_other_sites_take_of_it_too, begin, check_end),
        cmocka_unit_test_setup_teardown(test_what_is_given_back_is_never_more_than_there_is, begin, check_end),
        cmocka_unit_test_setup_teardown(test_parts_of_mappings, begin, check_end),
        cmocka_unit_test_setup_teardown(test_what_is_not_noted_takes_nothing, begin, check_end),
        cmocka_unit_test_setup_teardown(test_a_process_that_ends_gives_back_its_own, begin, check_end),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
