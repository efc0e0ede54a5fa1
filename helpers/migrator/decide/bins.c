/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The algorithm "bins", as published: Salkhordeh and Brinkmann, "Online Management of Hybrid DRAM-NVMM Memory for HPC".
 * The pages sampled in the first phase are sorted by address and cut into bins of equally many pages. Later samples
 * outside of all bins fall into the first or the last one. Bins move as a whole. One thing is added here: a bin ends
 * where the pages of its process end. So a sample falls into a bin of its own process, and is dropped if there is none.
 */
#include <stdlib.h>

#include "algorithm.h"
#include "base/search.h"
#include "binsparts.h"

#define OLD_WEIGHT 0.1     /* w_h of the paper */
#define SAMPLED_PER_BIN 64 /* room for pages sampled in the first phase, for each bin; more are dropped */

static struct hm_bins *bins_of(struct hm_decider *decider)
{
    return (struct hm_bins *)decider;
}

static void destroy(struct hm_decider *decider)
{
    struct hm_bins *bins = bins_of(decider);
    free(bins->sampled);
    free(bins->reads);
    free(bins->writes);
    free(bins->priority);
    free(bins->order);
    free(bins->fast_upto);
    free(decider->extent);
    free(decider->move);
    free(bins);
}

static struct hm_decider *create(const struct hm_decider_options *options)
{
    struct hm_bins *bins = calloc(1, sizeof(*bins));
    if (!bins)
        return NULL;
    struct hm_decider *base = &bins->base;
    size_t n = options->max_extents;
    base->algorithm = &hm_algorithm_bins;
    base->options = *options;
    base->bytes = sizeof(*bins);
    bins->room = n * SAMPLED_PER_BIN;
    base->extent = hm_decider_allocate(base, n, sizeof(*base->extent));
    base->move = hm_decider_allocate(base, 2 * n, sizeof(*base->move));
    bins->sampled = hm_decider_allocate(base, bins->room, sizeof(*bins->sampled));
    bins->reads = hm_decider_allocate(base, n, sizeof(*bins->reads));
    bins->writes = hm_decider_allocate(base, n, sizeof(*bins->writes));
    bins->priority = hm_decider_allocate(base, n, sizeof(*bins->priority));
    bins->order = hm_decider_allocate(base, n, sizeof(*bins->order));
    bins->fast_upto = hm_decider_allocate(base, n, sizeof(*bins->fast_upto));
    if (base->extent && base->move && bins->sampled && bins->reads && bins->writes && bins->priority && bins->order &&
        bins->fast_upto)
        return base;
    destroy(base);
    return NULL;
}

static int compare_sampled(const void *a, const void *b)
{
    const struct hm_bins_sample *x = a, *y = b;
    return (x->page > y->page) - (x->page < y->page);
}

/* Merges samples of the same page, and sorts them by address. */
static void merge_sampled(struct hm_bins *bins)
{
    size_t kept = 0;
    qsort(bins->sampled, bins->n_sampled, sizeof(*bins->sampled), compare_sampled);
    for (size_t i = 0; i < bins->n_sampled; i++) {
        if (kept > 0 && bins->sampled[kept - 1].page == bins->sampled[i].page) {
            bins->sampled[kept - 1].reads += bins->sampled[i].reads;
            bins->sampled[kept - 1].writes += bins->sampled[i].writes;
        } else {
            bins->sampled[kept++] = bins->sampled[i];
        }
    }
    bins->n_sampled = kept;
}

/* Index of the page's bin: the last one that begins at or before the page; 0 if there is none. */
static size_t find_bin(const struct hm_decider *base, uint64_t page)
{
    size_t behind = HM_SEARCH_UPTO(base->extent, base->n_extents, first, page);
    return behind > 0 ? behind - 1 : 0;
}

/* A range of pages counts at its first page, as the published bins are made for single addresses. */
static void observe(struct hm_decider *decider, const struct hm_observation *observations, size_t count)
{
    struct hm_bins *bins = bins_of(decider);
    for (size_t i = 0; i < count; i++) {
        const struct hm_observation *seen = &observations[i];
        if (!hm_observation_is_valid(seen))
            continue;
        if (bins->is_cut) {
            size_t bin = find_bin(decider, seen->page);
            if (HM_PAGE_SPACE(decider->extent[bin].first) == HM_PAGE_SPACE(seen->page)) {
                bins->reads[bin] += seen->reads;
                bins->writes[bin] += seen->writes;
            } else {
                decider->dropped++;
            }
            continue;
        }
        if (bins->n_sampled == bins->room && !bins->is_full) {
            merge_sampled(bins);
            bins->is_full = bins->n_sampled > bins->room / 2;
        }
        if (bins->n_sampled == bins->room)
            decider->dropped++;
        else
            bins->sampled[bins->n_sampled++] = (struct hm_bins_sample){seen->page, seen->reads, seen->writes};
    }
}

