/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the ranges that DAMON gets for processes of all shapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "migrator/sources/damonranges.h"
#include "unit/lib/pageshift.h"
#include "unit/lib/rows.h"

#define MIB UINT64_C(256) /* in pages */
#define GIB (1024 * MIB)
#define MOST 600

static struct hm_range range[MOST];
static struct hm_maps maps;
static struct hm_damon_process process;

static void clear(void)
{
    maps = (struct hm_maps){.range = range};
    process = (struct hm_damon_process){.pid = 100};
}

static void map(uint64_t first, uint64_t n_pages)
{
    assert_true(maps.n < MOST);
    range[maps.n++] = (struct hm_range){first, n_pages};
    maps.n_pages += n_pages;
}

static void assert_range(uint32_t i, uint64_t first, uint64_t end)
{
    assert_int_equal(process.range[i].start, first * hm_page_size());
    assert_int_equal(process.range[i].end, end * hm_page_size());
}

/* Returns the number of pages in all ranges. */
static uint64_t length(void)
{
    uint64_t pages = 0;
    for (uint32_t i = 0; i < process.n_ranges; i++)
        pages += (process.range[i].end - process.range[i].start) / hm_page_size();
    return pages;
}

/* Returns the number of mapped pages in all ranges. */
static uint64_t held(void)
{
    uint64_t pages = 0;
    for (uint32_t i = 0; i < process.n_ranges; i++)
        pages += hm_maps_count(&maps, process.range[i].start / hm_page_size(),
                               (process.range[i].end - process.range[i].start) / hm_page_size());
    return pages;
}

static void nothing_is_looked_at_where_nothing_may_be_moved(void **state)
{
    (void)state;
    clear();
    hm_damon_ranges_choose(&maps, maps.n_pages, &process);
    assert_int_equal(process.n_ranges, 0);
}

/* A program's heap, mappings and stack, with the holes of many GB that the kernel leaves between them. */
static void holes_between_heap_mappings_and_stack_are_left_out(void **state)
{
    (void)state;
    clear();
    map(20 * GIB, 4);                /* the program's data */
    map(21 * GIB, 17 * MIB);         /* heap */
    map(30000 * GIB, 30 * MIB);      /* an array */
    map(30000 * GIB + 31 * MIB, 64); /* libraries' data */
    map(32700 * GIB, 33);            /* stack */
    hm_damon_ranges_choose(&maps, maps.n_pages, &process);
    assert_int_equal(process.n_ranges, 5);
    assert_range(1, 21 * GIB, 21 * GIB + 17 * MIB);
    assert_range(2, 30000 * GIB, 30000 * GIB + 30 * MIB);
    assert_int_equal(length(), maps.n_pages);
}

/* The smallest pieces are left out, up to 2 % of the pages. Gaps are closed only if that is not enough. */
static void many_pieces_become_few(void **state)
{
    (void)state;
    clear();
    for (uint64_t i = 0; i < 300; i++) /* 300 libraries of 1 MiB, each with a page of data */
        map(30000 * GIB + i * MIB, 1);
    map(30010 * GIB, 100 * MIB);
    map(30020 * GIB, 50 * MIB);
    hm_damon_ranges_choose(&maps, maps.n_pages, &process);
    assert_true(process.n_ranges <= HM_DAMON_RANGES);
    assert_true((double)held() >= 0.98 * (double)maps.n_pages);
    assert_true((double)length() < 1.02 * (double)maps.n_pages);
}

/* Like the arenas that malloc makes for threads: a used piece in every 64 MiB. */
static void equal_pieces_far_apart_are_joined(void **state)
{
    (void)state;
    clear();
    for (uint64_t i = 0; i < 64; i++)
        map(30000 * GIB + i * 64 * MIB, 5 * MIB);
    hm_damon_ranges_choose(&maps, maps.n_pages, &process);
    assert_true(process.n_ranges >= 1 && process.n_ranges <= HM_DAMON_RANGES);
    assert_int_equal(held(), maps.n_pages);
    assert_true(length() <= 64 * 64 * MIB);
}

