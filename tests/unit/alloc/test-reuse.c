/* SPDX-License-Identifier: Apache-2.0 */
/* Tests random sequences of malloc, calloc, realloc, free and fork of a preload library: each allocation keeps its
 * content, and all that is counted is exact: nodes' room, mappings, addresses, and what a library places in the fast
 * tier. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc/allocate.h"
#include "alloc/decide.h"
#include "alloc/kept.h"
#include "alloc/mappings.h"
#include "alloc/preloadresize.h"
#include "alloc/resize.h"
#include "alloc/room.h"
#include "base/amount.h"
#include "base/pagesize.h"
#include "base/random.h"
#include "unit/alloc/twosockets.h"
#include "unit/lib/rows.h"

#define MOST_MAPPINGS 24573 /* three eighths of 65530 */
#define BLOCKS 12
#define STEPS 300
#define SEQUENCES 4 /* with and without mappings that are apart, and a limit of addresses */
#define LIMIT (48 * MIB)

enum tier { SLOW, FAST, SLICES };

static struct {
    char *memory;
    size_t bytes, marked; /* marked: bytes when it was filled */
    char mark;
} block[BLOCKS];
static uint64_t counted; /* bytes of the fast tier, as a library with a limit counts them */
static struct hm_random numbers;

/* As the guided programs' library does. */
bool hm_preload_choose(size_t bytes, struct hm_preload_where where, struct hm_preload_choice *choice)
{
    size_t left = (size_t)hm_less(LIMIT, counted);
    *choice = (struct hm_preload_choice){.policy = HM_ALLOC_SLOW, .spare_bytes = SIZE_MAX};
    if (where.tier == SLOW)
        return true;
    choice->fast_slices = where.tier == SLICES ? where.slices : 0;
    choice->fast_bytes = (size_t)hm_least(where.tier == SLICES ? bytes / 2 : bytes, left);
    choice->policy = choice->fast_bytes < bytes ? HM_ALLOC_SPILL : HM_ALLOC_FAST;
    choice->fast_share = (double)choice->fast_bytes / (double)bytes;
    choice->spare_bytes = left - choice->fast_bytes;
    counted += choice->fast_bytes;
    return choice->fast_bytes > 0;
}

void hm_preload_count(bool is_marked, size_t counted_bytes, size_t now_bytes)
{
    (void)is_marked;
    counted = counted + now_bytes - counted_bytes;
}

static size_t below(size_t most)
{
    return (size_t)(hm_random_next(&numbers) % most);
}

/* Most are small; one in eight is of up to 40 MiB. */
static size_t some_bytes(void)
{
    return HM_ALLOC_LEAST + below(below(8) == 0 ? 40 * MIB : 2 * MIB);
}

static struct hm_preload_where somewhere(void)
{
    static const enum tier tiers[] = {SLOW, FAST, FAST, SLICES};
    return (struct hm_preload_where){tiers[below(N_ROWS(tiers))], 0x0000ffff};
}

/* The first byte of each page, and the last byte. */
static void fill(size_t i, char mark)
{
    block[i].mark = mark;
    block[i].marked = block[i].bytes;
    for (size_t at = 0; at < block[i].bytes; at += hm_page_size())
        block[i].memory[at] = mark;
    block[i].memory[block[i].bytes - 1] = mark;
}

static void check(size_t i, size_t bytes, char mark)
{
    for (size_t at = 0; at < bytes; at += hm_page_size())
        assert_int_equal(block[i].memory[at], mark);
    if (bytes == block[i].marked)
        assert_int_equal(block[i].memory[bytes - 1], mark);
}

/* Whether all the bytes that are counted are those that allocations have. */
static void check_counted(void)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < BLOCKS; i++)
        bytes += block[i].memory ? hm_allocated(block[i].memory).fast_bytes : 0;
    assert_int_equal(counted, bytes);
}

