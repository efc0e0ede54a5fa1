/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what realloc does with placed memory: it moves pages, and copies none. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc/allocate.h"
#include "alloc/mappings.h"
#include "alloc/resize.h"
#include "base/pagesize.h"
#include "twosockets.h"
#include "unit/lib/rows.h"

#define MOST_MAPPINGS 24573 /* three eighths of 65530 */

static char *get(size_t bytes, enum hm_alloc_policy policy, size_t block_bytes)
{
    const struct hm_alloc_hint hint = {.block_bytes = block_bytes};
    char reason[HM_ALLOC_REASON];
    char *memory = hm_allocate(bytes, 1, policy, &hint, NULL, reason);
    assert_non_null(memory);
    return memory;
}

static char *resize(char *memory, size_t bytes, enum hm_alloc_policy policy)
{
    const struct hm_resize wish = {.policy = policy, .hint = {.block_bytes = bytes / 8}};
    errno = 77;
    char *resized = hm_resize(memory, bytes, &wish);
    assert_int_equal(errno, 77);
    return resized;
}

static void expect_mappings(size_t taken)
{
    assert_true(hm_mappings_take(MOST_MAPPINGS - taken));
    assert_false(hm_mappings_take(1));
    hm_mappings_give(MOST_MAPPINGS - taken);
}

static void release(char *memory)
{
    assert_true(hm_deallocate(memory, NULL));
    expect_mappings(0);
}

/* The runs follow each other, each on another node than the one before. Returns how many there are. */
static size_t count_runs(const char *memory, size_t bytes)
{
    struct hm_alloc_run run = {.node = -1};
    size_t n = 0;
    for (size_t at = 0; at < bytes; at = run.offset + run.bytes, n++) {
        int before = run.node;
        assert_int_equal(hm_where_run(memory, at, &run), 0);
        assert_int_equal(run.offset, at);
        assert_int_not_equal(run.node, before);
    }
    return n;
}

static void fill(char *memory, size_t from, size_t to)
{
    for (size_t at = from; at < to; at += hm_page_size())
        memory[at] = (char)(at / hm_page_size() % 127 + 1);
}

static void check(const char *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += hm_page_size())
        assert_int_equal(memory[at], (char)(at / hm_page_size() % 127 + 1));
}