static void ranges_ascend_whatever_the_sizes(void **state)
{
    (void)state;
    uint64_t at = 1000, seed = 12345;
    clear();
    for (int i = 0; i < MOST; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1;
        map(at, 1 + (seed >> 33) % (UINT64_C(1) << (seed >> 60)));
        at += range[i].n_pages + 1 + (seed >> 40) % (UINT64_C(1) << (seed >> 59));
    }
    hm_damon_ranges_choose(&maps, maps.n_pages, &process);
    for (uint32_t i = 0; i < process.n_ranges; i++) {
        assert_true(process.range[i].end > process.range[i].start);
        assert_true(i == 0 || process.range[i].start > process.range[i - 1].end);
    }
    assert_true((double)held() >= 0.98 * (double)maps.n_pages);
}

/* Like the memory of a sanitizer, or a Java heap: nobody knows which part is resident. */
static void nothing_is_left_out_where_most_is_not_in_memory(void **state)
{
    (void)state;
    clear();
    map(20 * GIB, 1024 * GIB);
    for (uint64_t i = 0; i < 20; i++)
        map((20000 + 100 * i) * GIB, GIB / 2);
    hm_damon_ranges_choose(&maps, 10 * GIB, &process);
    assert_int_equal(held(), maps.n_pages);
    assert_true(hm_damon_ranges_fit(&process, &maps, 10 * GIB));
    map(30000 * GIB, GIB);
    assert_false(hm_damon_ranges_fit(&process, &maps, 11 * GIB));
}

static void a_few_new_pages_are_not_worth_a_new_watch(void **state)
{
    (void)state;
    static const struct {
        uint64_t first, n_pages;
        bool fits;
    } rows[] = {{30000 * GIB, 1, true}, {30000 * GIB, 5 * MIB, true}, {30000 * GIB, 10 * MIB, false}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        clear();
        map(20 * GIB, 100 * MIB);
        hm_damon_ranges_choose(&maps, maps.n_pages, &process);
        assert_true(hm_damon_ranges_fit(&process, &maps, maps.n_pages));
        map(rows[i].first, rows[i].n_pages);
        assert_int_equal(hm_damon_ranges_fit(&process, &maps, maps.n_pages), rows[i].fits);
    }
}

/*
 * If memory was freed, a range has a hole, and the ranges are chosen anew. Not so if any other choice would have the
 * hole, too.
 */
static void a_watch_of_holes_is_renewed(void **state)
{
    (void)state;
    clear();
    map(20 * GIB, 100 * MIB);
    map(30 * GIB, 300 * MIB);
    hm_damon_ranges_choose(&maps, maps.n_pages, &process);
    assert_int_equal(process.n_ranges, 2);
    maps.n = 1;
    maps.n_pages = 100 * MIB;
    assert_false(hm_damon_ranges_fit(&process, &maps, maps.n_pages));
    clear();
    for (uint64_t i = 0; i < 64; i++)
        map(30000 * GIB + i * 64 * MIB, 5 * MIB);
    hm_damon_ranges_choose(&maps, maps.n_pages, &process);
    assert_true(length() > 2 * held());
    assert_true(hm_damon_ranges_fit(&process, &maps, maps.n_pages));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_looked_at_where_nothing_may_be_moved),
        cmocka_unit_test(holes_between_heap_mappings_and_stack_are_left_out),
        cmocka_unit_test(many_pieces_become_few),
        cmocka_unit_test(equal_pieces_far_apart_are_joined),
        cmocka_unit_test(ranges_ascend_whatever_the_sizes),
        cmocka_unit_test(nothing_is_left_out_where_most_is_not_in_memory),
        cmocka_unit_test(a_few_new_pages_are_not_worth_a_new_watch),
        cmocka_unit_test(a_watch_of_holes_is_renewed),
    };
    return RUN_WITH_BOTH_SIZES(tests);
}
