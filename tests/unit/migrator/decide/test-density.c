/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the estimate of each page's heat from samples: sharp borders where there is evidence, even heat elsewhere. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "migrator/decide/density.h"
#include "migrator/replay/sampler.h"

/* the estimated heat of each page */
static double heat_of[2048];

static void take(void *data, const struct hm_span *span)
{
    uint64_t *next = data;
    assert_true(span->first >= *next); /* ascending, no page twice */
    *next = span->first + span->n_pages;
    for (uint64_t page = span->first; page < *next; page++)
        heat_of[page] = span->heat;
}

static struct hm_cells cells;
static struct hm_density density;

/* Begins without cells; in the tree there is room for n_nodes nodes (density.c). `reads` is what a read counts. */
static void begin(double reads, size_t n_nodes)
{
    static struct hm_cell cell[2][512];
    static struct hm_density_sum before[513];
    static float differs[2048];
    static struct hm_stretch stretch[512];
    static struct hm_observation pending[512];
    cells = (struct hm_cells){cell[0], cell[1], 0, 512, pending, 0, 512, reads, 1};
    density = (struct hm_density){.cells = &cells,
                                  .before = before,
                                  .stretch = stretch,
                                  .differs = differs,
                                  .most_apart = 512,
                                  .hole = 512,
                                  .n_nodes = n_nodes};
}

/* Takes in what was seen, and estimates. */
static void end(hm_density_take *take_span, void *data)
{
    hm_cells_sort_in(&cells);
    hm_cells_age(&cells, 0.5);
    hm_density_estimate(&density, take_span, data);
}

/* Estimates from `seen`, with room for n_nodes nodes of the tree (density.c). */
static void estimate_in(size_t n_nodes, const struct hm_observation *seen, size_t count)
{
    uint64_t next = 0;
    begin(1, n_nodes);
    memset(heat_of, 0, sizeof(heat_of));
    for (size_t i = 0; i < count; i++)
        hm_cells_add(&cells, &seen[i]);
    end(take, &next);
}

static void estimate(const struct hm_observation *seen, size_t count)
{
    estimate_in(2048, seen, count);
}

/* 64 pages with 20 samples each, among 960 of which one in eight has a sample. */
static void test_borders_come_out(void **state)
{
    (void)state;
    struct hm_observation seen[512];
    size_t count = 0;
    for (uint64_t page = 0; page < 1024; page++) {
        bool is_hot = page >= 300 && page < 364;
        if (is_hot || page % 8 == 0)
            seen[count++] =
                (struct hm_observation){.page = page, .n_pages = 1, .reads = is_hot ? 20 : 1, .knows_writes = true};
    }
    estimate(seen, count);
    for (uint64_t page = 0; page < 1016; page++) {
        if (page >= 304 && page < 360)
            assert_true(heat_of[page] > 15 && heat_of[page] < 25);
        else if (page < 288 || page >= 384)
            assert_true(heat_of[page] < 1);
    }
}

/* Noise is no heat: single samples on a few pages are spread over all pages. */
static void test_few_samples_are_even(void **state)
{
    (void)state;
    static const uint64_t pages[] = {3, 90, 91, 250, 251, 300, 420, 511};
    struct hm_observation seen[8];
    for (size_t i = 0; i < 8; i++)
        seen[i] = (struct hm_observation){.page = pages[i], .n_pages = 1, .reads = 1, .knows_writes = true};
    estimate(seen, 8);
    for (uint64_t page = 3; page < 512; page++)
        assert_true(heat_of[page] > 0.5 * 8 / 509 && heat_of[page] < 2.0 * 8 / 509);
}

/* A range's samples are taken to be even over its pages. So a hot range in a cold one keeps its heat, and the cold one
 * stays cold, except close to the border. */
static void test_ranges_keep_their_borders(void **state)
{
    (void)state;
    const struct hm_observation seen[] = {{.n_pages = 1024, .reads = 100},
                                          {.page = 100, .n_pages = 28, .reads = 5000},
                                          {.page = 100, .n_pages = 28, .reads = 600}};
    estimate(seen, 3);
    assert_true(heat_of[104] > 180 && heat_of[104] < 220);
    assert_true(heat_of[90] < 40 && heat_of[200] < 2);
}