static size_t status_bytes(const char *name)
{
    char line[128];
    size_t kib = 0;
    FILE *file = fopen("/proc/self/status", "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, name, strlen(name)) == 0)
            kib = strtoul(line + strlen(name), NULL, 10);
    fclose(file);
    return kib << 10;
}

/* The most memory, or addresses, that this process has had, which a new child counts from what it has. */
static void in_child(void (*run)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        run();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void grow_by_steps(void)
{
    const size_t least = 16 * MIB, most = 64 * MIB;
    size_t memory_before = status_bytes("VmRSS:"), addresses_before = status_bytes("VmSize:");
    char *memory = get(least, HM_ALLOC_SLOW, least / 8), *other = get(least, HM_ALLOC_SLOW, 0);
    fill(memory, 0, least);
    for (size_t bytes = least; bytes < most; bytes += MIB) {
        memory = resize(memory, bytes + MIB, HM_ALLOC_SLOW);
        assert_non_null(memory);
        fill(memory, bytes, bytes + MIB);
    }
    check(memory, most);
    assert_in_range(count_runs(memory, most), 16, 40);
    assert_true(status_bytes("VmHWM:") - memory_before < most * 12 / 10);
    if (machine.limits_addresses)
        assert_true(status_bytes("VmPeak:") - addresses_before < least + most * 12 / 10);
    else
        assert_int_equal((uintptr_t)memory % (2 * MIB), 0);
    assert_true(hm_deallocate(other, NULL));
    release(memory);
}

static void test_growing_takes_no_memory_twice(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        machine.has_real_runs = i % 2;
        machine.limits_addresses = i / 2;
        in_child(grow_by_steps);
    }
}

static void test_what_cannot_be_moved_stays(void **state)
{
    (void)state;
    for (int is_changed = 0; is_changed < 2; is_changed++) {
        char *memory = get(16 * MIB, HM_ALLOC_SLOW, 2 * MIB);
        machine.has_real_runs = true;
        machine.n_calls = 0;
        fill(memory, 0, 16 * MIB);
        if (is_changed) /* it has other mappings than the library made */
            assert_int_equal(mprotect(memory + 15 * MIB, 4 * hm_page_size(), PROT_READ), 0);
        machine.remap_errno = is_changed ? 0 : ENOMEM;
        assert_null(resize(memory, 64 * MIB, HM_ALLOC_SLOW));
        check(memory, 16 * MIB);
        assert_int_equal(hm_allocated(memory).bytes, 16 * MIB);
        assert_int_equal(count_runs(memory, 16 * MIB), 8);
        assert_int_equal(machine.n_calls, 8); /* all runs are bound again */
        expect_mappings(HM_MAPPINGS_LEAST + 7);
        release(memory);
        twosockets_set_up(NULL);
    }
    assert_null(resize((char *)&machine, MIB, HM_ALLOC_SLOW));
}

static void test_what_cannot_be_bound_is_where_linux_places_it(void **state)
{
    static struct hm_alloc_where where;
    char *memory = get(16 * MIB, HM_ALLOC_FAST, 2 * MIB);
    (void)state;
    fill(memory, 0, 16 * MIB);
    machine.prefer_errno = ENOMEM;
    memory = resize(memory, 64 * MIB, HM_ALLOC_FAST);
    check(memory, 16 * MIB);
    assert_int_equal(hm_where(memory, &where), 0);
    assert_int_equal(where.block_bytes, 0);
    assert_int_equal(hm_allocated(memory).fast_bytes, 0);
    memory = resize(memory, 80 * MIB, HM_ALLOC_FAST); /* it goes on growing */
    check(memory, 16 * MIB);
    release(memory);
}

static void test_sizes(void **state)
{
    static const size_t sizes[] = {16 * MIB, 16 * MIB + 1, 15 * MIB, MIB, 1, 100, 5 * MIB, 64 * MIB, 40 * MIB};
    (void)state;
    for (int i = 0; i < 4; i++) {
        machine.has_real_runs = i % 2;
        machine.limits_addresses = i / 2;
        size_t least = sizes[0];
        char *memory = get(sizes[0], HM_ALLOC_SLOW, 2 * MIB);
        fill(memory, 0, sizes[0]);
        for (size_t k = 0; k < N_ROWS(sizes); k++) {
            memory = resize(memory, sizes[k], HM_ALLOC_SLOW);
            least = sizes[k] < least ? sizes[k] : least;
            check(memory, least);
            memory[sizes[k] - 1] = memory[sizes[k] - 1]; /* is there */
            assert_int_equal(hm_allocated(memory).bytes, sizes[k]);
            count_runs(memory, sizes[k]);
        }
        release(memory);
    }
}

/* Is this page mapped, so that it takes memory? */
static bool is_there(char *page)
{
    unsigned char here;
    return mincore(page, hm_page_size(), &here) == 0 && here & 1;
}

static void test_shrinking_gives_back(void **state)
{
    char *memory = get(16 * MIB, HM_ALLOC_SLOW, 2 * MIB);
    (void)state;
    fill(memory, 0, 16 * MIB);
    assert_ptr_equal(resize(memory, 3 * MIB - 1, HM_ALLOC_SLOW), memory);
    assert_true(is_there(memory + 3 * MIB - hm_page_size()));
    assert_false(is_there(memory + 3 * MIB) || is_there(memory + 4 * MIB));
    assert_int_equal(count_runs(memory, 3 * MIB), 2);
    expect_mappings(HM_MAPPINGS_LEAST + 1);
    check(memory, 3 * MIB);
    release(memory);
}

/* What is placed counts as taken though nothing is written to it: the next allocation finds no room there. */
static int node_of_next(void)
{
    struct hm_alloc_run run;
    char *next = get(512 * MIB, HM_ALLOC_SLOW, 512 * MIB);
    assert_int_equal(hm_where_run(next, 0, &run), 0);
    assert_true(hm_deallocate(next, NULL));
    return run.node;
}

static void test_room_is_counted(void **state)
{
    char *memory = get(16 * MIB, HM_ALLOC_SLOW, 2 * MIB);
    (void)state;
    assert_in_range(node_of_next(), 2, 3);
    memory = resize(memory, 1920 * MIB, HM_ALLOC_SLOW);
    assert_in_range(node_of_next(), 0, 1);
    memory = resize(memory, 3000 * MIB, HM_ALLOC_SLOW); /* goes on in the fast tier */
    assert_in_range(hm_allocated(memory).fast_bytes, 900 * MIB, 1400 * MIB);
    memory = resize(memory, 512 * MIB, HM_ALLOC_SLOW);
    assert_in_range(node_of_next(), 2, 3);
    release(memory);
    memory = get(2048 * MIB, HM_ALLOC_SLOW, 64 * MIB); /* all room is there again */
    assert_int_equal(hm_allocated(memory).fast_bytes, 0);
    release(memory);
}

static void test_what_is_added_has_its_own_tier(void **state)
{
    struct hm_alloc_run run;
    char *memory = get(16 * MIB, HM_ALLOC_FAST, 2 * MIB);
    (void)state;
    memory = resize(memory, 20 * MIB + 1, HM_ALLOC_SLOW);
    assert_int_equal(hm_allocated(memory).fast_bytes, 16 * MIB);
    memory = resize(memory, 48 * MIB + 1, HM_ALLOC_FAST);
    assert_int_equal(hm_allocated(memory).bytes, 48 * MIB + 1);
    assert_in_range(hm_allocated(memory).fast_bytes, 44 * MIB - hm_page_size(), 44 * MIB + 1); /* not what is ahead */
    assert_int_equal(hm_where_run(memory, 48 * MIB, &run), 0);
    assert_in_range(run.node, 0, 1);
    release(memory);
}

/* Bytes of the runs on fast nodes, as far as `bytes` goes. */
static size_t fast_runs(const char *memory, size_t bytes)
{
    struct hm_alloc_run run;
    size_t fast = 0;
    for (size_t at = 0; at < bytes; at = run.offset + run.bytes) {
        assert_int_equal(hm_where_run(memory, at, &run), 0);
        size_t end = run.offset + run.bytes < bytes ? run.offset + run.bytes : bytes;
        fast += run.node < 2 ? end - at : 0;
    }
    return fast;
}

/* What nobody has asked for is longer than the last run, and partly slow. */
static void test_what_is_ahead_is_not_counted_in_any_run(void **state)
{
    const struct hm_resize wish = {HM_ALLOC_SPILL, {.block_bytes = MIB / 2, .fast_share = 0.5}, NULL};
    (void)state;
    for (size_t step = 0; step < 8; step++) {
        size_t bytes = 32 * MIB + step * MIB / 4 + 1;
        char *memory = hm_resize(get(24 * MIB, HM_ALLOC_FAST, 2 * MIB), bytes, &wish);
        assert_in_range(hm_allocated(memory).fast_bytes, 24 * MIB, bytes - 1);
        assert_int_equal(hm_allocated(memory).fast_bytes, fast_runs(memory, bytes));
        release(memory);
    }
}

static void test_slices_are_placed_anew(void **state)
{
    const struct hm_place_slices front = {0xffff, 32 * MIB};
    const struct hm_resize wish = {.policy = HM_ALLOC_SPILL, .hint = {.block_bytes = MIB}, .slices = &front};
    struct hm_alloc_run run;
    (void)state;
    for (int is_limited = 0; is_limited < 2; is_limited++) {
        machine.has_real_runs = true;
        machine.limits_addresses = is_limited;
        machine.n_moving_calls = 0;
        char *memory = get(32 * MIB, HM_ALLOC_FAST, 2 * MIB);
        fill(memory, 0, 32 * MIB);
        memory = hm_resize(memory, 64 * MIB, &wish);
        check(memory, 32 * MIB);
        assert_int_equal(hm_allocated(memory).fast_bytes, 32 * MIB);
        assert_int_equal(machine.n_moving_calls, count_runs(memory, 64 * MIB));
        assert_int_equal(hm_where_run(memory, 32 * MIB, &run), 0);
        assert_in_range(run.node, 2, 3);
        memory = hm_resize(memory, 16 * MIB, &wish);
        assert_int_equal(hm_allocated(memory).fast_bytes, 8 * MIB);
        release(memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_growing_takes_no_memory_twice, twosockets_set_up),
        cmocka_unit_test_setup(test_what_cannot_be_moved_stays, twosockets_set_up),
        cmocka_unit_test_setup(test_what_cannot_be_bound_is_where_linux_places_it, twosockets_set_up),
        cmocka_unit_test_setup(test_sizes, twosockets_set_up),
        cmocka_unit_test_setup(test_shrinking_gives_back, twosockets_set_up),
        cmocka_unit_test_setup(test_room_is_counted, twosockets_set_up),
        cmocka_unit_test_setup(test_what_is_added_has_its_own_tier, twosockets_set_up),
        cmocka_unit_test_setup(test_what_is_ahead_is_not_counted_in_any_run, twosockets_set_up),
        cmocka_unit_test_setup(test_slices_are_placed_anew, twosockets_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