/*
 * Cuts the sampled pages into bins of `size` pages. Returns the number of bins. They are made only if `is_final`: then
 * no more than there is room for, and the pages of the last processes are left out.
 */
static size_t cut_by(struct hm_bins *bins, size_t size, bool is_final)
{
    struct hm_decider *base = &bins->base;
    size_t n = 0, inside = 0;
    for (size_t i = 0; i < bins->n_sampled; i++, inside++) {
        uint64_t page = bins->sampled[i].page;
        bool is_new_space = i == 0 || HM_PAGE_SPACE(page) != HM_PAGE_SPACE(bins->sampled[i - 1].page);
        if (is_new_space || inside == size) {
            if (is_final && n == base->options.max_extents)
                break;
            if (is_final) /* a process's first bin begins at its page 0 */
                base->extent[n].first = is_new_space ? HM_PAGE(HM_PAGE_SPACE(page), UINT64_C(0)) : page;
            inside = 0;
            n++;
        }
        if (is_final) {
            bins->reads[n - 1] += bins->sampled[i].reads;
            bins->writes[n - 1] += bins->sampled[i].writes;
        }
    }
    return n;
}

static void cut(struct hm_bins *bins)
{
    struct hm_decider *base = &bins->base;
    merge_sampled(bins);
    if (bins->n_sampled == 0)
        return;
    size_t most = base->options.max_extents, size = (bins->n_sampled + most - 1) / most;
    /*
     * A new process begins a new bin, so there may be more bins than wanted. If there are more processes than bins, the
     * last processes are left out.
     */
    while (size < bins->n_sampled && cut_by(bins, size, false) > most)
        size *= 2;
    base->n_extents = cut_by(bins, size, true);
    for (size_t i = 0; i < base->n_extents; i++) {
        uint64_t first = base->extent[i].first;
        uint64_t space_end = (first | (HM_PAGE(1, UINT64_C(0)) - 1)) + 1;
        bool is_last = i + 1 == base->n_extents || base->extent[i + 1].first >= space_end;
        base->extent[i].n_pages = (is_last ? space_end : base->extent[i + 1].first) - first;
    }
    bins->is_cut = true;
}

/* Do the pages lie within one of the spans? */
static bool is_gone(const struct hm_gone *gone, size_t n, uint64_t first, uint64_t n_pages)
{
    size_t i = hm_gone_find(gone, n, first);
    return i < n && gone[i].first <= first &&
           HM_PAGE_END(first, n_pages) <= HM_PAGE_END(gone[i].first, gone[i].n_pages);
}

static void forget(struct hm_decider *decider, const struct hm_gone *gone, size_t n)
{
    struct hm_bins *bins = bins_of(decider);
    for (size_t i = 0; i < bins->n_sampled; i++)
        if (is_gone(gone, n, bins->sampled[i].page, 1))
            bins->sampled[i].reads = bins->sampled[i].writes = 0;
    for (size_t i = 0; i < decider->n_extents; i++)
        if (is_gone(gone, n, decider->extent[i].first, decider->extent[i].n_pages))
            bins->priority[i] = bins->reads[i] = bins->writes[i] = 0;
}

static void end_phase(struct hm_decider *decider)
{
    struct hm_bins *bins = bins_of(decider);
    const struct hm_decider_options *options = &decider->options;
    if (!bins->is_cut)
        cut(bins);
    for (size_t i = 0; i < decider->n_extents; i++) {
        struct hm_extent *extent = &decider->extent[i];
        double heat = bins->reads[i] * (options->read_gain[1] + 1) + bins->writes[i] * (options->write_gain[1] + 1);
        bins->priority[i] = extent->phases == 0 ? heat : OLD_WEIGHT * bins->priority[i] + (1 - OLD_WEIGHT) * heat;
        extent->reads =
            extent->phases == 0 ? bins->reads[i] : OLD_WEIGHT * extent->reads + (1 - OLD_WEIGHT) * bins->reads[i];
        extent->writes =
            extent->phases == 0 ? bins->writes[i] : OLD_WEIGHT * extent->writes + (1 - OLD_WEIGHT) * bins->writes[i];
        extent->phases++;
        bins->reads[i] = bins->writes[i] = 0;
    }
}

const struct hm_algorithm hm_algorithm_bins = {
    .name = "bins",
    .about = "the published one: bins of equally many pages, cut once, move whole",
    .create = create,
    .destroy = destroy,
    .observe = observe,
    .forget = forget,
    .end_phase = end_phase,
    .plan = hm_bins_plan,
};