/* As preload.c does. */
static void take(size_t i)
{
    struct hm_preload_choice choice;
    char reason[HM_ALLOC_REASON];
    size_t bytes = some_bytes();
    bool is_zeroed = below(3) == 0;
    if (!hm_preload_choose(bytes, somewhere(), &choice))
        return;
    const struct hm_place_slices fast = {choice.fast_slices, choice.fast_bytes};
    const struct hm_alloc_hint hint = hm_preload_hint(bytes, &choice);
    char *memory = hm_allocate_kept(bytes, choice.spare_bytes, 1, choice.policy);
    if (memory && is_zeroed)
        memset(memory, 0, bytes);
    if (!memory)
        memory = hm_allocate(bytes, 1, choice.policy, &hint, &fast, reason);
    hm_preload_count(false, choice.fast_bytes, memory ? hm_allocated(memory).fast_bytes : 0);
    if (!memory)
        return;
    assert_int_equal(hm_allocated(memory).bytes, bytes);
    block[i].memory = memory;
    block[i].bytes = block[i].marked = bytes;
    if (is_zeroed)
        check(i, bytes, 0);
    fill(i, (char)(1 + below(127)));
}

static void release(size_t i)
{
    struct hm_allocated was;
    bool is_kept = below(8) != 0;
    check(i, block[i].bytes, block[i].mark);
    assert_true(is_kept ? hm_deallocate_to_keep(block[i].memory, &was) : hm_deallocate(block[i].memory, &was));
    hm_preload_count(false, was.fast_bytes, 0);
    assert_int_equal(hm_allocated(block[i].memory).bytes, 0);
    block[i].memory = NULL;
}

/* Up or down, by much or little. */
static size_t other_bytes(size_t bytes)
{
    size_t step = below(2) ? bytes / 8 : hm_page_size() * 3;
    return below(3) == 0 ? some_bytes() : below(2) ? bytes + 1 + below(step) : bytes - below(step);
}

static void resize(size_t i)
{
    struct hm_allocated was = hm_allocated(block[i].memory);
    struct hm_preload_where where = somewhere();
    size_t bytes = other_bytes(block[i].bytes), least = (size_t)hm_least(bytes, block[i].bytes);
    enum hm_preload_how how = where.tier == SLICES ? HM_PRELOAD_ANEW : HM_PRELOAD_STAYS;
    char *resized = hm_preload_resize(block[i].memory, &was, bytes, how, where);
    if (resized) {
        block[i].memory = resized;
        block[i].bytes = bytes;
    }
    assert_int_equal(hm_allocated(block[i].memory).bytes, block[i].bytes);
    check(i, resized ? least : block[i].bytes, block[i].mark);
    fill(i, block[i].mark);
}

static size_t addresses(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return pages * hm_page_size();
}

static void check_room_and_mappings(void)
{
    uint64_t room[HM_ALLOC_NODES];
    struct hm_room_look look;
    const struct hm_layout *layout = hm_decide_layout();
    hm_room_look(layout, true, &look);
    assert_true(hm_known_lock());
    hm_room_note(layout, &look);
    hm_room_read(layout, room);
    hm_known_unlock();
    for (int i = 0; i < layout->n_nodes; i++)
        assert_int_equal(room[i], machine.free_bytes[i]);
    assert_true(hm_mappings_take(MOST_MAPPINGS));
    hm_mappings_give(MOST_MAPPINGS);
}

static void release_all(void)
{
    for (size_t i = 0; i < BLOCKS; i++)
        if (block[i].memory)
            release(i);
    hm_give_back_kept();
    assert_int_equal(counted, 0);
    assert_int_equal(hm_kept_bytes(), 0);
    check_room_and_mappings();
}

static void step(void);

/* The child has the same memory, and its own accounts. */
static void go_on_in_child(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 20; i++)
            step();
        release_all();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* One change, on a machine whose nodes are full or not, and whose kernel refuses a call now and then. */