/* Two DAMON regions with the same sum of samples, in a quarter and in three quarters of the memory. If few looks found
 * an access, the difference in heat is noise; if many did, it is real. */
static void test_spread_samples_are_weighed_by_their_looks(void **state)
{
    (void)state;
    struct hm_observation seen[2] = {{.page = 0, .n_pages = 256, .reads = 256}, {.page = 256, .n_pages = 768}};
    seen[1].reads = 256;
    seen[0].excess = 127; /* in each region, two looks found an access */
    seen[1].excess = 127;
    estimate(seen, 2);
    assert_true(heat_of[10] < 1.2 * heat_of[600]);
    seen[0].excess = seen[1].excess = 1;
    estimate(seen, 2);
    assert_true(heat_of[10] > 2.5 * heat_of[600]);
}

/* The heat of one range is well known, that of the next one hardly: the difference may be chance. */
static void test_a_vague_neighbour_is_no_border(void **state)
{
    (void)state;
    struct hm_observation seen[] = {{.page = 0, .n_pages = 512, .reads = 512 * 50, .excess = 450},
                                    {.page = 512, .n_pages = 512, .reads = 512 * 25, .excess = 3e3F}};
    estimate(seen, 2); /* worth 57 samples, and 4: reads / (1 + excess) */
    assert_true(heat_of[10] < 1.2 * heat_of[1000]);
    seen[0].excess = seen[1].excess = 99; /* 256, and 128 */
    estimate(seen, 2);
    assert_true(heat_of[10] > 1.8 * heat_of[1000]);
}

/* The estimate halves memory again and again, and hardly ever meets the border between cold and hot memory. Still,
 * memory at the border must not seem hotter than memory far from it. */
static void test_no_edge_is_hotter(void **state)
{
    (void)state;
    for (uint64_t border = 330; border < 362; border++) {
        struct hm_observation seen[6] = {{.page = 0, .n_pages = border, .reads = (float)border, .excess = 33}};
        for (size_t i = 1; i < 6; i++)
            seen[i] = (struct hm_observation){
                .page = border + (i - 1) * 300, .n_pages = 300, .reads = 300 * 400, .excess = 780}; /* 154 samples */
        estimate(seen, 6);
        for (uint64_t page = 0; page < border + 5 * 300; page++)
            assert_true(heat_of[page] < 1.15 * 400);
        assert_true(heat_of[border + 48] > 0.85 * 400);
    }
}

/* Pages that are known to be cold stay cold beside pages whose heat is hardly known. */
static void test_a_vague_neighbour_lends_no_heat(void **state)
{
    (void)state;
    const struct hm_observation seen[] = {{.page = 0, .n_pages = 512, .reads = 512, .excess = 4},
                                          {.page = 512, .n_pages = 512, .reads = 512 * 10, .excess = 5e3F}};
    estimate(seen, 2); /* worth 102 samples, and 1 */
    assert_true(heat_of[10] > 0.7 && heat_of[10] < 1.5);
}

/* If there is no room for all nodes of the tree, everything is estimated more coarsely. */
static void test_few_nodes_will_do(void **state)
{
    (void)state;
    struct hm_observation seen[512];
    for (size_t i = 0; i < 512; i++)
        seen[i] =
            (struct hm_observation){.page = 2 * i, .n_pages = 1, .reads = i >= 256 ? 20 : 5, .knows_writes = true};
    for (size_t n_nodes = 1; n_nodes < 64; n_nodes *= 2) {
        double sum = 0;
        estimate_in(n_nodes, seen, 512);
        for (uint64_t page = 0; page < 1023; page++)
            sum += heat_of[page];
        assert_true(fabs(sum - 256 * 25) < 1);
        if (n_nodes > 8)
            assert_true(heat_of[10] < 4 && heat_of[1000] > 8);
    }
}

/* A border between samples that are spread over ranges is removed if it tells nothing. Borders between samples of
 * single pages stay. */
static void test_borders_without_evidence_go(void **state)
{
    (void)state;
    begin(1, 2048);
    for (uint64_t i = 0; i < 32; i++)
        hm_cells_add(&cells, &(struct hm_observation){.page = 3 * i, .n_pages = 3, .reads = 3, .excess = 900});
    hm_cells_add(&cells, &(struct hm_observation){.page = 200, .n_pages = 1, .reads = 1});
    hm_cells_add(&cells, &(struct hm_observation){.page = 201, .n_pages = 1, .reads = 1});
    hm_cells_sort_in(&cells);
    assert_int_equal(cells.n, 34);
    hm_cells_age(&cells, 0.5);
    assert_int_equal(cells.n, 3);
    assert_int_equal(cells.cell[0].n_pages, 96);
    assert_true(cells.cell[0].reads == 96 && cells.cell[0].excess == 96 * 900);
}

