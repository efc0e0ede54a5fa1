/* SPDX-License-Identifier: Apache-2.0 */
#include "simdamon.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FIRST_REGIONS 10

void simdamon_begin(struct simdamon *damon, unsigned n_spaces, uint64_t pages, uint64_t seed)
{
    memset(damon, 0, sizeof(*damon));
    damon->random.state = seed;
    damon->pages = n_spaces * pages;
    for (unsigned space = 0; space < n_spaces; space++)
        for (uint64_t i = 0; i < FIRST_REGIONS; i++)
            damon->region[damon->n++] = (struct simdamon_region){
                space, pages * i / FIRST_REGIONS, pages * (i + 1) / FIRST_REGIONS - pages * i / FIRST_REGIONS, 0};
}

void simdamon_begin_in(struct simdamon *damon, unsigned n_spaces, const struct simdamon_range *range, size_t n_ranges,
                       uint64_t seed)
{
    memset(damon, 0, sizeof(*damon));
    damon->random.state = seed;
    for (unsigned space = 0; space < n_spaces; space++)
        for (size_t i = 0; i < n_ranges; i++) {
            damon->region[damon->n++] = (struct simdamon_region){space, range[i].first, range[i].n_pages, 0};
            damon->pages += range[i].n_pages;
        }
}

/*
 * Splits a region at random tenths into `parts` pieces, or into fewer if it is too small. What is split again is the
 * left piece. Returns the number of pieces in `out`.
 */
static size_t split_one(struct simdamon *damon, const struct simdamon_region *region, int parts,
                        struct simdamon_region out[3])
{
    size_t n = 1;
    out[0] = *region;
    for (int part = 1; part < parts && out[0].n_pages > 2; part++) {
        uint64_t pages = out[0].n_pages * (1 + hm_random_below(&damon->random, 9)) / 10;
        if (pages == 0)
            continue;
        out[2] = out[1];
        out[1] = out[0];
        out[1].first += pages;
        out[1].n_pages -= pages;
        out[0].n_pages = pages;
        n++;
    }
    return n;
}

/* Splits each region in two, unless there are more regions than half of `most`. Splits in three where there are fewer
 * than a third of `most`, and as many as before the last split. */
static void split(struct simdamon *damon, uint32_t most)
{
    static struct simdamon_region out[SIMDAMON_MOST];
    size_t n = 0, before = damon->n;
    int parts = damon->n_before == damon->n && damon->n < most / 3 ? 3 : 2;
    if (damon->n > most / 2)
        return;
    for (size_t i = 0; i < before; i++) {
        assert_true(n < SIMDAMON_MOST - 3);
        n += split_one(damon, &damon->region[i], parts, &out[n]);
    }
    memcpy(damon->region, out, n * sizeof(out[0]));
    damon->n = n;
    damon->n_before = before;
}

/* Joins neighbours whose accesses differ by no more than a tenth of the busiest region's, up to `most_pages` pages. */
static void join(struct simdamon *damon, uint64_t most_pages)
{
    uint32_t busiest = 0;
    size_t n = 0;
    for (size_t i = 0; i < damon->n; i++)
        busiest = damon->region[i].accesses > busiest ? damon->region[i].accesses : busiest;
    for (size_t i = 0; i < damon->n; i++) {
        struct simdamon_region *last = n > 0 ? &damon->region[n - 1] : NULL, *next = &damon->region[i];
        bool are_neighbours = last && last->space == next->space && last->first + last->n_pages == next->first;
        if (are_neighbours && last->n_pages + next->n_pages <= most_pages &&
            (uint32_t)abs((int)last->accesses - (int)next->accesses) <= busiest / 10) {
            last->accesses = (uint32_t)((last->accesses * last->n_pages + next->accesses * next->n_pages) /
                                        (last->n_pages + next->n_pages));
            last->n_pages += next->n_pages;
        } else {
            damon->region[n++] = *next;
        }
    }
    damon->n = n;
}

uint64_t simdamon_aggregate(struct simdamon *damon, const struct hm_damon_settings *settings,
                            simdamon_accessed *accessed, void *data)
{
    double look_ms = settings->look_us * 1e-3;
    split(damon, settings->max_regions);
    for (size_t i = 0; i < damon->n; i++)
        damon->region[i].accesses = 0;
    for (int look = 0; look < (int)settings->looks; look++, damon->now_ms += look_ms)
        for (size_t i = 0; i < damon->n; i++) {
            struct simdamon_region *region = &damon->region[i];
            uint64_t page = region->first + hm_random_below(&damon->random, region->n_pages);
            region->accesses += accessed(data, region->space, page, damon->now_ms, damon->now_ms + look_ms);
        }
    uint64_t looks = damon->n * settings->looks;
    join(damon, damon->pages / settings->min_regions);
    return looks;
}
