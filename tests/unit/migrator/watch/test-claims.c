/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that memory which is mapped several times gets one home, and that the other places are found from there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "migrator/decide/decide.h"
#include "migrator/watch/claims.h"
#include "unit/lib/rows.h"

static struct hm_mapping of(uint64_t device, uint64_t inode, uint64_t offset, uint64_t n_pages)
{
    return (struct hm_mapping){
        .range = {1000, n_pages}, .offset = offset, .device = device, .inode = inode, .is_shared = true};
}

static void test_pieces(void **state)
{
    (void)state;
    /* Each row is taken from its first page on; `own` is the number of that page. */
    static const struct {
        uint64_t device, inode, offset, n_pages, own, n, home;
    } rows[] = {
        {1, 7, 0, 10, 100, 10, 100}, /* the first to map it */
        {1, 7, 0, 10, 500, 10, 100},    {1, 7, 4, 3, 600, 3, 104},
        {1, 7, 8, 10, 700, 2, 108}, /* only two of its pages are claimed ... */
        {1, 7, 10, 8, 702, 8, 702}, /* ... and the rest is now */
        {2, 7, 0, 10, 800, 10, 800},    {1, 8, 0, 10, 900, 10, 900},
        {1, 7, 30, 10, 1000, 10, 1000}, {1, 7, 15, 30, 1100, 3, 707},
        {1, 7, 18, 27, 1103, 12, 1103}, /* a piece ends where the next claim begins */
    };
    struct hm_claims claims = {.n = 0};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_mapping mapping = of(rows[i].device, rows[i].inode, rows[i].offset, rows[i].n_pages);
        uint64_t home = 0;
        if (hm_claims_take(&claims, &mapping, 0, rows[i].own, &home) != rows[i].n || home != rows[i].home)
            fail_msg("row %zu: home %lu", i, (unsigned long)home);
    }
    struct hm_mapping whole = of(1, 7, 0, 50);
    uint64_t done = 0, home, n, own = 0;
    for (; done < 50; done += n) { /* all pages of the file have a home by now, or get one */
        n = hm_claims_take(&claims, &whole, done, 5000 + done, &home);
        assert_true(n > 0);
        own += home == 5000 + done ? n : 0;
    }
    assert_int_equal(own, 10); /* pages 40 to 49 */
    hm_claims_clear(&claims);
    assert_int_equal(hm_claims_take(&claims, &whole, 0, 77, &home), 50);
    assert_int_equal(home, 77);
    hm_claims_free(&claims);
}

static void test_no_room(void **state)
{
    (void)state;
    struct hm_claims claims = {.n = 0};
    uint64_t home;
    for (uint64_t i = 0; i <= HM_CLAIMS; i++) {
        struct hm_mapping mapping = of(1, HM_CLAIMS + 1 - i, 0, 1);
        assert_int_equal(hm_claims_take(&claims, &mapping, 0, i, &home), i < HM_CLAIMS);
    }
    struct hm_mapping known = of(1, HM_CLAIMS + 1, 0, 1);
    assert_int_equal(hm_claims_take(&claims, &known, 0, 9, &home), 1);
    assert_int_equal(home, 0);
    hm_claims_free(&claims);
}

static void add(struct hm_maps *maps, uint64_t first, uint64_t n_pages, uint64_t home, bool is_alias)
{
    const struct hm_mapped mapped = {
        .range = {first, n_pages}, .home = home, .kind = HM_MEMORY_SHARED, .may_move = true, .is_alias = is_alias};
    assert_int_equal(hm_maps_add_mapped(maps, &mapped), 0);
}

