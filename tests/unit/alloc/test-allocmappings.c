/* SPDX-License-Identifier: Apache-2.0 */
/* Tests libhybridmem in a process that may have 800 mappings: the library may use 300 of them, the last 100 only for
 * allocations in one block. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "alloc/allocate.h"
#include "alloc/folders.h"
#include "alloc/mappings.h"
#include "twosockets.h"
#include "unit/lib/rows.h"

#define MOST_MAPPINGS 800
#define MOST_HELD 64

/* With this hint 64 MiB are 64 blocks. Each block is a run, as it goes to another node than the block before. */
static const struct hm_alloc_hint sixty_four = {.block_bytes = MIB};

static size_t blocks_of(const void *memory, int *first_node)
{
    struct hm_alloc_run run;
    size_t n = 0;
    for (size_t offset = 0; hm_where_run(memory, offset, &run) == 0; offset = run.offset + run.bytes, n++)
        if (n == 0)
            *first_node = run.node;
    return n;
}

static bool is_ours(const void *memory)
{
    return hm_allocated(memory).bytes > 0;
}

/* Allocate until malloc has to be asked; `held` gets these allocations. */
static size_t fill(char **held, size_t *in_blocks, int on_node[4])
{
    static struct hm_alloc_where where;
    size_t n = 0;
    *in_blocks = 0;
    memset(on_node, 0, 4 * sizeof(*on_node));
    for (; n < MOST_HELD; n++) {
        int node = 0;
        held[n] = hm_alloc(64 * MIB, HM_ALLOC_SPILL, &sixty_four);
        assert_non_null(held[n]);
        held[n][64 * MIB - 1] = 1;
        if (!is_ours(held[n]))
            break;
        size_t blocks = blocks_of(held[n], &node);
        assert_int_equal(hm_where(held[n], &where), 0);
        assert_int_equal(blocks, where.bytes / where.block_bytes);
        assert_int_equal(blocks == 1, strstr(where.reason, "the allocation is one block") != NULL);
        *in_blocks += blocks == 64;
        on_node[node] += blocks == 1;
    }
    assert_true(n < MOST_HELD);
    assert_non_null(strstr(hm_alloc_reason(), "malloc was asked"));
    return n + 1;
}

/* Each allocation takes 4 mappings, and 63 more if it has 64 blocks: 2 x 67 + 41 x 4 = 298. The second round shows that
 * freeing gives all mappings back. */
static void test_mappings_run_out(void **state)
{
    char *held[MOST_HELD];
    size_t in_blocks;
    int on_node[4];
    (void)state;
    for (size_t i = 0; i < N_ROWS(machine.free_bytes); i++)
        machine.free_bytes[i] = (uint64_t)1 << 40;
    for (int round = 0; round < 2; round++) {
        size_t n = fill(held, &in_blocks, on_node);
        assert_int_equal(in_blocks, 2);
        assert_int_equal(n, 2 + 41 + 1);
        assert_in_range(on_node[0], 20, 21);
        assert_int_equal(on_node[0] + on_node[1], 41);
        for (size_t i = 0; i < n; i++)
            hm_free(held[i]);
    }
}

/* If the mappings do not suffice for many blocks, they may still suffice for few. */
static void test_what_is_left_is_used(void **state)
{
    const struct hm_alloc_hint eight = {.block_bytes = 8 * MIB};
    int node;
    (void)state;
    char *first = hm_alloc(64 * MIB, HM_ALLOC_SLOW, &sixty_four),
         *second = hm_alloc(64 * MIB, HM_ALLOC_SLOW, &sixty_four);
    char *third = hm_alloc(64 * MIB, HM_ALLOC_SLOW, &sixty_four), *fourth = hm_alloc(64 * MIB, HM_ALLOC_SLOW, &eight);
    assert_int_equal(blocks_of(second, &node), 64);
    assert_int_equal(blocks_of(third, &node), 1);
    assert_in_range(node, 2, 3);
    assert_int_equal(blocks_of(fourth, &node), 8);
    assert_string_equal(hm_alloc_reason(), "");
    hm_free(first);
    hm_free(third);
    third = hm_alloc(64 * MIB, HM_ALLOC_SLOW, &sixty_four);
    assert_int_equal(blocks_of(third, &node), 64);
    hm_free(second);
    hm_free(third);
    hm_free(fourth);
}

static void expect_taken(size_t n)
{
    assert_true(hm_mappings_take(300 - n));
    assert_false(hm_mappings_take(1));
    hm_mappings_give(300 - n);
}

/* When the kernel fails half-way, the whole range gets one policy again, and takes only the mappings of one block. */
static void test_a_binding_that_fails_half_way(void **state)
{
    static struct hm_alloc_where where;
    char *held[20];
    (void)state;
    machine.prefer_errno = ENOMEM;
    for (size_t i = 0; i < N_ROWS(held); i++) {
        machine.prefer_left = 5;
        machine.n_calls = machine.default_bytes = 0;
        held[i] = hm_alloc(64 * MIB, HM_ALLOC_SPILL, &sixty_four);
        assert_true(is_ours(held[i]));
        assert_non_null(strstr(hm_alloc_reason(), "the kernel does not bind memory to node"));
        assert_int_equal(machine.n_calls, 5);
        assert_ptr_equal(machine.default_memory, held[i]);
        assert_int_equal(machine.default_bytes, 64 * MIB);
        assert_int_equal(hm_where(held[i], &where), 0);
        assert_int_equal(where.block_bytes, 0);
    }
    machine.prefer_errno = 0;
    /* 20 x 4 mappings, not 20 x 67. */
    expect_taken(80);
    for (size_t i = 0; i < N_ROWS(held); i++)
        hm_free(held[i]);
}