/* A Poisson count (Knuth). */
static int count_by_chance(struct hm_random *random, double mean)
{
    int count = 0;
    for (double left = hm_random_share(random); left > exp(-mean); left *= hm_random_share(random))
        count++;
    return count;
}

/* Looks at `n` ranges of four pages that are equally hot: a use of a range counts once, and heat is the uses of a page.
 */
static void estimate_ranges(struct hm_random *random, size_t n, double mean)
{
    struct hm_observation seen[512];
    size_t n_seen = 0;
    for (size_t i = 0; i < n; i++) {
        int uses = count_by_chance(random, mean);
        if (uses > 0)
            seen[n_seen++] =
                (struct hm_observation){.page = 4 * i, .n_pages = 4, .reads = 4 * (float)uses, .excess = 3};
    }
    estimate(seen, n_seen);
}

/* Ranges that were looked at, with differences that are noise, are as hot as each other. */
static void test_noise_between_ranges_is_no_heat(void **state)
{
    (void)state;
    static const size_t counts[] = {40, 100, 500};
    static const double means[] = {0.5, 1, 4};
    for (size_t row = 0; row < 9; row++)
        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct hm_random random = {seed};
            size_t n = counts[row % 3];
            double mean = means[row / 3];
            estimate_ranges(&random, n, mean);
            uint64_t first = 0, last = 4 * n - 1; /* what is before the first use, or after the last, is not known */
            while (heat_of[first] == 0)
                first++;
            while (heat_of[last] == 0)
                last--;
            for (uint64_t page = first; page <= last; page++)
                if (heat_of[page] < 0.5 * mean || heat_of[page] > 2 * mean)
                    fail_msg("%zu ranges, mean %g, seed %d: page %d has %.2f", n, mean, (int)seed, (int)page,
                             heat_of[page]);
        }
}

/* Adds the pages of a span, which are in no earlier one. */
static void add_pages(void *data, const struct hm_span *span)
{
    uint64_t *pages = data;
    assert_true(span->first >= pages[0] && span->n_pages > 0);
    assert_true(isfinite(span->heat) && span->heat > 0 && span->write_share >= 0 && span->write_share <= 1);
    pages[0] = span->first + span->n_pages;
    pages[1] += span->n_pages;
}

/* All memory is in a span, also between ranges and in several spaces, and where only writes count. */
static void test_all_pages_are_in_a_span(void **state)
{
    (void)state;
    for (int only_writes = 0; only_writes < 2; only_writes++) {
        uint64_t pages[2] = {0};
        begin(only_writes ? 0 : 1, 2048);
        for (uint32_t i = 0; i < 200; i++) /* a gap after each range, a space of its own for each half */
            hm_cells_add(&cells, &(struct hm_observation){.page = HM_PAGE(i / 100, 100 + 8 * (i % 100)),
                                                          .n_pages = 5,
                                                          .reads = i % 9 == 4 ? 200 : 5,
                                                          .writes = i % 7 == 2 ? 100 : 0,
                                                          .excess = 4,
                                                          .knows_writes = true});
        end(add_pages, pages);
        assert_int_equal(pages[1], 2 * (99 * 8 + 5));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread_samples_are_weighed_by_their_looks),
        cmocka_unit_test(test_a_vague_neighbour_is_no_border),
        cmocka_unit_test(test_no_edge_is_hotter),
        cmocka_unit_test(test_a_vague_neighbour_lends_no_heat),
        cmocka_unit_test(test_few_nodes_will_do),
        cmocka_unit_test(test_noise_between_ranges_is_no_heat),
        cmocka_unit_test(test_all_pages_are_in_a_span),
        cmocka_unit_test(test_borders_without_evidence_go),
        cmocka_unit_test(test_few_samples_are_even),
        cmocka_unit_test(test_borders_come_out),
        cmocka_unit_test(test_ranges_keep_their_borders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
