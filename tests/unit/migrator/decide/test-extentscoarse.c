/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how finely the algorithm `regions` tells heat apart where samples lie far apart. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "migrator/decide/density.h"
#include "unit/lib/rows.h"

static const struct hm_decider_options options = {.algorithm = "regions",
                                                  .period = 1,
                                                  .n_tiers = 2,
                                                  .read_gain = {0, 1},
                                                  .write_gain = {0, 4},
                                                  .page_bytes = 4096,
                                                  .max_extents = 8192,
                                                  .counts_memory = true};
#define PHASES 60

static unsigned n_estimates;

void __real_hm_density_estimate(struct hm_density *density, hm_density_take *take, void *data);
void __wrap_hm_density_estimate(struct hm_density *density, hm_density_take *take, void *data);

void __wrap_hm_density_estimate(struct hm_density *density, hm_density_take *take, void *data)
{
    n_estimates++;
    __real_hm_density_estimate(density, take, data);
}

/* Samples of so many processes, with equal distances between the pages: in each phase `hot` of a page in the second
 * half of each process's, and 2 of the others. */
struct sparse {
    const char *about;
    unsigned n_spaces, n_pages, distance;
    float hot;
};

static uint64_t sparse_page(const struct sparse *sparse, unsigned space, unsigned page)
{
    return HM_PAGE(space, 1000 + (uint64_t)page * sparse->distance);
}

static void see_sparse(struct hm_decider *decider, const struct sparse *sparse)
{
    for (unsigned space = 0; space < sparse->n_spaces; space++)
        for (unsigned page = 0; page < sparse->n_pages; page++) {
            const struct hm_observation seen = {.page = sparse_page(sparse, space, page),
                                                .n_pages = 1,
                                                .reads = 2 * page >= sparse->n_pages ? sparse->hot : 2,
                                                .knows_writes = true};
            hm_decider_observe(decider, &seen, 1);
        }
    hm_decider_end_phase(decider);
}

/* The reads of the extents from page `first` to `end` - 1, where one in both counts in part. */
static double reads_in(const struct hm_extent *extent, size_t n, uint64_t first, uint64_t end)
{
    double reads = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t from = extent[i].first > first ? extent[i].first : first;
        uint64_t to = extent[i].first + extent[i].n_pages < end ? extent[i].first + extent[i].n_pages : end;
        if (to > from)
            reads += extent[i].reads * (double)(to - from) / (double)extent[i].n_pages;
    }
    return reads;
}

/* Memory in no extent would pass for memory that nobody uses. Samples of single addresses are far apart where a job has
 * much memory. */
static void test_there_is_room_for_all_that_was_seen(void **state)
{
    static const struct sparse rows[] = {
        {"no room for the holes between the samples", 64, 300, 1024, 8}, {"the same in one process", 1, 20000, 1024, 8},
        {"no room for a border at each page", 1, 8000, 300, 40},         {"many processes", 4000, 5, 1024, 2},
        {"no room for a cell for each page", 64, 1000, 4096, 8},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        const struct sparse *sparse = &rows[i];
        struct hm_decider *decider = hm_decider_new(&options, NULL);
        assert_non_null(decider);
        for (int phase = 0; phase < 3; phase++) {
            size_t n;
            see_sparse(decider, sparse);
            const struct hm_extent *extent = hm_decider_extents(decider, &n);
            for (unsigned space = 0; space < sparse->n_spaces; space++) {
                uint64_t middle = sparse_page(sparse, space, sparse->n_pages / 2) - sparse->distance / 2;
                double cold = reads_in(extent, n, HM_PAGE(space, UINT64_C(0)), middle);
                double hot = reads_in(extent, n, middle, HM_PAGE(space + 1, UINT64_C(0)));
                double expected = (double)(sparse->n_pages / 2) * 2 +
                                  (double)(sparse->n_pages - sparse->n_pages / 2) * (double)sparse->hot;
                if (fabs(cold + hot - expected) > 0.05 * expected || (sparse->hot > 2 && hot < 2 * cold))
                    fail_msg("%s: process %u has %.0f and %.0f of %.0f reads", sparse->about, space, cold, hot,
                             expected);
            }
        }
        hm_decider_free(decider);
    }
}

/* An estimate that is too fine is made again. One process has so few extents that each phase would try a finer one. */
static void test_what_was_too_fine_is_not_tried_in_each_phase(void **state)
{
    static const struct sparse sparse = {"", 1, 20000, 1024, 8};
    (void)state;
    struct hm_decider *decider = hm_decider_new(&options, NULL);
    assert_non_null(decider);
    see_sparse(decider, &sparse);
    n_estimates = 0;
    for (int phase = 0; phase < PHASES; phase++)
        see_sparse(decider, &sparse);
    print_message("%u estimates\n", n_estimates);
    assert_in_range(n_estimates, PHASES, PHASES + PHASES / 2);
    hm_decider_free(decider);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_is_room_for_all_that_was_seen),
        cmocka_unit_test(test_what_was_too_fine_is_not_tried_in_each_phase),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