/* Number of folders that hm_folders_open finds here. Each has a file in memory, with room for `file_bytes`. */
static int files;
static uint64_t file_bytes;

void hm_folders_open(struct hm_folders *folders, const char *list, char *reason)
{
    (void)list, (void)reason;
    for (folders->n = 0; folders->n < files; folders->n++) {
        folders->fd[folders->n] = memfd_create("folder", MFD_CLOEXEC);
        assert_true(folders->fd[folders->n] >= 0);
        folders->socket[folders->n] = folders->n;
        folders->room_bytes[folders->n] = file_bytes;
    }
}

/* When the kernel does not restore the policy either, or some blocks are in files, the range stays cut into a mapping
 * for each block. These mappings count until the range is freed. */
static void test_a_binding_that_fails_and_leaves_mappings(void **state)
{
    static const struct {
        int default_errno, files;
        size_t taken;
    } rows[] = {
        {0, 0, 4},
        {ENOMEM, 0, 4 + 7},
        {0, 2, 4 + 7},
        {ENOMEM, 2, 4 + 7},
    };
    const struct hm_alloc_hint hint = {.use = HM_ALLOC_READ_MOSTLY, .block_bytes = MIB};
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("row %zu\n", i);
        machine.prefer_errno = ENOMEM;
        machine.prefer_left = machine.default_bytes = 0;
        machine.default_errno = rows[i].default_errno;
        files = rows[i].files;
        file_bytes = 3 * MIB;
        char *memory = hm_alloc(8 * MIB, HM_ALLOC_SPLIT, &hint);
        assert_true(is_ours(memory));
        assert_non_null(strstr(hm_alloc_reason(), "the kernel does not bind memory to node"));
        assert_int_equal(machine.default_bytes, 8 * MIB);
        expect_taken(rows[i].taken);
        hm_free(memory);
        expect_taken(0);
    }
    files = 0;
}

static void test_what_fails_gives_back(void **state)
{
    (void)state;
    machine.map_errno = ENOMEM;
    for (int i = 0; i < MOST_MAPPINGS; i++)
        hm_free(hm_alloc(HM_ALLOC_LEAST, HM_ALLOC_SPILL, NULL));
    machine.map_errno = 0;
    machine.allowed = NULL;
    for (int i = 0; i < MOST_MAPPINGS; i++)
        hm_free(hm_alloc(HM_ALLOC_LEAST, HM_ALLOC_SPILL, NULL));
    for (int i = 0; i < 10; i++)
        assert_null(hm_alloc((size_t)PTRDIFF_MAX, HM_ALLOC_SPILL, NULL));
    assert_true(hm_mappings_take(300));
    hm_mappings_give(300);
}

static void test_bounds(void **state)
{
    static const struct {
        bool is_for_blocks;
        size_t before, n;
        bool is_given;
    } rows[] = {
        {false, 0, 301, false}, {false, 0, 300, true}, {false, 300, 0, true}, {false, 299, 2, false},
        {true, 0, 201, false},  {true, 0, 200, true},  {true, 201, 1, false}, {true, 199, 1, true},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        print_message("row %zu\n", i);
        assert_true(hm_mappings_take(rows[i].before));
        bool is_given = rows[i].is_for_blocks ? hm_mappings_take_for_blocks(rows[i].n) : hm_mappings_take(rows[i].n);
        assert_int_equal(is_given, rows[i].is_given);
        hm_mappings_give(rows[i].before + (is_given ? rows[i].n : 0));
    }
    assert_true(hm_mappings_take(300));
    hm_mappings_give(300);
}

static void *take_and_give(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10000; i++)
        if (hm_mappings_take(70))
            hm_mappings_give(70);
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t thread[5];
    (void)state;
    for (size_t i = 0; i < N_ROWS(thread); i++)
        assert_int_equal(pthread_create(&thread[i], NULL, take_and_give, NULL), 0);
    for (size_t i = 0; i < N_ROWS(thread); i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    assert_true(hm_mappings_take(300));
    assert_false(hm_mappings_take(1));
    hm_mappings_give(300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_bounds, twosockets_set_up),
        cmocka_unit_test_setup(test_mappings_run_out, twosockets_set_up),
        cmocka_unit_test_setup(test_what_is_left_is_used, twosockets_set_up),
        cmocka_unit_test_setup(test_a_binding_that_fails_half_way, twosockets_set_up),
        cmocka_unit_test_setup(test_a_binding_that_fails_and_leaves_mappings, twosockets_set_up),
        cmocka_unit_test_setup(test_what_fails_gives_back, twosockets_set_up),
        cmocka_unit_test_setup(test_threads, twosockets_set_up),
    };
    machine.most_mappings = MOST_MAPPINGS;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