static void test_other_places(void **state)
{
    (void)state;
    struct hm_maps maps[3] = {{.n = 0}, {.n = 0}, {.n = 0}};
    add(&maps[0], 100, 50, HM_PAGE(0, 100), false);
    add(&maps[0], 200, 10, HM_PAGE(0, 100), true); /* the same process, a second time */
    add(&maps[2], 500, 20, HM_PAGE(0, 120), true);
    add(&maps[2], 600, 20, HM_PAGE(1, 120), true);
    static const struct {
        uint32_t space;
        uint64_t first, n_pages, home;
    } found[] = {{0, 205, 5, 105}, {2, 500, 5, 120}};
    struct hm_alias place = {0};
    for (size_t i = 0; i < N_ROWS(found); i++) {
        assert_true(hm_claims_next(maps, 3, HM_PAGE(0, 105), 20, &place));
        assert_int_equal(place.space, found[i].space);
        assert_int_equal(place.range.first, found[i].first);
        assert_int_equal(place.range.n_pages, found[i].n_pages);
        assert_int_equal(place.home, HM_PAGE(0, found[i].home));
    }
    assert_false(hm_claims_next(maps, 3, HM_PAGE(0, 105), 20, &place));
    for (size_t i = 0; i < N_ROWS(maps); i++)
        hm_maps_free(&maps[i]);
}

/* A process that maps a file as a whole, and parts of it again. */
static void test_places_within_each_other(void **state)
{
    (void)state;
    static const struct {
        uint64_t first, n_pages, home;
    } mapped[] = {{1000, 10, 500}, {1100, 100, 100}, {1300, 10, 110}, {1400, 30, 150}, {1500, 10, 140}};
    static const struct {
        uint64_t home, n_pages, n, at[4];
    } rows[] = {
        {0, 100, 0, {0}},
        {0, 101, 1, {1100}},
        {112, 1, 2, {1112, 1302}},
        {155, 1, 2, {1155, 1405}},
        {139, 1, 1, {1139}},
        {145, 6, 3, {1145, 1505, 1400}},
        {199, 400, 2, {1199, 1000}},
        {510, 100, 0, {0}},
    };
    struct hm_maps maps[1] = {{.n = 0}};
    for (size_t i = 0; i < N_ROWS(mapped); i++)
        add(&maps[0], mapped[i].first, mapped[i].n_pages, HM_PAGE(3, mapped[i].home), true);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_alias place = {0};
        for (size_t k = 0; k < rows[i].n; k++) {
            assert_true(hm_claims_next(maps, 1, HM_PAGE(3, rows[i].home), rows[i].n_pages, &place));
            assert_int_equal(place.range.first, rows[i].at[k]);
        }
        assert_false(hm_claims_next(maps, 1, HM_PAGE(3, rows[i].home), rows[i].n_pages, &place));
    }
    hm_maps_free(&maps[0]);
}

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* CPU seconds to find one of the places of segments that all processes map, of which there are so many. */
static double measure(uint64_t n_segments)
{
    enum { PROCESSES = 16, SEARCHES = 1024 };
    struct hm_maps maps[PROCESSES] = {{.n = 0}};
    uint64_t n = 0;
    for (int p = 0; p < PROCESSES; p++)
        for (uint64_t i = 0; i < n_segments; i++)
            add(&maps[p], 100 * i, 50, HM_PAGE(0, 100 * i), p > 0);
    double start_s = cpu_s();
    for (uint64_t i = 0; i < SEARCHES; i++)
        for (struct hm_alias place = {0};
             hm_claims_next(maps, PROCESSES, HM_PAGE(0, 100 * (i % n_segments)), 50, &place);)
            n++;
    double took_s = cpu_s() - start_s;
    assert_int_equal(n, (PROCESSES - 1) * SEARCHES);
    for (int p = 0; p < PROCESSES; p++)
        hm_maps_free(&maps[p]);
    return took_s / (double)n;
}

/* With 64 times as many segments, a search through all of them takes 64 times as long for each place. */
static void test_many_places_are_found_fast(void **state)
{
    (void)state;
    double few_s = measure(16), many_s = measure(1024);
    if (many_s > 10 * few_s)
        fail_msg("%g times as long", many_s / few_s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_other_places),
        cmocka_unit_test(test_places_within_each_other),
        cmocka_unit_test(test_many_places_are_found_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
