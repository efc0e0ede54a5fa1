/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices of a site: equal parts of its memory, each with its own accesses. Of a site with large allocations, each is
 * cut into as many parts. Of one with smaller ones, a slice has those that follow each other in the order in which a
 * process makes them: so the same data is in the same slice in each run. Pure.
 */
#ifndef HM_SITES_SLICES_H
#define HM_SITES_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "alloc/hybridmem.h"
#include "alloc/place.h"

#define HM_SLICES HM_PLACE_SLICES
#define HM_SLICES_ALL UINT32_MAX                   /* a set of slices has a bit for each */
#define HM_SLICES_LARGE ((uint64_t)HM_ALLOC_LEAST) /* bytes of an allocation that has pages, and slices, of its own */
#define HM_SLICES_STEP ((uint64_t)64 << 10)        /* least bytes of a slice of smaller ones: no page is larger */

struct hm_slices {
    bool is_known;
    uint64_t step_bytes;        /* of a slice, where allocations are in their order; 0: each has slices of its own */
    uint64_t extent_bytes;      /* that a process has allocated in this order; the last slice may be a part of one */
    double accesses[HM_SLICES]; /* that were sampled there */
    double samples;             /* of the site, of which these accesses are */
};

/* How many slices the site's memory is in; 0: it is not known. */
int hm_slices_count(const struct hm_slices *slices);
/* The share of the site's bytes that a slice has. */
double hm_slices_bytes(const struct hm_slices *slices, int slice);

/* The slice of the middle of `bytes`, which `before` others precede; HM_SLICES: it is behind the last one. */
static inline int hm_slices_at(uint64_t step_bytes, uint64_t before, uint64_t bytes)
{
    uint64_t at = (before + bytes / 2) / step_bytes;
    return at < HM_SLICES ? (int)at : HM_SLICES;
}

/* The slice of a large allocation that the middle of `bytes` behind its first `before` is in. */
static inline int hm_slices_of_block(uint64_t block_bytes, uint64_t before, uint64_t bytes)
{
    uint64_t at = (before + bytes / 2) / (block_bytes / HM_SLICES);
    return at < HM_SLICES ? (int)at : HM_SLICES - 1;
}

/*
 * The share of the site's accesses that each slice is expected to have. Few samples differ by chance. So slices that
 * follow each other have one rate, but where the samples tell more than one: the partition is the most likely one, with
 * a penalty for each part by which chance alone makes one in 5 % of the sites (Bayesian blocks: Scargle et al., The
 * Astrophysical Journal 764, 2013, sections 2.4 and 3). Without samples, the shares of the bytes.
 */
void hm_slices_expect(const struct hm_slices *slices, double share[HM_SLICES]);

/* Makes slices of an order twice as large, until `bytes` are within them. */
void hm_slices_widen(struct hm_slices *slices, uint64_t bytes);
/* Adds those of another run. Where they are of another kind, they are not known any more. */
void hm_slices_add(struct hm_slices *into, const struct hm_slices *from);

#endif
