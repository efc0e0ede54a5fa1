/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the CPU time of the decision code per sample, on one core. Every other 4 MiB of 16 GiB in 4 processes are
 * hot; 150,000 samples are taken in a phase (one per 65536 of 10^9 accesses a second, for 10 s). Prints samples per
 * second of CPU time, the time per sample as a multiple of the time that qsort(3) takes per sample to sort them, the
 * bytes of memory that the decision code has, and how many extents it found. The multiple does not depend on the
 * machine.
 *
 *     decide ALGORITHM EXTENTS    EXTENTS: how many it may tell apart
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "migrator/decide/decide.h"
#include "migrator/replay/sampler.h"

#define SAMPLES 150000
#define PHASES 20
#define STRIPE 1024 /* pages */

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    const struct hm_observation *x = a, *y = b;
    return (x->page > y->page) - (x->page < y->page);
}

/* Draw the samples of a phase: 9 of 10 from hot stripes, the others from those between them. */
static void draw(struct hm_random *random, struct hm_observation *seen)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        uint64_t page = hm_random_below(random, 1 << 20) / 2, is_cold = hm_random_below(random, 10) == 0;
        page += (page / STRIPE + is_cold) * STRIPE;
        seen[i] = (struct hm_observation){
            .page = HM_PAGE(hm_random_below(random, 4), page), .n_pages = 1, .reads = 1, .knows_writes = true};
    }
}

/* Returns the number of extents. */
static size_t decide(struct hm_decider *decider, const struct hm_observation *seen)
{
    size_t n, n_moves;
    hm_decider_observe(decider, seen, SAMPLES);
    hm_decider_end_phase(decider);
    struct hm_extent *extent = hm_decider_extents(decider, &n);
    /* Say that all pages lie in the slow tier, except those of an extent that is a whole process. */
    for (size_t i = 0; i < n; i++)
        extent[i].tier_pages[1] = extent[i].n_pages < 1 << 20 ? extent[i].n_pages : 0;
    struct hm_budget budget = {
        .capacity_pages = {1 << 19}, .used_pages = {1 << 19}, .move_pages = UINT64_MAX, .phases_left = -1};
    hm_decider_plan(decider, &budget, &n_moves);
    return n;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: decide ALGORITHM EXTENTS\n");
        return 2;
    }
    /* A line of the slow tier takes twice as long to read as one of the fast tier, and 5 times as long to write. */
    const struct hm_decider_options options = {.algorithm = argv[1],
                                               .period = 65536,
                                               .n_tiers = 2,
                                               .read_gain = {0, 1},
                                               .write_gain = {0, 4},
                                               .page_bytes = 4096,
                                               .move_cost[1][0] = 64 * (2 + 1),
                                               .move_cost[0][1] = 64 * (1 + 5),
                                               .max_extents = (unsigned)atoi(argv[2])};
    struct hm_error error = {""};
    struct hm_random random = {1};
    struct hm_decider *decider = hm_decider_new(&options, &error);
    struct hm_observation *seen = calloc(SAMPLES, sizeof(*seen));
    double decided = 0, sorted = 0;
    size_t n = 0;
    if (!decider || !seen) {
        fprintf(stderr, "decide: %s\n", decider ? "no memory" : error.text);
        return 1;
    }
    for (int phase = 0; phase < PHASES; phase++) {
        draw(&random, seen);
        double start = cpu_seconds();
        n = decide(decider, seen);
        decided += cpu_seconds() - start;
        start = cpu_seconds();
        qsort(seen, SAMPLES, sizeof(*seen), compare);
        sorted += cpu_seconds() - start;
    }
    printf("%.0f %.3f %zu %zu\n", PHASES * SAMPLES / decided, decided / sorted, hm_decider_bytes(decider), n);
    hm_decider_free(decider);
    free(seen);
    return 0;
}