static void step(void)
{
    size_t i = below(BLOCKS);
    machine.now_ns += below(300) * 1000000;
    machine.free_bytes[below(4)] = below(4) == 0 ? 24 * MIB : 1024 * MIB;
    int *calls[] = {&machine.prefer_errno, &machine.remap_errno, &machine.map_errno, &machine.default_errno};
    for (size_t k = 0; k < N_ROWS(calls); k++)
        *calls[k] = below(40) == 0 ? ENOMEM : 0;
    machine.n_calls = 0;
    if (!block[i].memory)
        take(i);
    else if (below(3) == 0)
        release(i);
    else
        resize(i);
    check_counted();
}

static void test_random_sequences(void **state)
{
    (void)state;
    size_t least = 0, kept = 0;
    for (uint64_t sequence = 0; sequence < SEQUENCES; sequence++) {
        print_message("sequence %u\n", (unsigned)sequence);
        numbers = (struct hm_random){sequence};
        twosockets_set_up(NULL);
        machine.step_ns = 0;
        machine.has_real_runs = sequence % 2;
        machine.limits_addresses = sequence / 2 % 2;
        for (int i = 0; i < STEPS; i++) {
            step();
            kept += hm_kept_bytes() > 0;
            if (below(100) == 0)
                go_on_in_child();
        }
        release_all();
        if (sequence == 0)
            least = addresses();
        assert_in_range(addresses(), least - MIB, least + MIB);
    }
    assert_true(kept > STEPS);
}

/* Memory is kept for its policy only where all of it is in that tier. */
static void test_what_realloc_has_put_elsewhere_is_not_kept(void **state)
{
    const struct hm_resize slow = {.policy = HM_ALLOC_SLOW}, fast = {.policy = HM_ALLOC_FAST};
    const struct hm_alloc_hint hint = {.block_bytes = MIB};
    char reason[HM_ALLOC_REASON];
    (void)state;
    machine.step_ns = 0;
    for (int is_cut = 0; is_cut < 2; is_cut++) {
        char *memory = hm_allocate(4 * MIB, 1, HM_ALLOC_FAST, &hint, NULL, reason);
        memory = hm_resize(memory, 8 * MIB, &slow);
        if (is_cut)
            memory = hm_resize(memory, 4 * MIB, &fast);
        assert_true(hm_deallocate_to_keep(memory, NULL));
        assert_int_equal(hm_kept_bytes(), is_cut ? 4 * MIB : 0);
    }
    hm_give_back_kept();
}

/* What is kept gives way to realloc, too. */
static void test_realloc_has_the_room_of_what_is_kept(void **state)
{
    const struct hm_resize fast = {.policy = HM_ALLOC_FAST};
    const struct hm_alloc_hint hint = {.block_bytes = 8 * MIB};
    char reason[HM_ALLOC_REASON];
    (void)state;
    machine.step_ns = 0;
    machine.now_ns += 1000000000;
    machine.free_bytes[0] = machine.free_bytes[1] = 20 * MIB;
    char *kept = hm_allocate(24 * MIB, 1, HM_ALLOC_FAST, &hint, NULL, reason);
    char *memory = hm_allocate(2 * MIB, 1, HM_ALLOC_FAST, &hint, NULL, reason);
    assert_true(hm_deallocate_to_keep(kept, NULL));
    memory = hm_resize(memory, 4 * MIB, &fast);
    assert_int_equal(hm_kept_bytes(), 24 * MIB);
    memory = hm_resize(memory, 30 * MIB, &fast);
    assert_int_equal(hm_kept_bytes(), 0);
    assert_int_equal(hm_allocated(memory).fast_bytes, 30 * MIB);
    assert_true(hm_deallocate(memory, NULL));
    check_room_and_mappings();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_realloc_has_put_elsewhere_is_not_kept, twosockets_set_up),
        cmocka_unit_test_setup(test_realloc_has_the_room_of_what_is_kept, twosockets_set_up),
        cmocka_unit_test_setup(test_random_sequences, twosockets_set_up),
    };
    pthread_atfork(hm_known_fork.before, hm_known_fork.after, hm_known_fork.in_child);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
