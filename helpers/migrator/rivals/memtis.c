/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy of MEMTIS: Lee, Monga, Min, Eom, "MEMTIS: Efficient Memory Tiering with Dynamic Page Classification and
 * Page Size Determination", SOSP 2023, its sections on the histogram of accesses, on the adaptation of the thresholds
 * and on migration. Pages are sorted into a histogram of 16 bins by their count of samples; bin n has those of 2^n to
 * 2^(n+1) - 1, the last one all above. The hot threshold is the lowest bin of which all pages, with those of the bins
 * above it, fit into the fast tier. If these fill less than 0.9 of it, the bin below is warm. Hot pages of the slow
 * tier are promoted; cold pages are demoted for them, and warm ones where no cold one is left. Warm pages are not
 * promoted. At cooling all counts are halved, which moves each page one bin down.
 *
 * A sample of a base page counts 512-fold, as one page of 2 MiB has 512 of them: so what was never sampled is in bin 0,
 * one sample makes bin 9, and 64 make the last one. What is taken instead of what a trace does not have: the thresholds
 * are adapted once in each phase, in the paper after each 100,000 samples, which is more than a whole trace has at the
 * usual period; cooling comes with each 20th adaptation, in the paper after 2 million samples, the same ratio. Pages
 * that are equally hot go by address. Large pages, and splitting them, are left out: the traces are of base pages.
 */
#include <math.h>

#include "exchange.h"

#define BINS 16
#define BASE_PAGE_WEIGHT 512
#define COOLING_PHASES 20
#define FULL 0.9 /* share of the fast tier that the hot pages have to fill, so that none is warm */

struct memtis {
    struct hm_rival rival;
    double hot, warm; /* the lowest bins of hot pages, and of warm ones */
};

static struct hm_decider *create(const struct hm_decider_options *options)
{
    return hm_rival_new(&hm_rival_memtis, options, sizeof(struct memtis));
}

static double bin_of(uint64_t count)
{
    return count == 0 ? 0 : fmin(floor(log2((double)count * BASE_PAGE_WEIGHT)), BINS - 1);
}

static void end_phase(struct hm_decider *decider)
{
    struct hm_rival *rival = (struct hm_rival *)decider;
    hm_rival_begin_end(rival);
    for (size_t i = 0; i < rival->n_pages; i++) {
        struct hm_rival_page *page = &rival->page[i];
        page->count += (uint64_t)(page->new_reads + page->new_writes);
        if (rival->n_phases % COOLING_PHASES == 0)
            page->count /= 2;
        page->rank = bin_of(page->count);
    }
    hm_rival_make_extents(rival);
}

static void adapt_thresholds(struct memtis *memtis, double capacity)
{
    double pages[BINS] = {0}, filled = 0;
    int bin = BINS - 1;
    for (size_t i = 0; i < memtis->rival.n_pages; i++)
        pages[(int)memtis->rival.page[i].rank]++;
    /* A page that was never sampled is never hot; and if the last bin alone is too large, it is hot all the same. */
    for (; bin > 0 && filled + pages[bin] <= capacity; bin--)
        filled += pages[bin];
    memtis->hot = bin + 1 < BINS ? bin + 1 : BINS - 1;
    memtis->warm = filled < FULL * capacity ? memtis->hot - 1 : memtis->hot;
}

static enum hm_verdict rule(struct hm_rival *rival, const struct hm_rival_page *hot, const struct hm_rival_page *cold)
{
    const struct memtis *memtis = (const struct memtis *)rival;
    if (hot->rank < memtis->hot)
        return hot->rank < memtis->warm ? HM_VERDICT_NEW : HM_VERDICT_PLACED;
    return cold && cold->rank >= memtis->hot ? HM_VERDICT_ROOM : HM_VERDICT_PROMOTE;
}

static void plan(struct hm_decider *decider, const struct hm_budget *budget)
{
    struct memtis *memtis = (struct memtis *)decider;
    adapt_thresholds(memtis, (double)budget->capacity_pages[0]);
    hm_rival_plan(&memtis->rival, budget, rule);
}

const struct hm_algorithm hm_rival_memtis = {
    .name = "memtis",
    .about = "for comparison: MEMTIS (SOSP 2023), a histogram of counts, hot is what fits",
    .create = create,
    .destroy = hm_rival_destroy,
    .observe = hm_rival_observe,
    .forget = hm_rival_forget,
    .end_phase = end_phase,
    .plan = plan,
};
