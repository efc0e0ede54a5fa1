/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the algorithm "regions" share. */
#ifndef HM_REGIONSPART_H
#define HM_REGIONSPART_H

#include "decidepart.h"
#include "evidence.h"
#include "segments.h"

/* A region of the phase before, as far as it matters for this one. */
struct hm_past {
    uint64_t first, end;
    float weight; /* phases that its evidence stands for */
};

struct hm_regions {
    struct hm_decider base;
    struct hm_evidence evidence;
    struct hm_segment *segment;
    size_t n_segments;
    struct hm_past *past;
    size_t n_past;
    float *support, *weight; /* by region: samples that its heat rests on; phases */
    uint32_t *order;         /* regions by priority */
    uint64_t *amount;        /* pages of each that move */
};

/*
 * What a page gains in the fast tier, in units of a fast access and phase, where it is sampled so often (loads and
 * stores per phase).
 */
double hm_regions_gain(const struct hm_decider_options *options, double reads, double writes);

/* Fill in the verdicts and the moves. */
void hm_regions_plan(struct hm_decider *decider, const struct hm_budget *budget);

#endif
